"""`Progbar`: a line that shows how far a loop has come, rewritten in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np


class Progbar:
    """Shows ``current/target``, a bar, the time and the means of values.

    ``verbose``: 0 nothing, 1 a bar, 2 one line at the end. ``interval`` is the least time between
    two lines, in seconds. ``stateful_metrics`` are names of values that are shown as they are; of
    the others the mean is, each counted as often as the steps that it came with.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.stateful_metrics = set(stateful_metrics or ())
        self.unit_name = unit_name
        self._seen = 0
        self._sums: dict[str, tuple[float, int]] = {}
        self._start = time.monotonic()
        self._shown = 0.0

    def update(self, current: int, values: Any = None) -> None:
        """Says that ``current`` steps are done; ``values``: pairs (name, value) of the last ones."""
        for name, value in values or []:
            if name in self.stateful_metrics:
                self._sums[name] = (float(value), 1)
            else:
                total, count = self._sums.get(name, (0.0, 0))
                steps = current - self._seen
                self._sums[name] = (total + float(np.mean(value)) * steps, count + steps)
        self._seen = current
        done = self.target is not None and current >= self.target
        now = time.monotonic()
        if not self.verbose or (self.verbose == 2 and not done):
            return
        if self.verbose == 1 and not done and now - self._shown < self.interval:
            return
        self._shown = now
        start = "\r" if self.verbose == 1 else ""
        sys.stdout.write(start + self._line(now) + ("\n" if done else ""))
        sys.stdout.flush()

    def add(self, n: int, values: Any = None) -> None:
        """Says that ``n`` more steps are done."""
        self.update(self._seen + n, values)

    def _line(self, now: float) -> str:
        count = f"{self._seen}/{self.target or 'Unknown'}"
        if self.verbose == 1 and self.target:
            filled = int(self.width * min(1.0, self._seen / self.target))
            rest = self.width - filled
            bar = "=" * filled if not rest else "=" * max(0, filled - 1) + ">" + "." * rest
            count += f" [{bar}]"
        numbers = [f"{k}: {total / max(1, n):.4f}" for k, (total, n) in self._sums.items()]
        return " - ".join([count, f"{now - self._start:.0f}s", *numbers])
