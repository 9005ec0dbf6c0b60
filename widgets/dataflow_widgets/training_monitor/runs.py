"""What a monitor knows of one run of training."""

from __future__ import annotations

import statistics
import time
from collections import deque
from typing import Any

import numpy as np

from dataflow_widgets.text_description import plural
from dataflow_widgets.training_monitor.curves import Curve
from dataflow_widgets.training_monitor.summaries import Confusion, Distribution, Samples, as_text

MAX_NAMES = 100
_SECONDS_BETWEEN_HISTOGRAMS = 0.5
ENDED = ("done", "stopped", "failed", "interrupted")
_IDLE_SECONDS = 3.0


class Run:
    """Curves, histograms and progress of one run; ``job`` is its background job, if it is one."""

    def __init__(self, name: str, steps: int | None = None, job: Any = None) -> None:
        self.name, self.steps, self.job = name, steps, job
        self.status = "running"
        self.error = ""
        self.step: float = 0.0
        self.curves: dict[str, Curve] = {}
        self.histograms: dict[str, Distribution] = {}
        self.confusion: Confusion | None = None
        self.samples: Samples | None = None
        self._rates: deque[float] = deque(maxlen=51)  # seconds per step, as seen
        self._seen: tuple[float, float] | None = None
        self._histogram_at: dict[str, float] = {}
        self.confusion_changed = self.samples_changed = False
        #: Steps that were recorded: the number of a Stepper, and of its run.
        self.recorded: dict[float, list[int]] = {}

    def log(self, step: float, values: dict[str, Any], *, is_throttled: bool = False) -> None:
        """Numbers become points of a curve, arrays a histogram.

        Raises `TypeError` for anything else; nothing is added then. With ``is_throttled`` an array
        is looked at twice a second at most.
        """
        points, arrays = {}, {}
        for key, value in values.items():
            if value is None:
                continue
            array = np.asarray(getattr(value, "values", value))
            if array.dtype.kind not in "biuf":
                raise TypeError(
                    f"{key} must be a number or an array of numbers, got {as_text(value)[:60]!r}"
                )
            if array.size == 1:
                points[key] = float(array.reshape(()))
            else:
                arrays[key] = array
        new = [n for n in points if n not in self.curves]
        new += [n for n in arrays if n not in self.histograms]
        if len(self.curves) + len(self.histograms) + len(new) > MAX_NAMES:
            raise ValueError(
                f"a run shows at most {MAX_NAMES} curves and histograms; {new[0]!r} is one more"
            )
        for key, number in points.items():
            self.curves.setdefault(key, Curve()).append(step, number)
        now = time.monotonic()
        for key, array in arrays.items():
            last = self._histogram_at.get(key, float("-inf"))
            if not is_throttled or now - last >= _SECONDS_BETWEEN_HISTOGRAMS:
                self._histogram_at[key] = now
                self.histograms.setdefault(key, Distribution()).append(step, array)
        self._pass(step, now)

    def goes_back(self, step: float, names: Any) -> bool:
        """Whether ``step`` lies before what a curve of these names has: a new run, then."""
        return any(n in self.curves and step < self.curves[n].last_step for n in names)

    def break_off(self, error: BaseException) -> None:
        """The loop that logs has ended with ``error``."""
        if isinstance(error, KeyboardInterrupt):
            self.status = "interrupted"
        else:
            self.status, self.error = "failed", f"{type(error).__name__}: {error}"[:1000]

    def _pass(self, step: float, now: float) -> None:
        if self._seen is not None and step > self._seen[0]:
            self._rates.append((now - self._seen[1]) / (step - self._seen[0]))
        if self._seen is None or step > self._seen[0]:
            self._seen = (step, now)
        self.step = max(self.step, step)

    @property
    def shown_status(self) -> str:
        """The status in a word: a loop that has logged nothing for a while is idle."""
        if self.job is None and self.status == "running" and self._seen is not None:
            if self.steps is not None and self.step >= self.steps - 1:
                return "done"
            if time.monotonic() - self._seen[1] > _IDLE_SECONDS:
                return "idle"
        return self.status

    @property
    def seconds_left(self) -> float | None:
        """Time to the last step by the median time of a step; None where that is not known."""
        if self.shown_status in (*ENDED, "idle"):
            return None
        if self.job is not None:
            left: float | None = self.job.seconds_left
            return left
        if self.steps is None or not self._rates:
            return None
        return max(0.0, statistics.median(self._rates) * (self.steps - self.step))

    def state(self) -> dict[str, Any]:
        """What the page shows of this run beside its curves; JSON-safe."""
        job = self.job
        return {
            "name": self.name,
            "status": self.shown_status,
            "error": self.error,
            "step": self.step,
            "steps": self.steps,
            "secondsLeft": self.seconds_left,
            "canControl": job is not None,
            "rate": None if job is None else job.learning_rate,
            "recorded": [[step, *place] for step, place in sorted(self.recorded.items())],
            "hasRate": job is not None and job.has_learning_rate,
        }

    # ---- words --------------------------------------------------------------------------------

    def sentence(self) -> str:
        """ "adam: running, step 120 of 1000, about 14 s left"."""
        of = "" if self.steps is None else f" of {self.steps}"
        text = f"{self.name}: {self.shown_status}, step {self.step:g}{of}"
        left = self.seconds_left
        if left is not None:
            text += f", about {duration(left)} left"
        if self.error:
            text += f"; {self.error}"
        return text

    def describe(self) -> list[str]:
        """A line for the run and one for each thing known of it."""
        lines = [self.sentence()]
        for name, curve in self.curves.items():
            ends = curve.extremes()
            between = f", between {ends[0]:.4g} and {ends[1]:.4g}" if ends else ""
            bad = ""
            if curve.num_bad:
                bad = f"; {plural(curve.num_bad, 'value')} NaN or infinite, first at step {curve.first_bad:g}"
            lines.append(
                f"  {name}: {curve.last:.4g} at step {curve.last_step:g}{between}, "
                f"{plural(curve.num_points, 'point')}{bad}"
            )
        for name, each in self.histograms.items():
            last = each.table()[-1]
            lines.append(
                f"  {name}: {plural(len(each), 'histogram')}, the last at step {last[0]:g} from "
                f"{last[1]:.4g} to {last[2]:.4g}"
            )
        if self.recorded:
            steps = ", ".join(f"{step:g}" for step in sorted(self.recorded))
            lines.append(f"  recorded for the Stepper: {steps}")
        if self.confusion is not None:
            pairs = "; ".join(f"{a} taken for {b}: {n}" for a, b, n in self.confusion.confused(3))
            lines.append(
                f"  confusion matrix of {plural(int(self.confusion.counts.sum()), 'example')}: "
                f"{self.confusion.accuracy:.1%} right" + (f". {pairs}" if pairs else "")
            )
        if self.samples is not None:
            lines.append("  " + _sample_words(self.samples))
        return lines


def _sample_words(shown: Samples) -> str:
    count = len(shown.predicted)
    if shown.true is None:
        return f"{plural(count, 'sample')}, predicted {', '.join(shown.predicted)}"
    wrong = [
        f"{t} taken for {p}" for p, t in zip(shown.predicted, shown.true, strict=True) if p != t
    ]
    text = f"{plural(count, 'sample')}, {count - len(wrong)} right"
    return f"{text}: {', '.join(wrong)}" if wrong else text


def duration(seconds: float) -> str:
    """ "8 s", "3 min 5 s", "2 h 10 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
