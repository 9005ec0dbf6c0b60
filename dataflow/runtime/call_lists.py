"""The lists of calls of a plan: which lines become one, what they keep, and the plan's new source."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from typing import Any

from dataflow.rewrites.gradual import Steps
from dataflow.runtime.buffers import keeps_nothing
from dataflow.runtime.codegen import GeneratedPlan, Line
from dataflow.runtime.recorded_line import Recorded
from dataflow.runtime.segment_writer import PRODUCTS, Segment, SegmentWriter, WrittenList

#: The fewest lines with calls that become a list.
_FEWEST_LINES = 3
#: The most elements that one list computes, as it keeps the interpreter's lock meanwhile.
_MOST_TOGETHER = 1 << 21
#: The most memory for the values of a plan's lists.
_MOST_BYTES = 32 << 20
#: How many multiplications of a product of matrices take as long as another element.
_MULTIPLICATIONS = 32
#: Names of values in a line.
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_LOCAL = re.compile(r"\bt\d+(?:_\d+)?\b")


def source_of(generated: GeneratedPlan) -> tuple[list[str], list[str]]:
    """The source before the plan's lines, and the lines; none if the source has another form."""
    text = generated.source.splitlines()
    start = len(text) - len(generated.lines)
    body = text[start:]
    plain = all(
        t.startswith("    " * line.indent + line.text)
        for t, line in zip(body, generated.lines, strict=True)
    )
    return text[:start], body if plain else []


class PlanLists:
    """Writes a plan's lists and its new source."""

    def __init__(
        self,
        generated: GeneratedPlan,
        operands: dict[int, list[str]],
        recorded: dict[int, Recorded | None],
    ) -> None:
        self.generated, self.operands, self.recorded = generated, operands, recorded
        self.lines = generated.lines
        self.scope = dict(generated.function.__globals__)
        #: The lines that read each local.
        self.readers: dict[str, list[int]] = {}
        for i, line in enumerate(self.lines):
            for name in set(_LOCAL.findall(read_text(line))):
                self.readers.setdefault(name, []).append(i)
        self._setters = {n: i for i, line in enumerate(self.lines) for n in line.sets}
        self._dropped = {n: i for i, names in generated.drops.items() for n in names}
        self._left_alone: dict[str, bool] = {}
        self._num_bytes = 0

    def write(self) -> Steps[GeneratedPlan | None]:
        """The plan with lists, written in steps; ``None`` where there are none.

        Each line keeps its number, so that errors find their nodes.
        """
        header, text = source_of(self.generated)
        count, keeps = 0, False
        for segment in self._segments():
            made = yield from self._list(segment)
            if made is None:
                continue
            text[segment.start : segment.stop] = self._calling(segment, made, count, len(header))
            keeps |= made.keeps
            count += 1
        if not count:
            return None
        source = "\n".join([*header, *text]) + "\n"
        exec(compile(source, self.generated.filename, "exec"), self.scope)
        function = self.scope.pop("run")
        if keeps:
            function = _one_at_a_time(function, self.generated.function)
        return self.generated._replace(function=function, source=source)

    def _calling(self, segment: Segment, made: WrittenList, number: int, first: int) -> list[str]:
        """The lines that take the place of a segment's: the call of its list, and of its lines where the list
        refuses; views of what that gives; what is dropped."""
        lines = self.lines[segment.start : segment.stop]
        pad = "    " * lines[0].indent
        names = ", ".join(made.results) or "_"
        outer = [
            n
            for n in dict.fromkeys(_NAME.findall("\n".join(map(read_text, lines))))
            if n in made.outer
        ]
        call = f"list{number}({', '.join(made.externals)}) or plain{number}({', '.join(outer)})"
        comma = "," if len(made.results) < 2 else ""
        statements = [[f"{names}{comma} = {call}"], *([] for _ in lines[1:])]
        for k in made.views:
            statements[k - segment.start].append(self.lines[k].text)
        if made.dying:
            statements[-1].append(f"del {', '.join(made.dying)}")
        found = [pad + "; ".join(here) if here else "" for here in statements]
        found[0] += f"  # {len(lines)} nodes"
        # Compiled when it is needed for the first time, which is hardly ever.
        start = first + segment.start
        body = [f"    {line.text}" for line in lines]
        source = "\n" * (start - 1) + "\n".join(
            [
                f"def plain({', '.join(outer)}):",
                *body,
                f"    return ({', '.join(made.results) or 'None'},)",
            ]
        )
        self.scope[f"list{number}"] = made.function
        self.scope[f"plain{number}"] = _later(source, self.generated.filename, self.scope)
        return found

    def is_read_beyond(self, name: str, i: int, numbers: range) -> bool:
        """Whether lines that are not among ``numbers``, or come before line ``i`` of a loop, read what it sets."""
        readers = self.readers.get(name, ())
        return any(k not in numbers or k <= i for k in readers) or (
            self._dropped.get(name, i) not in numbers
        )

    def is_left_alone(self, name: str) -> bool:
        """Whether all who read a local come later, and keep nothing of it; views of it likewise."""
        found = self._left_alone.get(name)
        if found is None:
            self._left_alone[name] = False  # through a loop
            i = self._setters[name]
            found = all(k > i and self._leaves_alone(k) for k in self.readers.get(name, ()))
            recorded = self.recorded.get(i)
            if recorded is not None and not recorded.views:  # and the parts that lie in it
                sets = self.lines[i].sets
                at = sets.index(name)
                parts = [sets[k] for k, (whole, _) in recorded.parts.items() if whole == at]
                found = found and all(map(self.is_left_alone, parts))
            self._left_alone[name] = found
        return found

    def _leaves_alone(self, k: int) -> bool:
        line, recorded = self.lines[k], self.recorded.get(k)
        if line.op is None or any(self.generated.reused.get(n) in line.reads for n in line.sets):
            return False  # a result in the same memory may be kept
        if recorded is not None and recorded.views:
            return all(map(self.is_left_alone, line.sets))
        return keeps_nothing(line.op)

    def _segments(self) -> list[Segment]:
        found: list[Segment] = []
        start = elements = 0

        def close(stop: int) -> None:
            here = [self.recorded[i] for i in range(start, stop)]
            if sum(r is not None and r.computes for r in here) >= _FEWEST_LINES:
                found.append(Segment(start, stop))

        for i, line in enumerate(self.lines):
            recorded = self.recorded.get(i)
            joins = i > start and line.indent == self.lines[start].indent
            if recorded is None or not joins or elements > _MOST_TOGETHER:
                close(i)
                start, elements = (i if recorded is not None else i + 1), 0
            if recorded is not None:
                elements += _elements(line, recorded)
        close(max(start, len(self.lines)))
        return found

    def _list(self, segment: Segment) -> Steps[WrittenList | None]:
        made = yield from SegmentWriter(self, segment).write()
        if made is None or self._num_bytes + made.num_bytes > _MOST_BYTES:
            return None
        self._num_bytes += made.num_bytes
        return made


def _elements(line: Line, recorded: Recorded) -> int:
    """How many elements take as long to compute as this line's do."""
    found = sum(math.prod(x.shape) for x in recorded.results)
    if line.op is None or line.op.type not in PRODUCTS or recorded.inputs[0] is None:
        return found
    return found + found * max(recorded.inputs[0].shape) // _MULTIPLICATIONS


def _later(source: str, filename: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function ``plain`` of a source, which its first call compiles."""
    found: list[Callable[..., Any]] = []

    def call(*arguments: Any) -> Any:
        if not found:
            local: dict[str, Any] = {}
            exec(compile(source, filename, "exec"), scope, local)
            found.append(local["plain"])
        return found[0](*arguments)

    return call


def _one_at_a_time(
    function: Callable[..., Any], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """``function``, whose lists keep values in memory of their own; ``otherwise`` while it runs in another thread."""
    lock = threading.Lock()
    acquire, release = lock.acquire, lock.release

    def run(*arguments: Any) -> Any:
        if not acquire(False):
            return otherwise(*arguments)
        try:
            return function(*arguments)
        finally:
            release()

    return run


def read_text(line: Line) -> str:
    """The part of a line that reads values."""
    if line.sets and " = " in line.text:
        return line.text.partition(" = ")[2]
    return line.text
