# issue 5: WAV in and out
samples = np.sin(np.arange(32) / 3.0).astype(np.float32)[:, None] * 0.5
encoded = tf.audio.encode_wav(samples, 8000)
decoded = tf.audio.decode_wav(encoded)
with tf.Session() as sess:
    value = sess.run(decoded)
    result["rate"] = value.sample_rate
    result["close"] = bool(np.abs(value.audio - samples).max() < 1e-3)
    result["bytes"] = sess.run(encoded)[:4]
    result["bad"] = error_of(lambda: sess.run(tf.audio.decode_wav(b"nothing")))
