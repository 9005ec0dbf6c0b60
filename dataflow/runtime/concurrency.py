"""Parallel regions: lines of a plan that another thread computes meanwhile.

The lines of a plan run in one order. A *parallel region* is a run of consecutive lines whose results
are first needed some lines later: it becomes a function of its own, a `Future` that a helper thread
may start and whose result is taken where it is first used. If no helper was free by then, the region
runs right there, so that a busy machine loses nothing but a function call.

A region has only nodes without effects. It may read variables, if no line until its result is
needed changes one; its buffers are its own. So results, state and the order of reads and writes are
those of a run in one thread.

Whether it pays is decided by a cost in microseconds, estimated from static shapes. Kernels that use
several threads themselves (large products, convolutions, large fused chains and updates) are neither
in a region nor run beside one: they need the helper. Measured on two cores, as shares of the time one after the
other: two plain calls of 17 ms side by side on a quiet machine 0.51; while other processes ran, a
plan of two towers of four 256 x 256 products 0.98, and regions of 0.17 ms 1.06, hence the least
cost of a region.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dataflow.graph.operation import Operation
from dataflow.kernels.jit.elementwise import SHARED_ELEMENTS
from dataflow.kernels.parallel import shared_from
from dataflow.ops.costs import BLAS_RATE, largest_operand
from dataflow.rewrites.effects import can_merge
from dataflow.runtime.codegen import is_computed

if TYPE_CHECKING:
    from dataflow.runtime.codegen import Line

#: The least cost of a region, and of what runs beside it: waking a thread takes about 20 us.
LEAST_MICROSECONDS = 150.0
#: The most lines in a region, as the search takes time, too.
_MOST_LINES = 64
_READ = re.compile(r"\bv\d+\.")


class ParallelRegion(NamedTuple):
    """Lines ``first`` to ``last`` (both included), whose result is first needed at ``needed``.

    ``takes`` are the locals that it reads from outside, ``gives`` those that are read later.
    """

    first: int
    last: int
    needed: int
    takes: tuple[str, ...]
    gives: tuple[str, ...]


def microseconds(op: Operation, single: bool) -> float | None:
    """The estimated time of a node; ``None`` if its kernel uses several threads itself.

    ``single``: kernels may use one thread only.
    """
    op_def = op.op_def
    cost, shares = op_def.cost, "" if single else op_def.shares_work
    if cost == 0.0:
        return 0.0
    elements = largest_operand(op)
    if shares == "always" or (shares == "large" and elements >= SHARED_ELEMENTS):
        return None
    taken = elements * cost if isinstance(cost, float) else cost(op)
    if shares == "product" and taken * BLAS_RATE >= shared_from(op.outputs[0].dtype.name):
        return None
    return taken


def find(lines: Sequence[Line], most: int, single: bool) -> list[ParallelRegion]:
    """Regions worth running on another thread; at most ``most`` of them run at any time."""
    search = _Search(lines, single)
    if most < 1 or search.done[-1] < 2 * LEAST_MICROSECONDS:
        return []
    regions: list[ParallelRegion] = []
    first = 0
    while first < len(lines):
        found = search.longest(first)
        busy = 0 if found is None else sum(region.needed > found.first for region in regions)
        if found is None or busy >= most:
            first += 1
            continue
        regions.append(found)
        first = found.last + 1
    return regions


def microseconds_beside(
    lines: Sequence[Line], regions: Sequence[ParallelRegion], single: bool
) -> float:
    """What regions save at most: the work that is done while others do theirs."""
    costs = [(microseconds(x.op, single) or 0.0) if x.op is not None else 0.0 for x in lines]
    done = [0.0, *itertools.accumulate(costs)]
    return sum(
        min(done[r.last + 1] - done[r.first], done[r.needed] - done[r.last + 1]) for r in regions
    )


def _is_pure(op: Operation) -> bool:
    return can_merge(op) and not any(t.dtype.is_ref for t in op.inputs)


class _Search:
    """Facts about each line, for the search for regions."""

    def __init__(self, lines: Sequence[Line], single: bool) -> None:
        self.lines = lines
        costs = [microseconds(x.op, single) if x.op is not None else 0.0 for x in lines]
        self.costs = [cost or 0.0 for cost in costs]
        self.pure = [x.op is not None and _is_pure(x.op) for x in lines]
        self.in_region = [p and c is not None for p, c in zip(self.pure, costs, strict=True)]
        #: Microseconds, and changes of state, before each line.
        self.done = [0.0, *itertools.accumulate(self.costs)]
        self.changes = [0, *itertools.accumulate(not pure for pure in self.pure)]
        #: Kernels that use several threads, before each line.
        self.shared = [0, *itertools.accumulate(cost is None for cost in costs)]
        #: The first line at or after each that cannot be in a region.
        self.wall = [len(lines)] * (len(lines) + 1)
        for i in range(len(lines) - 1, -1, -1):
            self.wall[i] = self.wall[i + 1] if self.in_region[i] else i
        self.uses: dict[str, list[int]] = {}
        for i, line in enumerate(lines):
            for name in line.reads:
                self.uses.setdefault(name, []).append(i)
        #: The lines that set each local.
        self.settings: dict[str, list[int]] = {}
        for i, line in enumerate(lines):
            for name in line.sets:
                self.settings.setdefault(name, []).append(i)
        self._latest_needed: list[int | None] = [None] * len(lines)

    def longest(self, first: int) -> ParallelRegion | None:
        """The region from ``first`` with the most work, among those with as much beside them."""
        end = min(first + _MOST_LINES, self.wall[first])
        if self.done[end] - self.done[first] < LEAST_MICROSECONDS:
            return None
        best: tuple[int, int] | None = None
        most = 0.0
        reads_variable = False
        #: When locals of the region are read next, of those that lines before ``taken`` set; what stands before
        #: ``last`` is out of date.
        next_uses: list[tuple[int, str]] = []
        taken = first
        start = bisect.bisect_left(self.done, self.done[first] + LEAST_MICROSECONDS, first + 1)
        for last in range(start - 1, end):
            if self.costs[last] < 1.0 or self._needed_soon(last) >= first:
                continue
            for i in range(taken, last + 1):
                line = self.lines[i]
                reads_variable = reads_variable or _READ.search(line.text) is not None
                for name in line.sets:
                    heapq.heappush(next_uses, (self._use_after(name, i), name))
            taken = last + 1
            while next_uses and next_uses[0][0] <= last:
                _, name = heapq.heappop(next_uses)
                if use := self._use_after(name, last):
                    heapq.heappush(next_uses, (use, name))
            needed = next_uses[0][0] if next_uses else 0
            work = self.done[last + 1] - self.done[first]
            beside = min(work, self.done[needed] - self.done[last + 1]) if needed else 0.0
            if beside < LEAST_MICROSECONDS or beside <= most:
                continue
            if self.shared[needed] > self.shared[last + 1]:
                continue
            if reads_variable and self.changes[needed] > self.changes[last + 1]:
                continue
            best, most = (last, needed), beside
        if best is None:
            return None
        last, needed = best
        inside = [name for line in self.lines[first : last + 1] for name in line.sets]
        read = {name for line in self.lines[first : last + 1] for name in line.reads}
        takes = sorted(name for name in read.difference(inside) if is_computed(name))
        gives = [name for name in dict.fromkeys(inside) if self._use_after(name, last)]
        return ParallelRegion(first, last, needed, tuple(takes), tuple(gives))

    def _needed_soon(self, last: int) -> int:
        """The latest line, up to ``last``, whose result is read too soon after it: a region that ends there and
        has that line runs beside less than the least work. -1 where there is none."""
        found = self._latest_needed[last]
        if found is not None:
            return found
        found, start = -1, self.done[last + 1]
        for i in range(last + 1, min(last + 1 + _MOST_LINES, len(self.lines))):
            if self.done[i] - start >= LEAST_MICROSECONDS:
                break
            for name in self.lines[i].reads:
                settings = self.settings.get(name, ())
                if k := bisect.bisect_right(settings, last):
                    found = max(found, settings[k - 1])
        self._latest_needed[last] = found
        return found

    def _use_after(self, name: str, line: int) -> int:
        """The first line after ``line`` that reads a local; 0 when none does."""
        uses = self.uses.get(name, [])
        i = bisect.bisect_right(uses, line)
        return uses[i] if i < len(uses) else 0


def write(
    lines: Sequence[Line],
    drops: dict[int, list[str]],
    regions: Sequence[ParallelRegion],
    text: list[str],
    line_ops: dict[int, Operation],
) -> None:
    """Appends the lines to ``text``, each region as a function that is handed out."""
    starts = {region.first: region for region in regions}
    wanted: dict[int, list[ParallelRegion]] = {}
    for region in regions:
        wanted.setdefault(region.needed, []).append(region)
    current: ParallelRegion | None = None
    for i, line in enumerate(lines):
        for region in wanted.get(i, ()):
            comma = "," if len(region.gives) == 1 else ""
            name = f"p{region.first}"
            text.append(f"    {', '.join(region.gives)}{comma} = {name}(); del {name}")
        if i in starts:
            current = starts[i]
            bound = ", ".join(f"{n}={n}" for n in current.takes)
            text.append(f"    def p{i}({bound}):")
        drop = drops.get(i, [])
        suffix = f"; del {', '.join(drop)}" if drop else ""
        text.append("    " * (line.indent + (current is not None)) + line.text + suffix)
        if line.op is not None:
            line_ops[len(text)] = line.op
        if current is not None and i == current.last:
            comma = "," if len(current.gives) == 1 else ""
            text.append(f"        return {', '.join(current.gives)}{comma}")
            inside = {n for j in range(current.first, i + 1) for n in drops.get(j, ())}
            dead = [n for n in current.takes if n in inside]
            suffix = f"; del {', '.join(dead)}" if dead else ""
            text.append(f"    p{current.first} = future(p{current.first}){suffix}")
            current = None
