"""One step whose ops wait for each other, fail beside each other, or wait for too long."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.capabilities import THREADS
from dataflow.runtime import cancellation, concurrency, time_limits, waiting
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan

RUNS = 5  # the plan is rewritten in between
WAIT_SECONDS = 30


pytestmark = pytest.mark.usefixtures("graph")


def in_time(function: Any) -> Any:
    """What ``function`` returns or raises; fails where it hangs (without threads nothing can)."""
    if not THREADS:
        return function()
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append((function(), None))
        except BaseException as e:
            outcome.append((None, e))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    assert outcome, "the step hangs"
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_dequeue_and_the_enqueue_that_it_waits_for(order: Any) -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    both = [queue.dequeue() + 1, queue.enqueue(33)]
    with tf.Session() as session:
        for _ in range(RUNS):
            values = in_time(lambda: session.run([both[i] for i in order]))
            assert values[order.index(0)] == 34


def test_an_enqueue_into_a_full_queue_and_the_dequeue() -> None:
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    many, all_of_them = queue.enqueue_many([[1, 2, 3, 4, 5]]), queue.dequeue_many(5)
    with tf.Session() as session:
        for _ in range(RUNS):
            np.testing.assert_array_equal(
                in_time(lambda: session.run([many, all_of_them])[1]), [1, 2, 3, 4, 5]
            )


def test_a_chain_of_queues_built_backwards() -> None:
    first, second = (tf.FIFOQueue(1, tf.float32, shapes=[[]]) for _ in range(2))
    result = second.dequeue() + 1.0
    middle = second.enqueue(first.dequeue() * 2.0)
    start = first.enqueue(5.0)
    with tf.Session() as session:
        for _ in range(RUNS):
            assert in_time(lambda: session.run([result, middle, start])[0]) == 11


def test_a_failure_ends_the_wait_of_the_others() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    x = tf.placeholder(tf.float32, [None])
    checked = tf.check_numerics(tf.log(x), "not a number")
    fetches = [queue.dequeue(), checked]
    with tf.Session() as session:
        for _ in range(RUNS):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not a number") as caught:
                in_time(lambda: session.run(fetches, {x: [-1.0]}))
            assert caught.value.op is checked.op
        session.run(queue.enqueue(7))
        assert session.run(fetches, {x: [1.0]})[0] == 7


@pytest.mark.threads
def test_a_step_sleeps_until_another_of_its_threads_has_done_a_line(monkeypatch: Any) -> None:
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    threads: list[threading.Thread] = []
    looked: list[Any] = []
    run = waiting.Rest._run_ready_lines

    def look(rest: Any) -> None:
        looked.append(rest)
        run(rest)

    def slow(x: Any) -> Any:
        threads.extend(t for t in threading.enumerate() if t.name == "dataflow-step")
        time.sleep(0.05)
        return x

    monkeypatch.setattr(waiting.Rest, "_run_ready_lines", look)
    taken, put = queue.dequeue() + 1.0, queue.enqueue(1.0)
    with tf.control_dependencies([put]):
        late = tf.square(tf.py_func(slow, [tf.constant(3.0)], tf.float32))
    with tf.Session() as session:
        assert in_time(lambda: session.run([taken, late])) == [2.0, 9.0]
    assert threads and all(t.daemon for t in threads)
    assert len(looked) < 20


def test_the_error_of_the_op_that_waits() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    dequeued = queue.dequeue()
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError) as caught:
                in_time(lambda: session.run([dequeued, queue.close()]))
            assert caught.value.op is dequeued.op


@pytest.mark.threads
@pytest.mark.parametrize("after_another", [False, True])
def test_python_functions_that_wait_for_each_other(after_another: bool) -> None:
    events = [threading.Event(), threading.Event()]

    def function(own: int) -> Any:
        def body() -> float:
            events[own].set()
            assert events[1 - own].wait(WAIT_SECONDS)
            return float(own)

        return body

    x = tf.square(tf.placeholder_with_default(2.0, []))
    before = [tf.py_func(lambda x: x, [x], tf.float32)] if after_another else []
    with tf.control_dependencies(before):
        both = [tf.py_func(function(i), [], tf.double) for i in range(2)]
    with tf.Session() as session:
        for _ in range(RUNS):
            for event in events:
                event.clear()
            assert in_time(lambda: session.run(both)) == [0.0, 1.0]


def test_large_values_are_not_written_over_too_early(monkeypatch: Any) -> None:
    """The plan writes in place, in the order of its lines; while one waits, others run before."""
    monkeypatch.setattr(cancellation, "GRACE_SECONDS", 0.0)
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    x = tf.placeholder(tf.float32, [300, 300])
    h = tf.matmul(x, x)
    late = queue.dequeue()
    uses_both = tf.tanh(h * late)
    only_h = tf.reduce_sum(tf.sigmoid(h + 1.0) * 0.5)
    put = queue.enqueue(only_h * 0.0 + 2.0)
    fetches = [tf.reduce_sum(uses_both), only_h, put]
    value = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32) * 0.01
    with tf.Session() as session:
        session.run(queue.enqueue(2.0))
        expected = session.run(fetches[:2], {x: value})
        for _ in range(2 * RUNS):
            np.testing.assert_array_equal(
                in_time(lambda: session.run(fetches, {x: value})[:2]), expected
            )


def test_a_step_that_need_not_wait_runs_in_one_thread(monkeypatch: Any) -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    dequeued = queue.dequeue()
    enqueued = queue.enqueue(1)
    monkeypatch.setattr(threading.Thread, "start", lambda self: pytest.fail("a thread was started"))
    with tf.Session() as session:
        session.run(enqueued)
        for _ in range(RUNS):
            assert session.run([dequeued, enqueued])[0] == 1


@pytest.mark.threads
def test_closing_the_session_ends_a_step_that_was_handed_over() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    session = tf.Session()
    v = tf.Variable(0.0)
    session.run(v.initializer)
    step = [queue.dequeue(), tf.assign(v, 1.0)]
    errors: list[Any] = []

    def work() -> None:
        try:
            session.run(step)
        except tf.errors.OpError as e:
            errors.append(e)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    reached = threading.Event()
    while session.run(v) != 1.0:
        reached.wait(0.01)
    session.close()
    thread.join(WAIT_SECONDS)
    assert isinstance(errors[0], tf.errors.CancelledError)


def test_operation_timeout() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    dequeued, enqueued = queue.dequeue(), queue.enqueue(3)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=300)) as session:
        for run in (session.run, lambda fetch: session.make_callable(fetch)()):
            for _ in range(3):
                with pytest.raises(tf.errors.DeadlineExceededError):
                    in_time(lambda run=run: run(dequeued))
                run(enqueued)
                assert in_time(lambda run=run: run(dequeued)) == 3


@pytest.mark.threads
def test_the_time_out_of_one_run_leaves_others_alone() -> None:
    queue, other = (tf.FIFOQueue(3, tf.int32, shapes=[[]]) for _ in range(2))
    dequeued = queue.dequeue()
    with tf.Session() as session:
        values: list[Any] = []
        thread = threading.Thread(target=lambda: values.append(session.run(dequeued)), daemon=True)
        thread.start()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(other.dequeue(), options=tf.RunOptions(timeout_in_ms=50))
        session.run(queue.enqueue(4))
        thread.join(WAIT_SECONDS)
        assert values == [4]


@pytest.mark.threads
def test_a_dequeue_lets_waiting_elements_in_at_once() -> None:
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    fill, one_more = queue.enqueue_many([[1, 2]]), queue.enqueue(3)
    dequeued, size = queue.dequeue(), queue.size()
    with tf.Session() as session:
        session.run(fill)
        thread = threading.Thread(target=lambda: session.run(one_more), daemon=True)
        thread.start()
        kept = session.resources.items("queue")[0][1]
        pause = threading.Event()
        while not kept.enqueuers:
            pause.wait(0.01)
        assert session.run(dequeued) == 1
        assert session.run(size) == 2
        thread.join(WAIT_SECONDS)


@pytest.mark.threads
def test_a_step_in_which_all_else_waits_for_the_op_is_an_ordinary_one() -> None:
    area = tf.contrib.staging.StagingArea([tf.float32], shapes=[[]])
    (taken,) = area.get()
    alone, beside = tf.exp(taken), [tf.exp(taken), tf.random_uniform([])]
    with tf.Session() as session:
        for fetches, hands_over in ((alone, False), (beside, True)):
            plan = Plan(session, FetchPlan(session.graph, fetches, session), [])
            kernels = [k for k in plan.generated.function.__globals__.values() if callable(k)]
            wrapped = [k for k in kernels if getattr(k, "__module__", "") == waiting.__name__]
            assert bool(wrapped) is hands_over


@pytest.mark.threads
def test_an_op_in_a_branch_waits_and_so_does_one_after_it() -> None:
    queues = [tf.FIFOQueue(2, tf.float32, shapes=[[]]) for _ in range(2)]
    pred = tf.placeholder(tf.bool, [])
    inside = tf.cond(pred, lambda: queues[0].dequeue() + 1.0, lambda: tf.constant(1.0))
    taken = inside + queues[1].dequeue()  # the branch comes first
    puts = [queue.enqueue(3.0) for queue in queues]
    left = queues[0].dequeue()
    with tf.Session() as session:
        for _ in range(RUNS):
            for taken_branch, wanted in ((True, 7.0), (False, 4.0)):
                feeds = {pred: taken_branch}
                assert in_time(lambda: session.run([taken, *puts], feeds)[0]) == wanted  # noqa: B023
                if not taken_branch:
                    session.run(left)


def test_what_the_waiting_op_reads_is_there_for_the_op_after_it() -> None:
    """Its own reading counts as one: a value was forgotten while another line still had to read it."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    x = tf.random_uniform([]) + 1.0
    put = queue.enqueue(x)
    with tf.control_dependencies([put]):
        after = x * 2.0
    taken = queue.dequeue()
    with tf.Session() as session:
        session.run(queue.enqueue(5.0))  # full: the enqueue waits for the dequeue
        for _ in range(RUNS):
            first, doubled = in_time(lambda: session.run([taken, after]))
            assert first == 5.0 or 1 <= first < 2
            assert 2 <= doubled < 4


@pytest.mark.threads
def test_one_thread_at_a_time_runs_lines_of_a_step() -> None:
    rest = waiting.Rest.__new__(waiting.Rest)
    rest.changed, rest.turn = threading.Condition(), False
    events: list[str] = []

    def second() -> None:
        rest._take_turn()
        events.append("second")
        rest._give_turn()

    rest._take_turn()
    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    with rest.changed:  # until the other thread waits, or has come through
        while not rest.changed._waiters and not events:  # type: ignore[attr-defined]
            rest.changed.wait(0.01)
    events.append("first")
    rest._give_turn()
    thread.join(WAIT_SECONDS)
    assert events == ["first", "second"]


class _Elsewhere(cancellation.Waiter):
    """Another thread goes on with the step, where another op fails or the session is closed."""

    def __init__(
        self, closed: cancellation.Cancellation | None = None, fails: bool = False
    ) -> None:
        self.cancellation = cancellation.Cancellation()
        self.went_on = 0
        self._ended = self.cancellation if fails else closed

    def go_on(self) -> None:
        self.went_on += 1
        if self._ended is not None:
            self._ended.cancel()


@pytest.mark.threads
@pytest.mark.parametrize("closed", [False, True])
def test_who_waits_is_told_whether_its_step_or_its_session_ended(
    closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition, session = threading.Condition(), cancellation.Cancellation()
    waiter = _Elsewhere(session if closed else None, fails=not closed)
    monkeypatch.setattr(cancellation.here, "waiter", waiter)
    why = (
        "cancelled: its session was closed"
        if closed
        else "waiting when another op of its step failed"
    )
    with condition, pytest.raises(tf.errors.CancelledError, match=f"'op' was {why}"):
        cancellation.wait_for(condition, lambda: False, session, "op")
    assert waiter.went_on == 1
    assert not session._callbacks and not waiter.cancellation._callbacks


@pytest.mark.threads
def test_who_need_not_wait_or_waits_for_so_long_only(monkeypatch: pytest.MonkeyPatch) -> None:
    condition, session = threading.Condition(), cancellation.Cancellation()
    waiter = _Elsewhere()
    monkeypatch.setattr(cancellation.here, "waiter", waiter)
    with condition:
        assert cancellation.wait_for(condition, lambda: True, session, "op") and not waiter.went_on
        assert not cancellation.wait_for(condition, lambda: False, session, "op", 0.05)
    with time_limits.within(0.05), condition, pytest.raises(tf.errors.DeadlineExceededError):
        cancellation.wait_for(condition, lambda: False, session, "op", 30.0)


@pytest.mark.parametrize(
    ("seconds_of_run", "seconds", "ends_the_run"),
    [(None, 0.01, False), (30.0, 0.01, False), (0.01, 30.0, True)],
)
def test_without_threads_the_earlier_of_two_time_limits_ends_a_wait(
    seconds_of_run: float | None, seconds: float, ends_the_run: bool
) -> None:
    limit = (
        contextlib.nullcontext() if seconds_of_run is None else time_limits.within(seconds_of_run)
    )
    condition, session = threading.Condition(), cancellation.Cancellation()

    def wait() -> bool:
        return cancellation.wait_without_threads(condition, lambda: False, session, "op", seconds)

    with limit, condition:
        if ends_the_run:
            with pytest.raises(tf.errors.DeadlineExceededError, match="'op' was still waiting"):
                wait()
        else:
            assert not wait()


@pytest.mark.parametrize("later", [False, True])
def test_values_go_after_their_last_use_while_an_op_waits(
    later: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left when a step that was handed over ends: what is fetched, and what was fed."""
    kept: list[Any] = []
    result = waiting.Rest._result

    def look(rest: Any) -> Any:
        kept.append(dict(rest.values))
        return result(rest)

    monkeypatch.setattr(waiting.Rest, "_result", look)
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    x = tf.placeholder(tf.float32, [4], name="x")
    _, half = tf.split(tf.exp(x), 2)
    total = tf.reduce_sum(tf.sin(half)) * 0.0
    taken, put = queue.dequeue(), queue.enqueue(total + 5.0)
    fetches = [taken * 2.0, put] if later else [taken + total, total, put]
    with tf.Session() as session:
        for _ in range(RUNS):
            values = in_time(lambda: session.run(fetches, {x: [1, 2, 3, 4]}))
            assert values[0] == (10.0 if later else 5.0)
    assert kept
    for values in kept:
        assert len(values) == (2 if later else 3), values  # x, and each fetched number
        assert values["x"].shape == (4,)
        assert all(np.shape(value) == () for name, value in values.items() if name != "x")


@pytest.mark.threads
def test_an_error_of_a_python_function_beside_an_op_that_waits() -> None:
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])

    def fail() -> float:
        raise ValueError("no number")

    failing, taken = tf.py_func(fail, [], tf.double, name="failing"), queue.dequeue()
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no number") as caught:
                in_time(lambda: session.run([failing * 2.0, taken]))
            assert caught.value.op is failing.op
        session.run(queue.enqueue(3.0))
        assert session.run(taken) == 3.0


@pytest.mark.threads
def test_regions_of_other_threads_are_taken_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that a helper computes when the step is handed over: its result is there for the rest."""
    monkeypatch.setattr(cancellation, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr("dataflow.runtime.plan.num_threads", lambda: 2)
    monkeypatch.setattr(concurrency, "LEAST_MICROSECONDS", 1e-9)
    monkeypatch.setattr(concurrency, "microseconds", lambda op, single: 2.0)
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[2]])
    x = tf.placeholder(tf.float32, [2], name="x")
    one, two = (tf.cumsum(tf.reverse(tf.cumsum(x * factor), [0])) for factor in (1.0, 10.0))
    taken, put = queue.dequeue(), queue.enqueue(two)
    fetches = [tf.concat([one, taken, two], 0), put]
    with tf.Session() as session:
        plan = Plan(session, FetchPlan(session.graph, fetches, session), [x])
        plan.rewrite()
        for _ in range(RUNS):
            got, _ = in_time(lambda: plan.run([np.array([1, 2], np.float32)]))
            assert got.tolist() == [3, 4, 30, 40, 30, 40]
        assert "future(" in plan.source


@pytest.mark.threads
def test_a_wait_says_whether_it_became_ready_or_the_time_ran_out() -> None:
    condition, there = threading.Condition(), []

    def waited(timeout_seconds: float) -> bool:
        with condition:
            return cancellation.wait_for(
                condition, lambda: bool(there), cancellation.Cancellation(), "op", timeout_seconds
            )

    def arrive() -> None:
        with condition:
            there.append(1)
            condition.notify_all()

    assert not waited(0.01)
    timer = threading.Timer(0.2, arrive)
    timer.start()
    assert in_time(lambda: waited(WAIT_SECONDS))
    timer.join(WAIT_SECONDS)
    assert waited(0.0)


def test_a_deadline_has_loops_look_at_the_clock_for_as_long_as_it_lasts() -> None:
    end = time_limits.LoopEnd()
    with time_limits.within(WAIT_SECONDS, end):
        with time_limits.within(WAIT_SECONDS, end):
            assert end.due == 2
        assert end.due == 1
        end.end()  # it is not time yet
    assert end.due == 0
