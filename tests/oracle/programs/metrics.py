# issue 5: streaming metrics
labels = tf.placeholder(tf.int64, [None])
pred = tf.placeholder(tf.int64, [None])
scores = tf.placeholder(tf.float32, [None])
M = tf.metrics
metrics = {
    "accuracy": M.accuracy(labels, pred),
    "weighted": M.accuracy(labels, pred, weights=tf.cast(pred + 1, tf.float32)),
    "precision": M.precision(labels, pred),
    "recall": M.recall(labels, pred),
    "auc": M.auc(labels, scores),
    "auc_pr": M.auc(
        labels, scores, curve="PR", num_thresholds=50, summation_method="careful_interpolation"
    ),
    "mean": M.mean(scores),
    "mean_squared": M.mean_squared_error(tf.cast(labels, tf.float32), scores),
    "root": M.root_mean_squared_error(tf.cast(labels, tf.float32), scores),
    "absolute": M.mean_absolute_error(tf.cast(labels, tf.float32), scores),
    "false_positives": M.false_positives(labels, pred),
    "false_negatives": M.false_negatives(labels, pred),
    "true_positives": M.true_positives(labels, pred),
    "true_negatives": M.true_negatives(labels, pred),
    "iou": M.mean_iou(labels, pred, 2),
    "per_class": M.mean_per_class_accuracy(labels, pred, 2),
    "below": M.percentage_below(scores, 0.5),
    "at_thresholds": M.precision_at_thresholds(labels, scores, [0.3, 0.7]),
    "recall_at": M.recall_at_thresholds(labels, scores, [0.3, 0.7]),
    "relative": M.mean_relative_error(scores + 1.0, tf.cast(labels, tf.float32), scores + 1.0),
    "mean_tensor": M.mean_tensor(tf.reduce_sum(scores)[tf.newaxis]),
    "sensitivity": M.sensitivity_at_specificity(labels, scores, 0.5),
    "top_k": M.recall_at_k(labels[:, tf.newaxis], tf.stack([1.0 - scores, scores], 1), 1),
}
result["local"] = [v.name for v in tf.local_variables()]
result["trainable"] = len(tf.trainable_variables())
result["metric_variables"] = len(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES))
feeds = [
    ([0, 1, 1, 0], [0, 1, 0, 1], [0.1, 0.9, 0.4, 0.8]),
    ([1, 1, 0], [1, 1, 0], [0.7, 0.6, 0.2]),
]
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    for name, (value, update) in metrics.items():
        first = [sess.run(update, dict(zip((labels, pred, scores), feed))) for feed in feeds]
        result[name] = [first, sess.run(value), sess.run(value)]
result["names"] = [metrics["accuracy"][0].name, metrics["accuracy"][1].name]
