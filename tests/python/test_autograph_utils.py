"""``tensorflow.python.autograph.utils``, by its path."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import dataflow as tf

_PATH = "dataflow.python.autograph.utils"
utils: Any = importlib.import_module(_PATH)
context_managers, misc, py_func, tensor_list, tensors = (
    importlib.import_module(f"{_PATH}.{name}")
    for name in ("context_managers", "misc", "py_func", "tensor_list", "tensors")
)


def test_operations_wait_for_what_a_function_returned(session: tf.Session) -> None:
    assert context_managers.control_dependency_on_returns is utils.control_dependency_on_returns
    v = tf.Variable(1.0)
    session.run(v.initializer)
    for returned in (tf.assign_add(v, 1.0), [tf.assign_add(v, 1.0), tf.constant(0)]):
        with utils.control_dependency_on_returns(returned):
            session.run(tf.no_op())
    assert session.run(v) == 3.0
    array = tf.TensorArray(tf.int32, size=1)
    with utils.control_dependency_on_returns(array):
        assert tf.no_op().control_inputs == [array.flow.op]
    with utils.control_dependency_on_returns(None):
        assert tf.no_op().control_inputs == []


def test_small_helpers(session: tf.Session) -> None:
    a = tf.constant(1)
    one, other = utils.alias_tensors(a, "b")
    assert one is not a and one.op.type == "Identity" and other == "b"
    assert utils.alias_tensors(a).op.inputs[0] is a
    with pytest.raises(ValueError, match="at least one"):
        utils.alias_tensors()
    assert misc.capitalize_initial("ab") == "Ab" and misc.capitalize_initial("") == ""
    lengths = [
        misc.get_range_len(*map(tf.constant, limits))
        for limits in ((0, 7, 2), (7, 0, 2), (7, 0, -2), (0, 6, 2))
    ]
    assert session.run(lengths) == [4, 0, 4, 3]


def test_kinds_of_tensors(graph: tf.Graph) -> None:
    sparse = tf.SparseTensor([[0]], [1], [2])
    assert (
        utils.is_tensor(1, tf.constant(1))
        and not utils.is_tensor(1, "a")
        and utils.is_tensor(sparse)
    )
    assert tensors.is_dense_tensor(tf.constant(1)) and not tensors.is_dense_tensor(sparse)
    assert tensors.is_tensor_array(tf.TensorArray(tf.float32, 1)) and not tensors.is_tensor_array(1)
    assert tensors.is_tensor_list(tensor_list.TensorList([], tf.int32).list_)
    assert not tensors.is_tensor_list(tf.constant(1))
    assert tensors.is_range_tensor(
        tf.raw_ops.Range(start=0, limit=3, delta=1)
    ) and not tensors.is_range_tensor(tf.constant([0]))


def test_lists_of_tensors(session: tf.Session) -> None:
    made = tensor_list.TensorList([], tf.float32)
    for value in (1.0, 2.0):
        made.append(value)
    made[0] = 5.0
    count, first, last = made.count(), made[0], made.pop()
    assert session.run([count, first, last, made.count()]) == [2, 5.0, 2.0, 1]
    made.clear()
    assert session.run(made.count()) == 0
    array = utils.dynamic_list_append(tf.TensorArray(tf.int32, 0, dynamic_size=True), 3)
    grown = utils.dynamic_list_append(made.list_, tf.constant(4.0))
    assert session.run(array.stack()).tolist() == [3]
    assert session.run(tf.raw_ops.TensorListLength(input_handle=grown)) == 1
    assert utils.dynamic_list_append([1], 2) == [1, 2]


def test_functions_of_python(session: tf.Session) -> None:
    def product(a: Any, b: int, c: Any, d: int) -> Any:
        return a * b * c * d

    given = (tf.constant(3), 2), {"d": 5, "c": tf.constant(7)}
    assert session.run(utils.wrap_py_func(product, tf.int32, *given)) == 210
    assert session.run(utils.wrap_py_func(product, py_func.MatchDType(0), *given)) == 210
    both = utils.wrap_py_func(
        lambda a: (a, a + 1), (tf.int64, py_func.MatchDType(0)), (tf.constant(1),)
    )
    assert [t.dtype for t in both] == [tf.int64, tf.int32]
    seen: list[int] = []
    noted = utils.wrap_py_func(lambda a: seen.append(int(a)), None, (tf.constant(4),), {}, True)
    assert session.run(noted) == 1 and seen == [4]
    with pytest.raises(ValueError, match="MatchDType"):
        utils.wrap_py_func(product, py_func.MatchDType(1), *given)
    with pytest.raises(ValueError, match="return_dtypes must be empty"):
        utils.wrap_py_func(product, tf.int32, *given, use_dummy_return=True)
