"""Writes one list of calls: neighboring lines of a plan that run together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.rewrites.gradual import Steps, in_steps
from dataflow.runtime.array_layouts import Layout, array_at, example_of
from dataflow.runtime.recorded_line import Recorded, is_constant, kernel_of, same_numbers

if TYPE_CHECKING:
    from dataflow.kernels.jit.call_list import CallList, CallWriter
    from dataflow.kernels.jit.side_by_side import SideBySide
    from dataflow.runtime.call_lists import PlanLists

#: Products of matrices.
PRODUCTS = frozenset({"MatMul", "_PackedProduct", "_MatMulSum"})


class Segment(NamedTuple):
    """Lines ``start`` to ``stop``, which become one list."""

    start: int
    stop: int


class WrittenList(NamedTuple):
    """A written list: its function, what it takes, the locals whose values it gives, and its memory.

    ``outer`` are the locals that its lines read from elsewhere; lines ``views`` follow the list; ``dying`` are dropped
    after it; ``keeps``: some results are in memory of its own, the same in each run.
    """

    function: Callable[..., Any]
    externals: list[str]
    results: list[str]
    outer: set[str]
    views: list[int]
    dying: list[str]
    keeps: bool
    num_bytes: int


class SegmentWriter:
    """Writes one segment."""

    def __init__(self, lists: PlanLists, segment: Segment) -> None:
        self._lists = lists
        self._numbers = range(segment.start, segment.stop)
        self._setter = {n: i for i in self._numbers for n in lists.lines[i].sets}
        self._values: dict[str, Array] = {}
        self._layouts: dict[str, Layout] = {}
        #: The local whose memory each value has, where it is the list's own.
        self._root: dict[str, str] = {}
        self._alive: dict[str, int] = {}
        self._beside: SideBySide | None = None
        #: What depends on shapes alone, by expression.
        self._fixed: dict[str, Array] = {}

    def write(self) -> Steps[WrittenList | None]:
        """The list, written in steps; ``None`` where nothing would be won."""
        from dataflow.kernels.jit.call_list import CallWriter
        from dataflow.kernels.jit.call_writers import CannotWrite, NotCompiled
        from dataflow.kernels.jit.side_by_side import SideBySide
        from dataflow.kernels.jit.thread_pool import team_for

        fresh, cut, kept, fixed, own_lines = self._escapes()
        externals = self._externals()
        self._fixed = self._fixed_externals(externals)
        examples = {
            text: self._fixed[text] if text in self._fixed else example_of(layout)
            for text, layout in externals.items()
        }
        panels, packed = self._panels(examples)
        given = {n: example_of(self._layout(n)) for n in fresh}
        w = CallWriter(
            [*examples.values(), *panels.values(), *given.values()],
            [examples[text] for text in self._fixed],
            packed=packed,
        )
        self._values, self._layouts = {**examples, **given}, dict(externals)
        self._beside = SideBySide(w) if team_for(2)[0] is not None else None
        self._alive = dict.fromkeys(kept, 1)
        try:
            for numbers in in_steps(self._numbers):
                yield len(numbers)
                for i in numbers:
                    self._line(w, i, given)
            if self._beside is not None:
                self._beside.make_all()
            written = w.list()
        except (CannotWrite, NotCompiled):
            return None
        if not written.num_calls:
            return None
        places = {name: i for i, name in enumerate(fresh)}
        function = _function(
            written,
            [not layout.shape for layout in externals.values()] + [False] * len(panels),
            [self._layout(n) for n in fresh],
            [(places[whole], offset, self._layout(n)) for n, (whole, offset) in cut.items()],
            [*(self._values[n] for n in kept), *fixed.values()],
        )
        results = [*fresh, *cut, *kept, *fixed]
        dropped = [n for i in self._numbers for n in self._lists.generated.drops.get(i, ())]
        lines = sorted({self._setter[n] for n in own_lines})
        return WrittenList(
            function,
            [*externals, *panels],
            results,
            self._outer(),
            lines,
            [n for n in dropped if n not in self._setter or n in results],
            bool(kept),
            w.num_bytes,
        )

    def _outer(self) -> set[str]:
        """The locals that the lines read before one of them sets them."""
        found: set[str] = set()
        known: set[str] = set()
        for i in self._numbers:
            line = self._lists.lines[i]
            found.update(n for n in line.reads if n not in known and not is_constant(n))
            known.update(line.sets)
        return found

    def _recorded(self, name: str) -> Recorded:
        found = self._lists.recorded[self._setter[name]]
        assert found is not None
        return found

    def _layout(self, name: str) -> Layout:
        line = self._lists.lines[self._setter[name]]
        return self._recorded(name).results[line.sets.index(name)]

    def _sources(self, name: str) -> list[str]:
        return self._lists.operands[self._setter[name]]

    def _escapes(
        self,
    ) -> tuple[
        dict[str, None], dict[str, tuple[str, int]], dict[str, None], dict[str, Any], set[str]
    ]:
        """The locals that others read: in new arrays, as parts of those (with the offset), in memory of the list's
        own, with a fixed value, and by lines of their own."""
        lists = self._lists
        pending = [n for n, i in self._setter.items() if lists.is_read_beyond(n, i, self._numbers)]
        fresh: dict[str, None] = {}
        cut: dict[str, tuple[str, int]] = {}
        kept: dict[str, None] = {}
        fixed: dict[str, Any] = {}
        own_lines: set[str] = set()
        while pending:
            name = pending.pop()
            recorded = self._recorded(name)
            if any(name in known for known in (fresh, cut, kept, fixed, own_lines)):
                continue
            if recorded.constants and lists.is_left_alone(name):
                fixed[name] = recorded.constants[lists.lines[self._setter[name]].sets.index(name)]
            elif self._stays(name):
                kept[name] = None
                root = self._root_of(name)
                if root != name and root not in kept:
                    pending.append(root)
            elif recorded.views or recorded.constants:
                # Its line makes all of its results, from all of its inputs.
                own_lines.update(lists.lines[self._setter[name]].sets)
                pending += [text for text in self._sources(name) if text in self._setter]
            elif (part := self._part(name)) is not None:
                cut[name] = part
                pending.append(part[0])
            else:
                fresh[name] = None
        kept, fixed = ({n: v for n, v in x.items() if n not in own_lines} for x in (kept, fixed))
        return fresh, cut, kept, fixed, own_lines

    def _part(self, name: str) -> tuple[str, int] | None:
        """For a result that lies in another one, that and the offset."""
        line = self._lists.lines[self._setter[name]]
        found = self._recorded(name).parts.get(line.sets.index(name))
        return None if found is None else (line.sets[found[0]], found[1])

    def _root_of(self, name: str) -> str:
        """The local that a view or part lies in, through others; an expression where it lies outside."""
        while name in self._setter:
            recorded, line = self._recorded(name), self._lists.lines[self._setter[name]]
            part = self._part(name)
            if part is not None:
                name = part[0]
            elif recorded.views:
                name = self._sources(name)[recorded.views[line.sets.index(name)][0]]
            else:
                break
        return name

    def _stays(self, name: str) -> bool:
        """Whether an array of the list's own will do: nobody keeps it, or a view of it, beyond the run."""
        root = self._root_of(name)
        if root not in self._setter or self._recorded(root).constants:
            return False
        # What reads a scalar may ask for NumPy's.
        return not self._layout(root).is_scalar and self._lists.is_left_alone(root)

    def _externals(self) -> dict[str, Layout]:
        """What the list takes: expressions, with their layouts."""
        found: dict[str, Layout] = {}
        known: set[str] = set()
        for i in self._numbers:
            recorded = self._lists.recorded[i]
            assert recorded is not None
            for text, layout in zip(self._lists.operands[i], recorded.inputs, strict=True):
                if text not in known and not is_constant(text) and layout is not None:
                    found.setdefault(text, layout)
            known.update(self._lists.lines[i].sets)
        return found

    def _panels(
        self, examples: dict[str, Array]
    ) -> tuple[dict[str, Array], dict[tuple[int, int], Array]]:
        """What the list takes besides: examples of the panels of packed matrices, by expression, and by the `id` of a
        matrix's example and the number of parts."""
        from dataflow.kernels.jit.call_writers import packed_panels

        found: dict[str, Array] = {}
        packed: dict[tuple[int, int], Array] = {}
        for i in self._numbers:
            op, recorded = self._lists.lines[i].op, self._lists.recorded[i]
            assert recorded is not None and op is not None
            if not any(text.endswith(".matrix") for text in self._lists.operands[i]):
                continue
            right = self._lists.operands[i][-1]
            matrix, rows = examples.get(right), recorded.inputs[0]
            if matrix is None or rows is None:
                continue
            made = packed_panels(op.type, [example_of(rows), matrix])
            if made is not None:
                parts, there = made
                text = f"{right.removesuffix('.matrix')}.panels({parts})"
                packed[id(matrix), parts] = found.setdefault(text, there)
        return found, packed

    def _fixed_externals(self, externals: dict[str, Layout]) -> dict[str, Array]:
        """The values of what the list takes that depend on shapes alone: it holds for these."""
        found: dict[str, Array] = {}
        known: set[str] = set()
        for i in self._numbers:
            recorded = self._lists.recorded[i]
            assert recorded is not None
            for k, value in recorded.numbers.items():
                text = self._lists.operands[i][k]
                if text not in known and text in externals:
                    found.setdefault(text, value)
            known.update(self._lists.lines[i].sets)
        return found

    def _line(self, w: CallWriter, i: int, given: dict[str, Array]) -> None:
        from dataflow.kernels.jit.call_writers import CannotWrite, Node, write

        lists = self._lists
        line, recorded = lists.lines[i], lists.recorded[i]
        assert recorded is not None and line.op is not None
        operands = lists.operands[i]
        for text, layout in zip(operands, recorded.inputs, strict=True):
            if not is_constant(text) and self._layouts.get(text) != layout:
                raise CannotWrite  # the lines were not recorded in one run
        for k, value in recorded.numbers.items():
            known = self._fixed.get(operands[k])
            if known is None or not same_numbers(known, value):
                raise CannotWrite
        self._layouts.update(zip(line.sets, recorded.results, strict=True))
        for name in line.sets:
            self._fixed.pop(name, None)
        if recorded.constants:
            for name, value in zip(line.sets, recorded.constants, strict=True):
                self._values[name] = self._fixed[name] = w.constant(value)
            return
        constants = frozenset(k for k, text in enumerate(operands) if is_constant(text)) | set(
            recorded.numbers
        )
        inputs = [
            np.asarray(lists.scope[text]) if is_constant(text) else self._values[text]
            for k, text in enumerate(operands)
        ]
        if recorded.is_check:
            pass
        elif recorded.views:
            for name, (k, offset), layout in zip(
                line.sets, recorded.views, recorded.results, strict=True
            ):
                self._values[name] = array_at(inputs[k], offset, layout)
                self._keep(name, operands[k])
        else:
            inputs = [w.constant(x) if k in constants else x for k, x in enumerate(inputs)]
            for k, (name, layout) in enumerate(zip(line.sets, recorded.results, strict=True)):
                if name not in given and k not in recorded.parts:
                    self._values[name] = w.buffer(layout.shape, layout.dtype)
                    self._root[name] = name
                    self._alive[name] = self._alive.get(name, 0) + 1
            for k, (whole, offset) in recorded.parts.items():
                source = self._values[line.sets[whole]]
                self._values[line.sets[k]] = array_at(source, offset, recorded.results[k])
                self._keep(line.sets[k], line.sets[whole])
            outputs = [self._values[name] for name in line.sets]
            kernel = kernel_of(line, lists.scope)
            mark = w.begin_line()
            write(
                w,
                Node(
                    line.op.type,
                    line.op.attrs,
                    inputs,
                    outputs,
                    constants,
                    kernel,
                    recorded.variant,
                ),
            )
            if self._beside is not None:
                self._collect(w, mark, line.op.type, inputs, outputs)
        self._release(w, i)

    def _collect(
        self,
        w: CallWriter,
        mark: int,
        op_type: str,
        inputs: list[Array],
        outputs: list[Array],
    ) -> None:
        """Takes the calls of a line out of the list again: `SideBySide` says when they are made, and beside which."""
        from dataflow.kernels.jit.call_list import At, Number
        from dataflow.kernels.jit.side_by_side import Link, microseconds

        assert self._beside is not None
        calls = w.take(mark)
        if not w.is_apart:
            self._beside.make_all()
            w.add(calls)
            return
        arrays = {
            id(field.array): field.array
            for _, fields in calls
            for field in fields
            if type(field) in (At, Number) and not w.is_constant(field.array)
        }
        blocks = {w.block_of(x) for x in arrays.values()}
        written = {w.block_of(x) for x in outputs}
        read = {w.block_of(x) for x in inputs} - written
        writes = frozenset(blocks - read | written)
        pairs = len(inputs) // 2 if op_type in PRODUCTS else 0
        cost = microseconds(pairs, inputs, outputs)
        self._beside.add(Link(calls, frozenset(blocks & read), writes, cost))

    def _keep(self, name: str, source: str) -> None:
        """A view: its memory lives as long as it does."""
        root = self._root.get(source)
        if root is not None:
            self._root[name] = root
            self._alive[root] += 1

    def _release(self, w: CallWriter, i: int) -> None:
        """Gives back the memory of what nobody reads after line ``i``."""
        for name in {*self._lists.lines[i].sets, *self._lists.operands[i]}:
            root = self._root.get(name)
            if root is None or any(k > i for k in self._lists.readers.get(name, ())):
                continue
            del self._root[name]
            self._alive[root] -= 1
            if not self._alive[root]:
                w.release(self._values[root])


def _function(
    written: CallList,
    scalars: list[bool],
    results: list[Layout],
    parts: list[tuple[int, int, Layout]],
    kept: list[Array],
) -> Callable[..., Any]:
    """``f(*arrays)``: the results in new arrays, parts of them, (number of a result, offset, layout), and those in
    memory of the list's own; ``None`` where an array has another layout."""
    names = [f"x{i}" for i in range(len(scalars))]
    lines = [f"def call({', '.join(names)}):"]
    lines += [f"    x{i} = asarray(x{i})" for i, scalar in enumerate(scalars) if scalar]
    made = [f"r{i}" for i in range(len(results))]
    lines += [f"    r{i} = empty(s{i}, d{i})" for i in range(len(results))]
    lines.append(f"    if not run({', '.join([*names, *made])}): return None")
    given = [f"r{i}[()]" if x.is_scalar else f"r{i}" for i, x in enumerate(results)]
    given += [f"ndarray({x.shape}, d{i}, r{i}, {offset}, {x.strides})" for i, offset, x in parts]
    given += [f"b{i}" for i in range(len(kept))]
    lines.append(f"    return ({', '.join(given) or 'None'},)")
    scope: dict[str, Any] = {
        "run": written.run,
        "empty": np.empty,
        "asarray": np.asarray,
        "ndarray": np.ndarray,
        **{f"b{i}": x for i, x in enumerate(kept)},
    }
    for i, x in enumerate(results):
        scope |= {f"s{i}": x.shape, f"d{i}": x.dtype}
    exec(compile("\n".join(lines) + "\n", "<dataflow list of calls>", "exec"), scope)
    return scope["call"]  # type: ignore[no-any-return]
