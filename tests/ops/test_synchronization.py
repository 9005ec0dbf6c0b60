"""Accumulators, barriers, staging areas and critical sections."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.staging import StagingArea
from dataflow.kernels.accumulator import Accumulator
from dataflow.ops.barrier import Barrier
from dataflow.ops.map_staging_area import MapStagingArea

pytestmark = pytest.mark.usefixtures("graph")


def in_threads(count: int, function: Any) -> None:
    threads = [threading.Thread(target=function, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_an_accumulator_averages_and_drops_stale_gradients() -> None:
    total = tf.ConditionalAccumulator(tf.float32, [2])
    grad, step = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [])
    apply, take = total.apply_grad(grad, step), total.take_grad(2)
    with tf.Session() as session:
        session.run(total.set_global_step(3))
        session.run(apply, {grad: [9, 9], step: 2})
        assert session.run(total.num_accumulated()) == 0
        session.run(apply, {grad: [1, 2], step: 3})
        session.run(apply, {grad: [3, 4], step: 5})
        np.testing.assert_array_equal(session.run(take), [2, 3])
        assert session.run(total.num_accumulated()) == 0
        session.run(apply, {grad: [1, 1], step: 3})  # taking moved the step on
        assert session.run(total.num_accumulated()) == 0


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.int16])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_step_of_any_integer_type_decides_what_is_stale(dtype: Any, sparse: bool) -> None:
    step = tf.Variable(0, dtype=dtype, trainable=False)
    if sparse:
        total: Any = tf.SparseConditionalAccumulator(tf.float32)
        rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))
        apply = total.apply_indexed_slices_grad(rows, local_step=step)
    else:
        total = tf.ConditionalAccumulator(tf.float32, [2])
        apply = total.apply_grad([1.0, 2.0], local_step=step)
    with tf.Session() as session:
        session.run(step.initializer)
        session.run(apply)
        session.run(total.set_global_step(step + 1))
        session.run(apply)  # of a step that is over
        assert session.run(total.num_accumulated()) == 1


def test_taking_waits_for_enough_gradients() -> None:
    total = tf.ConditionalAccumulator(tf.float32, [], reduction_type="SUM")
    apply, take = total.apply_grad(2.0), total.take_grad(3)
    results: list[Any] = []
    with tf.Session() as session:
        taker = threading.Thread(target=lambda: results.append(session.run(take)), daemon=True)
        taker.start()
        in_threads(3, lambda _: session.run(apply))
        taker.join(20)
    assert results == [6.0]


@pytest.mark.parametrize("reduction", ["MEAN", "SUM"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int32])
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_gradients_that_nobody_may_change_give_what_others_give(
    shape: tuple[int, ...], dtype: Any, reduction: str
) -> None:
    """Numbers, and arrays as they come in a message, are kept as they are and not written to."""
    values = [np.full(shape, v, dtype.as_numpy_dtype) for v in (7, 5, 3)]
    kept = [v.copy() for v in values]
    for value in kept:
        value.flags.writeable = False
    results = []
    for gradients in (values, kept, [v[()] if not shape else v for v in kept]):
        accumulator = Accumulator("a", dtype, shape, reduction)
        for gradient in gradients:
            accumulator.apply(0, gradient)
        accumulator.apply(-1, gradients[0])  # stale
        assert accumulator.dropped == 1
        results.append(accumulator.take(None, 3))
        assert (accumulator.count, accumulator.step) == (0, 1)
    for result in results:
        assert result.dtype == dtype.as_numpy_dtype and result.shape == shape
        assert (result == (15 if reduction == "SUM" else 5)).all()
    assert [v.max() for v in kept] == [v.max() for v in values] == [7, 5, 3]


def test_a_sparse_accumulator_averages_row_by_row() -> None:
    total = tf.SparseConditionalAccumulator(tf.float32, [4, 2])
    first = tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([0, 2]))
    with tf.Session() as session:
        session.run(total.apply_indexed_slices_grad(first))
        session.run(total.apply_grad([2, 3], [[4.0, 4.0], [5.0, 5.0]]))
        result = session.run(total.take_indexed_slices_grad(2))
    np.testing.assert_array_equal(result.indices, [0, 2, 3])
    np.testing.assert_array_equal(result.values, [[1, 1], [3, 3], [5, 5]])
    np.testing.assert_array_equal(result.dense_shape, [4, 2])


def test_a_barrier_gives_complete_tuples_only() -> None:
    barrier = Barrier([tf.float32, tf.string], [[], []])
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
        session.run(barrier.insert_many(1, ["b"], ["two"]))
        assert session.run([barrier.ready_size(), barrier.incomplete_size()]) == [1, 1]
        _, keys, values = session.run(barrier.take_many(1))
        assert keys.tolist() == [b"b"]
        assert values[1].tolist() == [b"two"]
        session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError):
            session.run(barrier.insert_many(0, ["new"], [1.0]))
        session.run(barrier.insert_many(1, ["a"], ["one"]))
        session.run(barrier.take_many(1))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(barrier.take_many(1))


def test_a_closed_barrier_gives_what_is_complete_where_fewer_will_do() -> None:
    """As in TensorFlow: in the order of the first insertions, however late the tuples are complete."""
    barrier = Barrier([tf.float32, tf.float32], [[], []])
    some = barrier.take_many(9, allow_small_batch=True)[1]
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        for key in "abcd":
            session.run(barrier.insert_many(0, [key], [1.0]))
        session.run(barrier.insert_many(1, ["d", "b"], [2.0, 2.0]))
        session.run(barrier.close())
        with pytest.raises(tf.errors.OutOfRangeError, match="insufficient"):
            session.run(barrier.take_many(5))  # four there will ever be
        assert session.run(some).tolist() == [b"b", b"d"]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(some)  # two are incomplete, but nothing waits for them
        session.run(barrier.insert_many(1, ["c", "a"], [2.0, 2.0]))
        assert session.run(barrier.take_many(2)[1]).tolist() == [b"a", b"c"]


def test_a_staging_area_is_a_queue() -> None:
    area = StagingArea([tf.float32, tf.int32], [[], []], names=["x", "n"], capacity=2)
    put, get = area.put({"x": 1.5, "n": 3}), area.get()
    with tf.Session() as session:
        session.run(put)
        assert session.run(area.size()) == 1
        assert session.run(get) == {"x": 1.5, "n": 3}
        session.run(put)
        session.run(area.clear())
        assert session.run(area.size()) == 0


def test_critical_sections_exclude_each_other() -> None:
    section = tf.CriticalSection()
    inside, most = [0], [0]
    pause = threading.Event()

    def note(x: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        pause.wait(0.002)
        inside[0] -= 1
        return x

    y = section.execute(lambda: tf.py_func(note, [tf.constant(1.0)], tf.float32))
    with tf.Session() as session:
        in_threads(4, lambda _: [session.run(y) for _ in range(5)])
    assert most == [1]


def test_updates_in_a_critical_section_are_not_lost() -> None:
    section, v = tf.CriticalSection(), tf.Variable(0.0)
    pause = threading.Event()

    def slowly(x: Any) -> Any:
        pause.wait(0.001)
        return x + np.float32(1)

    def update() -> Any:
        return tf.assign(v, tf.py_func(slowly, [v + 0.0], tf.float32))

    op = section.execute(update)
    with tf.Session() as session:
        session.run(v.initializer)
        in_threads(4, lambda _: [session.run(op) for _ in range(10)])
        assert session.run(v) == 40.0


def test_a_failure_inside_gives_the_lock_back() -> None:
    section = tf.CriticalSection()
    x = tf.placeholder(tf.float32, [])
    bad = section.execute(lambda: tf.check_numerics(tf.log(x), "bad"))
    results: list[Any] = []
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(bad, {x: -1.0})
        in_threads(1, lambda _: results.append(session.run(bad, {x: 1.0})))
    assert results == [0.0]


def test_two_sections_in_one_run() -> None:
    section = tf.CriticalSection()
    one, two = section.execute(lambda: tf.constant(1)), section.execute(lambda: tf.constant(2))
    with tf.Session() as session:
        assert session.run([one, two]) == [1, 2]


@pytest.mark.parametrize("reduction", ["MEAN", "SUM"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "complex64"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
def test_gradients_that_nobody_changes_are_added_and_left_as_they_were(
    reduction: str, dtype: str, shape: tuple[int, ...]
) -> None:
    class Waiting:
        def postpone_unless(self, condition: Any, ready: Any) -> None:
            assert ready()

        def wait(self, condition: Any, ready: Any) -> None:
            assert ready()

    for fixed in itertools.product([True, False], repeat=3):
        accumulator = Accumulator("sum", tf.as_dtype(dtype), shape, reduction)
        gradients = [np.full(shape, n, dtype) for n in (1, 2, 5)]
        for gradient, is_fixed in zip(gradients, fixed, strict=True):
            gradient.flags.writeable = not is_fixed
            accumulator.apply(0, gradient)
        taken = accumulator.take(Waiting(), 3)
        wanted = np.full(shape, 8, dtype)
        if reduction == "MEAN":
            wanted = (wanted / 3).astype(dtype)
        np.testing.assert_array_equal(taken, wanted)
        assert taken.dtype == dtype
        assert [int(g.reshape(-1)[0].real) for g in gradients] == [1, 2, 5]
        accumulator.apply(1, gradients[2])
        assert accumulator.take(Waiting(), 1).dtype == dtype
        assert int(gradients[2].reshape(-1)[0].real) == 5


def test_a_look_into_the_staging_area() -> None:
    area = StagingArea([tf.int32], [[]])
    put, peek, get = area.put([tf.placeholder_with_default(3, [])]), area.peek(0), area.get()
    with tf.Session() as session:
        session.run(put)
        assert session.run([peek, area.size()]) == [[3], 1]
        assert session.run([get, area.size()])[0] == [3]


def test_a_branch_may_be_taken_in_a_critical_section() -> None:
    """What comes after the section must not wait for the branch that is not taken."""
    with tf.Graph().as_default():
        limit, count = tf.Variable(2), tf.Variable(0)
        section = tf.CriticalSection()

        def append():
            grown = tf.cond(
                tf.equal(count, limit), lambda: tf.assign(limit, limit * 2), lambda: limit
            )
            with tf.control_dependencies([grown]):
                return tf.assign_add(count, 1)

        with tf.control_dependencies([section.execute(append)]):
            after = tf.identity(5)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert [session.run(after) for _ in range(4)] == [5] * 4
            assert session.run([count, limit]) == [4, 4]


def test_a_function_may_not_enter_its_own_critical_section() -> None:
    section = tf.CriticalSection(shared_name="lock")
    again = tf.CriticalSection(shared_name="lock")
    for inner in (section, again):
        with pytest.raises(ValueError, match="itself"):
            section.execute(lambda inner=inner: inner.execute(lambda: tf.constant(1.0) + 1))


def test_a_resource_is_used_in_one_critical_section() -> None:
    first, second = tf.CriticalSection(), tf.CriticalSection()
    a, b = (tf.get_variable(n, initializer=0.0, use_resource=True) for n in "ab")
    first.execute(lambda: a + 1)
    first.execute(lambda: a - 1)
    for exclusive in (True, False):
        with pytest.raises(ValueError, match="exclusive resource access"):
            second.execute(lambda: a + 1, exclusive_resource_access=exclusive)
    first.execute(lambda: b + 1, exclusive_resource_access=False)
    second.execute(lambda: b + 1, exclusive_resource_access=False)
    with pytest.raises(ValueError, match="exclusive resource access"):
        second.execute(lambda: b + 1)


def test_what_a_critical_section_uses_is_computed_before_its_lock_is_taken() -> None:
    section = tf.CriticalSection(shared_name="lock")
    first = section.execute(lambda: tf.identity(1.0))
    later = tf.identity(first)
    second = section.execute(lambda: later + 1.0)

    def body(i: Any, j: Any) -> Any:
        return i + 1, section.execute(lambda: j + 1)

    _, count = tf.while_loop(lambda i, _: i < 50, body, [0, 0], parallel_iterations=25)
    with tf.Session() as session:
        assert session.run(second) == 2.0
        assert session.run(count) == 50


def test_critical_sections_are_in_collections_of_their_graph() -> None:
    section = tf.CriticalSection()
    assert tf.get_collection("critical_sections") == [section]
    section.execute(lambda: tf.constant(1.0) + 1, name="mine")
    (execution,) = tf.get_collection("critical_section_executions")
    assert execution.op.type == "MutexLock" and "mine" in execution.op.name
    assert execution.exclusive_resource_access


def test_a_staging_area_by_keys_takes_parts_and_gives_parts() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        area = MapStagingArea([tf.float32, tf.int32], names=["x", "n"], shapes=[[2], []])
        key, x, n = (
            tf.placeholder(tf.int64, []),
            tf.placeholder(tf.float32),
            tf.placeholder(tf.int32),
        )
        put_x, put_n = area.put(key, {"x": x}), area.put(key, {"n": n})
        sizes = [area.size(), area.incomplete_size()]
        peek, (_, part), (found, rest) = area.peek(key), area.get(key, ["x"]), area.get(indices=[1])
        assert part["x"].shape.as_list() == [2] and list(rest) == ["n"]
        session.run(put_x, {key: 5, x: [1.0, 2.0]})
        assert session.run(sizes) == [0, 1]
        session.run(put_n, {key: 5, n: 7})
        assert session.run(sizes) == [1, 0]
        seen = session.run(peek, {key: 5})
        assert seen["x"].tolist() == [1.0, 2.0] and seen["n"] == 7
        assert session.run(part, {key: 5})["x"].tolist() == [1.0, 2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="was taken"):
            session.run(peek, {key: 5})
        assert session.run([found, rest]) == [5, {"n": 7}]
        assert session.run(sizes) == [0, 0]


def test_a_staging_area_by_keys_has_an_order_and_limits() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        area = MapStagingArea([tf.int32], ordered=True, capacity=3)
        key = tf.placeholder(tf.int64, [])
        put = area.put(key, [tf.cast(key, tf.int32)], [0])
        for number in (9, 2, 5):
            session.run(put, {key: number})
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(put, {key: 1}, options=tf.RunOptions(timeout_in_ms=100))
        assert [int(session.run(area.get())[0]) for _ in range(2)] == [2, 5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="all of its values"):
            session.run(put, {key: 9})
        session.run(area.clear())
        assert session.run(area.size()) == 0
        small = MapStagingArea([tf.int32], memory_limit=2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="memory_limit"):
            session.run(small.put(1, [tf.constant(1)], [0]))
        for wrong in ([tf.constant(1)], tf.constant(1), {"x": 1}):
            with pytest.raises(ValueError):
                area.put(1, wrong)
        with pytest.raises(ValueError, match="names"):
            MapStagingArea([tf.int32], names=["a", "b"])


def test_components_are_named_in_their_order() -> None:
    options = {"shared_name": "unordered", "dtypes": [tf.float32, tf.float32]}
    with tf.Graph().as_default(), tf.Session() as session:
        peek = tf.raw_ops.MapPeek(key=tf.constant(3, tf.int64), indices=[1, 0], **options)
        stage = tf.raw_ops.MapStage(
            key=tf.constant(3, tf.int64), indices=[0, 1], values=[tf.ones([2])] * 2, **options
        )
        session.run(stage)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not strictly ordered"):
            session.run(peek)


def test_sections_in_a_loop_of_a_function() -> None:
    """What the section changes comes into the loop from outside, and functions put effects in order."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=0, use_resource=True)
        section = tf.CriticalSection()

        @tf.function
        def count() -> Any:
            for _ in tf.range(3):
                section.execute(lambda: v.assign_add(2).value())
            return v.value()

        total = count()
        session.run(v.initializer)
        assert [session.run(total) for _ in range(2)] == [6, 12]
