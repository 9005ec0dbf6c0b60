# issue 16: images
"""Group 34: tf.image."""

unknown = tf.placeholder(tf.uint8)
g = tf.image.grayscale_to_rgb(unknown)
result["gray_shape"] = shape_of(g)
deep = np.arange(2 * 3 * 3, dtype=np.uint16).reshape(2, 3, 3) * 1000
with tf.Session() as sess:
    result["gray"] = sess.run(g, {unknown: [[[1], [2]]]})
    result["gray4"] = sess.run(g, {unknown: [[[[1], [2]]]]})
    result["gray_bad"] = error_of(lambda: sess.run(g, {unknown: [[[1, 2], [2, 1]]]}))
    for ch in (1, 2, 3, 4):
        deep = (np.arange(2 * 3 * ch).reshape(2, 3, ch) * 1000).astype(np.uint16)
        png = tf.image.encode_png(deep)
        result[f"png16_{ch}"] = sess.run(tf.image.decode_png(png, dtype=tf.uint16))
        result[f"png16_8_{ch}"] = sess.run(tf.image.decode_png(png, dtype=tf.uint8))
        small = (np.arange(2 * 3 * ch).reshape(2, 3, ch)).astype(np.uint8)
        result[f"png8_{ch}"] = sess.run(tf.image.decode_png(tf.image.encode_png(small)))
im = tf.constant(np.linspace(0, 1, 12).reshape(2, 2, 3), tf.float32)
result["contrast"] = error_of(lambda: tf.image.adjust_contrast(im, [1.0, 2.0]))


def rc(t):
    def f():
        with tf.Session() as sess:
            return sess.run(t())

    return f


result["contrast_run"] = error_of(rc(lambda: tf.image.adjust_contrast(im, [1.0, 2.0])))
result["gamma"] = error_of(rc(lambda: tf.image.adjust_gamma(im, -1)))
result["gamma_t"] = error_of(rc(lambda: tf.image.adjust_gamma(im, tf.constant(-1.0))))
result["gamma_build"] = error_of(lambda: tf.image.adjust_gamma(im, tf.constant(-1.0)))
p = tf.placeholder(tf.float32, [])
gam = tf.image.adjust_gamma(im, p)
with tf.Session() as sess:
    result["gamma_fed"] = error_of(lambda: sess.run(gam, {p: -1.0}))
    result["gamma_ok"] = sess.run(gam, {p: 2.0})
for dt in (tf.uint8, tf.float32, tf.float64, tf.int32, tf.float16):
    s = tf.image.per_image_standardization(tf.cast(tf.constant(np.arange(12).reshape(2, 2, 3)), dt))
    if dt is not tf.float16:
        result["std_" + dt.name] = s.dtype.name
    with tf.Session() as sess:
        result["stdv_" + dt.name] = sess.run(tf.cast(s, tf.float32)).round(2)
hsv = tf.image.rgb_to_hsv(im)
back = tf.image.hsv_to_rgb(hsv)
result["grads"] = [tf.gradients(hsv, im)[0] is None, tf.gradients(back, hsv)[0] is None]
