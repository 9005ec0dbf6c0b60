# issue 5: columns of sequences: numbers, identities, words, hashes; their lengths
F = tf.feature_column
identity = F.sequence_categorical_column_with_identity("ids", 4)
words = F.sequence_categorical_column_with_vocabulary_list("words", ["a", "b", "c"])
more_words = F.sequence_categorical_column_with_vocabulary_list(
    "words", ["a", "b", "c"], num_oov_buckets=2
)
hashed = F.sequence_categorical_column_with_hash_bucket("words", 5)
path = tmp_dir + "/words.txt"
with open(path, "w") as f:
    f.write("a\nb\nc\n")
from_file = F.sequence_categorical_column_with_vocabulary_file("words", path)
ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 2], [3, 0]], [2, 0, 1, 3, 3], [4, 3])
texts = tf.SparseTensor(
    [[0, 0], [0, 1], [1, 0], [1, 2], [3, 0]], ["c", "a", "zebra", "b", "a"], [4, 3]
)
numbers = tf.SparseTensor(
    [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [3, 0]],
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    [4, 6],
)
deep = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 1]], [0, 1, 2, 3], [2, 2, 2])
features = {"ids": ids, "words": texts, "numbers": numbers}
table = np.arange(8, dtype=np.float32).reshape(4, 2)
from_table = tf.constant_initializer(table)


def report(name, columns, features=features):
    with tf.Session(graph=tf.get_default_graph()) as session:
        layer, length = tf.contrib.feature_column.sequence_input_layer(features, columns)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        result[name] = session.run([layer, length])
        result[name + "_shape"] = shape_of(layer)


report("embedding", [F.embedding_column(identity, 2, initializer=from_table)])
report("indicator", [F.indicator_column(identity)])
report("words", [F.indicator_column(words)])
report("words_oov", [F.indicator_column(more_words)])
report("words_file", [F.indicator_column(from_file)])
report("hashed", [F.indicator_column(hashed)])
report("numbers", [F.sequence_numeric_column("numbers")])
report("pairs", [F.sequence_numeric_column("numbers", shape=2, default_value=-1.0)])
report("boxes", [F.sequence_numeric_column("numbers", shape=[1, 3])])
report(
    "normalized",
    [
        F.sequence_numeric_column(
            "numbers",
            normalizer_fn=lambda s: tf.SparseTensor(s.indices, s.values * 10, s.dense_shape),
        )
    ],
)
report(
    "together", [F.indicator_column(words), F.embedding_column(identity, 2, initializer=from_table)]
)
report(
    "deep", [F.embedding_column(identity, 2, initializer=from_table, combiner="sum")], {"ids": deep}
)
result["plain_column"] = error_of(
    lambda: report("no", [F.numeric_column("numbers")], {"numbers": tf.zeros([2, 2])})
)
result["in_input_layer"] = error_of(
    lambda: F.input_layer(features, [F.embedding_column(identity, 2)])
)
result["bad_shape"] = error_of(lambda: F.sequence_numeric_column("x", shape=[0]))
result["bad_dtype"] = error_of(lambda: F.sequence_numeric_column("x", dtype=tf.string))
result["bad_normalizer"] = error_of(lambda: F.sequence_numeric_column("x", normalizer_fn=3))
result["lengths_differ"] = error_of(
    lambda: report("no", [F.indicator_column(words), F.sequence_numeric_column("numbers")])
)
