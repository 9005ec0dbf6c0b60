"""Under seeds models of embedding columns begin with TensorFlow 1.15.5's weights: ops are made in its order."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow

tf: Any = dataflow
fc = tf.feature_column
pytestmark = pytest.mark.usefixtures("as_tensorflow")


def features() -> dict[str, Any]:
    return {
        "a": tf.constant([[1.0], [2.0]]),
        "i": tf.constant([[1], [2]], tf.int64),
        "j": tf.constant([[1], [2]], tf.int64),
        "s": tf.constant([["a"], ["b"]]),
        "v": tf.constant([["a"], ["c"]]),
        "wt": tf.constant([[0.5], [2.0]]),
    }


def simple() -> dict[str, Any]:
    ids = fc.categorical_column_with_identity("i", 4)
    number = fc.numeric_column("a")
    cut = fc.bucketized_column(number, [0.0, 1.0])
    return {
        "ids": ids,
        "number": number,
        "cut": cut,
        "words": fc.categorical_column_with_hash_bucket("s", 5),
        "listed": fc.categorical_column_with_vocabulary_list("v", ["a", "b"]),
        "crossed": fc.crossed_column([cut, "s"], 7),
        "weighted": fc.weighted_categorical_column(ids, "wt"),
        "defaulted": fc.categorical_column_with_identity("i", 4, default_value=0),
    }


def two(c: dict[str, Any]) -> list[Any]:
    return [fc.embedding_column(c["words"], 2), fc.embedding_column(c["ids"], 3)]


def several(c: dict[str, Any]) -> list[Any]:
    vectors = [*two(c), fc.embedding_column(c["listed"], 3)]
    return [*vectors, c["number"], fc.indicator_column(c["listed"])]


def crossed(c: dict[str, Any]) -> list[Any]:
    return [fc.embedding_column(c["crossed"], 2), c["cut"]]


def weighted(c: dict[str, Any]) -> list[Any]:
    return [fc.embedding_column(c["weighted"], 2, combiner="sum", max_norm=1.0)]


def deep(columns: list[Any]) -> Any:
    return tf.estimator.DNNClassifier([4, 3], columns)


def deep_numbers(columns: list[Any]) -> Any:
    return tf.estimator.DNNRegressor([4], columns, dropout=0.5)


def wide_and_deep(columns: list[Any]) -> Any:
    wide = [fc.categorical_column_with_hash_bucket("s", 5), fc.numeric_column("a")]
    return tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide, dnn_feature_columns=columns, dnn_hidden_units=[4, 3]
    )


def linear(columns: list[Any]) -> Any:
    return tf.estimator.LinearClassifier(columns)


def seeds_of(graph: Any) -> list[int]:
    return [op.get_attr("seed2") for op in graph.get_operations() if "seed2" in op.node_def.attr]


@pytest.mark.parametrize(
    ("make", "columns", "seeds"),
    [
        (deep, several, [14, 24, 34, 329, 382, 435]),
        (deep_numbers, weighted, [14, 184, 208, 253]),
        (wide_and_deep, crossed, [14, 140, 193, 246]),
        (linear, two, [14, 29]),
    ],
)
def test_canned_estimators(make: Any, columns: Any, seeds: list[int]) -> None:
    estimator = make(columns(simple()))
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        tf.train.create_global_step()
        read = features()
        labels = tf.constant([[1.0], [0.0]]) if make is deep_numbers else tf.constant([[1], [0]])
        estimator.model_fn(read, labels, tf.estimator.ModeKeys.TRAIN, estimator.config)
        assert seeds_of(graph) == seeds


def test_embeddings_come_first_and_have_their_scopes() -> None:
    estimator = linear([simple()["number"], two(simple())[1]])
    with tf.Graph().as_default() as graph:
        tf.train.create_global_step()
        estimator.model_fn(features(), None, tf.estimator.ModeKeys.PREDICT, estimator.config)
        names = [v.op.name for v in tf.trainable_variables()]
        first_sum = [op.name for op in graph.get_operations() if op.type == "MatMul"][0]
    assert names == [
        f"linear/linear_model/{name}/part_0"
        for name in ("a/weights", "i_embedding/embedding_weights", "i_embedding/weights", "bias_weights")
    ]  # fmt: skip
    assert first_sum == "linear/linear_model/a/weighted_sum"


LAYERS = {
    "input_layer": lambda columns: fc.input_layer(features(), columns),
    "linear_model": lambda columns: fc.linear_model(features(), columns),
    "DenseFeatures": lambda columns: tf.keras.layers.DenseFeatures(columns)(features()),
}


@pytest.mark.parametrize(
    ("layer", "columns", "seeds"),
    [
        ("DenseFeatures", two, [9, 19, 209]),
        ("DenseFeatures", crossed, [9, 135]),
        ("input_layer", crossed, [59, 134]),
        ("input_layer", weighted, [58, 178]),
        ("linear_model", weighted, [63, 191]),
        ("linear_model", lambda c: [c["words"], c["number"]], [109]),
        ("linear_model", lambda c: [c["defaulted"]], [106]),
    ],
)
def test_layers(layer: str, columns: Any, seeds: list[int]) -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        tf.layers.dense(LAYERS[layer](columns(simple())), 2)
        assert seeds_of(graph) == seeds


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_lookups_with_weights(combiner: str) -> None:
    between = {"sum": (31, 91), "mean": (33, 111), "sqrtn": (36, 114)}[combiner]
    for lookup, nodes in zip(
        (tf.nn.embedding_lookup_sparse, tf.nn.safe_embedding_lookup_sparse), between, strict=True
    ):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            ids = tf.sparse_placeholder(tf.int64, [None, 4])
            weights = tf.sparse_placeholder(tf.float32, [None, 4])
            table = tf.get_variable("table", [5, 3])
            tf.random.uniform([1])
            lookup(table, ids, weights, combiner=combiner)
            tf.random.uniform([1])
            assert seeds_of(graph)[-1] - seeds_of(graph)[-2] == nodes


@pytest.mark.parametrize("num_classes", [2, 3])
def test_summaries_of_linear_models(num_classes: int) -> None:
    c = simple()
    estimator = tf.estimator.LinearClassifier([c["number"], c["words"]], n_classes=num_classes)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.create_global_step()
        labels = tf.constant([[1], [0]])
        estimator.model_fn(features(), labels, tf.estimator.ModeKeys.TRAIN, estimator.config)
        session.run(tf.global_variables_initializer())
        weights = tf.global_variables("linear/linear_model/s/weights")[0]
        session.run(weights.assign(tf.ones_like(weights)))
        values = tf.Summary.FromString(session.run(tf.summary.merge_all())).value
    assert [v.tag for v in values] == [
        "linear/bias", "linear/fraction_of_zero_weights", "loss", "average_loss"
    ]  # fmt: skip
    assert values[0].HasField("histo" if num_classes > 2 else "simple_value")
    assert values[1].simple_value == pytest.approx(1 / 6)  # of one number and five words


def test_summaries_of_wide_and_deep_models() -> None:
    estimator = wide_and_deep(two(simple()))
    with tf.Graph().as_default():
        tf.train.create_global_step()
        labels = tf.constant([[1], [0]])
        estimator.model_fn(features(), labels, tf.estimator.ModeKeys.TRAIN, estimator.config)
        names = [t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert [name for name in names if name.startswith("linear/")] == [
        "linear/bias",
        "linear/fraction_of_zero_weights",
        "linear/linear/fraction_of_zero_values",
        "linear/linear/activation",
    ]
