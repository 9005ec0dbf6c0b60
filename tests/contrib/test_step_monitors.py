"""``tf.contrib.learn``'s monitors of each step, called by hand and as hooks of a session."""

import numpy as np
import pytest

import dataflow as tf

learn = tf.contrib.learn
monitors = learn.monitors


pytestmark = pytest.mark.usefixtures("graph")


class Noted(monitors.EveryN):
    def __init__(self, *args):
        super().__init__(*args)
        self.seen = []

    def every_n_step_begin(self, step):
        self.seen.append(("begin", step))
        return ["step_squared:0"]

    def every_n_step_end(self, step, outputs):
        self.seen.append(("end", int(outputs["step_squared:0"])))
        return step >= 7

    def every_n_post_step(self, step, session):
        self.seen.append(("post", step))


def train(*hooks, steps=9):
    """Runs a global step from 1 on under monitors; gives how far it came."""
    step = tf.train.create_global_step()
    tf.get_variable("weight", initializer=2.0)
    following = tf.assign_add(step, 1)
    tf.square(following, name="step_squared")
    tf.summary.scalar("now", following)
    with tf.train.MonitoredTrainingSession(hooks=list(hooks)) as sess:
        for _ in range(steps):
            if sess.should_stop():
                break
            last = sess.run(following)
    return int(last)


def test_every_third_step_and_the_first():
    noted = Noted(3, 1)
    assert train(noted) == 7
    begun = [step for kind, step in noted.seen if kind == "begin"]
    assert begun == [1, 4, 7]
    assert [value for kind, value in noted.seen if kind == "end"] == [1, 16, 49]
    assert [step for kind, step in noted.seen if kind == "post"] == begun


def test_a_monitor_is_called_in_order():
    monitor = monitors.BaseMonitor()
    with pytest.raises(ValueError, match="without begin"):
        monitor.end()
    monitor.begin(max_steps=5)
    with pytest.raises(ValueError, match="twice"):
        monitor.begin()
    monitor.epoch_begin(0)
    with pytest.raises(ValueError, match="twice"):
        monitor.epoch_begin(1)
    assert monitor.step_begin(2) == []
    with pytest.raises(ValueError, match="expected 2"):
        monitor.step_end(3, {})
    assert monitor.step_end(2, {}) is False
    for wrong in (-1, 6):
        with pytest.raises(ValueError, match="Invalid step"):
            monitor.step_begin(wrong)
    with pytest.raises(ValueError, match="expected 0"):
        monitor.epoch_end(1)
    monitor.epoch_end(0)
    monitor.end()


def test_variables_are_captured_and_logged(monkeypatch):
    said = []
    monkeypatch.setattr(tf.logging, "info", lambda text, *args: said.append(text % args))
    captured = learn.CaptureVariable("weight:0", every_n=2, first_n=2)
    train(captured, learn.LoggingTrainable(every_n=100), steps=4)
    assert captured.values == {1: 2.0, 2: 2.0, 4: 2.0}
    assert [line for line in said if "weight:0 = 2.0" in line]


def test_no_number_stops_or_raises():
    loss = tf.constant(np.nan, name="loss")
    gentle = learn.NanLoss(loss, every_n_steps=1, fail_on_nan_loss=False)
    assert train(gentle) == 1
    strict = learn.NanLoss("loss:0", every_n_steps=1)
    strict.begin()
    assert strict.step_begin(1) == ["loss:0"]
    assert strict.every_n_step_end(1, {"loss:0": 3.0}) is False
    with pytest.raises(learn.NanLossDuringTrainingError):
        strict.every_n_step_end(1, {"loss:0": np.nan})


def test_summaries_and_speed_are_written(tmp_path):
    folder = str(tmp_path)
    scaffold = tf.train.Scaffold()
    saver = learn.SummarySaver(None, save_steps=2, output_dir=folder, scaffold=scaffold)
    saver._scaffold = type("Made", (), {"summary_op": property(lambda self: op[0])})()
    op = []
    step = tf.train.create_global_step()
    following = tf.assign_add(step, 1)
    op.append(tf.summary.scalar("now", following))
    counter = learn.StepCounter(every_n_steps=2, output_dir=folder)
    with tf.train.MonitoredTrainingSession(hooks=[saver, counter]) as sess:
        for _ in range(5):
            sess.run(following)
    learn.SummaryWriterCache.get(folder).flush()
    events = [
        (value.tag, event.step)
        for path in tmp_path.iterdir()
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    ]
    assert [step for tag, step in events if tag == "now"] == [1, 3, 5]
    assert [step for tag, step in events if tag == "global_step/sec"] == [3, 5]


def test_checkpoints_are_saved_by_step_and_at_the_end(tmp_path):
    train(learn.CheckpointSaver(str(tmp_path), save_steps=3), steps=5)
    saved = {path.name for path in tmp_path.glob("*.meta")}
    assert saved == {f"model.ckpt-{step}.meta" for step in (1, 4, 5)}
    with pytest.raises(ValueError, match="Exactly one"):
        learn.CheckpointSaver(str(tmp_path))


def test_dumps_are_compared():
    dumps = [learn.GraphDump(), learn.GraphDump()]
    for dump, number in zip(dumps, (1.0, 2.0), strict=True):
        dump.begin()
        dump.step_begin(1)
        dump.step_end(1, {"same:0": np.ones(2), "other:0": number})
    assert dumps[0].compare(dumps[1], 1) == (["same:0"], ["other:0"])
    with pytest.raises(ValueError, match="missing"):
        dumps[1].data[1].pop("same:0")
        dumps[0].compare(dumps[1], 1)


def test_monitors_become_hooks_of_an_estimator() -> None:
    """Tensor2Tensor's experiments call this for a `tf.estimator.Estimator`."""
    estimator = object()
    printed, hook = monitors.CaptureVariable("w"), tf.train.StopAtStepHook(3)
    first, second = monitors.replace_monitors_with_hooks([printed, hook], estimator)
    assert first is hook and isinstance(second, monitors.RunHookAdapterForMonitors)
    assert printed._estimator is estimator
    assert monitors.replace_monitors_with_hooks(None, estimator) == []


def called(monitor, steps, max_steps=None):
    """Calls a monitor by hand, as old training loops did."""
    monitor.begin(max_steps=max_steps)
    for step in steps:
        monitor.step_begin(step)
        monitor.step_end(step, output={"step_squared:0": 0})
        monitor.post_step(step, session=None)
    monitor.end(session=None)
    return [step for kind, step in monitor.seen if kind == "post"]


def test_the_last_step_is_told_once():
    assert called(Noted(8), [8, 16, 19]) == [8, 16, 19]
    assert called(Noted(8), [8, 16, 16]) == [8, 16]
    noted = Noted(8)
    for step in (8, 16):  # a session that was lost within a step begins it again
        noted.step_begin(step)
        noted.step_begin(step)
        noted.step_end(step, output={"step_squared:0": 0})
        noted.post_step(step, session=None)
    assert [step for kind, step in noted.seen if kind == "begin"] == [8, 8, 16, 16]


@pytest.mark.parametrize("names", [["weight:0"], {"the weight": "weight:0"}])
def test_tensors_are_logged(names, caplog):
    with caplog.at_level("INFO", logger="tensorflow"):
        train(monitors.PrintTensor(names, every_n=4), steps=6)
    text = "the weight" if isinstance(names, dict) else "weight:0"
    assert [r.getMessage() for r in caplog.records if f"{text} = 2.0" in r.getMessage()] == [
        f"Step {step}: {text} = 2.0" for step in (1, 5)
    ]


def test_what_a_validation_monitor_needs(tmp_path):
    with pytest.raises(ValueError, match="x or input_fn"):
        monitors.ValidationMonitor()
    alone = monitors.ValidationMonitor(np.zeros(3), every_n_steps=1)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="set_estimator"):
        train(alone)
    of_core = monitors.ValidationMonitor(np.zeros(3), every_n_steps=1, check_interval_secs=60)
    of_core.set_estimator(tf.estimator.Estimator(lambda features: None, str(tmp_path)))
    assert train(of_core) == 9  # there is no checkpoint yet
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "model"), 1)
    of_core.step_begin(20)
    assert not of_core.step_end(20, {})  # within 60 seconds
    of_core = monitors.ValidationMonitor(np.zeros(3), every_n_steps=1)
    of_core.set_estimator(tf.estimator.Estimator(lambda features: None, str(tmp_path)))
    of_core.step_begin(20)
    with pytest.raises(ValueError, match=r"has no \['x'\]"):
        of_core.step_end(20, {})


class Old(monitors.BaseMonitor):
    """A monitor as programs of 2016 write them: its methods have no defaults."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def begin(self, max_steps):
        self.calls.append(("begin", max_steps))

    def end(self):
        self.calls.append(("end",))

    def step_begin(self, step):
        self.calls.append(("step_begin", step))
        return ["twice"]

    def step_end(self, step, output):
        self.calls.append(("step_end", step, int(output["twice"])))
        return step >= 11

    def post_step(self, step, session):
        self.calls.append(("post_step", step))


def test_monitors_follow_the_global_step() -> None:
    step = tf.train.create_global_step()
    following = tf.assign_add(step, 5)  # other workers count as well
    tf.multiply(following, 2, name="twice")
    old = Old()
    hook = monitors.RunHookAdapterForMonitors([old])
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        while not sess.should_stop():
            sess.run(following)
    assert old.calls == [
        ("begin", None),
        ("step_begin", 1), ("step_end", 1, 10), ("post_step", 1),
        ("step_begin", 6), ("step_end", 6, 20), ("post_step", 6),
        ("step_begin", 11), ("step_end", 11, 30), ("post_step", 11),
        ("end",),
    ]  # fmt: skip


def test_an_operation_with_several_outputs_is_ambiguous() -> None:
    tf.train.create_global_step()
    tf.split([1, 2], 2, name="pieces")
    old = Old()
    old.step_begin = lambda step: ["pieces"]
    hook = monitors.RunHookAdapterForMonitors([old])
    with pytest.raises(ValueError, match="pieces:0"):
        with tf.train.MonitoredSession(hooks=[hook]) as sess:
            sess.run(tf.train.get_global_step())


def test_a_monitor_stops_after_steps_or_at_one() -> None:
    for monitor, stops in (
        (monitors.StopAtStep(num_steps=10), 14),
        (monitors.StopAtStep(last_step=9), 9),
    ):
        for step in range(5, 17):
            monitor.step_begin(step)
            assert monitor.step_end(step, {}) is (step >= stops)
    with pytest.raises(ValueError, match="not both"):
        monitors.StopAtStep(1, 2)
    assert train(monitors.StopAtStep(num_steps=4)) == 4


def test_an_estimator_says_that_it_was_not_trained() -> None:
    estimator = learn.Estimator(lambda features, labels: (features, tf.constant(0.0), tf.no_op()))
    for ask in (estimator.evaluate, estimator.predict):
        with pytest.raises(learn.NotFittedError, match="Couldn't find trained model"):
            ask(input_fn=lambda: (tf.constant([1.0]), None))
    with pytest.raises(ValueError, match="Inputs cannot be tensors"):
        estimator.fit(tf.constant([1.0]), np.ones(1))
