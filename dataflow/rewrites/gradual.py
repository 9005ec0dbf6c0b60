"""Work that is done bit by bit: rewriting a large plan must not stop the run that begins it.

Such work is a generator that gives, now and then, how many nodes it has looked at since. What may
be done between two runs is counted in nodes, not in seconds, so that the same run is the first one
with the rewritten plan in every process, on a busy machine as on a quiet one.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from dataflow.kernels.malloc_tuning import without_collecting

Result = TypeVar("Result")

#: Gives the numbers of nodes looked at, and at the end its result.
Steps = Generator[int, None, Result]

#: Nodes that are looked at from one step to the next: a few milliseconds.
NODES_PER_STEP = 500
#: Nodes looked at between two runs, at least; some 0.1 s. A plan is looked through some twenty
#: times, so one of a thousand nodes is done at once.
LEAST_NODES_PER_RUN = 25_000


def nodes_per_run(num_nodes: int) -> int:
    """How much may be done in each run of a plan of so many nodes: less than its first run took.

    Making a plan costs some 50 us a node, looking at a node some 5 us.
    """
    return max(LEAST_NODES_PER_RUN, num_nodes // 2)


def finish(steps: Steps[Result]) -> Result:
    """Does all of it now."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


def in_steps(items: Sequence[Any]) -> Generator[Sequence[Any], None, None]:
    """``items`` in slices of `NODES_PER_STEP`, of which the last is shorter."""
    for first in range(0, len(items), NODES_PER_STEP):
        yield items[first : first + NODES_PER_STEP]


class Gradual:
    """Steps of which each run does some, until all are done.

    What a step takes beyond what is allowed is taken off the next run's.
    """

    def __init__(self, steps: Steps[Any], nodes_per_run: int) -> None:
        self._steps = steps
        self._nodes_per_run = nodes_per_run
        self._left = 0
        self._lock = threading.Lock()
        self.done = False

    def go_on(self) -> bool:
        """Does what one run may do; True once all is done.

        Does nothing while another thread is at it. An error of a step is raised here, once.
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
