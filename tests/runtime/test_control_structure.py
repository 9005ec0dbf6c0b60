"""Loops and conditionals as the compiled plan runs them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def counted(calls: list[Any], value: Any) -> Any:
    """``value``, and a note in ``calls`` whenever it is computed."""

    def note(v: Any) -> Any:
        calls.append(v)
        return v

    result = tf.py_func(note, [value], value.dtype)
    result.set_shape(value.shape)
    return result


def test_only_the_branch_taken_is_computed() -> None:
    pred = tf.placeholder(tf.bool, [])
    calls: list[Any] = []
    y = tf.cond(
        pred, lambda: counted(calls, tf.constant(1.0)), lambda: counted(calls, tf.constant(2.0))
    )
    with tf.Session() as session:
        assert session.run(y, {pred: True}) == 1.0
        assert calls == [1.0]
        assert session.run(y, {pred: False}) == 2.0
        assert calls == [1.0, 2.0]


def test_what_is_made_outside_both_branches_is_always_computed() -> None:
    pred = tf.placeholder(tf.bool, [])
    calls: list[Any] = []
    outside = counted(calls, tf.constant(3.0))
    y = tf.cond(pred, lambda: tf.identity(outside), lambda: tf.constant(2.0))
    with tf.Session() as session:
        session.run(y, {pred: False})
    assert calls == [3.0]


@pytest.mark.parametrize("name", ["x", "targets"])
@pytest.mark.parametrize("trace", [False, True])
def test_a_fetch_in_a_branch_not_taken_has_no_value(name: str, trace: bool) -> None:
    x, pred = tf.placeholder(tf.float32, [], name=name), tf.placeholder(tf.bool, [])
    v = tf.Variable(7.0)

    def when(value: Any) -> Any:
        return tf.raw_ops.Switch(data=value, pred=pred)[1]

    fetches = {
        "fed": (when(x), 1.0),
        "passed on": (tf.identity(tf.identity(when(x))), 1.0),
        "constant": (tf.identity(when(tf.constant(2.0))), 2.0),
        "computed outside": (tf.identity(when(x + 3.0)), 4.0),
        "computed inside": (when(x) + 4.0, 5.0),
        "variable": (tf.identity(when(v.value())), 7.0),
        "one of several": (tf.identity_n([when(x), when(x + 3.0)])[1], 4.0),
        "in a branch of it": (
            tf.identity(tf.raw_ops.Switch(data=when(x), pred=when(pred))[1]),
            1.0,
        ),
    }
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) if trace else None
    with tf.Session() as session:
        session.run(v.initializer)

        def run(fetch: Any, taken: bool) -> Any:
            metadata = tf.RunMetadata() if trace else None
            return session.run(fetch, {x: 1.0, pred: taken}, options, metadata)

        for fetch, value in fetches.values():
            for _ in range(4):  # by the plan that was rewritten, too
                assert run(fetch, True) == value
                with pytest.raises(tf.errors.InvalidArgumentError, match="in a branch not taken"):
                    run(fetch, False)
        both = tf.raw_ops.Switch(data=x, pred=pred)
        with pytest.raises(tf.errors.InvalidArgumentError, match="in a branch not taken"):
            run(list(both), True)
        never = tf.identity(tf.raw_ops.Switch(data=both[0], pred=pred)[1])
        for taken in (False, True):
            with pytest.raises(tf.errors.InvalidArgumentError, match="in a branch not taken"):
                run(never, taken)


def test_a_branch_with_side_effects_only() -> None:
    pred = tf.placeholder(tf.bool, [])
    v = tf.Variable(0.0)
    op = tf.cond(pred, lambda: tf.assign_add(v, 1.0).op, tf.no_op)
    with tf.Session() as session:
        session.run(v.initializer)
        for value in (True, False, True):
            session.run(op, {pred: value})
        assert session.run(v) == 2.0


def test_rounds_of_a_loop_are_counted_and_the_body_runs_that_often() -> None:
    calls: list[Any] = []
    n = tf.placeholder(tf.int32, [])
    i, total = tf.while_loop(
        lambda i, _: i < n,
        lambda i, t: (i + 1, t + counted(calls, i)),
        [tf.constant(0), tf.constant(0)],
    )
    with tf.Session() as session:
        assert session.run([i, total], {n: 5}) == [5, 10]
        assert len(calls) == 5
        calls.clear()
        assert session.run([i, total], {n: 0}) == [0, 0]
        assert calls == []


def test_loop_variables_change_at_the_same_time() -> None:
    a, b = tf.while_loop(
        lambda a, _: a < 50, lambda a, b: (b, a + b), [tf.constant(1), tf.constant(1)]
    )
    with tf.Session() as session:
        assert session.run([a, b]) == [55, 89]


def test_conditional_inside_a_loop_inside_a_conditional() -> None:
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])

    def loop() -> Any:
        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * 2.0, lambda: y + x)

        return tf.while_loop(lambda i, _: i < 4, body, [tf.constant(0), x])[1]

    y = tf.cond(pred, loop, lambda: -x)
    with tf.Session() as session:
        assert session.run(y, {pred: True, x: 3.0}) == ((3 * 2 + 3) * 2) + 3
        assert session.run(y, {pred: False, x: 3.0}) == -3.0


def test_a_variable_assigned_in_a_loop() -> None:
    v = tf.Variable(1.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign(v, v * 2.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(loop)
        assert session.run(v) == 8.0  # as in TensorFlow, whose reads share the variable's buffer


def test_random_numbers_differ_from_round_to_round() -> None:
    ta = tf.TensorArray(tf.float32, 4)
    _, ta = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, t: (i + 1, t.write(i, tf.random_uniform([]))),
        [tf.constant(0), ta],
    )
    with tf.Session() as session:
        values = session.run(ta.stack())
    assert len(set(values.tolist())) == 4


def test_a_loop_waits_for_control_dependencies() -> None:
    v = tf.Variable(0)
    with tf.control_dependencies([tf.assign(v, 7)]):
        loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(loop)
        assert session.run(v) == 7


def test_the_plan_is_one_while_statement() -> None:
    y = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.placeholder(tf.int32, [])])
    session = tf.Session()
    from dataflow.runtime.fetches import FetchPlan
    from dataflow.runtime.plan import Plan

    plan = Plan(session, FetchPlan(session.graph, y), [])
    assert plan.source.count("while True:") == 1
    assert "Merge" not in plan.source
    assert "Switch" not in plan.source


def endless() -> Any:
    return tf.while_loop(lambda i: i >= 0, lambda i: tf.minimum(i + 1, 5), [tf.constant(0)])


@pytest.mark.threads
def test_a_loop_ends_with_its_session() -> None:
    loop = endless()
    session = tf.Session()
    threading.Timer(0.2, session.close).start()
    with pytest.raises(tf.errors.CancelledError, match="when its session was closed") as caught:
        session.run(loop)
    assert "while" in str(caught.value.op.name)


@pytest.mark.parametrize("way", ["options", "config", "callable"])
def test_a_loop_ends_when_the_time_of_its_run_is_up(way: str) -> None:
    loop, short = endless(), tf.while_loop(lambda i: i < 9, lambda i: i + 1, [tf.constant(0)])
    limited = tf.ConfigProto(operation_timeout_in_ms=50) if way == "config" else None
    options = tf.RunOptions(timeout_in_ms=50) if way != "config" else None
    with tf.Session(config=limited) as session:
        for _ in range(4):  # the plan is rewritten in between
            with pytest.raises(tf.errors.DeadlineExceededError, match="its run timed out"):
                if way == "callable":
                    session.make_callable(loop, accept_options=True)(options=options)
                else:
                    session.run(loop, options=options)
            assert session.run(short) == 9


@pytest.mark.threads
def test_a_loop_without_a_deadline_goes_on_beside_one_that_has_one() -> None:
    done = threading.Event()
    with tf.Session() as session:
        loop = tf.while_loop(
            lambda i: tf.py_func(lambda i: np.bool_(not done.is_set()), [i], tf.bool),
            lambda i: tf.minimum(i + 1, 5),
            [tf.constant(0)],
        )
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(session.run(loop)))
        thread.start()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(endless(), options=tf.RunOptions(timeout_in_ms=50))
        done.set()
        thread.join(30)
    assert results and results[0] in range(6)


def test_an_error_inside_a_loop_names_the_node() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, a: (i + 1, tf.check_numerics(tf.log(a), "log went wrong", name="watch")),
        [tf.constant(0), x],
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(y, {x: [0.5]})
    assert "while/watch" in caught.value.message
    assert "log went wrong" in caught.value.message


def test_inner_tensors_may_be_neither_fetched_nor_fed() -> None:
    inner: list[Any] = []

    def body(i: Any) -> Any:
        inner.append(i * 2)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with tf.Session() as session:
        with pytest.raises(ValueError, match="not fetchable"):
            session.run(inner[0])
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(tf.constant(1), {inner[0]: 3})


@pytest.mark.parametrize("pred", [True, False])
def test_gradients_of_a_conditional_compute_only_what_was_taken(pred: bool) -> None:
    p = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [3])
    y = tf.cond(p, lambda: x * x, lambda: x * 3.0)
    (grad,) = tf.gradients(y, x)
    value = np.array([1, 2, 3], np.float32)
    with tf.Session() as session:
        result = session.run(grad, {p: pred, x: value})
    np.testing.assert_allclose(result, 2 * value if pred else np.full(3, 3.0))


def test_a_branch_may_assign_the_variable_that_decides() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        decides = tf.Variable(True)

        def assigns() -> Any:
            with tf.control_dependencies([tf.assign(decides, False)]):
                return tf.constant(1)

        chosen = tf.cond(decides, assigns, lambda: tf.constant(2))
        session.run(decides.initializer)
        assert [session.run(chosen), session.run(chosen)] == [1, 2]


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_one_variable_decides_in_both_branches(outer: bool, inner: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.bool, [])
        decides = tf.Variable(inner)
        read = decides.read_value()

        def chosen(pivot: Any, true: float, false: float) -> Any:
            with tf.control_dependencies([tf.identity(pivot)]):
                no, yes = tf.raw_ops.Switch(data=tf.constant(1.0), pred=read)
            return tf.raw_ops.Merge(inputs=[yes * true, no * false])[0]

        no, yes = tf.raw_ops.Switch(data=p, pred=p)
        number = tf.raw_ops.Merge(inputs=[chosen(no, 4.0, 5.0), chosen(yes, 2.0, 3.0)])[0]
        session.run(decides.initializer)
        wanted = (2.0 if outer else 4.0) + (not inner)
        assert [session.run(number, {p: outer}) for _ in range(5)] == [wanted] * 5


def test_a_transposed_array_that_a_loop_reads_is_laid_out_in_order() -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    turned = tf.transpose(x)
    orders: list[bool] = []

    def look(value: Any, total: Any) -> Any:
        orders.append(value.flags.c_contiguous)
        return total + value[0]

    def body(i: Any, total: Any) -> tuple[Any, Any]:
        found = tf.py_func(look, [turned, total], tf.float32)
        found.set_shape([2])
        return i + 1, found

    _, total = tf.while_loop(lambda i, total: i < 3, body, [0, tf.zeros([2])])
    fed = np.arange(6, dtype=np.float32).reshape(2, 3)
    with tf.Session() as session:
        assert session.run(total, {x: fed}).tolist() == [0, 9]
        # The same value outside the loop, and an array that is in order already.
        found, also = session.run([total, turned], {x: np.asfortranarray(fed)})
    assert found.tolist() == [0, 9] and also.tolist() == fed.T.tolist()
    assert orders == [True] * 6


def switch(value: Any, pred: Any) -> tuple[Any, Any]:
    """The value where ``pred`` is false, and where it is true."""
    return tuple(tf.raw_ops.Switch(data=value, pred=pred))  # type: ignore[return-value]


def refuses(session: Any, fetch: Any, feeds: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="in a branch not taken"):
        session.run(fetch, feeds)


def test_a_merge_takes_the_one_value_that_there_is() -> None:
    x, y, z = (tf.placeholder(tf.float32, [], name=n) for n in "xyz")
    p, q = (tf.placeholder(tf.bool, [], name=n) for n in "pq")
    first = tf.exp(switch(x, p)[1])
    second = tf.square(switch(switch(y, p)[0], switch(q, p)[0])[1])
    third = switch(switch(z, p)[0], switch(q, p)[0])[0] + 1.0
    value, index = tf.raw_ops.Merge(inputs=[third, first, second])
    result = [value * 2.0, index]
    feeds = {x: 0.0, y: 3.0, z: 4.0}
    with tf.Session() as session:
        for _ in range(4):  # by the plan that was rewritten, too
            for taken, want in (((1, 0), [2, 1]), ((0, 1), [18, 2]), ((0, 0), [10, 0])):
                assert session.run(result, {**feeds, p: taken[0], q: taken[1]}) == want


def test_a_merge_of_one_value_that_may_run() -> None:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    never = switch(switch(x, p)[1], p)[0]
    value, index = tf.raw_ops.Merge(inputs=[tf.exp(never), tf.square(switch(x, p)[1])])
    with tf.Session() as session:
        for _ in range(4):
            assert session.run([value, index], {x: 3.0, p: True}) == [9.0, 1]
            refuses(session, value, {x: 3.0, p: False})


def test_what_can_never_run() -> None:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    off, on = switch(x, p)
    v = tf.Variable(0.0)
    with tf.control_dependencies([tf.identity(on)]):
        counted = tf.assign_add(v, off)
    sums = off + on
    merged = tf.raw_ops.Merge(inputs=[sums, tf.exp(sums)])[0]
    looped = tf.while_loop(lambda i: i < 9.0, lambda i: i + 1.0, [sums])
    with tf.Session() as session:
        session.run(v.initializer)
        for fetch in (counted, sums, merged, looped, tf.identity(looped)):
            for taken in (False, True):
                refuses(session, fetch, {x: 1.0, p: taken})
        assert session.run(counted.op, {x: 1.0, p: True}) is None
        assert session.run(v) == 0.0


def test_a_loop_in_a_branch_runs_where_that_is_taken() -> None:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    calls: list[Any] = []
    off, on = switch(x, p)
    with tf.control_dependencies([tf.exp(on)]):
        waiting = tf.while_loop(lambda i: i < 3.0, lambda i: i + counted(calls, 1.0 + 0.0 * i), [x])
    given = tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [off * 0.0])
    with tf.Session() as session:
        for _ in range(4):
            calls.clear()
            assert session.run(waiting, {x: 0.0, p: True}) == 3.0 and len(calls) == 3
            refuses(session, waiting, {x: 0.0, p: False})
            assert len(calls) == 3
            assert session.run(given, {x: 0.0, p: False}) == 3.0
            refuses(session, given, {x: 0.0, p: True})


def test_a_loop_that_waits_for_its_own_end_is_refused() -> None:
    start = tf.constant(5.0, name="start")
    i, y = tf.while_loop(lambda i, _: i < 3.0, lambda i, y: (i + 1.0, y + 1.0), [0.0, start])
    (enter,) = [op for op in start.op.graph.get_operations() if op.inputs[:1] == [start]]
    enter._update_input(0, tf.exp(i, name="after"))
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="waits for itself, through a loop"
        ):
            session.run(y)


def test_a_loop_has_one_condition() -> None:
    entered = tf.raw_ops.Enter(data=tf.constant(1.0), frame_name="mine")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="'mine' has 0 LoopCond nodes"):
            session.run(tf.raw_ops.Exit(data=entered))


def test_the_number_of_a_branch_is_fetched_or_read() -> None:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    off, on = switch(x, p)
    value, index = tf.raw_ops.Merge(inputs=[tf.exp(off), tf.square(on)])
    with tf.Session() as session:
        for _ in range(4):
            assert session.run(index, {x: 3.0, p: True}) == 1
            got = session.run(index + 5, {x: 3.0, p: False})
            assert got == 5 and got.dtype == np.int32
            assert session.run([value, index], {x: 3.0, p: True, index: 7}) == [9.0, 7]
            assert session.run([value, index + 1], {x: 3.0, p: True, value: 2.0}) == [2.0, 2]
