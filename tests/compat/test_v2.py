"""``tf.compat.v2``: version 2's names and orders of arguments, in graph mode."""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.compat import v2, v2_signatures
from dataflow.python.util import tf_inspect
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("name", sorted(v2_signatures.orders()))
def test_version_1_takes_all_arguments_by_name(name: str) -> None:
    order = v2_signatures.orders()[name]
    there = inspect.signature(v2._at(f"dataflow.{name}")).parameters
    given = {*order.names.values(), *v2_signatures.DEFAULTS.get(name, ())}
    assert given <= set(there)
    needed = {
        n for n, p in there.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    }
    assert needed <= given


def test_what_both_have_is_one() -> None:
    assert v2.math.exp is tf.math.exp
    assert v2.nn.relu is tf.nn.relu
    assert v2.keras.models is tf.keras.models
    assert v2.keras.__version__ == tf.keras.__version__
    assert v2.float32 is tf.float32
    assert v2.compat.v2 is v2
    assert tf.compat.v2 is v2
    assert v2.losses is tf.keras.losses
    assert v2.optimizers is tf.keras.optimizers
    assert v2.initializers is tf.keras.initializers
    assert v2.metrics is tf.keras.metrics


def test_places_of_arguments() -> None:
    x = tf.constant([[1.0, 5.0], [7.0, 2.0]])
    assert run_initialized(v2.argmax(x, 1, tf.int32)).dtype == np.int32
    assert v2.shape(x, tf.int64).dtype == tf.int64
    assert v2.size(x).dtype == tf.int32
    assert v2.convert_to_tensor(1, None, tf.float64).dtype == tf.float64
    np.testing.assert_array_equal(run_initialized(v2.pad([1], [[1, 0]], "CONSTANT", 9)), [9, 1])
    np.testing.assert_array_equal(run_initialized(v2.zeros_like(input=x)), np.zeros((2, 2)))
    np.testing.assert_array_equal(run_initialized(v2.transpose([[1j]], [1, 0], True)), [[-1j]])
    np.testing.assert_array_equal(run_initialized(v2.boolean_mask(x, [True, False], 1)), [[1], [7]])
    np.testing.assert_array_equal(run_initialized(v2.gather(x, [1], None, 1)), [[5], [2]])
    np.testing.assert_array_equal(run_initialized(v2.math.in_top_k([1, 1], x, 1)), [True, False])
    np.testing.assert_array_equal(
        run_initialized(v2.where([True, False], x, 0.0)), [[1, 0], [7, 0]]
    )
    np.testing.assert_array_equal(run_initialized(v2.reduce_sum(x, 1, True)), [[6], [9]])
    loop = v2.while_loop(lambda i: i < 9, lambda i: [i + 1], [0], None, 1, True, False, 3)
    assert run_initialized(loop) == [3]
    assert v2.random.poisson([2, 3], 1.0).shape == [2, 3]
    assert run_initialized(v2.strings.length("aé", "UTF8_CHAR")) == 2
    ragged = run_initialized(v2.strings.split(["a b", "c"]))
    assert ragged.to_list() == [[b"a", b"b"], [b"c"]]


def test_a_rate_is_the_part_that_is_dropped() -> None:
    kept = run_initialized(v2.nn.dropout(tf.ones([4000]), 0.1))
    assert 0.85 < np.mean(kept != 0) < 0.95


def test_layers_of_pictures() -> None:
    image = tf.ones([1, 4, 4, 1])
    filters = tf.ones([2, 2, 1, 1])
    assert run_initialized(v2.nn.conv2d(image, filters, 1, "VALID")).shape == (1, 3, 3, 1)
    assert run_initialized(v2.nn.max_pool(image, 2, 2, "VALID")).shape == (1, 2, 2, 1)
    sequence = np.arange(8, dtype=np.float32).reshape(1, 8, 1)
    means = run_initialized(v2.nn.avg_pool(sequence, 3, 2, "SAME"))
    np.testing.assert_array_equal(means.ravel(), [1, 3, 5, 6.5])
    assert v2.nn.max_pool(np.zeros([1, 4, 4, 4, 2], np.float32), 2, 2, "SAME").shape == (
        1,
        2,
        2,
        2,
        2,
    )
    assert (
        run_initialized(v2.nn.avg_pool(input=image, ksize=2, strides=2, padding="SAME")).max() == 1
    )
    up = v2.nn.conv2d_transpose(image, filters, [1, 8, 8, 1], 2)
    assert run_initialized(up).shape == (1, 8, 8, 1)


def test_variables_are_resources() -> None:
    make: Any = v2.Variable
    v = make(2.0, False, name="v")
    kind: Any = v2.Variable
    assert isinstance(v, kind)
    assert isinstance(tf.Variable(1.0), v2.Variable)
    assert issubclass(tf.Variable, v2.Variable)
    assert not isinstance(tf.constant(1.0), v2.Variable)
    assert v.handle.dtype == tf.resource
    assert not v.trainable
    assert run_initialized(v + 1.0) == 3.0


def test_scopes_have_a_name() -> None:
    with v2.name_scope("a") as scope:
        assert (scope, tf.constant(1).op.name) == ("a/", "a/Const")
    for name in (None, 3):
        with pytest.raises(ValueError, match="must be a string"):
            v2.name_scope(name)  # type: ignore[arg-type]


def test_initializers_begin_elsewhere() -> None:
    values = run_initialized(v2.random_normal_initializer()([4000]))
    assert 0.045 < values.std() < 0.055
    values = run_initialized(v2.random_uniform_initializer(0.0, 2.0)([400]))
    assert 0 <= values.min() < 0.5 < 1.5 < values.max() <= 2
    assert isinstance(v2.constant_initializer(3), tf.constant_initializer)
    np.testing.assert_array_equal(
        run_initialized(v2.constant_initializer(3)([2], tf.int32)), [3, 3]
    )


def test_seeds() -> None:
    assert v2.random.set_seed is tf.set_random_seed


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'keep_dims'"):
        v2.reduce_sum([1], keep_dims=True)
    with pytest.raises(TypeError, match=r"multiple values for argument 'axis'"):
        v2.reduce_sum([1], 0, axis=0)
    with pytest.raises(TypeError, match=r"takes 2 arguments \(a, b\), got 3"):
        v2._by_name("f", {"a": "a", "b": "b"}, (1, 2, 3), {})


@pytest.mark.parametrize("name", ["image.resize", "estimator.DNNClassifier"])
def test_what_means_something_else_is_told(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"tf\.compat\.v2\.{name} is not part of dataflow"):
        v2._find(name)
    with pytest.raises(AttributeError, match="version 1"):
        operator.attrgetter(name)(v2)


def test_unknown_names_are_told_as_version_1_tells_them() -> None:
    with pytest.raises(AttributeError, match="not part of dataflow"):
        _ = v2.no_such_name
    with pytest.raises(AttributeError, match="not part of dataflow"):
        _ = v2.nn.no_such_name
    assert not hasattr(v2, "_private")


def test_argument_lists_as_libraries_compare_them() -> None:
    def concat(values, axis, name="concat"):  # type: ignore[no-untyped-def]
        """As a library writes what it puts in the place of tf.concat."""

    def zeros(shape, dtype=tf.float32, name=None):  # type: ignore[no-untyped-def]
        """As for tf.zeros."""

    def equal(x, y, name=None):  # type: ignore[no-untyped-def]
        """As for tf.equal."""

    def reduce_all(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
        """As for tf.reduce_all."""

    def cast(x, dtype, name=None):  # type: ignore[no-untyped-def]
        """As for tf.cast."""

    for own in (concat, zeros, equal, reduce_all, cast):
        theirs = getattr(v2, own.__name__)
        assert tf_inspect.getfullargspec(theirs) == tf_inspect.getfullargspec(own)

    def annotated(x: int) -> int:
        return x

    assert tf_inspect.getfullargspec(annotated).annotations == {"x": "int", "return": "int"}


def test_words_of_a_scalar_are_a_vector() -> None:
    assert run_initialized(v2.strings.split(tf.constant("a b"))).tolist() == [b"a", b"b"]
    ragged = run_initialized(tf.string_split(["a b", "", "c"], result_type="RaggedTensor"))
    assert ragged.to_list() == [[b"a", b"b"], [], [b"c"]]
    with pytest.raises(ValueError, match="'RaggedTensor', got 'list'"):
        tf.strings.split(["a"], result_type="list")


def test_dense_features_is_a_class_of_its_own_with_variables_of_its_own() -> None:
    assert v2.keras.layers.DenseFeatures is not tf.keras.layers.DenseFeatures
    assert issubclass(v2.keras.layers.DenseFeatures, tf.keras.layers.DenseFeatures)
    assert v2.keras.layers.Dense is tf.keras.layers.Dense
    ids = tf.feature_column.categorical_column_with_identity("ids", 3)
    columns = [tf.feature_column.embedding_column(ids, 2)]
    layers = [v2.keras.layers.DenseFeatures(columns, name="features") for _ in range(2)]
    rows = [layer({"ids": tf.constant([[0], [2]])}) for layer in layers]
    first, second = run_initialized(rows)
    assert first.shape == (2, 2) and not np.array_equal(first, second)
    assert [len(layer.trainable_weights) for layer in layers] == [1, 1]
    assert layers[0].get_config()["name"] == "features"


def test_what_came_before_tensorflow_1_15_may_be_used() -> None:
    """Object detection asks so whether soft suppression of boxes is there."""
    assert tf.compat.forward_compatible(2019, 6, 6)
    assert not tf.compat.forward_compatible(2019, 8, 21)
