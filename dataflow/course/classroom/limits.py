"""How much and how often: the sizes that a class's server takes, and the pace of each sender."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable

from dataflow.course.classroom.refusal import TooManyMessages

MAX_NAME = 60  # characters
MAX_MESSAGE_BYTES = 512_000  # of answers, with the graphs that they are about
MAX_NOTEBOOK_BYTES = 20_000_000
MAX_ANSWERS_AT_ONCE = 200
MAX_ANSWERS = 5_000  # of one learner
MAX_NOTEBOOK_VERSIONS = 200  # of one learner, all files together
MAX_LEARNERS = 2_000
MAX_PROJECTORS = 8

_FORGET_ABOVE = 10_000


class Pace:
    """A bucket of tokens for each sender: ``burst`` at once, then ``per_second``.

    Args:
        clock: seconds, growing; a test gives its own.
    """

    def __init__(
        self,
        per_second: float,
        burst: float,
        what: str = "messages",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second, self._burst, self._what, self._clock = per_second, burst, what, clock
        self._left: dict[Hashable, tuple[float, float]] = {}

    def _now_left(self, sender: Hashable) -> float:
        left, then = self._left.get(sender, (self._burst, self._clock()))
        return min(self._burst, left + (self._clock() - then) * self._per_second)

    def check(self, sender: Hashable) -> None:
        """Raises `TooManyMessages` for a sender that has none left; takes none."""
        left = self._now_left(sender)
        if left < 1:
            raise TooManyMessages(math.ceil((1 - left) / self._per_second), self._what)

    def take(self, sender: Hashable) -> None:
        """Counts one message; raises `TooManyMessages`."""
        self.check(sender)
        if len(self._left) > _FORGET_ABOVE:  # whoever is full again is as good as unknown
            self._left = {s: v for s, v in self._left.items() if self._now_left(s) < self._burst}
        self._left[sender] = (self._now_left(sender) - 1, self._clock())
