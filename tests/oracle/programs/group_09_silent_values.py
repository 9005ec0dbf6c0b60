# issue 16: values that were silently wrong
"""Group 9: values that were silently wrong."""


def value(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
        return sess.run(fetches, feeds)


weights = tf.placeholder(tf.float32)
labels, predictions = (tf.placeholder(tf.int64, [None]) for _ in range(2))
accuracy = tf.metrics.accuracy(labels, predictions, weights)[1]
given = {labels: [1, 0, 1], predictions: [1, 0, 0]}
for name, fed in {
    "column": [[100.0], [1.0], [1.0]],
    "vector": [100.0, 1.0, 1.0],
    "scalar": 2.0,
}.items():
    result[f"accuracy_{name}"] = value(accuracy, {**given, weights: fed})
result["accuracy_two_columns"] = error_of(
    lambda: value(accuracy, {**given, weights: np.ones([3, 2])})
)
per_class, update = tf.metrics.mean_per_class_accuracy(
    tf.constant([0, 0, 0, 1, 1, 1]),
    tf.constant([0, 0, 1, 1, 0, 0]),
    2,
    weights=tf.constant([1.0, 1.0, 0.0, 1.0, 0.0, 0.75]),
)
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    result["per_class_update"] = sess.run(update)
    result["per_class"] = sess.run(per_class)
loss = tf.losses.compute_weighted_loss(tf.ones([2, 3]), weights)
for name, fed in {
    "scalar": 3.0,
    "column": [[17.0], [1.0]],
    "vector": [1.0],
    "row": [[1.0] * 3],
}.items():
    try:
        result[f"loss_{name}"] = value(loss, {weights: fed})
    except tf.errors.InvalidArgumentError:
        result[f"loss_{name}"] = "refused"
empty = tf.placeholder(tf.float32)
for i, shape in enumerate(([0, -1, 3], [-1, 3], [0, -1], [-1, 0], [2, -1])):
    result[f"empty_{i}"] = value(tf.shape(tf.reshape(empty, shape)), {empty: np.zeros([0, 6])})
result["joined"] = value(tf.scatter_nd([[0], [0], [2]], ["b", "b", "c"], [3]))
text = tf.placeholder(tf.string)
result["number_for_text"] = error_of(lambda: value(text, {text: 1}))
result["bool_for_text"] = error_of(lambda: value(text, {text: True}))
sparse = tf.SparseTensor([[0, 0], [1, 1]], [2, 4], [2, 2])
quotient = sparse / tf.constant([[2, 1], [1, 3]])
result["quotient"] = value(quotient.values)
result["quotient_of_one"] = value((sparse / tf.constant(3)).values)

decides = tf.Variable(True)


def assigns():
    with tf.control_dependencies([tf.assign(decides, False)]):
        return tf.constant(1)


chosen = tf.cond(decides, assigns, lambda: tf.constant(2))
second = tf.get_variable("second", initializer=False)
other = tf.cond(second, lambda: tf.identity(second), lambda: tf.identity(second.assign(True)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["assigns_what_decides"] = [sess.run(chosen), sess.run(decides), sess.run(chosen)]
    result["assigns_back"] = [sess.run(other), sess.run(second), sess.run(other)]


# weights and sizes that are known at run time only, in other metrics and losses
def in_graph(build):
    with tf.Graph().as_default():
        fetches, feeds = build()
        try:
            return value(fetches, feeds)
        except (tf.errors.InvalidArgumentError, ValueError, TypeError):
            return "refused"


def metric(name, dtype, labels, predictions, weights, **more):
    w = tf.placeholder(tf.float32)
    l, p = tf.placeholder(dtype, [None]), tf.placeholder(dtype, [None])
    found = getattr(tf.metrics, name)(l, p, weights=w, **more)[1]
    return found, {l: labels, p: predictions, w: weights}


def weighted_loss(name, reduction, weights):
    w = tf.placeholder(tf.float32)
    labels, predictions = tf.constant([[0.0, 1.0], [1.0, 0.0]]), [[0.1, 0.9], [0.3, 0.7]]
    return getattr(tf.losses, name)(labels, predictions, w, reduction=reduction), {w: weights}


def reshaped(source, shape):
    x, sizes = tf.placeholder(tf.float32), tf.placeholder_with_default(shape, [len(shape)])
    return tf.shape(tf.reshape(x, sizes)), {x: np.zeros(source)}


columns = {"column": [[2.0], [1.0], [0.5], [3.0]], "vector": [2.0, 1.0, 0.5, 3.0]}
for kind, fed in {**columns, "scalar": 2.0, "short": [1.0, 2.0]}.items():
    for name in ("mean_squared_error", "mean_absolute_error", "auc"):
        values = [1.0, 0.0, 1.0, 1.0], [0.9, 0.2, 0.4, 0.8]
        result[f"{name}_{kind}"] = in_graph(lambda: metric(name, tf.float32, *values, fed))
    for name in ("precision", "recall", "true_positives", "false_negatives"):
        flags = [1, 0, 1, 1], [1, 0, 0, 1]
        result[f"{name}_{kind}"] = in_graph(lambda: metric(name, tf.bool, *flags, fed))
for kind, fed in {
    "column": [[2.0], [1.0]],
    "full": [[1.0, 2.0], [3.0, 4.0]],
    "scalar": 3.0,
    "vector": [1.0, 2.0],
    "row": [[1.0, 2.0]],
    "deep": [[[1.0]]],
}.items():
    for name in ("absolute_difference", "log_loss", "huber_loss"):
        for reduction in ("weighted_mean", "weighted_sum_by_nonzero_weights"):
            found = in_graph(lambda: weighted_loss(name, reduction, fed))
            result[f"{name}_{kind}_{reduction}"] = found
for shape in ([0, -1], [0, -1, 3], [-1, 0, 2], [3, -1], [0, 0, -1], [-1, -1]):
    for source in ([0, 6], [6, 0], [0], [0, 3, 2]):
        result[f"reshaped {source} {shape}"] = in_graph(lambda: reshaped(source, shape))
