# issue 16: what TensorFlow's own tests of training, Keras and data met: warm starts of parts, metrics
"""Partitioned warm starts, weighted metrics, configs of cells, rows of unequal parts."""

K = tf.keras.backend


def write_words(name, words):
    path = tmp_dir + "/" + name
    with open(path, "w") as file:
        file.write("\n".join(words))
    return path


# A checkpoint, and variables in two parts whose rows are words that have moved.
old_words = write_words("old", ["apple", "banana", "guava", "orange"])
new_words = write_words("new", ["orange", "guava", "banana", "apple", "raspberry"])
with tf.Graph().as_default(), tf.Session() as sess:
    tf.get_variable("fruit", initializer=[[0.5, 5.0], [1.0, 10.0], [1.5, 15.0], [2.0, 20.0]])
    tf.get_variable("output", initializer=[[0.5, 0.3, 1.0, 0.1], [1.5, 1.2, 2.0, 2.3]])
    sess.run(tf.global_variables_initializer())
    tf.train.Saver().save(sess, tmp_dir + "/model", global_step=0)


def halves(shape, dtype):
    return [2] + [1] * (len(shape) - 1)


for parts in (None, halves):
    for others in (0, 1):
        with tf.Graph().as_default(), tf.Session() as sess:
            rows = tf.get_variable(
                "fruit", [5 + others, 2], initializer=tf.zeros_initializer(), partitioner=parts
            )
            info = tf.train.VocabInfo(
                new_words, 5, others, old_words, -1, tf.random_uniform_initializer(0.25, 0.25)
            )
            tf.train.warm_start(tmp_dir, var_name_to_vocab_info={"fruit": info})
            sess.run(tf.global_variables_initializer())
            result["rows %s %d" % (parts is halves, others)] = sess.run(tf.convert_to_tensor(rows))
    if parts is None:
        with tf.Graph().as_default(), tf.Session() as sess:
            columns = tf.get_variable(
                "output", [2, 5], initializer=tf.zeros_initializer(), partitioner=parts
            )
            info = tf.train.VocabInfo(new_words, 5, 0, old_words, -1, None, axis=1)
            tf.train.warm_start(tmp_dir, var_name_to_vocab_info={"output": info})
            sess.run(tf.global_variables_initializer())
            result["columns"] = sess.run(tf.convert_to_tensor(columns))

# Metrics with a weight for each element, and what their configs keep.
metrics = tf.keras.metrics


def value_of(metric, *batches):
    updates = [metric.update_state(*batch) for batch in batches]
    K.get_session().run([v.initializer for v in metric.variables])
    for update in updates:
        K.get_session().run(update)
    return K.get_session().run(metric.result())


truth, guess = tf.constant([2.0, 4.0, 6.0, 8.0]), tf.constant([1.0, 3.0, 2.0, 3.0])
weights = tf.constant([0.0, 1.0, 0.0, 1.0])
rooted = metrics.RootMeanSquaredError
result["rmse"] = value_of(rooted(), (truth, guess))
result["rmse_weighted"] = value_of(rooted(), (truth, guess, weights))
result["rmse_column"] = value_of(rooted(), (tf.reshape(truth, [4, 1]), guess, weights))
result["rmse_rows"] = value_of(
    rooted(), (tf.reshape(truth, [2, 2]), tf.reshape(guess, [2, 2]), tf.constant([1.0, 3.0]))
)
relative = metrics.MeanRelativeError(normalizer=[1.0, 2.0, 4.0, 0.0])
result["relative"] = value_of(relative, (truth, guess, weights))
again = metrics.MeanRelativeError.from_config(relative.get_config())
result["relative_again"] = value_of(again, (truth, guess, weights))
for name in ("Mean", "Sum", "MeanSquaredError", "RootMeanSquaredError", "Precision", "AUC"):
    made = getattr(metrics, name)(dtype="float64")
    config = made.get_config()
    kept = tf.as_dtype(type(made).from_config(config).dtype).name
    result["dtype " + name] = [config["name"].split("_1")[0], config["dtype"], kept]

# A layer of a cell from its config.
x = np.linspace(-1, 1, 2 * 3 * 4).reshape(2, 3, 4).astype("float32")
for name in ("SimpleRNNCell", "GRUCell", "LSTMCell"):
    layer = tf.keras.layers.RNN(getattr(tf.keras.layers, name)(5))
    config = layer.get_config()
    result["units " + name] = config["cell"]["config"]["units"]
    same = tf.keras.layers.RNN.from_config(config)
    first, second = layer(tf.constant(x)), same(tf.constant(x))
    K.get_session().run([v.initializer for v in layer.weights + same.weights])
    same.set_weights(layer.get_weights())
    first, second = K.get_session().run([first, second])
    result["same " + name] = bool(np.allclose(first, second))
cell_input, bad_state = tf.keras.Input((None, 4)), tf.keras.Input((7,))
layer = tf.keras.layers.RNN(tf.keras.layers.SimpleRNNCell(5))
result["bad_state"] = error_of(lambda: layer(cell_input, initial_state=bad_state))


def normalized(axis, shape=(2, 2, 2)):
    layer = tf.keras.layers.LayerNormalization(axis=axis)
    layer.build(shape)
    return list(layer.axis)


for axis in (3, -4, [-1, -1], [0, 2, -1]):
    result["axis %s" % axis] = error_of(lambda: normalized(axis))

# Columns and their variables.
column = tf.feature_column.categorical_column_with_hash_bucket("a", 6)
embedded = tf.feature_column.embedding_column(column, 2)
for parts in (
    None,
    lambda shape, dtype: [2] + [1] * (len(shape) - 1) if shape[0] == 6 else [1] * len(shape),
):
    with tf.Graph().as_default(), tf.variable_scope("", partitioner=parts):
        found = {}
        tf.feature_column.linear_model(
            {"a": [["x"], ["y"]]}, [column, embedded], cols_to_vars=found
        )
        result["variables %s" % (parts is None)] = [
            [v.name for v in found[key]] for key in (column, embedded)
        ]

# Rows of elements whose components have not equally many.
first, second = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32)
rows = tf.data.Dataset.from_tensors((first, second)).unbatch().make_initializable_iterator()
element = rows.get_next()
with tf.Session() as sess:
    for name, fed in (("longer", np.arange(8)), ("scalar", 7), ("equal", np.arange(7))):
        sess.run(rows.initializer, {first: np.arange(7), second: fed})
        result["unbatch " + name] = error_of(lambda: sess.run(element))
