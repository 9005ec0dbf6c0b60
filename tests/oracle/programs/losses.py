# issue 5: tf.losses: values, weights, reductions, collections
labels = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
pred = tf.constant([[0.8, 0.1], [0.3, 0.6], [0.5, 0.9]])
logits = tf.constant([[2.0, -1.0], [0.5, 0.3], [-0.2, 1.0]])
weights = tf.constant([[1.0], [0.0], [2.0]])
out = {
    "mse": tf.losses.mean_squared_error(labels, pred),
    "mse_keywords": tf.losses.mean_squared_error(labels=labels, predictions=pred, weights=weights),
    "absolute": tf.losses.absolute_difference(labels, pred),
    "huber": tf.losses.huber_loss(labels, pred, delta=0.2),
    "log": tf.losses.log_loss(labels, pred),
    "hinge": tf.losses.hinge_loss(labels, logits),
    "cosine": tf.losses.cosine_distance(labels, pred, axis=1),
    "pairwise": tf.losses.mean_pairwise_squared_error(labels, pred),
    "softmax": tf.losses.softmax_cross_entropy(labels, logits),
    "softmax_smooth": tf.losses.softmax_cross_entropy(
        onehot_labels=labels, logits=logits, label_smoothing=0.2
    ),
    "sparse": tf.losses.sparse_softmax_cross_entropy([0, 1, 1], logits),
    "sparse_weighted": tf.losses.sparse_softmax_cross_entropy(
        labels=[0, 1, 1], logits=logits, weights=[1.0, 0.5, 0.0]
    ),
    "sparse_column": tf.losses.sparse_softmax_cross_entropy([[0], [1], [1]], logits),
    "sigmoid": tf.losses.sigmoid_cross_entropy(labels, logits),
    "sigmoid_smooth": tf.losses.sigmoid_cross_entropy(labels, logits, label_smoothing=0.1),
    "weighted": tf.losses.compute_weighted_loss([1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
}
R = tf.losses.Reduction
for reduction in (
    R.NONE,
    R.SUM,
    R.MEAN,
    R.SUM_OVER_BATCH_SIZE,
    R.SUM_OVER_NONZERO_WEIGHTS,
    R.SUM_BY_NONZERO_WEIGHTS,
):
    out["reduction_" + reduction] = tf.losses.mean_squared_error(
        labels, pred, weights, reduction=reduction, loss_collection="reductions"
    )
result["collected"] = len(tf.losses.get_losses())
result["collected_names"] = [t.name for t in tf.losses.get_losses()]
tf.losses.add_loss(tf.constant(10.0))
out["total"] = tf.losses.get_total_loss()
quiet = tf.losses.mean_squared_error(labels, pred, loss_collection=None)
result["quiet"] = len(tf.losses.get_losses())
with tf.Session() as sess:
    for name, tensor in out.items():
        result[name] = sess.run(tensor)
    result["gradient"] = sess.run(tf.gradients(out["mse_keywords"], pred))
result["shapes"] = error_of(lambda: tf.losses.mean_squared_error(labels, pred[:, :1][:2]))
result["none"] = error_of(lambda: tf.losses.mean_squared_error(None, pred))
result["bad_weights"] = error_of(lambda: tf.losses.mean_squared_error(labels, pred, tf.zeros([5])))
result["names"] = [out["mse"].name, out["softmax"].name, out["total"].name]
