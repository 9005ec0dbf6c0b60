"""Programs' own `TypeSpec`s and `CompositeTensor`s: through functions, conditionals, loops, nests and sessions."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph import eager
from dataflow.ops.composite_nests import assert_alike, expanded, packed
from dataflow.ops.type_specs import (
    CompositeTensor,
    IndexedSlicesSpec,
    TypeSpec,
    register_type_spec_from_value_converter,
    type_spec_from_value,
)


class Interval(CompositeTensor):
    """Two tensors, and a color that is none."""

    def __init__(self, low: Any, high: Any, color: str = "red") -> None:
        self.low, self.high, self.color = low, high, color

    @property
    def _type_spec(self) -> IntervalSpec:
        return IntervalSpec(self.low.shape, self.low.dtype, self.color)


class IntervalSpec(TypeSpec):
    def __init__(self, shape: Any, dtype: Any, color: str = "red") -> None:
        self.shape, self.dtype, self.color = tf.TensorShape(shape), tf.as_dtype(dtype), color

    value_type = property(lambda self: Interval)

    def _serialize(self) -> Any:
        return self.shape, self.dtype, self.color

    @property
    def _component_specs(self) -> Any:
        return {name: tf.TensorSpec(self.shape, self.dtype) for name in ("high", "low")}

    def _to_components(self, value: Any) -> Any:
        return {"low": value.low, "high": value.high}

    def _from_components(self, components: Any) -> Any:
        return Interval(components["low"], components["high"], self.color)


class Plain:
    def __init__(self, size: int) -> None:
        self.size = size


@pytest.fixture
def eagerly() -> Iterator[None]:
    tf.reset_default_graph()
    tf.enable_eager_execution()
    yield
    eager.disable_eager_execution()


def made(low: Any = 1.0, high: Any = 2.0, color: str = "red") -> Interval:
    return Interval(tf.constant(low), tf.constant(high), color)


def test_functions_take_and_return_them(eagerly: None) -> None:
    traces = []

    @tf.function
    def widen(x: Any, by: Any) -> Any:
        traces.append(x.color)
        return [Interval(x.low - by, x.high + by, x.color), {"width": x.high - x.low}]

    result, other = widen(made(), tf.constant(1.0))
    assert (result.low.numpy(), result.high.numpy(), result.color) == (0.0, 3.0, "red")
    assert other["width"].numpy() == 1.0
    assert widen(made(3.0, 5.0), tf.constant(1.0))[1]["width"].numpy() == 2.0
    assert traces == ["red"]
    widen(made([1.0], [2.0]), tf.constant(1.0))
    assert len(traces) == 2
    assert widen(made(color="blue"), tf.constant(1.0))[0].color == "blue" and len(traces) == 3


def test_how_many_values_ragged_and_sparse_tensors_have_is_no_part_of_a_signature(
    eagerly: None,
) -> None:
    """As in TensorFlow, also once its module makes them `CompositeTensor`s for `isinstance`."""
    from dataflow.python.framework.composite_tensor import CompositeTensor

    assert isinstance(tf.ragged.constant([[1]]), CompositeTensor)
    shapes = []

    @tf.function
    def total(x: Any) -> Any:
        shapes.append(x.shape.as_list())
        return tf.reduce_sum(x.values if isinstance(x, tf.SparseTensor) else x.flat_values)

    assert [int(total(tf.ragged.constant([[1] * n] * 3))) for n in (1, 2, 5)] == [3, 6, 15]
    assert shapes == [[3, None]]
    deep = ([[[1, 2], [3]], [[4]]], [[[1]], [[2], [3, 4, 5]]])
    assert [int(total(tf.ragged.constant(rows))) for rows in deep] == [10, 15]
    assert shapes[1:] == [[2, None, None]]
    total(tf.ragged.constant([[1]]))
    assert shapes[2:] == [[1, None]]  # the number of rows is one
    for n in (1, 4, 2):
        sparse = tf.SparseTensor([[i, 0] for i in range(n)], [2] * n, [5, 3])
        assert int(total(sparse)) == 2 * n
    assert len(shapes) == 4


def test_signatures_of_functions(eagerly: None) -> None:
    f = tf.function(lambda x: x.high - x.low, [IntervalSpec([None], tf.float32)])
    assert f(made([1.0, 2.0], [2.0, 4.0])).numpy().tolist() == [1.0, 2.0]
    concrete = f.get_concrete_function()
    assert [t.shape.as_list() for t in concrete.inputs] == [[None], [None]]
    assert concrete.structured_input_signature[0] == (IntervalSpec([None], tf.float32),)
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        f(made([1], [2]))


def test_gradients_pass_through_them(eagerly: None) -> None:
    x = tf.constant(3.0)
    f = tf.function(lambda x: Interval(x * x, x * 2.0))
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = f(x)
        y = found.low + found.high
    assert tape.gradient(y, x).numpy() == 8.0


def test_conditionals_loops_and_sessions() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.bool, [])
        chosen = tf.cond(p, lambda: made(), lambda: made(5.0, 7.0))
        assert isinstance(chosen, Interval)
        _, ended = tf.while_loop(
            lambda i, x: i < 3,
            lambda i, x: (i + 1, Interval(x.low - 1.0, x.high * 2.0)),
            [0, chosen],
        )
        assert session.run([ended.low, ended.high], {p: True}) == [-2.0, 16.0]
        assert session.run([ended.low, ended.high], {p: False}) == [2.0, 56.0]


def numbers(low: float, high: float, color: str = "red") -> Interval:
    return Interval(np.float32(low), np.float32(high), color)


def test_nests_look_inside_where_they_are_told_to() -> None:
    one = {"a": [numbers(1, 2), 3], "b": numbers(5, 6)}
    assert tf.nest.flatten(one, expand_composites=True) == [2, 1, 3, 6, 5]
    assert len(tf.nest.flatten(one)) == 3
    other = packed({"a": [numbers(1, 2)]}, [10, 20])
    assert (other["a"][0].low, other["a"][0].high) == (20, 10)
    assert list(expanded(numbers(1, 2))) == ["Interval"]
    with pytest.raises(ValueError, match="flat_sequence"):
        packed(numbers(1, 2), [1])
    assert_alike(numbers(1, 2), numbers(3, 4))
    with pytest.raises(ValueError, match="Types are not compatible"):
        assert_alike([numbers(1, 2)], [numbers(1, 2, "blue")])
    with pytest.raises(TypeError, match="a Interval where the other has a SparseTensor"):
        assert_alike(numbers(1, 2), tf.SparseTensor([[0]], [1.0], [1]))


def test_specs_are_compared_merged_and_pickled() -> None:
    exact, loose = IntervalSpec([2, 3], tf.int32), IntervalSpec([2, None], tf.int32)
    assert exact == IntervalSpec([2, 3], tf.int32) and hash(exact) == hash(
        pickle.loads(pickle.dumps(exact))
    )
    assert exact != loose and exact != IntervalSpec([2, 3], tf.int32, "blue")
    assert exact.is_compatible_with(loose) and not exact.is_compatible_with(
        IntervalSpec([2], tf.int32)
    )
    assert exact.most_specific_compatible_type(IntervalSpec([2, 4], tf.int32)) == loose
    with pytest.raises(ValueError, match="Types are not compatible"):
        exact.most_specific_compatible_type(IntervalSpec([2, 3], tf.float32))
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        exact.most_specific_compatible_type(tf.TensorSpec([2, 3], tf.int32))
    assert repr(exact).endswith("tf.int32, 'red')")


def test_specs_of_values() -> None:
    register_type_spec_from_value_converter(Plain, lambda v: tf.TensorSpec([v.size], tf.int64))
    assert type_spec_from_value(Plain(3)) == tf.TensorSpec([3], tf.int64)
    assert type_spec_from_value(made([1.0], [2.0])) == IntervalSpec([1], tf.float32)
    assert type_spec_from_value([1, 2]) == tf.TensorSpec([2], tf.int32)
    sparse = tf.SparseTensor([[0, 0]], [1.0], [1, 2])
    assert type_spec_from_value(sparse) == tf.SparseTensorSpec([1, 2], tf.float32)
    ragged = tf.ragged.constant([[1], [2, 3]])
    spec = type_spec_from_value(ragged)
    assert spec == tf.RaggedTensorSpec([2, None], tf.int32, 1, tf.int64)
    slices = tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 1]))
    assert type_spec_from_value(slices) == IndexedSlicesSpec(None, tf.float32, tf.int32, None, [2])
    for value in (sparse, ragged):
        spec = type_spec_from_value(value)
        again = spec._from_tensor_list(spec._to_tensor_list(value))
        assert type(again) is type(value) and again.values is value.values
    with pytest.raises(ValueError, match="wrong number of tensors"):
        spec._from_tensor_list([])
    with pytest.raises(TypeError, match="Could not build a TypeSpec for"):
        type_spec_from_value(object())
