"""Which calls of a list threads may make at the same time.

Lines of a plan come one after the other, each with its calls. Lines that have nothing to do with each other are
collected in *chains*: a line that needs results of one chain is its next link. Where a line needs several chains, or
the beginning of one, the links that it needs are made first: as one call of the team, each chain a sequence, if two
threads gain by it. What nobody needs yet waits: the products of an unrolled network's logits, one for each step,
are made together after the steps, by all threads.

The memory of values that are dead is not used again for a while: a line that gets it comes after those that used it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.kernels.array_types import Array

if TYPE_CHECKING:
    from dataflow.kernels.jit.call_list import CallWriter

#: Microseconds of work that are worth a call of the team: publishing it and waiting for the last takes about one.
_LEAST_BESIDE = 5.0
#: So many bytes of dead values may wait: they are not in the way of what else lies in the L2 cache. Fewer where there is
#: nothing beside which another line could be made.
_MOST_HELD, _MOST_HELD_ALONE = 1 << 19, 1 << 17
#: Elements, and multiplications of a product, that take a microsecond.
_ELEMENTS, _MULTIPLICATIONS = 2000.0, 50_000.0


class Link(NamedTuple):
    """A line's calls, the blocks of memory that they read and write, and about how many microseconds they take."""

    calls: list[Any]
    reads: frozenset[int]
    writes: frozenset[int]
    microseconds: float

    def goes_before(self, other: Link) -> bool:
        """Whether the other one must come after this one."""
        return not (
            self.writes.isdisjoint(other.reads)
            and self.writes.isdisjoint(other.writes)
            and self.reads.isdisjoint(other.writes)
        )


def microseconds(num_products: int, inputs: Sequence[Array], outputs: Sequence[Array]) -> float:
    """About how long a line takes: one of so many products of matrices, left ones first, or of a pass over arrays."""
    size = max((x.size for x in (*inputs, *outputs)), default=0)
    found = size / _ELEMENTS
    if num_products:
        (out,) = outputs
        batch = math.sqrt(math.prod(out.shape[:-2]))
        for a, b in zip(inputs[:num_products], inputs[num_products:], strict=True):
            found += math.sqrt(float(a.size) * b.size * out.size) / batch / _MULTIPLICATIONS
    return found


class SideBySide:
    """Collects the calls of lines, and adds them to a list."""

    def __init__(self, writer: CallWriter) -> None:
        self._writer = writer
        self._chains: list[list[Link]] = []
        writer.hold()

    def add(self, link: Link) -> None:
        """The next line."""
        needed = [(chain, _last_needed(chain, link)) for chain in self._chains]
        waits = [(chain, last + 1) for chain, last in needed if last >= 0]
        if len(waits) == 1 and waits[0][1] == len(waits[0][0]):
            waits[0][0].append(link)
        else:
            if waits:
                self._make([chain[:count] for chain, count in waits])
                for chain, count in waits:
                    del chain[:count]
                self._chains = [chain for chain in self._chains if chain]
            self._chains.append([link])
        if self._writer.held_bytes > _MOST_HELD:
            self.make_all()
        elif len(self._chains) == 1 and self._writer.held_bytes > _MOST_HELD_ALONE:
            self._writer.let_go()

    def make_all(self) -> None:
        """Adds all that is collected."""
        self._make(self._chains)
        self._chains = []
        self._writer.let_go()

    def _make(self, chains: Sequence[Sequence[Link]]) -> None:
        work = [sum(link.microseconds for link in chain) for chain in chains]
        order = sorted(range(len(chains)), key=lambda i: -work[i])
        sequences = [[call for link in chains[i] for call in link.calls] for i in order]
        if sum(work) - max(work, default=0.0) < _LEAST_BESIDE:
            for calls in sequences:
                self._writer.add(calls)
        else:
            self._writer.share([self._writer.sequence(calls) for calls in sequences])


def _last_needed(chain: Sequence[Link], link: Link) -> int:
    """The last link of a chain that must come before another one; -1 where none must."""
    for i in range(len(chain) - 1, -1, -1):
        if chain[i].goes_before(link):
            return i
    return -1
