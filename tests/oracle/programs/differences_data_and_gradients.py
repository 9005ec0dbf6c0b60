# issue 16: repeated outputs of map, tables in map, masks as indices, sparse gradients that broadcast


def elements(dataset, count):
    value = tf.data.make_initializable_iterator(dataset)
    element = value.get_next()
    with tf.Session() as sess:
        sess.run([tf.tables_initializer(), value.initializer])
        return [sess.run(element) for _ in range(count)]


numbers = tf.data.Dataset.from_tensor_slices([1, 2, 3])
result["map_twice"] = elements(numbers.map(lambda x: (x, x)), 3)
result["map_dict"] = elements(numbers.map(lambda x: {"a": x, "b": x}), 2)
result["map_computed"] = elements(numbers.map(lambda x: (lambda y: (y, y))(x + 1)), 2)
result["map_three"] = elements(
    tf.data.Dataset.zip((numbers, numbers.map(lambda x: x * x))).map(lambda a, b: (b, a, a)), 3
)
result["map_batch"] = elements(numbers.map(lambda x: (x, x)).batch(2), 2)

table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
)
words = tf.data.Dataset.from_tensor_slices(["b", "a", "z"])
result["table_method"] = elements(words.map(table.lookup), 3)
result["table_lambda"] = elements(words.map(lambda w: table.lookup(w)), 3)
result["table_filter"] = elements(words.filter(lambda w: tf.greater(table.lookup(w), 0)), 2)
result["table_parallel"] = elements(words.map(lambda w: table.lookup(w), 2).batch(3), 1)

x = tf.constant([[1, 5], [7, 2]])
v = tf.Variable([1.0, 3.0])
with tf.Session() as sess:
    sess.run(v.initializer)
    result["mask_tensor"] = sess.run(x[x > 2])
    result["mask_rows"] = sess.run(x[np.array([True, False])])
    result["mask_array"] = sess.run(x[np.array([[True, False], [False, True]])])
    result["mask_variable"] = sess.run(v[v > 2.0])
    result["mask_shape"] = shape_of(x[x > 2])
    result["mask_gradient"] = sess.run(tf.gradients(v[v > 2.0], v)[0])
result["mask_too_long"] = error_of(lambda: x[np.array([True, False, True])])
result["mask_scalar"] = error_of(lambda: x[tf.constant(True)])

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
