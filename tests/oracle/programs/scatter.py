# issue 3: updates of some rows of a variable
ref = tf.Variable(np.zeros((4, 2), np.float32) + 1.0, dtype=tf.float32, name="ref")
i = tf.constant([0, 2, 2])
u = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
flat = tf.Variable(tf.range(1, 9), name="flat")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for name in (
        "scatter_add",
        "scatter_sub",
        "scatter_mul",
        "scatter_div",
        "scatter_max",
        "scatter_min",
    ):
        sess.run(ref.initializer)
        result[name] = sess.run(getattr(tf, name)(ref, i, u))
    result["update"] = sess.run(tf.scatter_update(ref, [1, 3], [[7.0, 7.0], [8.0, 8.0]]))
    result["method"] = sess.run(
        ref.scatter_sub(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])))
    )
    result["nd_update"] = sess.run(tf.scatter_nd_update(flat, [[4], [3]], [90, 91]))
    result["nd_add"] = sess.run(tf.scatter_nd_add(flat, [[4], [3]], [1, 1]))
    result["nd_sub"] = sess.run(tf.scatter_nd_sub(flat, [[0]], [1]))
    result["scatter_nd"] = sess.run(tf.scatter_nd([[1], [3], [1]], [9, 10, 11], [5]))
    result["range"] = error_of(lambda: sess.run(tf.scatter_add(ref, [9], [[1.0, 1.0]])))
    result["shape"] = error_of(lambda: tf.scatter_add(ref, [0, 1], [[1.0, 1.0, 1.0]]))
    result["tensor_scatter"] = sess.run(tf.tensor_scatter_nd_update([1, 2, 3], [[1]], [9]))
