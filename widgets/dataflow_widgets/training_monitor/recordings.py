"""The steps of training that a monitor can open in a `Stepper`."""

from __future__ import annotations

from typing import Any

from dataflow_widgets.stepper import Stepper

#: All of a recording is sent to the page.
MAX_RECORDED = 50


class Recordings:
    """Steppers, one for each session and fetches, and which of their runs are which steps."""

    def __init__(self) -> None:
        self.steppers: list[Stepper] = []
        self._known: dict[tuple[int, str], int] = {}
        self._count = 0

    def record(
        self, session: Any, fetches: Any, feed_dict: Any, label: str
    ) -> tuple[Any, list[int]]:
        """Runs and records; returns the result, and the number of the stepper and of its run."""
        if self._count >= MAX_RECORDED:
            raise ValueError(
                f"a monitor keeps at most {MAX_RECORDED} recorded steps: record every hundredth "
                "step, say, or make a new monitor"
            )
        key = (id(session), repr(fetches))
        if key in self._known:
            number = self._known[key]
            stepper = self.steppers[number]
            result = stepper.record(feed_dict, label)
        else:
            stepper = Stepper(session, fetches, feed_dict, values="sampled", label=label)
            number = self._known[key] = len(self.steppers)
            self.steppers.append(stepper)
            result = stepper.result
        self._count += 1
        return result, [number, len(stepper.labels) - 1]
