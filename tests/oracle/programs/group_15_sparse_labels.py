# issue 16: sparse values as labels
"""Group 15: metrics at k with SparseTensorValue labels; shape, size and rank of one."""

labels = tf.SparseTensorValue(
    np.array([[0, 0], [1, 0], [1, 1]], np.int64),
    np.array([1, 0, 2], np.int64),
    np.array([2, 2], np.int64),
)
scores = tf.constant([[0.1, 0.5, 0.4], [0.3, 0.1, 0.6]])
NAMES = ("recall_at_k", "precision_at_k", "average_precision_at_k")
ranked = {}
for name in NAMES:
    metric = getattr(tf.metrics, name)
    for k in (1, 2):
        ranked[f"{name} {k}"] = metric(labels, scores, k)
        ranked[f"{name} {k} tensor"] = metric(tf.SparseTensor(*labels), scores, k)
        weights = tf.constant([1.0, 0.25])
        ranked[f"{name} {k} weights"] = metric(labels, scores, k, weights=weights)
        if name != "average_precision_at_k":
            ranked[f"{name} {k} class"] = metric(labels, scores, k, class_id=1)
ranked["top"] = tf.metrics.precision_at_top_k(labels, tf.constant([[1, 2], [0, 2]], tf.int64), 2)
ranked["recall_top"] = tf.metrics.recall_at_top_k(
    labels, tf.constant([[1, 2], [0, 2]], tf.int64), 2
)
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    for _ in range(2):
        for name, (_, update) in ranked.items():
            result[f"{name} update"] = sess.run(update)
    for name, (value, _) in ranked.items():
        result[name] = sess.run(value)
    result["sparse_value"] = sess.run([tf.shape(labels), tf.size(labels), tf.rank(labels)])
    long = [tf.shape(labels, out_type=tf.int64), tf.size(labels, out_type=tf.int64)]
    result["sparse_long"] = sess.run(long)
result["ranks"] = [shape_of(tf.rank(labels)), shape_of(tf.shape(labels))]
