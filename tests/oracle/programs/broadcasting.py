# issue 3: broadcasting of two shapes, forward and in the gradient
cases = [
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((4, 1, 3), (2, 1)),
    ((), (2, 2)),
    ((0, 3), (1, 3)),
    ((1,), (5,)),
]
with tf.Session() as sess:
    for number, (first, second) in enumerate(cases):
        a = tf.constant(np.arange(np.prod(first)).reshape(first) + 1.0, tf.float32)
        b = tf.constant(np.arange(np.prod(second)).reshape(second) - 1.5, tf.float32)
        for name in ("add", "subtract", "multiply", "divide", "maximum", "squared_difference"):
            out = getattr(tf, name)(a, b)
            grads = tf.gradients(out, [a, b])
            result[f"{number}_{name}"] = sess.run([out] + grads)
    result["static"] = tf.broadcast_static_shape(
        tf.TensorShape([2, 1]), tf.TensorShape([3])
    ).as_list()
    result["dynamic"] = sess.run(tf.broadcast_dynamic_shape([2, 1], [3]))
    result["broadcast_to"] = sess.run(tf.broadcast_to([1, 2, 3], [2, 3]))
result["mismatch"] = error_of(lambda: tf.add(tf.zeros([2, 3]), tf.zeros([4])))
x = tf.placeholder(tf.float32, [None])
with tf.Session() as sess:
    result["late_mismatch"] = error_of(lambda: sess.run(x + tf.zeros([3]), {x: [1.0, 2.0]}))
