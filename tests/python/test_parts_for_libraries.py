"""Private parts of TensorFlow that libraries of the time import."""

from __future__ import annotations

import collections
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph import conversion
from dataflow.python import inplace, nested, pywrap_tensorflow
from dataflow.python.autograph_parts import Base
from dataflow.python.control_flow_parts import _case_helper
from dataflow.python.eager import monitoring
from dataflow.python.framework import function, ops
from dataflow.python.framework.composite_tensor import (
    CompositeTensor,
    is_composite_or_composite_value,
)
from dataflow.python.tracked_structures import NoDependency
from dataflow.python.util.lazy_loader import LazyLoader

pytestmark = pytest.mark.usefixtures("graph")


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


@pytest.fixture
def no_types() -> Any:
    before = list(conversion.dense_types)
    yield
    conversion.dense_types[:] = before


@pytest.mark.usefixtures("no_types")
def test_types_that_stand_for_tensors() -> None:

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
    assert tf.is_tensor(Mirror())
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


def test_static_values_of_what_is_no_tensor() -> None:
    shape, array = tf.TensorShape([2]), np.array([1])
    for value in (0.5, [1, 2], array, None, "a", shape):
        assert tf.get_static_value(value) is value
        assert not tf.is_tensor(value)
    for held in (tf.Variable(1.0), tf.placeholder(tf.float32), tf.SparseTensor([[0]], [1.0], [2])):
        assert tf.get_static_value(held) is None
        assert tf.is_tensor(held)
    x = tf.constant(3)
    evaluate = pywrap_tensorflow.TF_TryEvaluateConstant_wrapper
    assert evaluate(x.graph._c_graph, x._as_tf_output()) == 3
    p = tf.placeholder(tf.bool)
    assert evaluate(p.graph._c_graph, p._as_tf_output()) is None


def test_a_function_of_one_result_returns_it_alone() -> None:
    @function.Defun(tf.float32)
    def one(x: tf.Tensor) -> Any:
        return (x + 1.0,)

    @function.Defun(tf.float32, python_grad_func=lambda op, grad: 5.0 * grad)
    def with_gradient(x: tf.Tensor) -> Any:
        return [x + 1.0]

    with tf.Session() as sess:
        x = tf.constant(2.0)
        assert sess.run(one(x)) == 3.0
        assert sess.run([with_gradient(x), tf.gradients(with_gradient(x), x)[0]]) == [3.0, 5.0]


def test_cases_by_another_conditional() -> None:
    x = tf.placeholder(tf.int32)
    asked = []

    def conditional(pred: Any, true_fn: Any, false_fn: Any) -> Any:
        asked.append(pred)
        return tf.cond(tf.convert_to_tensor(pred), true_fn, false_fn)

    def number(n: int) -> Any:
        return lambda: tf.constant(n)

    def case(pairs: Any, default: Any = None, exclusive: bool = False) -> Any:
        return _case_helper(conditional, pairs, default, exclusive, "case", allow_python_preds=True)

    whole = case([(x < 1, number(10)), (x < 5, number(20))], number(30))
    without = case({x < 1: number(10), x > 5: number(20)})
    exclusive = case([(x < 1, number(10)), (x < 5, number(20))], number(30), exclusive=True)
    assert len(asked) == 2 + 1 + 2
    with tf.Session() as sess:
        assert [sess.run(whole, {x: n}) for n in (0, 3, 7)] == [10, 20, 30]
        assert [sess.run(without, {x: n}) for n in (0, 7)] == [10, 20]
        with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions"):
            sess.run(without, {x: 3})
        assert sess.run(exclusive, {x: 3}) == 20
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1"):
            sess.run(exclusive, {x: 0})
        assert sess.run(case([(False, number(1)), (True, number(2))], number(3))) == 2
    with pytest.raises(TypeError, match="must be tensors"):
        _case_helper(conditional, [(True, number(1))], None, False, "case")
    with pytest.raises(ValueError, match="is empty"):
        case([])


def test_the_scope_of_a_module_has_a_name() -> None:
    assert tf.Module(name="abc").name_scope.name == "abc/"


def test_a_property_may_be_set_to_what_it_is() -> None:
    class Held(tf.Module):
        inner = tf.TensorShape([2, None])

        @property
        def shape(self) -> tf.TensorShape:
            return tf.TensorShape([2, None])

        @property
        def one(self) -> int:
            return 1

    held: Any = Held()
    held.shape = tf.TensorShape([2, None])
    held.one = 1
    held.other = 3
    assert held.other == 3
    for name, value in (("shape", tf.TensorShape([2, 3])), ("shape", None), ("one", 2)):
        with pytest.raises(AttributeError):
            setattr(held, name, value)


def test_records_of_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "events"
    with pytest.raises(tf.errors.NotFoundError):
        pywrap_tensorflow.PyRecordReader_New(bytes(path))
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(b"one")
        writer.flush()
        reader = pywrap_tensorflow.PyRecordReader_New(bytes(path), 0, b"")
        reader.GetNext()
        assert (reader.record(), reader.offset()) == (b"one", path.stat().st_size)
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError):
                reader.GetNext()
        writer.write(b"two" * 9)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    with pytest.raises(tf.errors.DataLossError):
        reader.GetNext()
    path.write_bytes(whole)
    reader.GetNext()
    assert reader.record() == b"two" * 9
    reader.Close()
    with pytest.raises(tf.errors.UnimplementedError):
        pywrap_tensorflow.PyRecordReader_New(str(path), 0, "ZLIB")


def test_metrics_of_a_program_have_a_cell_for_each_combination_of_labels() -> None:
    gauge = monitoring.BoolGauge("/own/flags", "What is in use.", "part", "kind")
    assert gauge.get_cell("a", "b").value() is False
    gauge.get_cell("a", "b").set(True)
    again = monitoring.BoolGauge("/own/flags", "What is in use.", "part", "kind")
    assert again.get_cell("a", "b").value() and not again.get_cell("a", "c").value()
    with pytest.raises(ValueError, match="has 2 labels; got 1"):
        gauge.get_cell("a")
    count = monitoring.Counter("/own/calls", "Calls.").get_cell()
    count.increase_by(2)
    count.increase_by(3)
    assert count.value() == 5
    with pytest.raises(ValueError, match="cannot be decreased"):
        count.increase_by(-1)
    monitoring.IntGauge("/own/size", "A size.").get_cell().set(3)
    assert monitoring.IntGauge("/own/size", "A size.").get_cell().value() == 3
    assert monitoring.StringGauge("/own/text", "A text.").get_cell().value() == ""


def test_samples_are_counted_in_buckets() -> None:
    buckets = monitoring.ExponentialBuckets(1.0, 2.0, 3)
    cell = monitoring.Sampler("/own/times", buckets, "Times.").get_cell()
    for value in (0.5, 1.0, 3.0, 100.0):
        cell.add(value)
    found = cell.value()
    assert found["bucket_limit"] == [1.0, 2.0, 4.0, float("inf")]
    assert found["bucket"] == [1, 1, 1, 1]
    assert (found["num"], found["sum"], found["sum_squares"]) == (4, 104.5, 10010.25)


def test_where_operations_become_nodes_of_a_function() -> None:
    seen = []
    tf.data.Dataset.range(2).map(lambda x: seen.append(ops.inside_function()) or x)
    assert set(seen) == {True}
    assert not ops.inside_function()
