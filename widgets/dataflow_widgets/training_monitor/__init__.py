"""`TrainingMonitor`: curves, histograms, predictions and progress of training, live."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import traitlets
from ipywidgets import widget_serialization

from dataflow_widgets import live
from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.rate_limit import Pacer
from dataflow_widgets.training_monitor import sources
from dataflow_widgets.training_monitor.log_folders import read_runs
from dataflow_widgets.training_monitor.picture import monitor_svg
from dataflow_widgets.training_monitor.recordings import Recorded, Recordings, StepRecorder
from dataflow_widgets.training_monitor.runs import Run
from dataflow_widgets.training_monitor.summaries import confusion, samples
from dataflow_widgets.training_monitor.updates import update
from dataflow_widgets.text_description import plural

MAX_RUNS = 50
_SECONDS_BETWEEN_PICTURES = 5.0
_SECONDS_BETWEEN_WHOLE = 1.0
_SMALL = 2000  # rows that are cheap to send again until the page has answered
_DEFAULT = "run"


class TrainingMonitor(Widget):
    """Shows training as it happens: give it jobs of `tf.train.background`, or log by hand.

        job = tf.train.background(train_op, session=sess, steps=1000, fetches={"loss": loss})
        TrainingMonitor(job)

        TrainingMonitor("logs")     # what tf.summary.FileWriter wrote there

        monitor = TrainingMonitor()
        display(monitor)
        for step in range(1000):
            ...
            monitor.log(step, loss=value, accuracy=share)

    Numbers become curves, arrays histograms over time. Jobs can be paused, stopped and given
    another learning rate in the page. `hook` serves estimators and monitored sessions,
    `keras_callback` serves ``fit``. With ``record=100`` each of these keeps every hundredth step,
    and more seldom when there are many; in a loop of your own `record` does. Such a step opens in a
    Stepper: press the curve there. Curves of any length take bounded memory: beyond 1,000 rows
    neighbors are merged, with their mean and extremes kept. The page gets at most ten updates a
    second, also while a cell keeps the kernel busy.
    """

    steppers: Any = traitlets.List().tag(sync=True, **widget_serialization)

    _options = {"title", "height", "record"}

    def __init__(self, *jobs: Any, **options: Any) -> None:
        refuse_unknown(TrainingMonitor, self._options, options)
        recorded = options.pop("record", None)
        self._lock = threading.RLock()
        self._sending = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._current: dict[str, Run] = {}  # by the name that log() was given
        self._in_cell: set[Run] = set()  # that the cell that runs has added to
        self._recordings = Recordings()
        self._unlogged: dict[str, tuple[float, list[int]]] = {}  # recorded steps before their log()
        self._forgets: list[Callable[[], None]] = []
        self._is_shown = self._is_heard = False
        self._whole_at = self._kept_at = float("-inf")
        self._pacer = Pacer(self._flush, 0.1)
        super().__init__(kind="training_monitor", **({"height": 200} | options))
        for job in jobs:
            if isinstance(job, (str, os.PathLike)):
                self.read(job)
            else:
                self.watch(job, record=recorded)

    # ---- what is logged -----------------------------------------------------------------------

    def watch(self, job: Any, run: str | None = None, *, record: int | None = None) -> str:
        """Follows a job of `tf.train.background`; returns the name of its run.

        What the job fetches is shown: numbers as curves, arrays as histograms (looked at twice a
        second at most). ``record`` says every how many steps one is kept for the `Stepper`. Of a job
        with a step function that is the largest of the step's runs.
        """
        if not hasattr(job, "listen") or not hasattr(job, "set_learning_rate"):
            raise TypeError(
                "TrainingMonitor watches jobs of tf.train.background, and reads folders of summaries, "
                f"got {type(job).__name__}. Use monitor.log(step, loss=...) in a loop of your own."
            )
        recorder = StepRecorder(self._recordings, record)
        followed = self._new_run(run or job.name, job.steps, job)

        def hear(event: Any) -> None:  # in the job's thread, which makes the next step then
            try:
                found = recorder.end() if event.kind != "learning_rate" else None
                if event.kind == "step":
                    self._keep_recorded(followed, event.step, found)
                    if recorder.wants(event.step + 1):
                        recorder.begin()
                    shown = {k: v for k, v in event.values.items() if _is_numeric(v)}
                    self._log(followed, event.step, shown, is_throttled=True)
                else:
                    self._follow_status(followed)
            except Exception as e:  # shown here; the training goes on
                self.failure = f"{followed.name} can no longer be followed: {e}"
                raise

        self._forgets.append(job.listen(hear))
        if job.values and job.step:
            with self._lock:
                followed.log(job.step, {k: v for k, v in job.values.items() if _is_numeric(v)})
        self._follow_status(followed)
        return followed.name

    def read(self, folder: str | os.PathLike[str]) -> list[str]:
        """Shows the curves that `tf.summary.scalar` wrote below ``folder``, as TensorBoard does: each folder
        with event files is a run. Returns the runs' names; raises `FileNotFoundError` without such files.
        """
        names = []
        for name, points in read_runs(folder).items():
            run = self._new_run(name)
            for step, values in points.items():
                self._log(run, step, values)
            self._end(run, "done")
            names.append(run.name)
        return names

    def _follow_status(self, run: Run) -> None:
        with self._lock:
            run.status, run.step = run.job.status, max(run.step, float(run.job.step))
            error = run.job.error
            run.error = "" if error is None else f"{type(error).__name__}: {error}"[:1000]
        self._changed()

    def log(  # hides the logger of ipywidgets, see the end of this file
        self,
        step: float,
        values: Mapping[str, Any] | None = None,
        *,
        run: str = _DEFAULT,
        **more: Any,
    ) -> None:
        """Adds what ``step`` gave: ``monitor.log(step, loss=0.3)`` or ``log(step, {"a/b": 1})``.

        Numbers become points of curves, arrays histograms. ``run`` is the run's name; a step that
        lies before the last one starts a new run (``"run 2"``), as when a cell is run again.

        Raises `TypeError` for values that are neither.
        """
        found = {**(values or {}), **more}
        number = float(step)
        with self._lock:
            known = self._current.get(run)
            if known is None or known.goes_back(number, found):
                if known is not None and known.status == "running":
                    known.status = "done"
                known = self._new_run(run, None if known is None else known.steps)
                self._current[run] = known
            known.status, known.error = "running", ""
            if not self._in_cell:
                live.after_cell(self, self._end_of_cell)
            self._in_cell.add(known)
            self._log(known, number, found)
            if self._unlogged.get(run, (None,))[0] == number:
                known.recorded[number] = self._unlogged.pop(run)[1]

    def record(
        self,
        step: float,
        session: Any,
        fetches: Any,
        feed_dict: Any = None,
        *,
        run: str = _DEFAULT,
    ) -> Any:
        """Does ``session.run(fetches, feed_dict)`` and keeps what every operation gave as ``step``.

        A press on a curve at that step then shows it in a `Stepper`. Log the same step before or after:

            run = sess.run if step % 100 else functools.partial(monitor.record, step, sess)
            _, value = run([train, loss], feed)
            monitor.log(step, loss=value)

        Of large values a sample is kept. Returns what `Session.run` returns, and raises what it
        raises; `ValueError` beyond 50 steps.
        """
        number = float(step)
        result, place = self._recordings.record(session, fetches, feed_dict, f"step {number:g}")
        with self._lock:
            known = self._current.get(run)
            if known is not None and known.step == number:
                known.recorded[number] = place
            else:
                self._unlogged[run] = (number, place)
        self._show_recorded()
        return result

    def _keep_recorded(self, run: Run, step: float, found: Recorded | None) -> None:
        """Keeps what a `StepRecorder` has recorded of a step, if anything."""
        if found is None:
            return
        place = self._recordings.add(found, f"step {step:g}")
        with self._lock:
            run.recorded[float(step)] = place
        self._show_recorded()

    def _show_recorded(self) -> None:
        if len(self.steppers) != len(self._recordings.steppers):
            self.steppers = list(self._recordings.steppers)
        self._changed()

    def start(self, run: str = _DEFAULT, *, steps: int | None = None) -> str:
        """Begins a run of ``steps`` steps, which `log` then adds to; returns its name.

        Only needed for progress and the time left.
        """
        with self._lock:
            self._current[run] = self._new_run(run, steps)
            return self._current[run].name

    def finish(self, run: str = _DEFAULT) -> None:
        """Marks a run as done."""
        with self._lock:
            if run not in self._current:
                raise KeyError(f"there is no run {run!r}; there is: {', '.join(self._current)}")
            self._end(self._current[run], "done")

    def confusion(
        self,
        true: Any,
        predicted: Any,
        class_names: Sequence[Any] | None = None,
        *,
        run: str = _DEFAULT,
        step: float | None = None,
    ) -> None:
        """Shows how often each true class was predicted as each class.

        ``true`` and ``predicted`` are class numbers (n,) or scores (n, classes), of which the
        largest counts. At most 100 classes. Raises `ValueError` for lengths that differ.
        """
        made = confusion(true, predicted, class_names, step)
        with self._lock:
            found = self._run_called(run)
            found.confusion, found.confusion_changed = made, True
        self._changed()

    def samples(
        self,
        inputs: Any,
        predicted: Any,
        true: Any = None,
        class_names: Sequence[Any] | None = None,
        *,
        image_shape: Sequence[int] | None = None,
        run: str = _DEFAULT,
        step: float | None = None,
    ) -> None:
        """Shows up to 24 inputs with what was predicted and what is true.

        ``inputs`` are texts, or images (n, height, width) or (n, height, width, channels); flat
        images need ``image_shape``. Labels are names, class numbers or scores (n, classes).
        """
        made = samples(inputs, predicted, true, class_names, image_shape, step)
        with self._lock:
            found = self._run_called(run)
            found.samples, found.samples_changed = made, True
        self._changed()

    def hook(
        self,
        tensors: Any,
        *,
        run: str = "estimator",
        every: int = 1,
        steps: int | None = None,
        record: int | None = None,
    ) -> Any:
        """A `tf.train.SessionRunHook` that logs ``tensors`` (a dict from names to tensors or names
        of tensors) at every ``every``-th run, and keeps every ``record``-th for the `Stepper`."""
        if not isinstance(tensors, Mapping):
            raise TypeError(f'tensors must be a dict such as {{"loss": loss}}, got {tensors!r}')
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        recorder = StepRecorder(self._recordings, record)
        return sources.MonitorHook(self, tensors, run, every, steps, recorder)

    def keras_callback(
        self, *, run: str = "fit", weights: bool = True, record: int | None = None
    ) -> Any:
        """A `tf.keras.callbacks.Callback` for ``fit``: every batch, the validation, and histograms
        of the weights after each epoch. Every ``record``-th batch is kept for the `Stepper`."""
        recorder = StepRecorder(self._recordings, record)
        return sources.keras_callback(self, run, weights, recorder)

    @property
    def runs(self) -> list[str]:
        """Names of the runs, in the order in which they began."""
        return list(self._runs)

    def _end_of_cell(self) -> None:
        """A loop that an interrupt or an error has ended does not run any more."""
        error = live.error_of_cell()
        with self._lock:
            for run in self._in_cell:
                if error is not None and run.status == "running":
                    run.break_off(error)
            self._in_cell.clear()
        self._changed()

    def _new_run(self, name: str, steps: int | None = None, job: Any = None) -> Run:
        with self._lock:
            if len(self._runs) >= MAX_RUNS:
                raise ValueError(f"a monitor shows at most {MAX_RUNS} runs; make a new one")
            unique, number = name, 2
            while unique in self._runs:
                unique, number = f"{name} {number}", number + 1
            run = Run(unique, steps, job)
            self._runs[unique] = run
        self._changed()
        return run

    def _run_called(self, name: str) -> Run:
        found = self._current.get(name) or self._runs.get(name)
        if found is None and name == _DEFAULT and len(self._runs) == 1:
            found = next(iter(self._runs.values()))  # one job is watched: that is meant
        if found is None:
            found = self._current[name] = self._new_run(name)
        return found

    def _log(
        self, run: Run, step: float, values: dict[str, Any], *, is_throttled: bool = False
    ) -> None:
        with self._lock:
            run.log(step, values, is_throttled=is_throttled)
        self._changed()

    def _end(self, run: Run, status: str) -> None:
        with self._lock:
            run.status = status
        self._changed()

    @staticmethod
    def _value_of(variable: Any) -> Any:
        from dataflow.keras import backend

        return backend.get_value(variable)

    # ---- to the page --------------------------------------------------------------------------

    def _changed(self) -> None:
        if self._is_shown:
            self._pacer.ask()

    def _flush(self) -> None:
        """Sends what is new; called by the pacer, at most ten times a second."""
        now = time.monotonic()
        with self._sending:
            # Until the page has answered it may have missed something: then all, but not too often.
            whole = not self._is_heard and (
                self._num_rows() <= _SMALL or now - self._whole_at >= _SECONDS_BETWEEN_WHOLE
            )
            if whole:
                self._whole_at = now
            self._send_update(whole)
        ended = all(run.status != "running" for run in self._runs.values())
        wait = (1.0 if ended else _SECONDS_BETWEEN_PICTURES) - (now - self._kept_at)
        if wait <= 0:
            self._keep(now)
        else:
            self._pacer.ask(after=wait)

    def _num_rows(self) -> int:
        return sum(len(c) for run in self._runs.values() for c in run.curves.values())

    def _send_update(self, whole: bool) -> None:
        with self._lock:
            message, numbers, pixels = update(list(self._runs.values()), whole)
        if message["runs"] or whole:
            self.send(message, [numbers, pixels])

    def _greet(self, version: int, num_runs: int) -> None:
        with self._sending:
            self._is_shown = self._is_heard = True
            self._send_update(whole=True)

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("kind") != "control":
            return super()._answer(question)
        name, action = str(question.get("run")), question.get("action")
        run = self._runs.get(name)
        if run is None or run.job is None:
            raise ValueError(f"there is no background job called {name!r} to steer")
        if action == "pause":
            run.job.pause()
        elif action == "resume":
            run.job.resume()
        elif action == "stop":
            run.job.stop()
        elif action == "rate":
            run.job.set_learning_rate(question.get("value"))
        else:
            raise ValueError(f"a job cannot {action!r}; it can pause, resume, stop or take a rate")
        self._changed()
        return run.state()

    # ---- showing ------------------------------------------------------------------------------

    def describe(self) -> str:
        """Every run in words: status, progress, and the last, lowest and highest of each curve."""
        with self._lock:
            if not self._runs:
                return "Training monitor: nothing has been logged yet."
            lines = [f"Training monitor of {plural(len(self._runs), 'run')}."]
            for run in self._runs.values():
                lines += run.describe()
        return "\n".join(lines)

    def to_svg(self) -> str:
        """The curves as a picture, as they are now."""
        return self._draw()

    def _draw(self) -> str:
        with self._lock:
            return monitor_svg(list(self._runs.values()), self.title)

    def _keep(self, now: float) -> None:
        """Puts the picture and the words where a saved notebook keeps them."""
        self._kept_at = now
        self._keep_picture()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._is_shown = True
        self._keep(time.monotonic())
        self._changed()
        return super()._repr_mimebundle_(**kwargs)

    def close(self) -> None:
        """Ends the widget; jobs go on."""
        if hasattr(self, "_pacer"):  # not after a constructor that refused its arguments
            for forget in self._forgets:
                forget()
            self._forgets.clear()
            self._pacer.cancel()
        super().close()


def _is_numeric(value: Any) -> bool:
    if value is None or isinstance(value, str | bytes):
        return False
    return np.asarray(getattr(value, "values", value)).dtype.kind in "biuf"


# ipywidgets calls its logger `log`, and says self.log.warning(...) where a callback fails. The method
# of that name answers to those too, so that nothing breaks inside.
for _level in ("debug", "info", "warning", "error", "exception", "critical"):
    setattr(TrainingMonitor.log, _level, getattr(logging.getLogger(__name__), _level))
