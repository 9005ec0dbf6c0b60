"""Private parts of TensorFlow that libraries of the time import."""

from __future__ import annotations

import collections
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
from dataflow.python import inplace, nested
from dataflow.python.autograph_parts import Base
from dataflow.python.framework import ops
from dataflow.python.framework.composite_tensor import (
    CompositeTensor,
    is_composite_or_composite_value,
)
from dataflow.python.tracked_structures import NoDependency
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


def test_rows_that_are_replaced_in_place() -> None:
    x = tf.constant([[1, 2], [3, 4], [5, 6]])
    with tf.Session() as sess:
        for rows, values, want in (
            (1, [7, 8], [[1, 2], [7, 8], [5, 6]]),
            ([2, 0], [[7, 8], [9, 9]], [[9, 9], [3, 4], [7, 8]]),
            (None, [[0, 0]] * 3, [[0, 0]] * 3),
        ):
            assert sess.run(inplace.alias_inplace_update(x, rows, values)).tolist() == want
        added = inplace.alias_inplace_add(x, [1, 1], [[1, 1], [10, 10]])
        assert sess.run(added).tolist() == [[1, 2], [14, 15], [5, 6]]
        taken = inplace.inplace_sub(x, 0, [1, 1])
        assert sess.run(taken).tolist() == [[0, 1], [3, 4], [5, 6]]
        assert sess.run(inplace.empty_like(x)).shape == (3, 2)
        assert sess.run(x).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_an_attribute_without_dependency_is_its_value() -> None:
    held = {"a": 1}
    made: Any = NoDependency(held)
    assert made is held


def test_the_message_of_saved_models(tmp_path: Path) -> None:
    from dataflow.core.protobuf import saved_model_pb2

    x, v = tf.placeholder(tf.float32, [None], name="x"), tf.Variable(1.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"y": x * v})
    message: Any = saved_model_pb2.SavedModel()
    message.ParseFromString((tmp_path / "m" / "saved_model.pb").read_bytes())
    assert message.saved_model_schema_version == 1
    assert list(message.meta_graphs[0].signature_def) == ["serving_default"]
