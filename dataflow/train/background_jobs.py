"""``tf.train.background``: training in a thread, so that the notebook stays alive.

Not in TensorFlow 1. A cell that trains in a loop keeps the kernel busy: nothing else runs, and no
click is answered. A background job gives the prompt back, and can be paused, stopped and given
another learning rate between two steps.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import statistics
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple

from dataflow import logging
from dataflow.capabilities import THREADS
from dataflow.errors import OutOfRangeError
from dataflow.graph.default_stacks import default_graph, default_session
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.runtime.cooperative import Task, Wait, block_on, finish, scheduler
from dataflow.train.background_steps import LearningRate, OpStep, StepOfJob, as_rate

_EXIT_SECONDS = 2.0  # how long the end of the process waits for the steps under way
_KEPT_STEP_TIMES = 51

_numbers = itertools.count(1)
_active: weakref.WeakSet[BackgroundJob] = weakref.WeakSet()


class JobEvent(NamedTuple):
    """What a listener is told.

    ``kind`` is ``"step"`` (``values`` holds what the step gave), ``"status"`` or
    ``"learning_rate"``; ``step`` is how many steps are done.
    """

    kind: str
    job: BackgroundJob
    step: int
    values: dict[str, Any]


def background(
    step: Any,
    *,
    session: Any = None,
    steps: int | None = None,
    feed: Any = None,
    fetches: Any = None,
    learning_rate: TensorLike | Callable[[], Any] | None = None,
    name: str | None = None,
) -> BackgroundJob:
    """Trains in a background thread and returns at once with a `BackgroundJob`.

    ``step`` is a training op (or any fetches), run in ``session`` (default: the default session)
    again and again, or a function ``step(job)`` that does one step and returns its values: a dict,
    a number (called ``"value"``) or None.

    Args:
        step: a training op, or a function of the job.
        session: the session to run in; needed for an op.
        steps: how many steps; None goes on until the data ends or `BackgroundJob.stop` is called.
        feed: what each step is fed: a dict, a function from the number of steps done to a dict,
            or an iterable of dicts, whose end is the end of the job.
        fetches: what to fetch in the same run as ``step``: a dict from names to tensors, a tensor,
            or a list of them (named after their ops). These are the job's ``values``.
        learning_rate: what `BackgroundJob.set_learning_rate` changes: a variable; a placeholder, or
            ``(placeholder, first_value)``, which is then fed; or a number, which a function reads
            as ``job.learning_rate``.
        name: how the job is called; default ``"job 1"``, ``"job 2"``, ...

    A `tf.errors.OutOfRangeError` (the end of a dataset or queue) ends the job as done. Any other
    exception ends it as failed, and is raised by `BackgroundJob.result`.

    Raises `ValueError` or `TypeError` at once for arguments that do not fit. Interrupting the
    kernel stops what waits for the job, never the job. When the process ends, so does the job.

    Several jobs run at the same time, also in one session; each step is one `Session.run`. A
    session or a graph that is closed or changed under a job is the caller's concern, as with any
    thread.
    """
    rate = LearningRate(learning_rate)
    if steps is not None and (isinstance(steps, bool) or int(steps) != steps or steps < 1):
        raise ValueError(f"steps must be a whole number of at least 1, or None; got {steps!r}")
    is_function = callable(step) and not isinstance(step, Tensor | Operation)
    if is_function:
        if feed is not None or fetches is not None:
            raise ValueError(
                "feed and fetches belong to a training op. A step function feeds and fetches by "
                "itself: return its values as a dict."
            )
        if session is None:
            session = default_session()
        if rate.variable is not None and session is None:
            raise ValueError("A learning rate that is a variable needs session=.")
        if rate.placeholder is not None:
            raise ValueError(
                "A placeholder is fed by a training op's job only. Give a step function "
                "learning_rate=0.1, and feed job.learning_rate in it."
            )
        one_step: Callable[[BackgroundJob], StepOfJob] = functools.partial(_call, step)
    else:
        session = session or default_session()
        if session is None:
            raise ValueError(
                "tf.train.background(op) needs session=, or a default session "
                "(with tf.Session() as sess: ...)."
            )
        if step is None:
            raise TypeError("step must be a training op or a function, got None")
        one_step = OpStep(step, session, feed, fetches, rate)
    job = BackgroundJob(one_step, session, None if steps is None else int(steps), rate, name)
    job._start()
    return job


class BackgroundJob:
    """Training in a thread; made by `tf.train.background`.

    Attributes:
        name: how the job is called.
        steps: how many steps it makes, None without an end.
        step: how many steps are done.
        values: what the last step gave, by name.
        status: ``"running"``, ``"paused"``, ``"done"``, ``"stopped"`` or ``"failed"``.
    """

    def __init__(
        self,
        one_step: Callable[[BackgroundJob], StepOfJob],
        session: Any,
        steps: int | None,
        rate: LearningRate,
        name: str | None,
    ) -> None:
        self.name = name or f"job {next(_numbers)}"
        self.session, self.steps = session, steps
        self.step = 0
        self.values: dict[str, Any] = {}
        self.status = "running"
        self._one_step = one_step
        self._graph = session.graph if session is not None else default_graph()
        self._rate = rate
        self._new_rate: float | None = None
        self._error: Exception | None = None
        self._listeners: tuple[Callable[[JobEvent], None], ...] = ()
        self._times: deque[float] = deque(maxlen=_KEPT_STEP_TIMES)
        self._change = threading.Condition()
        self._wants_pause = False
        self._wants_stop = False
        self._thread = Task(self._work, name=f"train {self.name}", daemon=True)
        self._thread.calls_functions = not isinstance(one_step, OpStep)

    # ---- steering -----------------------------------------------------------------------------

    def pause(self, *, wait: bool = False) -> None:
        """Holds the job before its next step; with ``wait``, returns when the step under way is
        done."""
        with self._change:
            self._wants_pause = True
        if wait and not self._thread.is_current():
            what = f"the end of the step of {self.name!r}"
            block_on(self._change, what, lambda: self.status != "running")

    def resume(self) -> None:
        """Lets a paused job go on."""
        with self._change:
            self._wants_pause = False
            self._change.notify_all()

    def stop(self, *, wait: bool = False) -> None:
        """Ends the job after the step under way; with ``wait``, returns when it has ended.

        A step that is blocked in a queue ends when the session is closed.
        """
        with self._change:
            self._wants_stop = True
            self._change.notify_all()
        if wait and not self._thread.is_current():
            self.wait()

    @property
    def learning_rate(self) -> float | None:
        """The learning rate that the next step uses; None where the job was given none."""
        return self._new_rate if self._new_rate is not None else self._rate.value

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self.set_learning_rate(value)

    @property
    def has_learning_rate(self) -> bool:
        """Whether `set_learning_rate` can be called."""
        return self._rate.is_given

    def set_learning_rate(self, value: float) -> None:
        """Uses ``value`` from the next step on.

        Raises `ValueError` for a job without ``learning_rate=``, or a value that is not finite;
        `RuntimeError` when the job has ended.
        """
        if not self._rate.is_given:
            raise ValueError(
                f"{self.name!r} was started without learning_rate=, so nothing can change it. "
                "Give tf.train.background the variable or placeholder that the optimizer uses."
            )
        number = as_rate(value)
        with self._change:
            if self.done:
                raise RuntimeError(f"{self.name!r} has ended ({self.status}); start a new job.")
            self._new_rate = number
            self._change.notify_all()

    # ---- results ------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the job has ended, in whichever way."""
        if not THREADS:
            scheduler.let_run()  # who only asks must not keep the job from running
        return self._has_ended()

    def _has_ended(self) -> bool:
        return self.status in ("done", "stopped", "failed")

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, at most ``timeout`` seconds; whether it has come.

        Interrupting the kernel ends the waiting with `KeyboardInterrupt`; the job goes on.
        """
        what = f"the end of the background job {self.name!r}"
        return block_on(self._change, what, self._has_ended, timeout)

    def result(self, timeout: float | None = None) -> dict[str, Any]:
        """The values of the last step, once the job has ended.

        Raises `TimeoutError` if it has not ended after ``timeout`` seconds, and the job's own
        exception if it failed.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"{self.name!r} has not ended after {timeout} s; it goes on.")
        if self._error is not None:
            raise self._error
        return self.values

    def exception(self, timeout: float | None = None) -> Exception | None:
        """What the job failed with, or None; waits like `result`."""
        if not self.wait(timeout):
            raise TimeoutError(f"{self.name!r} has not ended after {timeout} s; it goes on.")
        return self._error

    @property
    def error(self) -> Exception | None:
        """What the job failed with, if it has; waits for nothing."""
        return self._error

    @property
    def step_seconds(self) -> float | None:
        """The median time of the last 51 steps in seconds, pauses not counted."""
        return statistics.median(list(self._times)) if self._times else None

    @property
    def seconds_left(self) -> float | None:
        """Time to the last step, from `step_seconds`; None where ``steps`` is, or before a step."""
        if self.done:
            return 0.0
        each = self.step_seconds
        return None if self.steps is None or each is None else each * (self.steps - self.step)

    # ---- listening ----------------------------------------------------------------------------

    def listen(self, callback: Callable[[JobEvent], None]) -> Callable[[], None]:
        """Calls ``callback(event)`` in the job's thread at each `JobEvent`; returns what ends it.

        Without a listener an event costs one look. A listener that fails is logged once and no
        longer called: a broken view must not break the training.
        """
        with self._change:
            self._listeners = (*self._listeners, callback)

        def forget() -> None:
            with self._change:
                self._listeners = tuple(c for c in self._listeners if c is not callback)

        return forget

    def _tell(self, kind: str) -> None:
        for callback in self._listeners:
            try:
                callback(JobEvent(kind, self, self.step, self.values))
            except Exception as e:
                logging.error("A listener of %r failed and is dropped: %r", self.name, e)
                with self._change:
                    self._listeners = tuple(c for c in self._listeners if c is not callback)

    # ---- the thread ---------------------------------------------------------------------------

    def _start(self) -> None:
        _active.add(self)
        self._thread.start()

    def _work(self) -> Iterator[Wait | None]:
        status = "failed"
        try:
            with self._graph.as_default():
                if self.session is None:
                    status = yield from self._steps()
                else:
                    with self.session.as_default():
                        status = yield from self._steps()
        except Exception as e:
            self._error = e
            logging.error("%r failed after %d steps: %s", self.name, self.step, e)
        finally:
            _active.discard(self)
            self._set_status(status)
            # A frame of a kept traceback, or a listener, must not keep data and session alive.
            self._one_step = _ended

    def _steps(self) -> Generator[Wait | None, None, str]:
        if self._rate.variable is not None:
            try:
                self._rate.value = float(self.session.run(self._rate.variable))
            except Exception as e:
                raise RuntimeError(
                    f"the learning rate {self._rate.variable.name!r} could not be read: {e}"
                ) from e
        while self.steps is None or self.step < self.steps:
            if self._wants_pause or self._wants_stop or self._new_rate is not None:
                yield from self._obey()
                if self._wants_stop:
                    return "stopped"
            start = time.perf_counter()
            try:
                given = yield from self._one_step(self)
            except (StopIteration, OutOfRangeError):  # of the feed, or of a queue or function
                return "done"  # the data has ended
            self._times.append(time.perf_counter() - start)
            self.values = _as_values(given)
            self.step += 1
            if self._listeners:
                self._tell("step")
            yield None
        return "done"

    def _obey(self) -> Iterator[Wait | None]:
        """Between two steps: sets a new learning rate, waits while paused."""
        while True:
            rate = self._new_rate
            if rate is not None:
                if self._rate.variable is not None:
                    self._rate.variable.load(rate, self.session)
                with self._change:
                    self._rate.value = rate
                    if self._new_rate == rate:
                        self._new_rate = None
                self._tell("learning_rate")
            if self._wants_stop or not self._wants_pause:
                break
            self._set_status("paused")
            yield Wait("`resume`", self._is_called, None, self._wait_for_call)
        if self.status == "paused" and not self._wants_stop:
            self._set_status("running")

    def _is_called(self) -> bool:
        """Whether a paused job has something to do."""
        return not self._wants_pause or self._wants_stop or self._new_rate is not None

    def _wait_for_call(self) -> None:
        with self._change:
            self._change.wait_for(self._is_called)

    def _set_status(self, status: str) -> None:
        with self._change:
            changed = self.status != status
            self.status = status
            self._change.notify_all()
        if changed and self._listeners:
            self._tell("status")

    def __repr__(self) -> str:
        of = "" if self.steps is None else f" of {self.steps}"
        left = self.seconds_left
        more = "" if self.done or left is None else f", about {left:.0f} s left"
        return f"<BackgroundJob {self.name!r}: {self.status}, step {self.step}{of}{more}>"


def _call(function: Callable[[BackgroundJob], Any], job: BackgroundJob) -> StepOfJob:
    """One step that is a user's function."""

    def call() -> Any:
        try:
            return function(job)
        except StopIteration as e:  # which a generator must not raise
            raise OutOfRangeError(None, None, "The data of the step have ended.") from e

    return (yield from finish(call, resumable=False))


def _ended(job: BackgroundJob) -> Any:
    raise RuntimeError(f"{job.name!r} has ended")


def _as_values(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(key): value for key, value in given.items()}
    return {"value": given}


@atexit.register
def _stop_all() -> None:
    """The process ends: jobs stop after the step under way, before their modules go."""
    jobs = list(_active)
    for job in jobs:
        job.stop()
    end = time.monotonic() + _EXIT_SECONDS
    for job in jobs:
        job._thread.join(max(0.0, end - time.monotonic()))
