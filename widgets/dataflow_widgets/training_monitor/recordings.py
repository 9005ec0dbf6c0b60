"""The steps of training that a monitor can open in a `Stepper`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.introspect.variables import snapshot
from dataflow.runtime import events
from dataflow.runtime.stepper import Trace, record
from dataflow_widgets.stepper import Stepper

#: All of a recording is sent to the page.
MAX_RECORDED = 50
_THEN_SELDOMER = 10  # after so many recorded steps, twice as many lie between two
_MOST_RUNS = 20  # of one step


class Recorded(NamedTuple):
    """A run that was recorded, with the variables before it."""

    session: Any
    fetches: Any
    feed_dict: Any
    before: dict[str, Any] | None
    trace: Trace


class Recordings:
    """Steppers, one for each session and fetches, and which of their runs are which steps."""

    def __init__(self) -> None:
        self.steppers: list[Stepper] = []
        self._known: dict[tuple[int, str], int] = {}
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Whether as many steps are kept as can be."""
        return self._count >= MAX_RECORDED

    def record(
        self, session: Any, fetches: Any, feed_dict: Any, label: str
    ) -> tuple[Any, list[int]]:
        """Runs and records; returns the result, and the number of the stepper and of its run."""
        if self.is_full:
            raise ValueError(
                f"a monitor keeps at most {MAX_RECORDED} recorded steps: record every hundredth "
                "step, say, or make a new monitor"
            )
        run = run_recorded(session, fetches, feed_dict)
        return run.trace.result, self.add(run, label)

    def add(self, run: Recorded, label: str) -> list[int]:
        """Keeps a run; returns the number of the stepper and of its run."""
        key = (id(run.session), repr(run.fetches))
        recorded = (run.before, run.trace)
        if key in self._known:
            number = self._known[key]
            self.steppers[number].record(run.feed_dict, label, recorded)
        else:
            number = self._known[key] = len(self.steppers)
            options = {"values": "sampled", "label": label, "recorded": recorded}
            self.steppers.append(Stepper(run.session, run.fetches, run.feed_dict, **options))
        self._count += 1
        return [number, len(self.steppers[number].labels) - 1]


def run_recorded(session: Any, fetches: Any, feed_dict: Any) -> Recorded:
    """Does ``session.run(fetches, feed_dict)``, with a sample of every value."""
    before = snapshot(session)
    trace = record(session, fetches, feed_dict, values="sampled")
    return Recorded(session, fetches, feed_dict, before, trace)


class StepRecorder:
    """Records steps that others run: `begin` before a step, `end` after it, in the same thread.

    Of the runs of a step, the one with the most operations is kept: what prepares a batch or reads a
    counter is none that anybody wants to step through. ``every`` says which steps (None: none);
    later ones are recorded more and more seldom, as `MAX_RECORDED` is all there is room for.
    """

    def __init__(self, recordings: Recordings, every: int | None) -> None:
        if every is not None and (isinstance(every, bool) or int(every) != every or every < 1):
            raise ValueError(f"record= is a number of steps of at least 1, or None; got {every!r}")
        self._recordings, self._every = recordings, every
        self._num_recorded = self._num_runs = 0
        self._found: Recorded | None = None
        self._give_back: Callable[[], None] | None = None

    def wants(self, step: int) -> bool:
        """Whether step number ``step`` is to be recorded."""
        if self._every is None or self._recordings.is_full:
            return False
        apart = self._every << (self._num_recorded // _THEN_SELDOMER)
        return step % apart == 0

    def begin(self) -> None:
        """The next runs of this thread are recorded, until `end`."""
        self.end()
        if events.runner_here() is None:  # else another monitor records this step
            self._num_runs = 0
            self._give_back = events.take_runs(self._run)

    def end(self) -> Recorded | None:
        """What was recorded since `begin`, if anything."""
        if self._give_back is not None:
            self._give_back()
            self._give_back = None
        found, self._found = self._found, None
        self._num_recorded += found is not None
        return found

    def _run(self, session: Any, fetches: Any, feed_dict: Any) -> Any:
        self._num_runs += 1
        if self._num_runs == _MOST_RUNS and self._give_back is not None:
            self._give_back()  # the step has not ended, perhaps by an error: this must not go on
        run = run_recorded(session, fetches, feed_dict)
        if self._found is None or len(run.trace.steps) > len(self._found.trace.steps):
            self._found = run
        return run.trace.result
