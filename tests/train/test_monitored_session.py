"""Monitored sessions, hooks and the supervisor: recovery, stopping, and what they leave on disk."""

from __future__ import annotations

import json
import logging
import os
import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats.event_files import read_events


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
    tf.summary.FileWriterCache.clear()


def counting():
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("w", initializer=1.0)
    with tf.control_dependencies([tf.assign(weight, weight * 2.0)]):
        return step, weight, tf.assign_add(step, 1)


def events_in(folder):
    names = sorted(n for n in os.listdir(folder) if n.startswith("events"))
    return [event for name in names for event in read_events(os.path.join(folder, name))]


class FailsOnce(tf.train.SessionRunHook):
    """Raises an error before the third run, as if a task had been lost."""

    def __init__(self, error):
        self.error = error
        self.sessions = 0
        self.runs = 0

    def after_create_session(self, session, coord):
        self.sessions += 1

    def before_run(self, run_context):
        self.runs += 1
        if self.runs == 3:
            raise self.error
        return None


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_task_costs_the_steps_since_the_last_checkpoint(tmp_path, kind):
    _, _, train = counting()
    hook = FailsOnce(kind(None, None, "the task is gone"))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=tmp_path,
        hooks=[tf.train.StopAtStepHook(last_step=6), hook],
        save_checkpoint_steps=2,
        log_step_count_steps=None,
    ) as session:
        while not session.should_stop():
            session.run(train)
    assert hook.sessions == 2
    state = tf.train.load_checkpoint(str(tmp_path))
    assert state.get_tensor("global_step") == 6
    assert state.get_tensor("w") == 64.0


def test_other_errors_reach_the_caller_and_end_the_session(tmp_path):
    _, _, train = counting()
    hook = FailsOnce(tf.errors.InvalidArgumentError(None, None, "no"))
    with pytest.raises(tf.errors.InvalidArgumentError):
        with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
            while True:
                session.run(train)
    assert hook.sessions == 1
    assert session.should_stop()


def test_the_end_of_the_input_is_a_normal_end():
    counting()
    with tf.train.MonitoredSession() as session:
        raise tf.errors.OutOfRangeError(None, None, "end")
    assert session.should_stop()


def test_training_resumes_where_it_stopped(tmp_path):
    _, _, train = counting()
    for expected in (3, 6):
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=tmp_path,
            hooks=[tf.train.StopAtStepHook(num_steps=3)],
            log_step_count_steps=None,
        ) as session:
            while not session.should_stop():
                session.run(train)
        latest = tf.train.latest_checkpoint(tmp_path)
        assert os.path.basename(latest) == f"model.ckpt-{expected}"
        assert tf.train.load_variable(latest, "w") == 2.0**expected


def test_summaries_and_the_rate_of_steps_are_written(tmp_path):
    _, weight, train = counting()
    tf.summary.scalar("weight", weight)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=tmp_path,
        save_summaries_steps=2,
        log_step_count_steps=2,
        hooks=[tf.train.StopAtStepHook(last_step=6)],
    ) as session:
        while not session.should_stop():
            session.run(train)
    tf.summary.FileWriterCache.clear()
    found = {}
    for event in events_in(tmp_path):
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    assert [s for s, _ in found["weight"]] == [1, 3, 5]
    assert [v for _, v in found["weight"]] == [2.0, 8.0, 32.0]
    assert [s for s, _ in found["global_step/sec"]]
    assert any(event.graph_def for event in events_in(tmp_path))
    assert os.path.exists(tmp_path / "graph.pbtxt")


def test_numbers_of_32_bits_are_logged_as_short_as_numpy_prints_them(caplog):
    _, _, train = counting()
    hook = tf.train.LoggingTensorHook({"rate": tf.constant(0.9)}, every_n_iter=1)
    with caplog.at_level(logging.INFO, "tensorflow"):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(train)
    assert "rate = 0.9" in [r.getMessage() for r in caplog.records]


def test_logging_hook_logs_every_n_runs_and_at_the_end(caplog):
    _, weight, train = counting()
    hook = tf.train.LoggingTensorHook({"weight": "w"}, every_n_iter=2, at_end=True)
    with caplog.at_level(logging.INFO, "tensorflow"):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(4):
                session.run(train)
    lines = [r.getMessage() for r in caplog.records if "weight = " in r.getMessage()]
    assert len(lines) == 3
    assert lines[-1].startswith("weight = 16.0 (")
    with pytest.raises(ValueError, match="every_n_iter"):
        tf.train.LoggingTensorHook(["w"])
    with pytest.raises(ValueError, match="current graph"):
        with tf.Graph().as_default():
            tf.train.LoggingTensorHook([weight], every_n_iter=1).begin()


def test_nan_hook_names_the_tensor_and_can_just_stop():
    loss = tf.identity(tf.constant(float("nan")), name="loss")
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="loss:0"):
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as session:
            session.run(loss)
    calm = tf.train.NanTensorHook(loss, fail_on_nan_loss=False)
    with tf.train.MonitoredSession(hooks=[calm]) as session:
        session.run(loss)
        assert session.should_stop()


def test_hooks_may_feed_but_not_what_is_fed_already():
    x = tf.placeholder(tf.float32, [])
    counting()
    plus_one = x + 1.0
    hook = tf.train.FeedFnHook(lambda: {x: 3.0})
    final = tf.train.FinalOpsHook(x * 2.0, {x: 4.0})
    with tf.train.MonitoredSession(hooks=[hook, final]) as session:
        assert session.run(plus_one) == 4.0
        with pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"):
            session.run(x, {x: 1.0})
    assert final.final_ops_values == 8.0


def test_profiler_hook_writes_a_chrome_trace(tmp_path):
    _, _, train = counting()
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=tmp_path)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(4):
            session.run(train)
    names = sorted(n for n in os.listdir(tmp_path) if n.startswith("timeline"))
    assert names
    trace = json.loads((tmp_path / names[0]).read_text())
    assert any(e.get("args", {}).get("op") == "AssignAdd" for e in trace["traceEvents"])


def test_listeners_are_told_of_checkpoints_and_may_stop(tmp_path):
    _, _, train = counting()

    class Listener(tf.train.CheckpointSaverListener):
        def __init__(self):
            self.seen = []

        def after_save(self, session, step):
            self.seen.append(step)
            return step >= 4

    listener = Listener()
    hook = tf.train.CheckpointSaverHook(
        tmp_path, save_steps=2, saver=tf.train.Saver(), listeners=[listener]
    )
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            session.run(train)
    assert listener.seen == [0, 2, 4]


def test_run_step_fn_runs_with_and_without_hooks():
    _, _, train = counting()
    hook = FailsOnce(RuntimeError("never"))

    def step_fn(step_context):
        plain = step_context.session.run("w:0")
        return plain, step_context.run_with_hooks(train)

    with tf.train.MonitoredSession(hooks=[hook]) as session:
        plain, after = session.run_step_fn(step_fn)
        with pytest.raises(ValueError, match="step_context"):
            session.run_step_fn(lambda other: None)
    assert (plain, after, hook.runs) == (1.0, 1, 1)


@pytest.mark.parametrize("where", ["class", "object", "nowhere"])
def test_hooks_hear_of_runs_where_they_listen(where):
    """A hook that has neither method costs a run nothing; one may have got them by assignment."""
    _, step, train = counting()
    seen = []

    class Hook(tf.train.SessionRunHook):
        if where == "class":

            def after_run(self, run_context, run_values):
                seen.append(run_values.results)

    hook = Hook()
    if where == "object":
        hook.before_run = lambda context: seen.append(context.original_args.fetches)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(train)
        assert session.run(step, feed_dict={step: 7}) == 7
    assert seen == {"class": [None, None], "object": [train, step], "nowhere": []}[where]


def test_an_error_in_a_queue_thread_is_raised_by_the_session():
    queue = tf.FIFOQueue(4, tf.float32)
    broken = queue.enqueue(tf.py_func(fail, [], tf.float32))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [broken]))
    item = queue.dequeue()
    with pytest.raises(tf.errors.OpError, match="mine"):
        with tf.train.MonitoredSession() as session:
            while not session.should_stop():
                session.run(item)


def fail():
    raise ValueError("mine")


def test_a_model_that_is_not_ready_says_what_is_missing():
    counting()
    tf.get_variable("forgotten", initializer=1.0)
    scaffold = tf.train.Scaffold(init_op=tf.variables_initializer([tf.global_variables()[0]]))
    with pytest.raises(RuntimeError, match="forgotten"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))


def test_a_worker_that_waits_in_vain_gives_up():
    counting()
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.01
    )
    with pytest.raises(tf.errors.DeadlineExceededError, match="not ready"):
        manager.wait_for_session("", max_wait_secs=0.05)


def test_supervisor_saves_summarizes_restores_and_reports(tmp_path):
    _, weight, train = counting()
    tf.summary.scalar("weight", weight)
    supervisor = tf.train.Supervisor(
        logdir=str(tmp_path), save_model_secs=1000, save_summaries_secs=1000
    )
    with supervisor.managed_session() as session:
        for _ in range(3):
            session.run(train)
        supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
        supervisor.summary_computed(session, session.run(supervisor.summary_op))
    assert not [t for t in threading.enumerate() if type(t).__name__.startswith("SV")]
    with supervisor.managed_session() as session:
        assert session.run(weight) == 8.0
    with pytest.raises(KeyError, match="mine"):
        with supervisor.managed_session():
            raise KeyError("mine")
    tags = [v.tag for e in events_in(tmp_path) for v in e.summary.value]
    assert "weight" in tags
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1.0)


def test_supervisor_of_a_worker_needs_devices():
    counting()
    with pytest.raises(ValueError, match="must have their device set"):
        tf.train.Supervisor(is_chief=False)


@pytest.mark.threads
def test_sync_replicas_average_and_drop_stale_gradients():
    step = tf.train.get_or_create_global_step()
    w = tf.Variable([0.0], name="w")
    x = tf.placeholder(tf.float32, [])
    sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2)
    train = sync.minimize(tf.reduce_sum(w) * x, global_step=step)
    hook = sync.make_session_run_hook(True, num_tokens=0)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        plain = session._tf_sess()

        def work(value):
            plain.run(train, {x: value})

        for values in [(1.0, 3.0), (2.0, 6.0)]:
            threads = [threading.Thread(target=work, args=(v,)) for v in values]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
                assert not thread.is_alive()
        np.testing.assert_allclose(plain.run(w), [-2.0 - 4.0])
        assert plain.run(step) == 2


def test_sync_replicas_errors():
    w = tf.Variable(1.0)
    sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 2)
    with pytest.raises(ValueError, match="Global step"):
        sync.minimize(w * w)
    with pytest.raises(ValueError, match="after apply_gradients"):
        sync.get_chief_queue_runner()
    sync.minimize(w * w, global_step=tf.train.get_or_create_global_step())
    with pytest.raises(ValueError, match="Too few tokens"):
        sync.get_init_tokens_op(0)


class _KeepCoordinator(tf.train.SessionRunHook):
    def __init__(self) -> None:
        self.coords: list[tf.train.Coordinator] = []

    def after_create_session(self, session, coord) -> None:
        self.coords.append(coord)


def test_an_error_in_a_thread_stops_and_is_raised_at_the_end() -> None:
    with tf.Graph().as_default():
        hook, value = _KeepCoordinator(), tf.constant(5)
        rounds = 0
        with (
            pytest.raises(tf.errors.UnknownError, match="in a thread"),
            tf.train.MonitoredSession(hooks=[hook]) as session,
        ):
            while not session.should_stop():
                assert rounds == 0
                session.run(value)
                hook.coords[0].request_stop(tf.errors.UnknownError(None, None, "in a thread"))
                rounds += 1
        assert rounds == 1


def test_step_functions_get_the_session_that_was_made_anew() -> None:
    with tf.Graph().as_default():
        hook, value, seen = _KeepCoordinator(), tf.constant(5), []

        def step_fn(step_context):
            seen.append(step_context.session)
            if len(seen) == 1:
                raise tf.errors.AbortedError(None, None, "gone")
            return step_context.session.run(value)

        with tf.train.MonitoredSession(hooks=[hook]) as session:
            assert session.run_step_fn(step_fn) == 5
        assert len(hook.coords) == 2
        assert seen[0] is not seen[1]


def test_queue_runners_of_a_monitored_session_run_already() -> None:
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.int32)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)]))
        item = queue.dequeue()
        with tf.train.MonitoredSession() as session:
            assert tf.train.start_queue_runners(session) == []
            assert session.run(item) == 1


def test_a_training_loop_goes_on_after_an_aborted_step(tmp_path):
    with tf.Graph().as_default():
        supervisor = tf.train.Supervisor(logdir=str(tmp_path))
        calls = []

        def step(session):
            calls.append(session)
            if len(calls) == 1:
                raise tf.errors.AbortedError(None, None, "the server was restarted")
            supervisor.request_stop()

        tf.train.basic_train_loop(supervisor, step)
    assert len(calls) == 2 and calls[0] is not calls[1]


def test_a_supervisor_writes_its_graph_with_the_collections_also_to_a_writer_of_ones_own(tmp_path):
    counting()
    tf.summary.scalar("one", tf.constant(1.0))
    writer = tf.summary.FileWriter(str(tmp_path))
    supervisor = tf.train.Supervisor(logdir="", summary_op=None, summary_writer=writer)
    with supervisor.managed_session() as session:
        supervisor.summary_computed(session, session.run("one:0"))
    kinds = [e.WhichOneof("what") for e in events_in(tmp_path)]
    assert kinds == ["file_version", "graph_def", "meta_graph_def", "summary", "session_log"]


def test_a_formatter_may_use_percent_signs_and_functions_of_tf_logging_may_be_replaced(monkeypatch):
    _, _, train = counting()
    said = []
    monkeypatch.setattr(tf.logging, "info", lambda *message: said.append(message))
    hook = tf.train.LoggingTensorHook({"x": tf.constant(50)}, 1, formatter=lambda v: f"{v['x']} %")
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(train)
        assert not session._is_closed()
    assert said == [("50 %",)]
    assert session._is_closed()


def test_what_hooks_and_caller_want_to_watch_is_watched():
    from dataflow.train.wrapped_sessions import _merged

    of_hook, of_caller = tf.RunOptions(timeout_in_ms=5), tf.RunOptions(trace_level=1)
    of_hook.debug_options.global_step = 7
    both = _merged(of_caller, of_hook)
    assert (both.timeout_in_ms, both.trace_level, both.debug_options.global_step) == (5, 1, 7)
