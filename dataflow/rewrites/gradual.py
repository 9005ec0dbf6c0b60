"""Incremental work: rewriting a large plan must not hold up the run that starts it.

Such work is a generator that yields, from time to time, how many nodes it has looked at since. The
budget between two runs is counted in nodes, not in seconds, so that the rewritten plan is first used
in the same run in every process, on a busy machine as on an idle one.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from dataflow.kernels.malloc_tuning import without_collecting

Result = TypeVar("Result")

#: Yields numbers of nodes looked at, and returns the result.
Steps = Generator[int, None, Result]

#: Nodes looked at in one step: a few milliseconds.
NODES_PER_STEP = 500
#: The smallest budget between two runs, about 0.1 s. A plan is traversed about twenty times, so one
#: of a thousand nodes is rewritten at once.
LEAST_NODES_PER_RUN = 25_000


def nodes_per_run(num_nodes: int) -> int:
    """The budget for each run of a plan of ``num_nodes``: less time than its first run took.

    Making a plan costs about 50 us for each node, looking at a node about 5 us.
    """
    return max(LEAST_NODES_PER_RUN, num_nodes // 2)


def finish(steps: Steps[Result]) -> Result:
    """Runs all steps and returns the result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


def in_steps(items: Sequence[Any]) -> Generator[Sequence[Any], None, None]:
    """Yields ``items`` in slices of `NODES_PER_STEP`; the last one may be shorter."""
    for first in range(0, len(items), NODES_PER_STEP):
        yield items[first : first + NODES_PER_STEP]


class Gradual:
    """Steps that are spread over several runs, until all are done.

    A step's excess over the budget is deducted from the next run's.
    """

    def __init__(self, steps: Steps[Any], nodes_per_run: int) -> None:
        self._steps = steps
        self._nodes_per_run = nodes_per_run
        self._left = 0
        self._lock = threading.Lock()
        self.done = False

    def go_on(self) -> bool:
        """Spends one run's budget; returns True once all steps are done.

        Does nothing while another thread is doing so. An error in a step is raised here, once.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._left += self._nodes_per_run
            with without_collecting():
                while self._left > 0 and not self.done:
                    self._left -= self._one_step()
            return self.done
        finally:
            self._lock.release()

    def _one_step(self) -> int:
        try:
            return next(self._steps)
        except StopIteration:
            self.done = True
            return 0
        except BaseException:
            self.done = True
            raise
