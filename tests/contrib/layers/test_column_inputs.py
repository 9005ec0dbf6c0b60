"""Columns of ``tf.contrib.layers`` as input of networks; values as TensorFlow 1.15's."""

import numpy as np
import pytest

import dataflow as tf

layers = tf.contrib.layers


pytestmark = pytest.mark.usefixtures("graph")


def run(fetch):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return sess.run(fetch)


def keys(name="k"):
    return layers.sparse_column_with_keys(name, ["a", "b", "c"])


def ids():
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["b", "a", "c"], [2, 2])


def test_a_feature_is_as_wide_as_it_is():
    column = layers.real_valued_column("a")
    wide = tf.constant(np.arange(12.0).reshape(2, 3, 2))
    found = layers.input_from_feature_columns({"a": wide}, [column])
    assert found.shape.as_list() == [2, 6]
    assert run(found).tolist() == np.arange(12.0).reshape(2, 6).tolist()
    total, weights, _ = layers.weighted_sum_from_feature_columns({"a": wide}, [column], 1)
    assert weights[column][0].shape.as_list() == [6, 1] and run(total).shape == (2, 1)


def test_features_may_be_given_by_columns():
    embedding = layers.embedding_column(keys(), 2, initializer=tf.ones_initializer())
    made = {embedding: tf.SparseTensor([[0, 0], [1, 1]], np.array([2, 0]), [2, 2])}
    assert run(layers.input_from_feature_columns(made, [embedding])).tolist() == [[1, 1], [1, 1]]
    one_hot = layers.one_hot_column(keys())
    parsed = layers.transform_features({"k": ids()}, [one_hot])
    assert run(parsed[one_hot]).values.tolist() == [1, 0, 2]
    found = layers.input_from_feature_columns(parsed, [one_hot])
    assert run(found).tolist() == [[1, 1, 0], [0, 0, 1]]


def test_one_hot_of_weighted_ids():
    weights = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [2.0, 3.0, 4.0], [2, 2])
    column = layers.one_hot_column(layers.weighted_sparse_column(keys(), "w"))
    found = layers.input_from_feature_columns({"k": ids(), "w": weights}, [column])
    assert run(found).tolist() == [[3, 2, 0], [0, 0, 4]]


def test_sequences():
    steps = tf.SparseTensor([[0, 0, 0], [0, 1, 0], [1, 0, 1]], ["b", "a", "c"], [2, 2, 2])
    halved = layers.real_valued_column("x", normalizer=lambda x: x / 2)
    found = layers.sequence_input_from_feature_columns(
        {"k": steps, "x": tf.constant(np.arange(8.0).reshape(2, 2, 2))},
        [layers.one_hot_column(keys()), halved],
    )
    assert run(found).tolist() == [
        [[0, 1, 0, 0, 0.5], [1, 0, 0, 1, 1.5]],
        [[0, 0, 1, 2, 2.5], [0, 0, 0, 3, 3.5]],
    ]
    embedding = layers.embedding_column(
        keys(), 1, combiner="sum", initializer=tf.ones_initializer()
    )
    columns = [layers.one_hot_column(keys()), embedding]
    found = layers.sequence_input_from_feature_columns({"k": ids()}, columns)
    assert run(found).tolist() == [
        [[1, 0, 1, 0], [1, 1, 0, 0]],
        [[1, 0, 0, 1], [0, 0, 0, 0]],
    ]


def test_columns_without_meaning_for_steps():
    number = layers.real_valued_column("x")
    crossed = layers.crossed_column([keys(), keys("m")], 10)
    for column, called in (
        (layers.bucketized_column(number, [1.0]), "_BucketizedColumn"),
        (crossed, "_CrossedColumn"),
        (layers.one_hot_column(crossed), "_CrossedColumn"),
    ):
        with pytest.raises(ValueError, match=called):
            layers.sequence_input_from_feature_columns({}, [column])


def test_scattered_embeddings():
    column = layers.scattered_embedding_column(
        "k",
        50,
        4,
        layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY,
        initializer=lambda shape, dtype=None, partition_info=None: tf.cast(
            tf.range(shape[0]), tf.float32
        ),
    )
    assert column.name == "k_scattered_embedding"
    found = run(layers.input_from_feature_columns({"k": ids()}, [column]))
    assert found.tolist() == [[30, 26, 46, 14.5], [6, 31, 32, 13]]
    for wrong in ({"size": 0}, {"dimension": 0}, {"combiner": "max"}):
        settings = {"size": 3, "dimension": 2, "hash_key": None} | wrong
        with pytest.raises(ValueError, match="column_name: k"):
            layers.scattered_embedding_column("k", **settings)


def test_joint_sums_have_one_variable():
    columns = [keys("country"), keys("language")]
    features = {
        "country": tf.SparseTensor([[0, 0], [1, 0]], ["b", "a"], [2, 1]),
        "language": tf.SparseTensor([[0, 0], [1, 0]], ["c", "a"], [2, 1]),
    }
    total, weights, bias = layers.joint_weighted_sum_from_feature_columns(features, columns, 1)
    (weights,) = weights
    assert weights.shape.as_list() == [6, 1]
    assert weights.op.name == "joint_weighted_sum_from_feature_columns/linear_weights/weights"
    sets = [tf.assign(weights, [[0.1], [0.2], [0.3], [0.4], [0.5], [0.6]]), tf.assign(bias, [1.0])]
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        sess.run(sets)
        assert sess.run(total) == pytest.approx(np.array([[1.8], [1.5]]))
    for wrong in (
        layers.weighted_sparse_column(keys(), "w"),
        layers.sparse_column_with_keys("k", ["a"], combiner="mean"),
    ):
        with pytest.raises(AssertionError, match="'k"):
            layers.joint_weighted_sum_from_feature_columns({"k": ids(), "w": ids()}, [wrong], 1)


def test_linear_models_take_no_embeddings():
    for column in (layers.embedding_column(keys(), 2), layers.one_hot_column(keys())):
        with pytest.raises(ValueError, match="Error creating weighted sum for column: k_"):
            layers.weighted_sum_from_feature_columns({"k": ids()}, [column], 1)


def test_integers_keep_their_dtype():
    column = layers.sparse_column_with_integerized_feature("i", 10)
    found = layers.transform_features({"i": tf.constant([[3, -1], [12, 0]])}, [column])[column]
    assert found.dtype is tf.int32 and run(found).values.tolist() == [3, 2, 0]
    features = {"i": tf.constant([[3], [1]])}
    column.insert_transformed_feature(features)
    assert run(features[column]).values.tolist() == [3, 1]


def test_sequence_examples_are_parsed():
    example = tf.train.SequenceExample()
    example.context.feature["place"].bytes_list.value.append(b"west")
    for words, numbers in (([b"a", b"c"], [0.5, 0.25]), ([b"b"], [1.0, 2.0])):
        lists = example.feature_lists.feature_list
        lists["k"].feature.add().bytes_list.value.extend(words)
        lists["x"].feature.add().float_list.value.extend(numbers)
    context, steps = layers.parse_feature_columns_from_sequence_examples(
        example.SerializeToString(),
        [layers.sparse_column_with_keys("place", ["west"])],
        [layers.embedding_column(keys(), 2), layers.real_valued_column("x", 2)],
    )
    place, words, numbers = run([context["place"], steps["k"], steps["x"]])
    assert place.values.tolist() == [b"west"] and words.values.tolist() == [b"a", b"c", b"b"]
    assert words.indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert numbers.tolist() == [[0.5, 0.25], [1, 2]]
    assert layers.parse_feature_columns_from_sequence_examples("", None, None) == ({}, {})


def test_placeholders():
    columns = [keys(), layers.bucketized_column(layers.real_valued_column("x", 2), [1.0])]
    made = layers.make_place_holder_tensors_for_base_features(columns)
    assert set(made) == {"k", "x"} and isinstance(made["k"], tf.SparseTensor)
    assert made["x"].shape.as_list() == [None, 2] and made["x"].op.name == "Placeholder_x"


def test_target_columns():
    logits, labels = tf.constant([[1.0], [1.0], [-1.0]]), tf.constant([[1.0], [0.0], [1.0]])
    features = {"w": tf.constant([[1.0], [2.0], [0.5]])}
    target = layers.multi_class_target(2, weight_column_name="w")
    found = target.get_eval_ops(features, logits, labels)
    updates = {name: update for name, (_, update) in found.items()}
    losses = [f(logits, labels, features) for f in (target.loss, target.training_loss)]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(losses) == pytest.approx([1.0275, 1.1988], abs=1e-4)
        values = sess.run(updates)
    at = "threshold_0.500000_mean"
    expected = {
        "accuracy": 0.2857,
        f"accuracy/{at}": 0.3333,
        "accuracy/baseline_target_mean": 0.6667,
        "auc": 0.25,
        "labels/actual_target_mean": 0.6667,
        "labels/prediction_mean": 0.577,
        "loss": 1.0275,
        f"precision/positive_{at}": 0.5,
        f"recall/positive_{at}": 0.5,
    }
    assert set(values) == set(expected)
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, abs=1e-4), name
    with pytest.raises(ValueError, match="n_classes must be > 1"):
        layers.multi_class_target(1)


def test_regression_targets():
    target = layers.regression_target(label_dimension=2, label_name="y")
    logits, labels = tf.constant([[1.0, 2.0], [3.0, 4.0]]), {"y": tf.constant([[0, 1], [1, 0]])}
    halved = {"half": lambda predictions, labels: (predictions / 2, predictions)}
    found = target.get_eval_ops({}, logits, labels, halved)
    assert set(found) == {"loss", "half"}
    loss, half = run([target.loss(logits, labels, {}), found["half"][0]])
    assert loss == 5.5 and half.tolist() == [[0.5, 1], [1.5, 2]]


def hashed():
    return layers.sparse_column_with_hash_bucket("k", 10)


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda: layers.real_valued_column("a"), 3),
        (lambda: layers.bucketized_column(layers.real_valued_column("a"), [0.0]), 13),
        (lambda: layers.one_hot_column(hashed()), 32),
        (lambda: layers.embedding_column(hashed(), 2, initializer=_zeros), 82),
    ],
)
def test_seeds_of_what_follows_count_tensorflows_nodes(make, count):
    column = make()
    if "a" in column.parse_example_spec:
        features = {"a": tf.constant([[1.0], [2.0]])}
    else:
        features = {"k": tf.SparseTensor([[0, 0], [1, 0]], ["a", "b"], [2, 1])}
    layers.input_from_feature_columns(features, [column])
    graph = tf.get_default_graph()
    assert len(graph.get_operations()) + graph.num_left_out == count


def _zeros(shape, dtype=None, partition_info=None):
    return tf.zeros(shape)
