"""Private parts of TensorFlow that libraries of the time import."""

from __future__ import annotations

import collections
import sys
import types
from typing import Any

import pytest

import dataflow as tf
from dataflow.python import nested
from dataflow.python.autograph_parts import Base
from dataflow.python.framework import ops
from dataflow.python.framework.composite_tensor import (
    CompositeTensor,
    is_composite_or_composite_value,
)
from dataflow.python.util.lazy_loader import LazyLoader


@pytest.fixture(autouse=True)
def fresh() -> Any:
    with tf.Graph().as_default():
        yield


def test_a_lazy_module_is_loaded_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    made = types.ModuleType("lazy_one")
    made.__dict__["answer"] = 42
    names: dict[str, Any] = {}
    names["one"] = lazy = LazyLoader("one", names, "lazy_one")
    with pytest.raises(ModuleNotFoundError):
        _ = lazy.answer
    assert names["one"] is lazy
    monkeypatch.setitem(sys.modules, "lazy_one", made)
    assert lazy.answer == 42
    assert names["one"] is made
    assert "answer" in dir(LazyLoader("two", names, "lazy_one"))


def test_composite_tensors() -> None:
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    assert isinstance(sparse, CompositeTensor)
    assert isinstance(tf.ragged.constant([[1]]), CompositeTensor)
    assert isinstance(tf.IndexedSlices(tf.constant([1.0]), [0]), CompositeTensor)
    assert not is_composite_or_composite_value(tf.constant(1))

    class Pair(CompositeTensor):
        pass

    assert is_composite_or_composite_value(Pair())
    with pytest.raises(NotImplementedError, match=r"Pair\._type_spec"):
        _ = Pair()._type_spec


def test_named_tuples() -> None:
    Point = collections.namedtuple("Point", "x y")

    class Derived(Point):
        pass

    assert nested._is_namedtuple(Point(1, 2))
    assert nested._is_namedtuple(Point(1, 2), strict=True)
    assert nested._is_namedtuple(Derived(1, 2))
    assert not nested._is_namedtuple(Derived(1, 2), strict=True)
    assert not nested._is_namedtuple((1, 2))


def test_transformers_can_be_derived_and_not_made() -> None:
    class Mine(Base):
        pass

    with pytest.raises(NotImplementedError, match=r"Mine: .*autograph\.to_graph"):
        Mine()


def test_names_of_operators_can_be_taken_away() -> None:
    names = set(tf.Tensor.OVERLOADABLE_OPERATORS)
    assert "__add__" in names
    assert isinstance(tf.Tensor.OVERLOADABLE_OPERATORS, set)


def test_types_that_stand_for_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "_dense_types", [])

    class Mirror:
        @property
        def name(self) -> str:
            return "mirror"

        @property
        def dtype(self) -> Any:
            return tf.float32

    assert not ops.is_dense_tensor_like(Mirror())
    ops.register_dense_tensor_like_type(Mirror)
    assert ops.is_dense_tensor_like(Mirror())
    assert ops.is_dense_tensor_like(tf.Variable(1.0))
    with pytest.raises(TypeError, match="Type int does not define a `name` property"):
        ops.register_dense_tensor_like_type(int)
