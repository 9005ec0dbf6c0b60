# issue 3: gradients of look-ups are IndexedSlices
table = tf.Variable(np.arange(12.0).reshape(6, 2), dtype=tf.float32, name="table")
ids = tf.constant([1, 3, 1])
looked_up = tf.nn.embedding_lookup(table, ids)
loss = tf.reduce_sum(looked_up * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
g = tf.gradients(loss, table)[0]
result["class"] = type(g).__name__
result["dtype"] = g.dtype.name
dense = tf.convert_to_tensor(g)
twice = tf.gradients(loss + tf.reduce_sum(tf.gather(table, [0])), table)[0]
mixed = tf.gradients(loss + tf.reduce_sum(table * table), table)[0]
result["classes"] = [type(twice).__name__, isinstance(mixed, tf.Tensor)]
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
clipped, norm = tf.clip_by_global_norm([g], 1.0)
result["clipped_class"] = type(clipped[0]).__name__
two_d = tf.gradients(tf.reduce_sum(tf.gather(table, [[0, 1], [1, 5]])), table)[0]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["slices"] = sess.run(g)
    result["dense"] = sess.run(dense)
    result["twice_dense"] = sess.run(tf.convert_to_tensor(twice))
    result["mixed"] = sess.run(tf.convert_to_tensor(mixed))
    result["norm"] = sess.run(norm)
    result["two_d"] = sess.run(tf.convert_to_tensor(two_d))
    result["clip_norm"] = sess.run(tf.convert_to_tensor(tf.clip_by_norm(g, 2.0)))
    sess.run(train)
    result["trained"] = sess.run(table)
    result["global_norm"] = sess.run(tf.global_norm([g, tf.constant([3.0])]))
