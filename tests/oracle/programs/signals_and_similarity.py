# issue 16: spectra back to signals, the mel scale, structural similarity at several scales, boxes
rng = np.random.RandomState(0)
signal = rng.randn(2, 400).astype("float32")
sess = tf.Session()
for frame_length, frame_step, fft_length in ((64, 16, None), (60, 30, 128), (64, 48, 64)):
    stft = tf.signal.stft(signal, frame_length, frame_step, fft_length)
    window = tf.signal.inverse_stft_window_fn(frame_step)
    key = "inverse_%d_%d" % (frame_length, frame_step)
    back = tf.signal.inverse_stft(stft, frame_length, frame_step, fft_length, window)
    result[key] = [sess.run(back), sess.run(window(frame_length, tf.float32))]
    result[key + "_shape"] = shape_of(back)
    plain = tf.signal.inverse_stft(stft, frame_length, frame_step, fft_length, None)
    result[key + "_no_window"] = sess.run(plain)
middle = slice(64, 300)
stft = tf.signal.stft(signal, 64, 16)
back = tf.signal.inverse_stft(stft, 64, 16, window_fn=tf.signal.inverse_stft_window_fn(16))
result["is_the_signal"] = bool(np.allclose(sess.run(back)[:, middle], signal[:, middle], atol=1e-4))

for arguments in ((), (40, 257, 16000, 80.0, 7600.0), (10, 65)):
    matrix = tf.signal.linear_to_mel_weight_matrix(*arguments)
    result["mel_%d" % len(arguments)] = sess.run(matrix).round(2)
for arguments in (
    (0,),
    (20, 129, -1),
    (20, 129, 8000, -1.0),
    (20, 129, 8000, 9.0, 8.0),
    (20, 129, 8000, 1.0, 4001.0),
):
    result["mel_error_%s" % str(arguments)] = error_of(
        lambda a=arguments: tf.signal.linear_to_mel_weight_matrix(*a)
    )
result["mfccs"] = sess.run(
    tf.signal.mfccs_from_log_mel_spectrograms(rng.randn(2, 3, 20).astype("float32"))
)
for shape, axes in (((5,), None), ((4, 5), None), ((4, 5, 3), [0, 2]), ((4, 5), 1), ((4, 5), -1)):
    x = rng.randn(*shape)
    key = "%s_%s" % (shape, axes)
    result["shift_" + key] = sess.run(tf.signal.fftshift(x, axes))
    result["back_" + key] = sess.run(tf.signal.ifftshift(x, axes))

a = rng.rand(2, 180, 192, 3).astype("float32")
b = (a + 0.1 * rng.rand(2, 180, 192, 3)).astype("float32")
result["ssim"] = sess.run(tf.image.ssim(a, b, 1.0))
result["ssim_multiscale"] = sess.run(tf.image.ssim_multiscale(a, b, 1.0))
bytes_a, bytes_b = (a * 200).astype("uint8"), (b * 200).astype("uint8")
result["ssim_multiscale_bytes"] = sess.run(tf.image.ssim_multiscale(bytes_a, bytes_b, 255))
odd = sess.run(tf.image.ssim_multiscale(a[0, :51, :53], b[0, :51, :53], 1.0, (0.3, 0.3, 0.4)))
result["ssim_multiscale_odd"] = odd
fed = tf.placeholder(tf.float32, [None, None, None, 3])
similarity = tf.image.ssim_multiscale(fed, fed * 0.9, 1.0, (0.5, 0.5))
result["ssim_multiscale_fed"] = sess.run(similarity, {fed: a[:, :40, :41]})

boxes = rng.rand(30, 4).astype("float32")
boxes[:, 2:] += boxes[:, :2]
scores = rng.rand(30).astype("float32")
boxes, scores = tf.constant(boxes), tf.constant(scores)
for padded in (False, True):
    for most in (4, 40):
        chosen, count = tf.image.non_max_suppression_padded(boxes, scores, most, 0.3, 0.1, padded)
        result["boxes_%s_%d" % (padded, most)] = sess.run([chosen, count])
        result["boxes_%s_%d_shape" % (padded, most)] = shape_of(chosen)

# tf.debugging.assert_shapes
x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.float32, None)
z = tf.zeros([4, 3])
for key, shapes in {
    "fits": [(x, ("N", "D")), (y, ("N",)), (z, (4, "D")), (tf.constant(1.0), ())],
    "symbol": [(x, ("N", "D")), (z, ("D", "N"))],
    "rank": [(x, ("N",))],
    "number": [(z, (5, 3))],
    "any": [(x, (None, ".")), (z, (".", 3))],
    "prefix": [(z, ("*", 3)), (x, ("*", 3))],
    "wrong_prefix": [(z, ("*", 4))],
    "wrong_first": [(x, ("N", 3)), (y, ("N", "N"))],
}.items():

    def run(shapes=shapes):
        with tf.control_dependencies([tf.debugging.assert_shapes(shapes)]):
            return sess.run(tf.constant(1), {x: np.zeros((2, 3)), y: np.zeros(2)})

    result["shapes_" + key] = error_of(run)
result["shapes_of_others"] = error_of(
    lambda: sess.run(
        tf.debugging.assert_shapes([(x, ("N", "D")), (y, ("N",))]),
        {x: np.zeros((2, 3)), y: np.zeros(3)},
    )
)
