"""Feature columns: values, variables, parsing and mistakes. Buckets are real TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

F = tf.feature_column
FEATURES = {
    "age": [[23.0], [41.0], [67.0]],
    "id": [[0], [3], [1]],
    "job": [["a"], ["b"], ["a"]],
    "weight": [[1.0], [2.0], [0.5]],
}


pytestmark = pytest.mark.usefixtures("graph")


def run(tensor, feed=None):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return sess.run(tensor, feed)


def layer(*columns, features=FEATURES):
    return run(F.input_layer(features, columns))


def test_numeric_columns_are_sorted_by_name_and_normalized():
    features = {"b": [[1.0, 2.0], [3.0, 4.0]], "a": [5, 6]}
    got = layer(
        F.numeric_column("b", 2),
        F.numeric_column("a", normalizer_fn=lambda x: x * 10),
        features=features,
    )
    np.testing.assert_array_equal(got, [[50, 1, 2], [60, 3, 4]])
    assert got.dtype == np.float32


def test_bucketized_is_one_hot_of_each_number():
    column = F.bucketized_column(F.numeric_column("v", 2), [0.0, 10.0])
    got = layer(column, features={"v": [[-1.0, 0.0], [10.0, 9.0]]})
    np.testing.assert_array_equal(got, [[1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 1, 0]])


def test_vocabulary_list_drops_or_buckets_unknown_words():
    features = {"w": [["a", "b"], ["b", "zzz"], ["", "c"]]}
    known = F.categorical_column_with_vocabulary_list("w", ["a", "b", "c"])
    np.testing.assert_array_equal(
        layer(F.indicator_column(known), features=features), [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    )
    oov = F.categorical_column_with_vocabulary_list("w", ["a", "b", "c"], num_oov_buckets=1)
    np.testing.assert_array_equal(
        layer(F.indicator_column(oov), features=features),
        [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]],
    )


def test_vocabulary_file_and_integers(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("x\ny\n")
    column = F.categorical_column_with_vocabulary_file("w", str(path))
    assert column.num_buckets == 2
    got = layer(F.indicator_column(column), features={"w": [["y"], ["q"]]})
    np.testing.assert_array_equal(got, [[0, 1], [0, 0]])
    numbers = F.categorical_column_with_vocabulary_list("n", [7, 5], default_value=0)
    got = layer(F.indicator_column(numbers), features={"n": [[5], [9]]})
    np.testing.assert_array_equal(got, [[0, 1], [1, 0]])


def test_identity_refuses_or_replaces_what_is_out_of_range():
    column = F.categorical_column_with_identity("id", 4, default_value=2)
    got = layer(F.indicator_column(column), features={"id": [[1], [99]]})
    np.testing.assert_array_equal(got, [[0, 1, 0, 0], [0, 0, 1, 0]])
    ids = tf.placeholder(tf.int64, [None, 1])
    strict = F.indicator_column(F.categorical_column_with_identity("id", 4))
    tensor = F.input_layer({"id": ids}, [strict])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'id' must be in \[0, 4\)"):
        run(tensor, {ids: [[4]]})


def test_hash_buckets_are_those_of_tensorflow():
    column = F.categorical_column_with_hash_bucket("job", 10)
    assert layer(F.indicator_column(column)).argmax(1).tolist() == [9, 2, 9]


def test_crossed_buckets_are_those_of_tensorflow():
    age = F.bucketized_column(F.numeric_column("age"), [30.0, 60.0])
    identity = F.categorical_column_with_identity("id", 4)
    for column, buckets in (
        (F.crossed_column([age, "job"], 20), [15, 17, 13]),
        (F.crossed_column(["job", "id"], 50), [44, 14, 35]),
        (F.crossed_column(["job", identity, age], 1000, hash_key=7), [91, 160, 684]),
    ):
        got = layer(F.indicator_column(column))
        assert got.argmax(1).tolist() == buckets
        assert got.sum() == 3
    assert F.crossed_column([age, "job"], 20).name == "age_bucketized_X_job"


def test_cross_of_several_values_is_their_product():
    features = {"a": [["x", "y"], ["x", "x"]], "b": [["p", "q", "r"], ["p", "p", "p"]]}
    got = layer(F.indicator_column(F.crossed_column(["a", "b"], 10**5)), features=features)
    assert got.sum(1).tolist() == [6, 6]
    assert sorted(np.count_nonzero(got, 1)) == [1, 6]


def test_weights_are_summed_in_indicators_and_average_embeddings():
    column = F.weighted_categorical_column(
        F.categorical_column_with_hash_bucket("job", 10), "weight"
    )
    got = layer(F.indicator_column(column))
    assert got[got != 0].tolist() == [1.0, 2.0, 0.5]
    identity = F.weighted_categorical_column(F.categorical_column_with_identity("i", 2), "weight")
    table = np.array([[1.0, 10.0], [3.0, 30.0]], np.float32)
    embedded = F.embedding_column(identity, 2, initializer=tf.constant_initializer(table))
    got = layer(embedded, features={"i": [[0, 1]], "weight": [[1.0, 3.0]]})
    np.testing.assert_allclose(got, [[2.5, 25.0]])


@pytest.mark.parametrize(
    ("combiner", "expected"), [("mean", 2.0), ("sum", 4.0), ("sqrtn", 4 / np.sqrt(2))]
)
def test_embeddings_are_combined(combiner, expected):
    column = F.embedding_column(
        F.categorical_column_with_identity("i", 2),
        1,
        combiner,
        tf.constant_initializer(np.array([[1.0], [3.0]])),
    )
    assert layer(column, features={"i": [[0, 1]]}) == pytest.approx(expected)


def test_variables_have_tensorflows_names():
    job = F.categorical_column_with_hash_bucket("job", 10)
    other = F.categorical_column_with_hash_bucket("other", 10)
    features = {**FEATURES, "other": [["a"], ["c"], ["a"]]}
    shared = F.shared_embedding_columns([job, other], 3)
    by_column = {}
    tensor = F.input_layer(features, [F.embedding_column(job, 2), *shared], cols_to_vars=by_column)
    F.linear_model(features, [F.numeric_column("age"), job], units=2)
    assert [(v.name, v.shape.as_list()) for v in tf.trainable_variables()] == [
        ("input_layer/job_embedding/embedding_weights:0", [10, 2]),
        ("input_layer/job_other_shared_embedding/embedding_weights:0", [10, 3]),
        ("linear_model/age/weights:0", [1, 2]),
        ("linear_model/job/weights:0", [10, 2]),
        ("linear_model/bias_weights:0", [2]),
    ]
    assert len(by_column) == 3
    got = run(tensor)
    assert got.shape == (3, 8)
    np.testing.assert_array_equal(got[0, 2:5], got[0, 5:8])  # one table, one hash


def test_linear_model_adds_up():
    age = F.numeric_column("age")
    identity = F.categorical_column_with_identity("id", 4)
    output = F.linear_model(FEATURES, [age, identity])
    weights = {v.op.name: v for v in tf.trainable_variables()}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(output), np.zeros((3, 1)))
        sess.run(weights["linear_model/age/weights"].assign([[2.0]]))
        sess.run(weights["linear_model/id/weights"].assign([[1.0], [2.0], [3.0], [4.0]]))
        sess.run(weights["linear_model/bias_weights"].assign([0.5]))
        np.testing.assert_allclose(sess.run(output), [[47.5], [86.5], [136.5]])


def test_parse_example_spec_reads_examples():
    age = F.numeric_column("age", default_value=1.0)
    job = F.categorical_column_with_hash_bucket("job", 10)
    columns = [F.bucketized_column(age, [30.0]), F.weighted_categorical_column(job, "weight")]
    spec = F.make_parse_example_spec([age, *columns])
    assert sorted(spec) == ["age", "job", "weight"]
    assert isinstance(spec["age"], tf.FixedLenFeature)
    assert isinstance(spec["job"], tf.VarLenFeature)

    def example(**features):
        kinds = {float: ("float_list", "FloatList"), bytes: ("bytes_list", "BytesList")}
        built = {}
        for key, value in features.items():
            field, message = kinds[type(value)]
            built[key] = tf.train.Feature(**{field: getattr(tf.train, message)(value=[value])})
        return tf.train.Example(features=tf.train.Features(feature=built)).SerializeToString()

    rows = [example(age=50.0, job=b"a", weight=2.0), example(job=b"b", weight=3.0)]
    parsed = tf.parse_example(rows, spec)
    got = run(F.input_layer(parsed, [age, F.indicator_column(columns[1])]))
    np.testing.assert_array_equal(got[:, 0], [50.0, 1.0])
    assert got[0, 1 + 9] == 2.0
    assert got[1, 1 + 2] == 3.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: F.input_layer({}, [F.numeric_column("age")]), "age is not in features"),
        (lambda: F.input_layer({"age": 1.0}, [F.numeric_column("age")]), "rank 0"),
        (lambda: F.input_layer(FEATURES, [F.numeric_column("job")]), "holds strings"),
        (
            lambda: F.input_layer(FEATURES, [F.categorical_column_with_identity("id", 4)]),
            "indicator_column",
        ),
        (lambda: F.input_layer(FEATURES, [F.numeric_column("age")] * 2), "Duplicate"),
        (lambda: F.bucketized_column(F.numeric_column("a"), [3.0, 1.0]), "sorted"),
        (lambda: F.numeric_column("a", 2, default_value=[1.0]), "default_value"),
        (lambda: F.indicator_column(F.numeric_column("a")), "CategoricalColumn"),
        (lambda: F.crossed_column(["a"], 5), "length > 1"),
        (
            lambda: F.crossed_column(["a", F.categorical_column_with_hash_bucket("b", 5)], 5),
            "Hashing before crossing",
        ),
        (lambda: F.categorical_column_with_vocabulary_list("a", ["x", "x"]), "Duplicate keys"),
        (lambda: F.categorical_column_with_identity("a", 0), "num_buckets"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
