# issue 5: clipping by value, norm and global norm, with gradients
x = tf.constant([3.0, -4.0])
y = tf.constant([[1.0, 2.0], [2.0, 4.0]])
with tf.Session() as sess:
    clipped, norm = tf.clip_by_global_norm([x, None, y], 2.5)
    result["global"] = sess.run([clipped[0], clipped[2], norm])
    result["none"] = clipped[1] is None
    result["given"] = sess.run(tf.clip_by_global_norm([x], 1.0, use_norm=tf.constant(10.0))[0])
    result["norm"] = sess.run(tf.clip_by_norm(y, 1.5))
    result["norm_axes"] = sess.run(tf.clip_by_norm(y, 1.5, axes=[1]))
    result["small"] = sess.run(tf.clip_by_norm(x, 100.0))
    result["zero"] = sess.run(tf.clip_by_norm(tf.zeros([2]), 1.0))
    result["average"] = sess.run(tf.clip_by_average_norm(y, 0.5))
    result["value"] = sess.run(tf.clip_by_value(x, tf.constant([0.0, -1.0]), 2.0))
    result["gradient"] = sess.run(tf.gradients(tf.clip_by_value(x, -3.5, 3.5) * 2.0, x))
    result["infinite"] = sess.run(tf.clip_by_global_norm([tf.constant([np.inf])], 1.0)[1])
    result["norms"] = [sess.run(tf.norm(y, ord=o)) for o in ("euclidean", 1, 2, np.inf)] + [
        sess.run(tf.norm(y, ord="fro", axis=[0, 1])),
        sess.run(tf.norm(y, axis=0, keep_dims=True)),
    ]
    result["global_norm"] = sess.run(tf.global_norm([x, y]))
    result["l2"] = sess.run([tf.nn.l2_loss(x), tf.nn.l2_normalize(x, 0)])
