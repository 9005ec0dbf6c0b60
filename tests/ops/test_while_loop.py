"""`while_loop`, `cond` and `case`: what they build, and what they refuse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def names() -> list[str]:
    return [op.name for op in tf.get_default_graph().get_operations()]


def test_names_of_a_loop_are_tensorflows() -> None:
    x = tf.constant(3.0)
    tf.while_loop(lambda i, _: tf.less(i, 10), lambda i, s: [tf.add(i, 1), tf.add(s, x)], [0, 0.0])
    # Recorded from tensorflow.compat.v1 2.15 with control flow v1.
    assert sorted(names()) == sorted(
        [
            "Const",
            "while/Const",
            "while/Const_1",
            "while/Enter",
            "while/Enter_1",
            "while/Merge",
            "while/Merge_1",
            "while/Less/y",
            "while/Less",
            "while/LoopCond",
            "while/Switch",
            "while/Switch_1",
            "while/Identity",
            "while/Identity_1",
            "while/Add/y",
            "while/Add",
            "while/Add_1",
            "while/Add_1/Enter",
            "while/NextIteration",
            "while/NextIteration_1",
            "while/Exit",
            "while/Exit_1",
        ]
    )


def test_names_of_a_conditional_are_tensorflows() -> None:
    x, p = tf.constant(3.0), tf.placeholder(tf.bool, [])
    tf.cond(p, lambda: tf.add(x, 1.0), lambda: tf.subtract(x, 1.0))
    assert sorted(names()) == sorted(
        [
            "Const",
            "Placeholder",
            "cond/Switch",
            "cond/switch_t",
            "cond/switch_f",
            "cond/pred_id",
            "cond/Add/y",
            "cond/Add",
            "cond/Add/Switch",
            "cond/Sub/y",
            "cond/Sub",
            "cond/Sub/Switch",
            "cond/Merge",
        ]
    )
    graph = tf.get_default_graph()
    constant = graph.get_operation_by_name("cond/Add/y")
    assert [c.name for c in constant.control_inputs] == ["cond/switch_t"]


class Pair(NamedTuple):
    first: Any
    second: Any


def test_nested_loop_variables_keep_their_structure() -> None:
    start = (tf.constant(0), Pair(tf.constant(1.0), {"a": tf.constant([1, 2])}))

    def body(i: Any, pair: Pair) -> Any:
        return i + 1, Pair(pair.first * 2.0, {"a": pair.second["a"] + 1})

    result = tf.while_loop(lambda i, _: i < 3, body, start)
    assert isinstance(result[1], Pair)
    with tf.Session() as session:
        i, pair = session.run(result)
    assert i == 3
    assert pair.first == 8.0
    np.testing.assert_array_equal(pair.second["a"], [4, 5])


def test_a_single_variable_is_unpacked_unless_asked_not_to() -> None:
    one = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    assert isinstance(one, tf.Tensor)
    same = tf.while_loop(
        lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)], return_same_structure=True
    )
    assert isinstance(same, list)


@pytest.mark.parametrize("limit, rounds", [(2, 2), (10, 5), (0, 0)])
def test_maximum_iterations(limit: int, rounds: int) -> None:
    i = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)], maximum_iterations=limit)
    with tf.Session() as session:
        assert session.run(i) == rounds


def test_sparse_loop_variables() -> None:
    start = tf.SparseTensor([[0, 1]], [2.0], [2, 3])
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([3, 2]))

    def body(i: Any, s: Any, t: Any) -> Any:
        doubled = tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)
        return i + 1, doubled, tf.IndexedSlices(t.values + 1.0, t.indices, t.dense_shape)

    _, s, t = tf.while_loop(lambda i, *_: i < 3, body, [tf.constant(0), start, slices])
    with tf.Session() as session:
        assert session.run(s).values == [16.0]
        np.testing.assert_array_equal(session.run(t).values, [[4.0, 5.0]])


def test_shape_invariants() -> None:
    def body(i: Any, x: Any) -> Any:
        return i + 1, tf.concat([x, x], 0)

    start = [tf.constant(0), tf.ones([2])]
    with pytest.raises(ValueError, match="shape_invariants"):
        tf.while_loop(lambda i, _: i < 2, body, start)
    loose = [tf.TensorShape([]), tf.TensorShape([None])]
    _, x = tf.while_loop(lambda i, _: i < 2, body, start, shape_invariants=loose)
    assert x.shape.as_list() == [None]
    with tf.Session() as session:
        assert session.run(x).shape == (8,)
    with pytest.raises(ValueError, match="not compatible"):
        tf.while_loop(lambda i, _: i < 2, body, start, [tf.TensorShape([]), tf.TensorShape([3])])


def test_what_a_loop_refuses() -> None:
    with pytest.raises(TypeError, match="callable"):
        tf.while_loop(True, lambda i: i, [tf.constant(0)])
    with pytest.raises(ValueError, match="loop_vars"):
        tf.while_loop(lambda: True, lambda: None, [])
    with pytest.raises(TypeError, match="enters the loop as int32"):
        tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [tf.constant(0)])
    with pytest.raises(ValueError, match="structure"):
        tf.while_loop(lambda i, j: i < 3, lambda i, j: (i,), [tf.constant(0), tf.constant(0)])
    with pytest.raises(ValueError, match="scalar"):
        tf.while_loop(lambda i: tf.constant([True]), lambda i: i, [tf.constant(0)])


def test_a_tensor_of_a_loop_is_refused_outside() -> None:
    leaked: list[Any] = []

    def body(i: Any) -> Any:
        leaked.append(i * 2)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with pytest.raises(ValueError, match="in a while loop"):
        tf.add(leaked[0], 1)


def test_what_a_conditional_refuses() -> None:
    p = tf.placeholder(tf.bool, [])
    with pytest.raises(TypeError, match="Python bool"):
        tf.cond(True, lambda: 1, lambda: 2)
    with pytest.raises(ValueError, match="same type"):
        tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(2.0))
    with pytest.raises(ValueError, match="return types"):
        tf.cond(p, lambda: (tf.constant(1), tf.constant(2)), lambda: tf.constant(2))
    with pytest.raises(ValueError, match="must have a return value"):
        tf.cond(p, lambda: None, lambda: tf.constant(2))
    with pytest.raises(TypeError, match="callable"):
        tf.cond(p, tf.constant(1), lambda: tf.constant(2))
    with pytest.raises(ValueError, match="scalar"):
        tf.cond(tf.constant([True]), lambda: tf.constant(1), lambda: tf.constant(2))


def test_old_names_of_cond() -> None:
    p = tf.placeholder_with_default(True, [])
    with tf.Session() as session:
        assert session.run(tf.cond(p, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))) == 1


def test_case() -> None:
    x = tf.placeholder(tf.int32, [])
    pairs = [
        (tf.less(x, 0), lambda: tf.constant(-1)),
        (tf.equal(x, 0), lambda: tf.constant(0)),
    ]
    y = tf.case(pairs, default=lambda: tf.constant(1))
    strict = tf.case(pairs)
    overlapping = [*pairs, (tf.less(x, 5), lambda: tf.constant(5))]
    exclusive = tf.case(overlapping, default=lambda: tf.constant(9), exclusive=True)
    with tf.Session() as session:
        assert [session.run(y, {x: v}) for v in (-3, 0, 4)] == [-1, 0, 1]
        assert session.run(strict, {x: 0}) == 0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(strict, {x: 4})
        assert session.run(exclusive, {x: 3}) == 5
        with pytest.raises(tf.errors.InvalidArgumentError, match="exclusive"):
            session.run(exclusive, {x: -1})


def test_group_tuple_and_no_op() -> None:
    v, w = tf.Variable(0), tf.Variable(0)
    both = tf.group(tf.assign(v, 1), [tf.assign(w, 2)], name="both")
    assert both.name == "both"
    assert both.type == "NoOp"
    first, nothing, _ = tf.tuple([v + 0, None, tf.assign(w, 5)])
    assert nothing is None
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(both)
        assert session.run([v, w]) == [1, 2]
        assert session.run(first) == 1
        assert session.run(w) == 5  # both are computed when one is asked for
    with pytest.raises(TypeError):
        tf.group(3)
    with pytest.raises(ValueError):
        tf.tuple([None])


def test_branches_that_are_no_sequence_of_numbers_are_refused() -> None:
    one, two = (lambda: tf.constant(1)), (lambda: tf.constant(2))
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="branch_index"):
            tf.switch_case(1, [one, two])
        for branches in ({0: one, 2: two}, [(0, one), (0, two)]):
            with pytest.raises(ValueError, match="without a gap"):
                tf.switch_case(tf.constant(1), branches)
        with pytest.raises(TypeError, match="list"):
            tf.cond(tf.constant(True), lambda: [one()], lambda: (two(),), strict=True)
        with pytest.raises(ValueError, match="at least one"):
            tf.concat([], 0)
        with tf.Session() as sess:
            chosen = tf.switch_case(tf.constant(1), {1: two, 0: one})
            assert sess.run(chosen) == sess.run(chosen.name.encode()) == 2


def test_a_sparse_tensor_grows_without_invariants():
    start = tf.SparseTensor([[0, 0]], [1.0], [1, 2])
    _, grown = tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, tf.sparse_concat(0, [s, start])), [0, start]
    )
    assert grown.indices.shape.as_list() == [None, 2]
    assert grown.values.shape.as_list() == [None]
    with tf.Session() as sess:
        value = sess.run(grown)
    assert value.indices.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert value.dense_shape.tolist() == [4, 2]


class _Pair(NamedTuple):
    a: Any
    b: Any


def test_a_single_tensor_comes_alone_and_a_single_structure_in_its_list() -> None:
    """As TensorFlow 1.15, which counts tensors (TensorFlow Transform unpacks such a list)."""
    zero = tf.constant(0)
    (pair,) = tf.while_loop(lambda p: p.a < 3, lambda p: [_Pair(p.a + 1, p.b)], [_Pair(zero, zero)])
    assert isinstance(pair, _Pair)
    found = tf.while_loop(
        lambda d: d["a"] < 3, lambda d: [{"a": d["a"] + 1, "b": d["b"]}], [{"a": zero, "b": zero}]
    )
    assert list(found[0]) == ["a", "b"]
    sparse = tf.SparseTensor([[0]], [1], [3])
    (found,) = tf.while_loop(
        lambda s: tf.reduce_sum(s.values) < 3,
        lambda s: [tf.SparseTensor(s.indices, s.values + 1, s.dense_shape)],
        [sparse],
    )
    assert isinstance(found, tf.SparseTensor)
    assert isinstance(tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [zero]), tf.Tensor)
    assert isinstance(
        tf.while_loop(lambda p: p[0] < 3, lambda p: ((p[0] + 1,),), ((zero,),)), tuple
    )
    with tf.Session() as sess:
        assert sess.run(pair) == _Pair(3, 0)
