# issue 3: convolutions, poolings and their gradients
# tolerance 1e-4
image = tf.constant(np.sin(np.arange(2 * 5 * 6 * 3)).reshape(2, 5, 6, 3), tf.float32)
kernel = tf.constant(np.cos(np.arange(3 * 2 * 3 * 4)).reshape(3, 2, 3, 4), tf.float32)
depth = tf.constant(np.cos(np.arange(3 * 2 * 3 * 2)).reshape(3, 2, 3, 2), tf.float32)
with tf.Session() as sess:
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            y = tf.nn.conv2d(image, kernel, [1, stride, stride, 1], padding)
            result[f"conv_{padding}_{stride}"] = sess.run(
                [y] + tf.gradients(y * y, [image, kernel])
            )
            d = tf.nn.depthwise_conv2d(image, depth, [1, stride, stride, 1], padding)
            result[f"depthwise_{padding}_{stride}"] = sess.run(
                [d] + tf.gradients(d * d, [image, depth])
            )
            for pool in (tf.nn.max_pool, tf.nn.avg_pool):
                q = pool(image, [1, 2, 3, 1], [1, stride, stride, 1], padding)
                result[f"{pool.__name__}_{padding}_{stride}"] = sess.run(
                    [q] + tf.gradients(q * q, [image])
                )
        t = tf.nn.conv2d_transpose(
            image,
            tf.constant(np.cos(np.arange(3 * 3 * 4 * 3)).reshape(3, 3, 4, 3), tf.float32),
            [2, 10, 12, 4] if padding == "SAME" else [2, 11, 13, 4],
            [1, 2, 2, 1],
            padding,
        )
        result["transpose_" + padding] = sess.run([t] + tf.gradients(t * t, [image]))
        a = (
            tf.nn.atrous_conv2d(image, kernel, 2, padding)
            if padding == "SAME"
            else tf.nn.conv2d(image, kernel[:2], [1, 1, 1, 1], padding, dilations=[1, 2, 2, 1])
        )
        result["dilated_" + padding] = sess.run([a] + tf.gradients(a * a, [image]))
    one = tf.nn.conv1d(image[:, 0], kernel[0], 2, "SAME")
    result["conv1d"] = sess.run([one] + tf.gradients(one * one, [image, kernel]))
    volume = tf.reshape(image, [1, 2, 5, 6, 3])
    three = tf.nn.conv3d(volume, kernel[:2, tf.newaxis], [1, 1, 1, 1, 1], "SAME")
    result["conv3d"] = sess.run([three] + tf.gradients(three * three, [image]))
    result["max_pool3d"] = sess.run(
        tf.nn.max_pool3d(volume, [1, 2, 2, 2, 1], [1, 1, 2, 2, 1], "VALID")
    )
    separable = tf.nn.separable_conv2d(image, depth, tf.ones([1, 1, 6, 2]), [1, 1, 1, 1], "SAME")
    result["separable"] = sess.run(separable)
    dil = tf.nn.dilation2d(image, kernel[..., 0], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    result["dilation2d"] = sess.run(dil)
    normalized = tf.nn.lrn(image, depth_radius=2, bias=1.5, alpha=0.3, beta=0.6)
    result["lrn"] = sess.run([normalized] + tf.gradients(normalized * image, [image]))
    pooled, where = tf.nn.max_pool_with_argmax(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    result["argmax"] = sess.run([pooled, where])
result["channels"] = error_of(
    lambda: tf.nn.conv2d(image, tf.zeros([3, 3, 4, 8]), [1, 1, 1, 1], "SAME")
)
result["strides"] = error_of(lambda: tf.nn.conv2d(image, kernel, [1, 1], "SAME"))
result["padding"] = error_of(lambda: tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "FULL"))
result["rank"] = error_of(lambda: tf.nn.conv2d(image[0], kernel, [1, 1, 1, 1], "SAME"))
