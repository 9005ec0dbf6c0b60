# issue 5: PNG and JPEG through the graph
x = (np.arange(16 * 16 * 3) % 256).reshape(16, 16, 3).astype(np.uint8)
smooth = np.tile(np.linspace(0, 255, 16)[:, None, None], (1, 16, 3)).astype(np.uint8)
png = tf.image.encode_png(x)
jpeg = tf.image.encode_jpeg(smooth, quality=95)
out = {
    "png": tf.image.decode_png(png),
    "png_gray": tf.image.decode_png(tf.image.encode_png(x[..., :1])),
    "png16": tf.image.decode_png(
        tf.image.encode_png(x[..., :1].astype(np.uint16) * 200), dtype=tf.uint16
    ),
    "png_channels": tf.image.decode_png(png, channels=4),
    "any": tf.image.decode_image(png),
    "gif_like": tf.image.decode_image(png, channels=3),
}
decoded = tf.image.decode_jpeg(jpeg, channels=3)
gray = tf.image.decode_jpeg(jpeg, channels=1)
with tf.Session() as sess:
    for key, value in out.items():
        result[key] = sess.run(value)
        result[key + "_static"] = shape_of(value)
    pixels = sess.run(decoded).astype(int)
    result["jpeg"] = [list(pixels.shape), bool(np.abs(pixels - smooth).max() <= 6)]
    result["gray"] = list(sess.run(gray).shape)
    result["shape"] = sess.run(tf.image.extract_jpeg_shape(jpeg))
    result["is_jpeg"] = sess.run([tf.image.is_jpeg(jpeg), tf.image.is_jpeg(png)])
    result["starts"] = [sess.run(png)[:4], sess.run(jpeg)[:2]]
    result["bad"] = [
        error_of(lambda: sess.run(tf.image.decode_jpeg(b"nothing"))),
        error_of(lambda: sess.run(tf.image.decode_image(b"nothing"))),
    ]
result["static"] = [shape_of(decoded), shape_of(gray), shape_of(png), decoded.dtype.name]
result["bad_dtype"] = error_of(lambda: tf.image.encode_jpeg(tf.zeros([2, 2, 3])))
