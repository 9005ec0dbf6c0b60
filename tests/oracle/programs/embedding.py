# issue 3: embedding look-ups, partitioned and sparse
a = tf.constant(np.arange(8.0).reshape(4, 2), tf.float32)
b = tf.constant(-np.arange(8.0).reshape(4, 2), tf.float32)
ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 0], tf.int64), [3, 2])
weights = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [2.0, 0.5, 3.0], [3, 2])
with tf.Session() as sess:
    result["one"] = sess.run(tf.nn.embedding_lookup(a, [[0, 3], [1, 1]]))
    result["mod"] = sess.run(tf.nn.embedding_lookup([a, b], [0, 1, 2, 5, 7]))
    result["div"] = sess.run(
        tf.nn.embedding_lookup([a, b], [0, 1, 2, 5, 7], partition_strategy="div")
    )
    result["max_norm"] = sess.run(tf.nn.embedding_lookup(a, [3], max_norm=1.0))
    for combiner in ("sum", "mean", "sqrtn"):
        result[combiner] = sess.run(
            tf.nn.embedding_lookup_sparse(a, ids, weights, combiner=combiner)
        )
        result[combiner + "_plain"] = sess.run(
            tf.nn.embedding_lookup_sparse(a, ids, None, combiner=combiner)
        )
    result["safe"] = sess.run(tf.nn.safe_embedding_lookup_sparse([a], ids))
    table = tf.Variable(a)
    g = tf.gradients(tf.nn.embedding_lookup_sparse(table, ids, weights, combiner="mean"), table)[0]
    sess.run(table.initializer)
    result["sparse_gradient"] = sess.run(tf.convert_to_tensor(g))
result["name"] = tf.nn.embedding_lookup(a, [1]).name
