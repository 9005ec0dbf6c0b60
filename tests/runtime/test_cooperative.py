"""Queue runners, coordinators, background jobs and data sets, with threads and without.

All tests here run in the everyday suite with threads. `test_without_threads` runs them, and some of
other modules, in a process with ``DATAFLOW_THREADS=0``, where `conftest` lets no thread start.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.capabilities import THREADS
from dataflow.runtime import cooperative
from dataflow.runtime.cooperative import Task, Wait, scheduler

TESTS = Path(__file__).resolve().parents[1]
#: What the everyday suite runs without threads; the whole of these folders passes, too.
SELECTION = (
    "runtime/test_cooperative.py",
    "runtime/test_waiting.py",
    "train/test_coordinator.py",
    "cluster/management/test_cooperative_backend.py",
    "train/test_input.py::test_an_error_in_a_runner_reaches_the_main_thread",
    "data/test_dataset.py::test_prefetch_passes_errors_on_and_ends_its_thread",
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as g:
        yield g
    assert THREADS or not scheduler.tasks, "a test left tasks behind"


def test_without_threads() -> None:
    if not THREADS:
        return  # it is this process
    environment = os.environ | {"DATAFLOW_THREADS": "0"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [*command, *SELECTION], cwd=TESTS, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.without_threads
def test_no_thread_can_start_here() -> None:
    import threading

    with pytest.raises(RuntimeError, match="can't start new thread"):
        threading.Thread(target=print).start()


def test_a_bad_setting_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import dataflow.capabilities"],
        env=os.environ | {"DATAFLOW_THREADS": "no"},
        capture_output=True,
        text=True,
    )
    assert "DATAFLOW_THREADS='no' in the environment: it must be 0" in done.stderr


def drained(session: Any, fetches: Any) -> list[Any]:
    """All values until the end of the input."""
    values = []
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    try:
        while not coordinator.should_stop():
            values.append(session.run(fetches))
    except tf.errors.OutOfRangeError:
        pass
    finally:
        coordinator.request_stop()
        coordinator.join(threads)
    assert not any(thread.is_alive() for thread in threads)
    return values


def initialized() -> Any:
    session = tf.Session()
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session


def test_a_chain_of_queue_runners() -> None:
    (row,) = tf.train.slice_input_producer([np.arange(20)], num_epochs=3, shuffle=False)
    pairs = tf.train.batch([row * 2], 4, capacity=4)
    with initialized() as session:
        values = np.concatenate(drained(session, pairs))
    np.testing.assert_array_equal(values, np.tile(np.arange(20), 3) * 2)


def test_several_runners_of_one_queue_lose_nothing() -> None:
    (row,) = tf.train.slice_input_producer([np.arange(30)], num_epochs=2, shuffle=True)
    batch = tf.train.shuffle_batch([row], 5, 20, 5, num_threads=3)
    with initialized() as session:
        values = np.concatenate(drained(session, batch))
    np.testing.assert_array_equal(np.sort(values), np.repeat(np.arange(30), 2))


def test_a_runner_of_two_queues_keeps_pairs_together() -> None:
    """One of its dequeues has to wait, behind a conditional: what the other took is not lost."""
    first, second = (tf.FIFOQueue(2, tf.int32, shapes=[[]]) for _ in range(2))
    together = tf.FIFOQueue(100, [tf.int32, tf.int32], shapes=[[], []])
    a, b = first.dequeue(), second.dequeue()
    join = tf.cond(a >= 0, lambda: together.enqueue([a, b]), lambda: together.enqueue([a, b]))
    runner = tf.train.QueueRunner(together, [join])
    x = tf.placeholder(tf.int32, [])
    put_first, put_second, pair = first.enqueue(x), second.enqueue(x), together.dequeue()
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, daemon=True, start=True)
        for i in range(6):
            session.run(put_first, {x: i})
            session.run(put_second, {x: i})
            if i % 2:
                assert [session.run(pair) for _ in range(2)] == [[i - 1] * 2, [i] * 2]
        coordinator.request_stop()
        session.close()
        coordinator.join(threads)


def test_maybe_batch_waits_for_room() -> None:
    (row,) = tf.train.slice_input_producer([np.arange(12)], num_epochs=2, shuffle=False)
    batch = tf.train.maybe_batch([row], tf.equal(row % 3, 0), 2, capacity=2)
    with initialized() as session:
        values = np.concatenate(drained(session, batch))
    np.testing.assert_array_equal(values, np.tile([0, 3, 6, 9], 2))


def test_a_queue_that_the_main_program_fills_for_a_runner() -> None:
    names, lines = tf.FIFOQueue(5, tf.int32, shapes=[[]]), tf.FIFOQueue(5, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(lines, [lines.enqueue(names.dequeue() * 10)])
    put, take = names.enqueue_many([[1, 2, 3]]), lines.dequeue_many(3)
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, daemon=True, start=True)
        for _ in range(3):
            session.run(put)
            np.testing.assert_array_equal(session.run(take), [10, 20, 30])
        coordinator.request_stop()
        session.close()
        coordinator.join(threads)


def test_an_error_of_a_runner_names_its_node() -> None:
    (row,) = tf.train.slice_input_producer([np.arange(4)], shuffle=False)
    checked = tf.check_numerics(tf.log(tf.cast(row, tf.float32) - 2.0), "not a number")
    batch = tf.train.batch([checked], 2)
    with initialized() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a number") as caught:
            coordinator.join(threads)
    assert caught.value.op is checked.op


def test_staging_between_a_looper_and_the_main_program() -> None:
    area = tf.contrib.staging.StagingArea([tf.int64], [[]], capacity=1)
    counter = tf.Variable(0, dtype=tf.int64)
    put, get = area.put([tf.assign_add(counter, 1)]), area.get()
    with initialized() as session:
        coordinator = tf.train.Coordinator()
        looper = tf.train.LooperThread.loop(coordinator, None, session.run, [put])
        assert [int(np.squeeze(session.run(get))) for _ in range(5)] == [1, 2, 3, 4, 5]
        coordinator.request_stop()
        while looper.is_alive():  # the last put waits for room
            session.run(area.clear())
        coordinator.join()


def test_a_looper_that_saves_while_the_main_program_saves(tmp_path: Path) -> None:
    """A saver holds a lock around its runs."""
    tf.Variable(1.0)
    saver = tf.train.Saver()
    with initialized() as session:
        coordinator = tf.train.Coordinator()
        tf.train.LooperThread.loop(
            coordinator, None, saver.save, [session, str(tmp_path / "looper")]
        )
        for _ in range(3):
            saver.save(session, str(tmp_path / "main"))
            assert not coordinator.should_stop()
        coordinator.request_stop()
        coordinator.join()


def test_a_looper_keeps_its_interval_and_may_stop_all() -> None:
    coordinator = tf.train.Coordinator()
    times: list[float] = []

    def note() -> None:
        times.append(time.monotonic())
        if len(times) == 3:
            coordinator.request_stop()

    looper = tf.train.LooperThread.loop(coordinator, 0.02, note)
    coordinator.join()
    assert not looper.is_alive()
    assert len(times) == 3
    assert times[2] - times[0] >= 0.03


def test_tasks_have_turns_while_the_main_program_sleeps_and_none_within_a_run() -> None:
    queue = tf.FIFOQueue(10_000_000, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(7)])
    size = queue.size()

    def wait(count: Any) -> Any:
        cooperative.page_sleep(0.02)
        return count

    slow = tf.py_func(wait, [size], tf.int32)
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, start=True)
        with tf.control_dependencies([slow]):
            within = size - slow
        assert session.run(within) == 0
        before = int(session.run(size))
        began = time.monotonic()
        cooperative.page_sleep(0.05)
        assert time.monotonic() - began >= 0.05
        assert int(session.run(size)) > before + 1
        coordinator.request_stop()
        session.run(queue.close(cancel_pending_enqueues=True))
        coordinator.join(threads)
    with pytest.raises(ValueError, match="non-negative"):
        cooperative.page_sleep(-1)


@pytest.mark.without_threads
@pytest.mark.parametrize(
    "rest", [scheduler.share_time, lambda: cooperative.page_sleep(0.01)], ids=["share", "sleep"]
)
def test_others_have_no_turn_within_a_turn(rest: Any) -> None:
    told: list[str] = []

    def steps(name: str) -> Any:
        rest()
        told.append(name)
        yield None
        told.append(f"{name} again")

    for name in ("first", "second"):
        task = Task(steps, (name,))
        task.shares_time = True
        task.start()
    scheduler.let_run()
    assert told == ["first", "second"]
    scheduler.let_run()


def test_interrupts_are_held_until_the_outermost_block_ends() -> None:
    interrupts = cooperative._Interrupts(scheduler)
    former = signal.getsignal(signal.SIGINT)
    with interrupts:
        held = signal.getsignal(signal.SIGINT)
        with interrupts:
            pass
        assert signal.getsignal(signal.SIGINT) == held != former
    assert signal.getsignal(signal.SIGINT) == former


def test_wait_for_stop_takes_its_time() -> None:
    coordinator = tf.train.Coordinator()
    began = time.monotonic()
    assert not coordinator.wait_for_stop(0.05)
    assert time.monotonic() - began >= 0.05
    coordinator.request_stop()
    assert coordinator.wait_for_stop()


def test_time_outs_of_runs_with_a_runner_beside_them() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    dequeued = queue.dequeue()
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=300)) as session:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(dequeued)
        assert caught.value.op is dequeued.op
        session.run(queue.enqueue(3))
        assert session.run(dequeued) == 3


def test_an_enqueue_whose_time_is_up_says_so_each_time() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put = queue.enqueue(1)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=300)) as session:
        session.run(put)
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError, match="still wait") as caught:
                session.run(put)
            assert caught.value.op is put
        assert session.run(queue.size()) == 1
        assert session.run(queue.dequeue()) == 1
        session.run(put)


def trained() -> tuple[Any, Any]:
    w = tf.Variable(4.0)
    return w, tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w))


def test_a_background_job_trains_while_the_main_program_waits() -> None:
    w, train = trained()
    with initialized() as session:
        job = tf.train.background(train, session=session, steps=30, fetches={"w": w})
        assert job.result(60)["w"] == session.run(w)
        assert (job.status, job.step) == ("done", 30)


def test_a_background_job_trains_while_somebody_asks() -> None:
    _, train = trained()
    with initialized() as session:
        job = tf.train.background(train, session=session, steps=20)
        end = time.monotonic() + 60
        while not job.done and time.monotonic() < end:
            pass
        assert job.step == 20


def test_pausing_a_background_job() -> None:
    job = tf.train.background(lambda job: job.learning_rate, learning_rate=0.5, name="steps")
    job.pause(wait=True)
    assert job.status == "paused"
    at = job.step
    assert not job.wait(0.01)
    assert job.step == at
    job.set_learning_rate(0.25)
    job.resume()
    end = time.monotonic() + 60
    while job.values.get("value") != 0.25 and time.monotonic() < end:
        assert not job.done
    job.stop(wait=True)
    assert job.status == "stopped"
    assert job.values["value"] == 0.25


def test_a_step_function_has_its_own_default_graph_and_session() -> None:
    w, train = trained()
    seen = []

    def step(job: Any) -> None:
        seen.append((tf.get_default_session(), tf.get_default_graph() is w.graph))
        train.run()

    with initialized() as session, session.as_default():
        job = tf.train.background(step, steps=3)
        with tf.Graph().as_default(), tf.Session() as other:
            assert job.wait(60)
            assert tf.get_default_session() is other
    assert seen == [(session, True)] * 3


def test_a_job_that_waits_for_a_queue_is_taken_up_again() -> None:
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
    total = tf.Variable(0.0)
    add, put = tf.assign_add(total, queue.dequeue()), queue.enqueue(2.0)
    with initialized() as session:
        job = tf.train.background(add, session=session, steps=5, fetches=total)
        for _ in range(5):
            session.run(put)
        job.result(60)
        assert session.run(total) == 10.0


def test_closing_the_session_ends_its_runners() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    session = tf.Session()
    threads = runner.create_threads(session, start=True)
    assert session.run(queue.dequeue()) == 1
    session.close()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert runner.exceptions_raised == []


def test_mutexes_hold_runners_out_of_a_critical_section() -> None:
    section = tf.CriticalSection(name="section")
    v = tf.Variable(0.0, use_resource=True)
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[]])

    def change() -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return tf.identity(v.read_value())

    value = section.execute(change)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(value)] * 2)
    taken = queue.dequeue()
    with initialized() as session:
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, daemon=True, start=True)
        got = sorted(float(session.run(taken)) for _ in range(20))
        coordinator.request_stop()
        coordinator.join(threads)
    assert len(set(got)) == 20


def test_a_pipeline_of_data() -> None:
    data = tf.data.Dataset.range(20).map(lambda x: x * x, num_parallel_calls=4).prefetch(3)
    data = data.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), 4, 1).prefetch(-1)
    element = data.batch(8).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        values = np.concatenate([session.run(element) for _ in range(5)])
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)
    np.testing.assert_array_equal(np.sort(values), np.repeat(np.arange(20) ** 2, 2))


# ---- what only happens without threads ----------------------------------------------------------


@pytest.mark.without_threads
def test_a_deadlock_names_both_sides() -> None:
    empty, full = (tf.FIFOQueue(1, tf.int32, shapes=[[]], name=name) for name in ("cups", "jugs"))
    runner = tf.train.QueueRunner(full, [full.enqueue(1)])
    taken = empty.dequeue(name="drink")
    with tf.Session() as session:
        threads = runner.create_threads(session, start=True)
        with pytest.raises(tf.errors.FailedPreconditionError, match="Deadlock") as caught:
            session.run(taken)
        assert caught.value.op is taken.op
        assert "main program waits for op 'drink'" in str(caught.value)
        assert "FIFOQueue 'cups' (0 of 1 elements)" in str(caught.value)
        assert f"{threads[0].name!r} waits for op 'jugs_enqueue'" in str(caught.value)
        assert "FIFOQueue 'jugs' (1 of 1 elements)" in str(caught.value)
        session.run(empty.enqueue(5))
        assert session.run(taken) == 5  # the session goes on
    for thread in threads:
        thread.join()


@pytest.mark.without_threads
def test_a_time_limit_before_which_nothing_can_happen_is_over_at_once() -> None:
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    taken = queue.dequeue(name="taken") + 1.0
    hour = tf.RunOptions(timeout_in_ms=3_600_000)
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="taken"):
            session.run([taken, tf.square(2.0)], options=hour)


@pytest.mark.without_threads
def test_joining_a_thread_that_nobody_wakes_is_a_deadlock() -> None:
    task = Task(lambda: iter([Wait("a message", lambda: bool(came))]), name="listener")
    came: list[int] = []
    task.start()
    with pytest.raises(tf.errors.FailedPreconditionError, match="'listener' waits for a message"):
        task.join()
    task.join(30)  # with a limit it is not: nothing can happen in that time, and none passes
    assert task.is_alive()
    came.append(1)
    task.join()


@pytest.mark.without_threads
def test_an_interrupt_reaches_who_waits_and_not_the_step() -> None:
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    done: list[int] = []

    def slow() -> np.int32:
        if not done:
            signal.raise_signal(signal.SIGINT)
        done.append(1)
        return np.int32(len(done))

    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.py_func(slow, [], tf.int32))])
    taken = queue.dequeue()
    with tf.Session() as session:
        threads = runner.create_threads(session, start=True)
        with pytest.raises(KeyboardInterrupt):
            session.run(taken)
        assert session.run(taken) == 1  # the step under way was not broken off
        assert session.run(taken) == 2
    for thread in threads:
        thread.join()


@pytest.mark.without_threads
def test_an_interrupt_ends_a_wait_for_time() -> None:
    coordinator = tf.train.Coordinator()
    began = time.monotonic()
    former = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            coordinator.wait_for_stop(1000)
    finally:
        signal.signal(signal.SIGALRM, former)
    assert time.monotonic() - began < 900


@pytest.mark.without_threads
def test_between_cells_the_event_loop_lets_jobs_run() -> None:
    _, train = trained()

    async def notebook() -> int:
        with initialized() as session:
            job = tf.train.background(train, session=session, steps=40)
            while job.status == "running":  # nobody waits for the job, nor asks it
                await asyncio.sleep(0.001)
            return job.step

    assert asyncio.run(notebook()) == 40


@pytest.mark.without_threads
def test_a_user_function_that_would_wait_forever_is_a_deadlock() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    taken = queue.dequeue()
    with tf.Session() as session:
        job = tf.train.background(lambda _: {"x": session.run(taken)}, session=session, steps=1)
        with pytest.raises(tf.errors.FailedPreconditionError, match="Deadlock"):
            job.result()


@pytest.mark.without_threads
def test_a_gpu_is_refused_in_a_sentence_that_says_where_it_can_be_had(no_gpus: None) -> None:
    with tf.device("/gpu:0"):
        x = tf.constant(1.0)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="GPUs need dataflow on a computer"),
    ):
        session.run(x)


def test_a_wait_sleeps_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    asked: list[float] = []

    class Slept(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            asked.append(timeout)
            return False

    clock = iter(range(100))
    monkeypatch.setattr(cooperative, "THREADS", True)
    monkeypatch.setattr(cooperative.time, "monotonic", lambda: next(clock) / 10)
    assert not cooperative.block_on(Slept(), "news", lambda: False, 0.5)
    assert asked == pytest.approx([0.2, 0.2, 0.2, 0.1])
    asked.clear()
    assert not cooperative.block_on(Slept(), "news", lambda: False, 0.0)
    assert cooperative.block_on(Slept(), "news", lambda: True, 0.0)
    assert asked == []
    assert cooperative.block_on(Slept(), "news", lambda: len(asked) > 2)
    assert asked == [0.2] * 3


@pytest.mark.without_threads
def test_a_task_is_used_as_a_thread_is() -> None:
    """The errors are those of `threading.Thread`."""
    seen: list[Any] = []
    tasks: list[Task] = []

    def steps() -> Any:
        seen.append(tasks[0].is_current())
        with pytest.raises(RuntimeError, match="cannot join current thread"):
            tasks[0].join()
        yield None

    task = Task(steps, name="helper")
    tasks.append(task)
    assert repr(task) == "<Task(helper, new, cooperative)>"
    with pytest.raises(RuntimeError, match="cannot join thread before it is started"):
        task.join()
    assert not task.is_alive() and not task.is_current() and seen == []
    task.start()
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        task.start()
    assert repr(task) == "<Task(helper, alive, cooperative)>"
    task.join()
    assert seen == [True] and not task.is_alive()
    assert repr(task) == "<Task(helper, ended, cooperative)>"
    task.join()
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        task.start()


@pytest.mark.without_threads
def test_an_error_of_a_task_is_told_as_one_of_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    def steps(kind: type[BaseException]) -> Any:
        yield None
        raise kind("broken")

    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    tasks = [Task(steps, (kind,)) for kind in (ValueError, SystemExit)]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    (only,) = told  # a thread that exits says nothing
    assert (only.exc_type, str(only.exc_value), only.thread) == (ValueError, "broken", tasks[0])
    assert only.exc_traceback is only.exc_value.__traceback__
    assert not scheduler.tasks and not scheduler.running


@pytest.mark.without_threads
@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.01])
def test_joining_for_so_long_does_not_wait_for_the_time_of_others(seconds: float) -> None:
    told: list[str] = []

    def late() -> Any:
        yield Wait("its time", lambda: False, time.monotonic() + 0.3)
        told.append("late")

    stuck = Task(lambda: iter([Wait("a message", lambda: bool(told))]))
    other = Task(late)
    stuck.start()
    other.start()
    stuck.join(seconds)
    assert stuck.is_alive() and told == []
    stuck.join()
    assert told == ["late"]
    other.join()


@pytest.mark.without_threads
def test_tasks_have_turns_in_order_until_it_is_enough() -> None:
    told: list[int] = []

    def steps(number: int) -> Any:
        for _ in range(3):
            told.append(number)
            yield None

    tasks = [Task(steps, (number,)) for number in range(3)]
    for task in tasks:
        task.start()
    assert scheduler.wait(Wait("the second", lambda: 1 in told))
    assert told == [0, 1]
    assert scheduler.wait(Wait("another", lambda: len(told) > 2))
    assert told == [0, 1, 2]  # it goes on with who is next
    for task in tasks:
        task.join()
    assert told == [0, 1, 2] * 3


@pytest.mark.without_threads
def test_a_run_looks_as_it_does_with_threads() -> None:
    assert tf.Session.run.__name__ == "run" and "fetches" in (tf.Session.run.__doc__ or "")


@pytest.mark.without_threads
def test_after_a_run_tasks_that_only_run_sessions_have_a_turn() -> None:
    told: list[str] = []

    def steps(name: str) -> Any:
        while len(told) < 4:
            told.append(name)
            yield None

    runs, calls = Task(steps, ("runs",)), Task(steps, ("calls",))
    calls.calls_functions = True
    for task in (runs, calls):
        task.start()
    one = tf.constant(1.0)
    within = tf.py_func(lambda: tf.Session(graph=one.graph).run(one), [], tf.float32)
    with tf.Session() as session:
        session.run(one)
        assert told == ["runs"]
        session.run(within)  # none within it, and one after it
        assert told == ["runs", "runs"]
    scheduler.let_run()
    assert told == ["runs", "runs", "runs", "calls"]
    for task in (runs, calls):
        task.join()


@pytest.mark.without_threads
def test_a_turn_in_which_all_others_end_is_the_last() -> None:
    other = Task(lambda: iter([None, None]))

    def steps() -> Any:
        other.join()
        yield from ()

    waiting = Task(steps)
    waiting.start()
    other.start()
    scheduler.let_run()
    assert not waiting.is_alive() and not other.is_alive()


@pytest.mark.without_threads
def test_between_cells_a_job_that_sleeps_is_woken_by_the_event_loop() -> None:
    turns: list[float] = []

    def body() -> Any:
        for _ in range(3):
            turns.append(time.monotonic())
            yield Wait("the time", lambda: False, until=time.monotonic() + 0.02)

    async def notebook() -> None:
        task = Task(body, name="sleeper")
        task.start()
        for _ in range(1000):  # nobody waits for the task, nor asks it
            if len(turns) == 3:
                break
            await asyncio.sleep(0.005)
        assert len(turns) == 3
        task.join()

    asyncio.run(notebook())


def test_the_innermost_of_the_running_tasks_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    outer, inner = Task(lambda: iter(())), Task(lambda: iter(()))
    monkeypatch.setattr(cooperative, "THREADS", False)
    monkeypatch.setattr(scheduler, "running", [outer, inner])
    assert inner.is_current() and not outer.is_current()
    monkeypatch.setattr(scheduler, "running", [])
    assert not inner.is_current()


def test_the_event_loop_is_asked_for_a_turn_when_the_next_task_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []
    loop = SimpleNamespace(call_later=lambda seconds, call: asked.append(seconds))
    monkeypatch.setattr(cooperative, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    own: Any = cooperative.Scheduler()
    waiting = Task(lambda: iter(()))
    waiting.wait = Wait("the time", lambda: False, until=1012.5)
    own.tasks.append(waiting)
    for ran in (False, True):
        own._loop = loop
        turns = iter([ran, False])
        monkeypatch.setattr(own, "_round", lambda enough, turns=turns: next(turns))
        own._between_cells()
    assert asked == [12.5, 12.5]


def test_only_a_page_has_another_sleep() -> None:
    assert (time.sleep is cooperative.page_sleep) == (sys.platform == "emscripten")
