# issue 16: gradients of look-ups inside tf.cond stay sparse, and train as TensorFlow's
table = tf.Variable(np.arange(12.0).reshape(6, 2), dtype=tf.float32, name="table")
ids = tf.placeholder(tf.int32, [None])
pred = tf.placeholder(tf.bool, [])


def rows(i):
    return tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, i)))


one = tf.cond(pred, lambda: rows(ids), lambda: tf.constant(0.0))
both = tf.cond(pred, lambda: rows(ids), lambda: rows(ids + 1))
mixed = tf.cond(pred, lambda: rows(ids), lambda: tf.reduce_sum(table))
nested = tf.cond(
    pred, lambda: tf.cond(ids[0] > 0, lambda: rows(ids), lambda: rows([0])), lambda: 0.0
)
gradients = [tf.gradients(y, table)[0] for y in (one, both, mixed, nested)]
result["classes"] = [isinstance(g, tf.Tensor) for g in gradients]
dense = [tf.convert_to_tensor(g) for g in gradients]
norms = [tf.global_norm([g]) for g in gradients]
trains = [tf.train.MomentumOptimizer(0.01, 0.9).minimize(y) for y in (one, both, nested)]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step, (flag, i) in enumerate([(True, [1, 3]), (False, [0, 4]), (True, [5, 5])]):
        feed = {pred: flag, ids: i}
        result[f"dense_{step}"] = sess.run(dense, feed)
        result[f"norms_{step}"] = sess.run(norms, feed)
        for train in trains:
            sess.run(train, feed)
        result[f"trained_{step}"] = sess.run(table)
