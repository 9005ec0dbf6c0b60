# issue 16: gradients of a gather of a broadcast sum
"""Group 3: the gradient of gather or embedding_lookup of a broadcast sum."""

w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
b = tf.Variable([1.0, -1.0])
m = tf.matmul(tf.constant([[1.0, 2.0], [0.5, 1.0], [2.0, 0.0]]), w)
sums = {
    "bias": m + b,
    "number": m + 1.0,
    "minus": 1.0 - m,
    "scaled": m * 2.0 + b,
    "centered": m - tf.reduce_mean(m, 0),
    "same_shape": m + m,
    "squared": tf.squared_difference(m, b),
    "same_squared": tf.squared_difference(m, m * 0.5),
    "quotient": m / b,
    "power": (m * m + 1.0) ** 1.5,
    "maximum": tf.maximum(m, 3.0),
    "tanh": tf.tanh(m * 0.1 + b),
    "rows": tf.reduce_sum(m, 0, keepdims=True) - m,
    "unknown": tf.placeholder_with_default(m, [None, None]) + b,
}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for key, total in sums.items():
        rows = tf.gather(total, [0, 2, 0])
        grads = tf.gradients(rows, [w, b])
        result[f"gradient_{key}"] = sess.run([g for g in grads if g is not None])
    looked_up = tf.nn.embedding_lookup(m + b, [1, 1])
    result["gradient_lookup"] = sess.run(tf.gradients(looked_up, [w, b]))
    _, total = tf.while_loop(
        lambda i, t: i < 3,
        lambda i, t: (i + 1, t + tf.reduce_sum(tf.gather(m + b, [i]))),
        [0, 0.0],
    )
    result["gradient_loop"] = sess.run(tf.gradients(total, [w, b]))
rank = tf.placeholder_with_default(m, None) + b
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["gradient_no_rank"] = sess.run(tf.gradients(tf.gather(rank, [1, 1]), [w, b]))
    by_axis = tf.gather(m + b, [1, 0, 1], axis=1)
    result["gradient_axis"] = sess.run(tf.gradients(by_axis * by_axis, [w, b]))
    chosen = tf.gather_nd(m - b, [[0, 1], [2, 0]])
    result["gradient_nd"] = sess.run(tf.gradients(chosen, [w, b]))
    shared = tf.gather(b * 2.0, [0, 0]) + tf.gather(b + 1.0, [1, 0])
    result["gradient_shared"] = sess.run(tf.convert_to_tensor(tf.gradients(shared, b)[0]))
    second = tf.gradients(tf.gradients(tf.gather(tf.square(m + b), [0]), b)[0], w)[0]
    result["gradient_second"] = sess.run(second)
step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(m * 2.0 + b, [0, 2])))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        sess.run(step)
    result["trained"] = sess.run([w, b])
