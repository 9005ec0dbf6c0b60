"""TrainingMonitor without a browser: what is logged, what is sent, what is kept, where it comes
from."""

from __future__ import annotations

import json
import math
import threading
from base64 import b64decode
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from IPython.core.events import EventManager, available_events

import dataflow as tf
from dataflow.runtime import events
from dataflow_widgets import TrainingMonitor, live
from dataflow_widgets.base import Delivery
from dataflow_widgets.rate_limit import Pacer
from dataflow_widgets.training_monitor import MAX_RUNS, recordings
from dataflow_widgets.training_monitor.curves import CAPACITY
from dataflow_widgets.training_monitor.picture import ticks
from dataflow_widgets.training_monitor.runs import duration
from tests.widgets.graphs import EVIL

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    tf.reset_default_graph()
    Delivery.begun = True
    # The pacer's thread stays out: a test says itself when to send.
    monkeypatch.setattr(Pacer, "ask", lambda self, *, after=0.0: None)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    messages: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        TrainingMonitor,
        "send",
        lambda self, content, buffers=None: messages.append((content, buffers)),
    )
    return messages


def rows_of(message: Any, buffers: Any) -> dict[tuple[str, str], np.ndarray]:
    """The rows of each curve of an update, as the page reads them."""
    numbers, at, found = np.frombuffer(buffers[0]), 0, {}
    for curve in message["curves"]:
        size = curve["rows"] * 4
        found[curve["run"], curve["name"]] = numbers[at : at + size].reshape(-1, 4)
        at += size
    return found


# ---- logging -----------------------------------------------------------------------------------


def test_log_makes_curves_and_histograms() -> None:
    monitor = TrainingMonitor()
    for step in range(5):
        monitor.log(step, {"val/loss": np.float32(step)}, accuracy=[0.5], w=np.arange(3))
    run = monitor._runs["run"]
    assert set(run.curves) == {"val/loss", "accuracy"}
    assert set(run.histograms) == {"w"}
    words = monitor.describe()
    assert "run: running, step 4" in words
    assert "val/loss: 4 at step 4, between 0 and 4, 5 points" in words


def test_a_step_back_is_a_new_run() -> None:
    monitor = TrainingMonitor()
    for _ in range(2):
        for step in range(3):
            monitor.log(step, loss=step)
            monitor.log(step, other=step)
    assert monitor.runs == ["run", "run 2"]
    assert monitor._runs["run"].status == "done"


def test_a_loop_that_an_interrupt_or_an_error_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    shell: Any = SimpleNamespace()
    shell.events = EventManager(shell, available_events)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr(live, "_shell", None)

    def after_cell(error: BaseException | None) -> None:
        shell.events.trigger("post_run_cell", SimpleNamespace(error_in_exec=error))

    monitor = TrainingMonitor()
    monitor.log(0, loss=1.0)
    after_cell(None)
    assert "run: running, step 0" in monitor.describe(), "the next cell may go on with it"
    monitor.log(1, loss=0.5)
    monitor.log(1, loss=0.5, run="other")
    after_cell(KeyboardInterrupt())
    assert "run: interrupted, step 1" in monitor.describe()
    assert "other: interrupted, step 1" in monitor.describe()
    monitor.log(2, loss=0.4)
    assert "run: running, step 2" in monitor.describe(), "another cell goes on with it"
    monitor.finish("other")
    after_cell(ValueError("no such batch"))
    assert "run: failed, step 2; ValueError: no such batch" in monitor.describe()
    assert "other: done" in monitor.describe()
    monitor.log(3, loss=0.3)
    assert "no such batch" not in monitor.describe()
    after_cell(None)
    assert live.error_of_cell() is None


def test_what_cannot_be_logged_is_refused_whole() -> None:
    monitor = TrainingMonitor()
    with pytest.raises(TypeError, match="name must be a number"):
        monitor.log(0, loss=1.0, name="text")
    assert monitor._runs["run"].curves == {}
    with pytest.raises(ValueError, match="at most 100"):
        monitor.log(0, {f"c{i}": 0.0 for i in range(101)})


def test_runs_are_bounded() -> None:
    monitor = TrainingMonitor()
    for i in range(MAX_RUNS):
        monitor.start(f"r{i}")
    with pytest.raises(ValueError, match="at most 50 runs"):
        monitor.start("one more")


def test_progress_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monitor = TrainingMonitor()
    assert monitor.start(steps=100) == "run"
    for step in range(0, 50, 10):
        monitor.log(step, loss=1.0)
        now[0] += 20.0
    assert monitor._runs["run"].seconds_left is None, "idle for 20 seconds"
    monitor.log(50, loss=1.0)
    assert monitor._runs["run"].seconds_left == 100.0
    assert "step 50 of 100, about 1 min 40 s left" in monitor.describe()
    monitor.finish()
    assert "run: done" in monitor.describe()
    with pytest.raises(KeyError, match="no run 'x'"):
        monitor.finish("x")


def test_durations() -> None:
    assert [duration(s) for s in (8.4, 185, 7800)] == ["8 s", "3 min 5 s", "2 h 10 min"]


def test_log_is_still_the_logger_of_ipywidgets(caplog: pytest.LogCaptureFixture) -> None:
    monitor: Any = TrainingMonitor()
    monitor.log.warning("from inside %s", "ipywidgets")
    assert "from inside ipywidgets" in caplog.text


def test_no_reserved_trait_names() -> None:
    own = set(TrainingMonitor.class_own_traits()) - {"_esm", "_css"}
    assert not own & {"log", "keys", "comm", "layout"}


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="Did you mean title="):
        TrainingMonitor(titel="x")
    with pytest.raises(TypeError, match="monitor.log"):
        TrainingMonitor([1, 2])


# ---- to the page -------------------------------------------------------------------------------


def test_nothing_is_sent_before_it_is_shown(sent: list[Any]) -> None:
    asked = []
    monitor = TrainingMonitor()
    monitor._pacer = type("P", (), {"ask": lambda *_, **__: asked.append(1)})()
    monitor.log(0, loss=1.0)
    assert asked == []
    assert sent == []


def test_the_page_gets_all_and_then_what_is_new(sent: list[Any]) -> None:
    monitor = TrainingMonitor()
    for step in range(10):
        monitor.log(step, loss=float(step))
    monitor._receive(None, {"kind": "hello"}, [])
    message, buffers = sent.pop()
    assert message["whole"]
    assert rows_of(message, buffers)["run", "loss"][:, 1].tolist() == list(range(10))
    monitor.log(10, loss=10.0, w=np.arange(4))
    monitor._flush()
    message, buffers = sent.pop()
    (curve,) = message["curves"]
    assert (curve["from"], curve["rows"]) == (10, 1)
    (histogram,) = message["histograms"]
    assert histogram["name"] == "w"
    monitor._flush()
    assert sent.pop()[0]["curves"] == []


def test_a_page_that_copies_the_updates_has_the_curve(sent: list[Any]) -> None:
    """Also over merges of rows, and while a row still grows."""
    monitor = TrainingMonitor()
    monitor._receive(None, {"kind": "hello"}, [])
    page = np.zeros((0, 4))
    for step in range(4500):
        monitor.log(step, loss=math.sin(step / 50))
        if step % 7 == 0:
            sent.clear()
            monitor._flush()
            message, buffers = sent[-1]
            (curve,) = message["curves"]
            assert curve["from"] <= len(page), "no gap"
            page = np.concatenate([page[: curve["from"]], rows_of(message, buffers)["run", "loss"]])
    sent.clear()
    monitor._flush()
    (message, buffers) = sent[-1]
    page = np.concatenate(
        [page[: message["curves"][0]["from"]], rows_of(message, buffers)["run", "loss"]]
    )
    np.testing.assert_array_equal(page, monitor._runs["run"].curves["loss"].rows())


def test_until_the_page_answers_it_gets_all_again(sent: list[Any]) -> None:
    monitor = TrainingMonitor()
    monitor._repr_mimebundle_()
    for step in range(3):
        monitor.log(step, loss=1.0)
        monitor._flush()
    assert [len(rows_of(*one)["run", "loss"]) for one in sent] == [1, 2, 3]


def test_an_update_is_json_and_small(sent: list[Any]) -> None:
    monitor = TrainingMonitor()
    for k in range(10):
        for step in range(3000):
            monitor.log(step, run=f"r{k}", loss=float(step), accuracy=0.5)
    monitor._receive(None, {"kind": "hello"}, [])
    message, buffers = sent.pop()
    json.dumps(message, allow_nan=False)
    assert len(buffers[0]) <= 20 * CAPACITY * 32
    for k in range(10):
        monitor.log(3000, run=f"r{k}", loss=1.0, accuracy=0.5)
    monitor._flush()
    message, buffers = sent.pop()
    assert len(buffers[0]) <= 20 * 32
    assert len(json.dumps(message)) < 8000


def test_what_a_notebook_keeps_is_small() -> None:
    monitor = TrainingMonitor(title=EVIL)
    rng = np.random.default_rng(0)
    for k in range(10):
        for step in range(1200):
            monitor.log(step, run=f"r{k}", loss=rng.normal(), accuracy=rng.normal())
    data, _ = monitor._repr_mimebundle_()
    assert "data:image/svg+xml" in data["text/html"]
    assert "<img alt=" in data["text/html"]
    kept = sum(len(str(monitor.get_state()[k])) for k in ("picture", "words", "_esm"))
    assert len(data["text/html"]) + kept < 60_000
    assert monitor.get_state()["payload"] == {}


def test_the_picture_is_an_svg_with_names_as_text() -> None:
    monitor = TrainingMonitor(title=EVIL)
    for step in range(5):
        monitor.log(step, {EVIL: step, "all bad": math.nan}, run=EVIL)
    monitor.confusion([0, 1], [0, 1], [EVIL, "b"], run=EVIL)
    svg = monitor.to_svg()
    tree = ElementTree.fromstring(svg)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert tags <= {"svg", "style", "rect", "text", "path", "g"}
    assert EVIL in "".join(tree.itertext())
    assert "only NaN or infinite values" in svg
    assert "nan" not in "".join(e.get("d", "") for e in tree.iter())
    data, _ = monitor._repr_mimebundle_()
    assert "<script" not in data["text/html"]
    assert "<svg" not in data["text/html"]
    import zlib

    assert zlib.decompress(b64decode(monitor.picture), wbits=-15).decode() == svg


def test_an_empty_monitor_has_words_and_a_picture() -> None:
    monitor = TrainingMonitor()
    assert monitor.describe() == "Training monitor: nothing has been logged yet."
    assert "No points yet." in monitor.to_svg()


def test_ticks_are_round() -> None:
    assert ticks(0, 100, 5) == [0, 20, 40, 60, 80, 100]
    assert ticks(2, 2, 5) == [2]


# ---- background jobs ---------------------------------------------------------------------------


def test_a_job_is_followed_to_its_end() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    with tf.Session() as session:
        job = tf.train.background(
            tf.reduce_sum(x),
            session=session,
            steps=5,
            feed=lambda step: {x: [step, step, step]},
            fetches={"sum": tf.reduce_sum(x), "x": x},
            name="adds",
        )
        job.pause()
        monitor = TrainingMonitor(job)
        job.resume()
        job.result(PATIENCE)
        assert job.wait(PATIENCE)
    run = monitor._runs["adds"]
    assert run.curves["sum"].last == 12.0
    assert len(run.histograms["x"]) >= 1
    assert monitor._runs["adds"].state()["status"] in ("running", "done")
    monitor.close()
    assert job._listeners == ()


def test_the_page_steers_a_job(sent: list[Any]) -> None:
    job = tf.train.background(lambda job: 1.0, name="steered", learning_rate=0.1)
    monitor = TrainingMonitor(job)

    def ask(action: str, **more: Any) -> Any:
        sent.clear()
        message = {"kind": "control", "id": 7, "run": "steered", "action": action, **more}
        monitor._receive(None, message, [])
        return sent[-1][0]

    ask("rate", value=0.5)
    assert job.learning_rate == 0.5
    ask("pause")
    job.pause(wait=True)
    assert job.status == "paused"
    ask("resume")
    assert "finite" in ask("rate", value="nan")["error"]
    assert "cannot 'explode'" in ask("explode")["error"]
    ask("stop")
    assert job.wait(PATIENCE)
    assert "has ended" in ask("rate", value=0.2)["error"]
    sent.clear()
    monitor._receive(None, {"kind": "control", "id": 8, "run": "no", "action": "stop"}, [])
    assert "no background job" in sent[-1][0]["error"]


def test_a_failed_job_says_why() -> None:
    def step(job: Any) -> None:
        raise ValueError("too bad")

    job = tf.train.background(step, name="bad")
    job.wait(PATIENCE)
    monitor = TrainingMonitor(job)
    assert monitor._runs["bad"].state()["error"] == "ValueError: too bad"
    assert "bad: failed" in monitor.describe()


def test_a_job_that_gives_too_much_says_so_and_trains_on() -> None:
    watched = threading.Event()

    def step(job: Any) -> dict[str, float]:
        watched.wait(PATIENCE)
        return {f"c{job.step}-{i}": 0.0 for i in range(40)}

    job = tf.train.background(step, steps=5, name="wide")
    monitor = TrainingMonitor(job)
    watched.set()
    job.result(PATIENCE)
    assert job.step == 5
    assert "wide can no longer be followed: a run shows at most 100" in monitor.failure


# ---- hooks and callbacks -----------------------------------------------------------------------


def test_a_hook_logs_a_monitored_session() -> None:
    step = tf.train.get_or_create_global_step()
    up = tf.assign_add(step, 1)
    loss = tf.cast(step, tf.float32) * 2.0
    monitor = TrainingMonitor()
    hook = monitor.hook({"loss": loss, "by name": loss.name}, every=2, steps=6)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(6):
            session.run(up)
    run = monitor._runs["estimator"]
    assert run.status == "done"
    assert run.curves["loss"].num_points == 3
    assert set(run.curves) == {"loss", "by name"}


def test_a_hook_needs_names() -> None:
    monitor = TrainingMonitor()
    with pytest.raises(TypeError, match="dict"):
        monitor.hook(tf.constant(1.0))
    with pytest.raises(ValueError, match="at least 1"):
        monitor.hook({}, every=0)


def test_keras_fit_is_logged() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name="dense")])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(16, 2)).astype("float32")
    y = x.sum(axis=1)
    monitor = TrainingMonitor()
    model.fit(
        x,
        y,
        batch_size=4,
        epochs=3,
        verbose=0,
        validation_data=(x, y),
        callbacks=[monitor.keras_callback()],
    )
    run = monitor._runs["fit"]
    assert (run.status, run.steps, run.step) == ("done", 12, 12)
    assert run.curves["loss"].num_points == 12
    assert run.curves["val_loss"].num_points == 3
    assert len(run.histograms["weights/dense/kernel"]) == 3


def test_recorded_steps_belong_to_the_points_of_their_run() -> None:
    monitor = TrainingMonitor()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.square(x, name="y")
        for step in (0, 5):
            assert monitor.record(step, session, y, {x: step + 1.0}) == (step + 1.0) ** 2
            monitor.log(step, loss=1.0)
        monitor.log(6, loss=1.0)
        monitor.record(6, session, {"y": y}, {x: 2.0})  # after its log, and other fetches
        monitor.record(0, session, y, {x: 3.0})
        monitor.log(0, loss=1.0)  # goes back: a run of its own
    first, second = (run.recorded for run in monitor._runs.values())
    assert first == {0.0: [0, 0], 5.0: [0, 1], 6.0: [1, 0]}
    assert second == {0.0: [0, 2]}
    assert [s.labels for s in monitor.steppers] == [["step 0", "step 5", "step 0"], ["step 6"]]
    assert monitor._runs["run"].state()["recorded"] == [[0.0, 0, 0], [5.0, 0, 1], [6.0, 1, 0]]
    assert "recorded for the Stepper: 0, 5, 6" in monitor.describe()


def test_so_many_steps_are_recorded_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MAX_RECORDED", 2)
    monitor = TrainingMonitor()
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.constant(1.0) * 2.0
        for step in range(2):
            monitor.record(step, session, y)
        with pytest.raises(ValueError, match="at most 2 recorded steps: record every hundredth"):
            monitor.record(2, session, y)


def slope() -> tuple[Any, Any, Any]:
    """A variable, a loss of it, and a step of training."""
    w = tf.Variable(1.0, name="w")
    loss = tf.square(w * 2.0 - 1.0, name="loss")
    return w, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def test_steps_of_a_job_are_recorded() -> None:
    w, loss, train = slope()
    watched = threading.Event()
    with tf.Session() as session:
        session.run(w.initializer)

        def feed(_: int) -> None:
            assert watched.wait(PATIENCE)
            session.run(w)  # a step may run other things too

        job = tf.train.background(
            train, session=session, steps=25, feed=feed, fetches={"loss": loss}
        )
        monitor = TrainingMonitor(job, record=10)
        watched.set()
        assert job.wait(PATIENCE)
        run = monitor._runs[job.name]
        assert (run.status, run.curves["loss"].num_points) == ("done", 25)
        assert run.recorded == {10.0: [0, 0], 20.0: [0, 1]}
        (stepper,) = monitor.steppers
        assert stepper.labels == ["step 10", "step 20"]
        shown = [recorded.result[1]["loss"] for recorded in stepper._recorded]
        assert shown == run.curves["loss"].rows()[[9, 19], 1].tolist()
        assert events.listeners == [], "the other steps are run as ever"
        branched = stepper.branch({"w": 0.5}, run=0)
        assert branched[1]["loss"] == 0.0


def test_steps_of_a_monitored_session_are_recorded() -> None:
    _, loss, train = slope()
    monitor = TrainingMonitor()
    hook = monitor.hook({"loss": loss}, every=3, record=4)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(9):
            assert session.run(train) is None
    run = monitor._runs["estimator"]
    assert run.curves["loss"].rows()[:, 0].tolist() == [1, 4, 5, 7, 9]
    assert run.recorded == {1.0: [0, 0], 5.0: [0, 1], 9.0: [0, 2]}
    assert "GradientDescent" in {node["name"] for node in monitor.steppers[0]._nodes}
    assert events.listeners == []


def test_batches_of_keras_fit_are_recorded() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name="dense")])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(16, 2)).astype("float32")
    weights = model.get_weights()

    def fit(record: int | None) -> tuple[TrainingMonitor, list[np.ndarray]]:
        model.set_weights(weights)
        monitor = TrainingMonitor()
        told = [monitor.keras_callback(record=record)]
        model.fit(x, x.sum(axis=1), 4, epochs=3, verbose=0, shuffle=False, callbacks=told)
        return monitor, model.get_weights()

    (monitor, recorded), (_, plain) = fit(record=5), fit(record=None)
    run = monitor._runs["fit"]
    assert list(run.recorded) == [1.0, 6.0, 11.0]
    (stepper,) = monitor.steppers
    assert stepper.labels == ["step 1", "step 6", "step 11"]
    np.testing.assert_array_equal(recorded[0], plain[0], "recording changes nothing")
    assert events.listeners == []
    with pytest.raises(ValueError, match="record= is a number of steps of at least 1, or None"):
        monitor.keras_callback(record=0)


def test_long_training_is_recorded_more_and_more_seldom() -> None:
    monitor = TrainingMonitor()
    _, loss, train = slope()
    hook = monitor.hook({"loss": loss}, every=1000, record=1)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(400):
            session.run(train)
    found = [int(step) - 1 for step in monitor._runs["estimator"].recorded]
    assert found[:14] == [*range(10), 10, 12, 14, 16]
    assert len(found) == recordings.MAX_RECORDED and found[-1] > 250
    assert monitor.failure == ""


def test_a_step_that_fails_ends_its_recording() -> None:
    monitor = TrainingMonitor()
    x = tf.placeholder(tf.float32, [], name="x")
    checked = tf.check_numerics(tf.log(x), "bad")
    hook = monitor.hook({"y": checked}, record=1)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            session.run(checked, {x: -1.0})
        assert session.run(checked, {x: 1.0}) == 0.0
    assert len(monitor._runs["estimator"].recorded) == 1
    assert events.listeners == []
