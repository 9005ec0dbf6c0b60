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
