"""The columns' classes, as programs and TensorFlow's own tests use and subclass them; values from 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.feature_column import (
    dense_features as df,
    feature_column as old,
    feature_column_v2 as fc,
    sequence_feature_column as sequences,
    serialization,
    utils,
)

Sparse = tf.SparseTensorValue
TABLE = [[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]]
IDS = Sparse([[0, 0], [1, 0], [1, 1], [3, 0]], [2, 0, 1, 1], [4, 5])


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default():
        yield


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches, feed)


def names() -> list[str]:
    return [v.name for v in tf.global_variables()]


def embedding(key: str = "aaa", **kwargs: Any) -> Any:
    column = tf.feature_column.categorical_column_with_identity(key, 3)
    return fc.embedding_column(column, 2, initializer=tf.constant_initializer(TABLE), **kwargs)


class Doubled(fc.DenseColumn):
    """What a program writes that defines the later methods."""

    calls = 0

    @property
    def name(self) -> str:
        return "mine"

    @property
    def parse_example_spec(self) -> Any:
        return {"x": tf.FixedLenFeature([2], tf.float32)}

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape([2])

    def create_state(self, state_manager: Any) -> None:
        state_manager.create_variable(self, "w", [2], tf.float32, initializer=tf.ones_initializer())

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        self.calls += 1
        return transformation_cache.get("x", state_manager) * 2.0

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        numbers = transformation_cache.get(self, state_manager)
        return numbers * state_manager.get_variable(self, "w")


class OldTripled(old._DenseColumn):
    """What a program wrote before 1.13."""

    @property
    def name(self) -> str:
        return "old"

    @property
    def _parse_example_spec(self) -> Any:
        return {"x": tf.FixedLenFeature([2], tf.float32)}

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape([2])

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get("x") * 3.0

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer(), trainable=trainable)
        return inputs.get(self) * w


class Both(old._DenseColumn, Doubled):
    """Both kinds of methods, as tensorflow_hub has them: each layer uses its own."""

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get("x") * 5.0

    @property
    def _variable_shape(self) -> Any:
        return self.variable_shape

    name = Doubled.name
    variable_shape = Doubled.variable_shape
    get_dense_tensor = Doubled.get_dense_tensor
    transform_feature = Doubled.transform_feature
    create_state = Doubled.create_state

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return inputs.get(self)


FEATURES = {"x": [[1.0, 2.0]]}


def test_a_column_of_ones_own_in_every_layer() -> None:
    column = Doubled()
    cache = fc.FeatureTransformationCache(FEATURES)
    assert cache.get(column, None) is cache.get(column, None) and column.calls == 1
    layer = df.DenseFeatures([column])
    outputs = [layer(FEATURES), tf.feature_column.input_layer(FEATURES, [column])]
    outputs.append(fc.LinearModel([column])(FEATURES))
    assert [v.tolist() for v in run(outputs)] == [[[2, 4]], [[2, 4]], [[0]]]
    assert [v.name for v in layer.trainable_variables] == ["dense_features/mine/w:0"]
    assert names()[:2] == ["dense_features/mine/w:0", "input_layer/mine/w:0"]
    assert tf.feature_column.make_parse_example_spec([column]) == column.parse_example_spec


def test_columns_of_before_1_13() -> None:
    column = OldTripled()
    outputs = [
        tf.feature_column.input_layer(FEATURES, [column]),
        tf.feature_column.linear_model(FEATURES, [column]),
        df.DenseFeatures([column])(FEATURES),
    ]
    assert [v.tolist() for v in run(outputs)] == [[[3, 6]], [[0]], [[3, 6]]]
    assert names()[:2] == ["input_layer/old/w:0", "linear_model/old/weights:0"]
    assert isinstance(column, fc.DenseColumn) and isinstance(column, fc.FeatureColumn)
    assert not isinstance(column, fc.CategoricalColumn)
    numeric = tf.feature_column.numeric_column("x")
    assert isinstance(numeric, old._DenseColumn)
    assert not isinstance(numeric, old._CategoricalColumn)
    both = Both()
    got = run([tf.feature_column.input_layer(FEATURES, [both]), df.DenseFeatures([both])(FEATURES)])
    assert [v.tolist() for v in got] == [[[5, 10]], [[2, 4]]]


def test_builder_of_old_programs() -> None:
    features = {"color": [["R"], ["A"], ["G"]], "weight": [[1.0], [5.0], [4.0]]}
    builder = old._LazyBuilder(features)
    color = tf.feature_column.categorical_column_with_vocabulary_list("color", ["R", "G", "B"])
    weighted = tf.feature_column.weighted_categorical_column(color, "weight")
    ids, weights = weighted._get_sparse_tensors(builder)
    dense = tf.feature_column.indicator_column(color)._get_dense_tensor(builder)
    got = run([ids, weights, dense])
    assert got[0].values.tolist() == [0, -1, 1] and got[1].values.tolist() == [1, 5, 4]
    assert got[2].tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert color._num_buckets == 3


def test_features_that_do_not_fit() -> None:
    cache = fc.FeatureTransformationCache({"a": [[2], [3.0]], "s": 1.0})
    with pytest.raises(ValueError, match="Feature bbb is not in features"):
        cache.get("bbb", None)
    with pytest.raises(TypeError, match="must be either"):
        cache.get(3, None)
    with pytest.raises(ValueError, match="cannot have rank 0"):
        cache.get("s", None)
    x = tf.placeholder(tf.float32)
    column = fc.FeatureTransformationCache({"x": x}).get("x", None)
    assert run(column, {x: [1.0, 2.0]}).tolist() == [[1], [2]]
    sparse = fc.FeatureTransformationCache({"x": Sparse([[0], [2]], [1, 2], [4])}).get("x", None)
    assert run(sparse).dense_shape.tolist() == [4, 1]
    ids = fc.categorical_column_with_identity("a", 3)
    weighted = fc.weighted_categorical_column(ids, "w")
    with pytest.raises(ValueError, match="expected .*float32"):
        fc._transform_features_v2({"a": [[1]], "w": [[1]]}, [weighted], None)
    two = [fc.numeric_column("a"), fc.numeric_column("b")]
    with pytest.raises(ValueError, match="Batch size"):
        tf.feature_column.input_layer({"a": [[1.0], [2.0]], "b": [[3.0]]}, two)


def test_numeric_columns_check_shape_and_default() -> None:
    column = fc.numeric_column("a", shape=[2, 2], default_value=[[1, 2], [3, 4]])
    assert column.default_value == ((1, 2), (3, 4)) and column.variable_shape.as_list() == [2, 2]
    assert fc.numeric_column("a", shape=2, default_value=3).default_value == (3, 3)
    for kwargs in (
        {"shape": [1.0]},
        {"default_value": "x"},
        {"dtype": tf.int32, "default_value": 4.0},
    ):
        with pytest.raises(TypeError):
            fc.numeric_column("a", **kwargs)
    for kwargs in (
        {"shape": [0]},
        {"shape": [2], "default_value": [1, 2, 3]},
        {"dtype": tf.string},
    ):
        with pytest.raises(ValueError):
            fc.numeric_column("a", **kwargs)
    with pytest.raises(ValueError, match="key must be a string"):
        fc.categorical_column_with_hash_bucket(("a",), 3)
    with pytest.raises(ValueError, match="sorted list"):
        fc.bucketized_column(fc.numeric_column("a"), 1.0)


def test_linear_model_of_keras() -> None:
    words = fc.categorical_column_with_vocabulary_list("wire", ("omar", "stringer", "marlo"))
    model = fc.LinearModel([words, fc.numeric_column("price")], units=1, name="lin")
    wire = Sparse([[0, 0], [1, 0], [1, 1]], ["marlo", "skywalker", "omar"], [2, 2])
    y = model({"wire": wire, "price": [[1.0], [5.0]]})
    price, weights, bias = model.variables
    assert names() == ["lin/price/weights:0", "lin/wire/weights:0", "lin/bias_weights:0"]
    assert model.bias is bias
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(
            [price.assign([[10.0]]), weights.assign([[1.0], [2.0], [4.0]]), bias.assign([5.0])]
        )
        assert session.run(y).tolist() == [[19], [56]]


def test_shared_tables() -> None:
    pair = [fc.categorical_column_with_identity(k, 3) for k in ("aaa", "bbb")]
    table = tf.constant_initializer(TABLE)
    a, b = fc.shared_embedding_columns_v2(pair, 2, initializer=table)
    layer = df.DenseFeatures([b, a])
    got = run(layer({"aaa": IDS, "bbb": IDS}))
    assert got.tolist() == [[7, 11, 7, 11], [2, 3.5, 2, 3.5], [0, 0, 0, 0], [3, 5, 3, 5]]
    assert names() == ["aaa_bbb_shared_embedding:0"] and not layer.variables
    assert [fc.is_feature_column_v2([c]) for c in (a, fc.shared_embedding_columns(pair, 2)[0])] == [
        True,
        False,
    ]
    hashed = fc.categorical_column_with_hash_bucket("h", 3)
    with pytest.raises(ValueError, match="same type"):
        fc.shared_embedding_columns([pair[0], hashed], 2)
    tf.feature_column.linear_model({"aaa": IDS, "bbb": IDS}, fc.shared_embedding_columns(pair, 2))
    assert "linear_model/aaa_bbb_shared_embedding_1/weights:0" in names()


def test_sequences_in_a_layer() -> None:
    words = sequences.sequence_categorical_column_with_identity("aaa", 3)
    columns = [
        fc.embedding_column(words, 2, initializer=tf.constant_initializer(TABLE)),
        sequences.sequence_numeric_column("n"),
    ]
    layer = sequences.SequenceFeatures(columns)
    ids = Sparse([[0, 0], [1, 0], [1, 1]], [2, 0, 1], [2, 2])
    numbers = Sparse([[0, 0], [1, 0], [1, 1]], [0.0, 1.0, 10.0], [2, 2])
    steps, lengths = run(list(layer({"aaa": ids, "n": numbers})))
    assert steps.tolist() == [[[7, 11, 0], [0, 0, 0]], [[1, 2, 1], [3, 5, 10]]]
    assert lengths.tolist() == [1, 2]
    assert names() == ["sequence_features/aaa_embedding/embedding_weights:0"]
    pair = columns[0].get_sequence_dense_tensor(
        fc.FeatureTransformationCache({"aaa": ids}), layer._state_manager
    )
    assert pair._fields == ("dense_tensor", "sequence_length")
    sparse = tf.SparseTensor([[0, 0], [2, 1], [2, 2]], [1.0, 2.0, 3.0], [4, 3])
    assert run(utils.sequence_length_from_sparse_tensor(sparse, 2)).tolist() == [1, 0, 2, 0]
    for call in (
        lambda: columns[0].get_dense_tensor(fc.FeatureTransformationCache({"aaa": ids}), None),
        lambda: embedding().get_sequence_dense_tensor(fc.FeatureTransformationCache({}), None),
        lambda: sequences.SequenceFeatures([fc.numeric_column("n")]),
    ):
        with pytest.raises(ValueError):
            call()


def test_columns_as_plain_values_and_back() -> None:
    def plus(x: Any) -> Any:
        return x + 2

    price = fc.numeric_column("price", shape=(2,), normalizer_fn=plus)
    identity = fc.categorical_column_with_identity("i", 3)
    columns = [
        price,
        fc.bucketized_column(fc.numeric_column("b"), [0, 1]),
        fc.crossed_column(["a", identity], 10, hash_key=7),
        fc.indicator_column(fc.categorical_column_with_vocabulary_list("v", ["x", "y"])),
        fc.weighted_categorical_column(identity, "w", tf.int32),
        sequences.sequence_numeric_column("s"),
    ]
    configs = serialization.serialize_feature_columns(columns)
    assert configs[0] == {
        "class_name": "NumericColumn",
        "config": {
            "key": "price",
            "shape": (2,),
            "default_value": None,
            "dtype": "float32",
            "normalizer_fn": "plus",
        },
    }
    again = serialization.deserialize_feature_columns(configs, {"plus": plus})
    assert again == columns and again[2].keys[1] is again[4].categorical_column
    table = serialization.serialize_feature_column(fc.embedding_column(identity, 4))
    assert table["config"]["initializer"]["class_name"] == "TruncatedNormal"
    assert serialization.deserialize_feature_column(table).dimension == 4
    layer = df.DenseFeatures([price], name="mine")
    copy = df.DenseFeatures.from_config(layer.get_config(), {"plus": plus})
    assert copy.name == "mine" and copy._feature_columns == [price]
    with pytest.raises(ValueError, match="Unknown function: plus"):
        serialization.deserialize_feature_column(configs[0])
    with pytest.raises(ValueError, match="Invalid config"):
        fc.NumericColumn._from_config({"key": "a"})
    with pytest.raises(ValueError, match="not a FeatureColumn"):
        serialization.serialize_feature_column(object())


def test_state_managers() -> None:
    layer = tf.keras.layers.Layer(name="lay")
    state = fc._StateManagerImpl(layer, trainable=True)
    p, q = fc.numeric_column("p"), fc.numeric_column("q")
    made = state.create_variable(p, "v", shape=[5, 10])
    state.create_variable(q, "w", shape=[2], trainable=False)
    table = object()
    state.add_resource(p, "table", table)
    assert state.get_variable(p, "v") is made and state.get_resource(p, "table") is table
    assert [len(layer.trainable_variables), len(layer.non_trainable_variables)] == [1, 1]
    for call in (
        lambda: state.create_variable(p, "v", shape=[1]),
        lambda: state.get_variable(p, "other"),
        lambda: state.get_resource(q, "table"),
    ):
        with pytest.raises(ValueError, match="exist"):
            call()
    words = fc.categorical_column_with_vocabulary_list("a", ["x"])
    words.get_sparse_tensors(fc.FeatureTransformationCache({"a": [["x"]]}), state)
    assert run(state.get_resource(words, "a_lookup").lookup(tf.constant(["x"]))).tolist() == [0]


def test_input_layer_as_an_object() -> None:
    layer = old.InputLayer([embedding()])
    got = run([layer({"aaa": IDS}), layer({"aaa": tf.constant([[0]])})])
    assert got[1].tolist() == [[1, 2]]
    assert names() == ["feature_column_input_layer/aaa_embedding/embedding_weights:0"]
    assert [v.name for v in layer.trainable_weights] == names()


def test_a_keras_model_of_a_dict_of_features() -> None:
    """Loss and metric are those of TensorFlow 1.15.5."""
    city = fc.categorical_column_with_hash_bucket("city", 3)
    columns = [
        fc.numeric_column("age"),
        fc.indicator_column(city),
        fc.embedding_column(city, 2, initializer=tf.ones_initializer()),
    ]
    x = {
        "age": np.array([[0.1], [0.2], [0.3], [0.4]]),
        "city": np.array([["fixed"], ["normal"], ["fixed"], ["x"]]),
    }
    y = np.array([0, 1, 0, 1])
    dataset = tf.data.Dataset.from_tensor_slices((dict(x), y)).batch(2)
    for data in ((x, y), (dataset.repeat(),)):
        model = tf.keras.Sequential(
            [
                df.DenseFeatures(columns),
                tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones"),
                tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer="ones"),
            ]
        )
        model.compile(optimizer="sgd", loss="binary_crossentropy", metrics=["accuracy"])
        size = {"batch_size": 2, "shuffle": False} if len(data) == 2 else {"steps_per_epoch": 2}
        history = model.fit(*data, epochs=2, verbose=0, **size).history
        np.testing.assert_allclose(history["loss"], [6.28858280, 5.86043501], rtol=1e-4)
        assert history["acc"] == [0.5, 0.5]
