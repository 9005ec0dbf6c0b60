"""Writes a `Loop` in LLVM assembly: nested axes, with vectors along the innermost one.

Functions that processors have no instruction for are NumPy's own (`ufunc_loops`), which take an array
rather than a vector. A loop with such steps processes the innermost axis in tiles that stay in the L1
cache, and each tile in stages: a stage computes, vector by vector, everything that needs no further
call, and saves in scratch memory what later stages and the calls after it need. The last stage
stores all results, as they may overwrite the inputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.jit import ufunc_loops
from dataflow.kernels.jit.op_table import TABLE, TRUTHS
from dataflow.kernels.jit.step_codegen import CALLED, Loop, StepWriter

_VECTOR_BYTES = 64
#: Bytes of scratch memory, and the fewest and most elements of a tile.
_SCRATCH_BYTES, _LEAST_TILE, _MOST_TILE = 1 << 15, 64, 1024
#: The offset of the data's address in a NumPy array object: the first field after the object header
#: (NumPy's C interface, `PyArrayObject`, unchanged since 1.0).
DATA_OFFSET = object.__basicsize__

_Steps = tuple[tuple[str, tuple[Any, ...]], ...]


class _Call(NamedTuple):
    """A call of a NumPy function: the value that it computes, and its operands."""

    value: int
    op: str
    operands: tuple[int, ...]


class _Plan:
    """What each stage of a loop computes, and where values that later stages need are saved.

    ``stage``: for each value, the first stage in which it is available. ``calls``: the calls after each
    stage. ``slots``: positions in scratch memory, by value. ``kept``: the values each stage saves there.
    """

    def __init__(self, loop: Loop, inlined: frozenset[str]) -> None:
        self.called = frozenset(ufunc_loops.NAMES) - inlined
        self.inputs = len(loop.inputs)
        self.steps, numbers = _with_calls_written_out(loop)
        self.results = tuple((numbers[value], letter) for value, letter in loop.results)
        self.stage = [0] * self.inputs
        found: list[_Call] = []
        for number, (op, operands) in enumerate(self.steps, self.inputs):
            at = max((self.stage[o] for o in _needs(op, operands, number)), default=0)
            if op in self.called:
                found.append(_Call(number, op, operands))
                at += 1
            self.stage.append(at)
        self.last = max(self.stage, default=0)
        self.calls: list[list[_Call]] = [[] for _ in range(self.last)]
        for call in found:
            self.calls[self.stage[call.value] - 1].append(call)
        self.slots: dict[int, int] = {}
        self.kept: list[list[int]] = [[] for _ in range(self.last + 1)]
        called = {call.value for call in found}
        for value in called:
            self._slot(value)
        for number, (op, operands) in enumerate(self.steps, self.inputs):
            if number not in called:
                self._keep(_needs(op, operands, number), self.stage[number])
        self._keep((value for value, _ in self.results), self.last)
        for stage, calls in enumerate(self.calls):
            for o in {o for call in calls for o in call.operands}:
                # NumPy reads an input in place; everything else must be in scratch memory.
                if not (o < self.inputs and loop.inputs[o] in "vr") and o not in called:
                    self._slot(o)
                    at = stage if self._is_everywhere(o) else self.stage[o]
                    if o not in self.kept[at]:
                        self.kept[at].append(o)

    def _slot(self, value: int) -> None:
        self.slots.setdefault(value, len(self.slots))

    def _is_everywhere(self, value: int) -> bool:
        """True for inputs and constants, which every stage can get without scratch memory."""
        return value < self.inputs or self.steps[value - self.inputs][0] == "Const"

    def _keep(self, values: Iterable[int], stage: int) -> None:
        """Notes that ``stage`` needs the values."""
        for value in values:
            own = self.stage[value]
            if own < stage and not self._is_everywhere(value) and value not in self.slots:
                self._slot(value)
                self.kept[own].append(value)

    def truths(self, loop: Loop) -> set[int]:
        """The values of type bool."""
        found = {i for i, letter in enumerate(loop.inputs) if letter in "bt"}
        for number, (op, operands) in enumerate(self.steps, self.inputs):
            if op in TRUTHS or (op in ("Select", "SelectV2") and operands[1] in found):
                found.add(number)
        return found


def _with_calls_written_out(loop: Loop) -> tuple[_Steps, list[int]]:
    """The steps, with composed ops that call NumPy expanded into theirs, and the values' new indices."""
    ops = {op for op, _ in loop.steps}
    if not ops & (CALLED - ufunc_loops.UFUNCS.keys()):
        return loop.steps, list(range(len(loop.inputs) + len(loop.steps)))
    if "Repeat" in ops:
        raise ValueError(
            "a loop with a repetition calls no function: steps within have fixed numbers"
        )
    steps: list[tuple[str, tuple[Any, ...]]] = []
    numbers = list(range(len(loop.inputs)))
    constants: dict[float, int] = {}

    def put(op: str, *operands: Any) -> int:
        steps.append((op, operands))
        return len(loop.inputs) + len(steps) - 1

    def step(op: str, *operands: Any) -> int:
        for o in operands:
            if type(o) is float and o not in constants:
                constants[o] = put("Const", o)
        return put(op, *[constants[o] if type(o) is float else o for o in operands])

    for op, operands in loop.steps:
        items = operands if op == "Const" else [numbers[o] for o in operands]
        row = TABLE.get(op)
        if op in CALLED and row is not None and row.composed is not None:
            numbers.append(row.composed.evaluate(list(items), step))
        else:
            numbers.append(put(op, *items))
    return tuple(steps), numbers


def _needs(op: str, operands: tuple[Any, ...], number: int) -> set[int]:
    """The values that a step uses; ``number`` is the index of its own value."""
    if op == "Const":
        return set()
    if op == "Part":
        return {operands[0]}
    if op != "Repeat":
        return set(operands)
    start, steps, following, done, _ = operands
    if any(inner in ufunc_loops.NAMES or inner in CALLED for inner, _ in steps):
        raise ValueError("a repetition cannot call NumPy's functions")
    within = {o for inner, items in steps if inner != "Const" for o in items}
    return {*start, *(o for o in (*within, *following, done) if o < number)}


class _StageText:
    """Writes one stage: the loop over a tile's vectors, and then the remainder."""

    def __init__(self, loop: Loop, plan: _Plan, number: int, lanes: int, tile: int) -> None:
        self.loop, self.plan, self.number, self.tile = loop, plan, number, tile
        self.truths = plan.truths(loop)
        prefix = f"s{number}." if plan.last else ""
        self.wide = StepWriter(loop, lanes, f"{prefix}w")
        self.rest = StepWriter(loop, lanes, f"{prefix}r", f"%{prefix}mask")
        self.prefix, self.lanes = prefix, lanes

    def lines(self, before: str, length: str, outside: str) -> list[str]:
        """The lines between the blocks ``before`` and ``outside``; ``length``: of the axis or the tile."""
        p, lanes = self.prefix, self.lanes
        self.body(self.wide, f"%{p}v")
        self.body(self.rest, f"%{p}whole")
        numbers = ", ".join(f"i64 {i}" for i in range(lanes))
        return [
            f"  %{p}whole = and i64 {length}, {-lanes}",
            f"  br label %{p}vectors",
            f"{p}vectors:",
            f"  %{p}v = phi i64 [0, %{before}], [%{p}v.next, %{p}vector.end]",
            f"  %{p}v.in = icmp slt i64 %{p}v, %{p}whole",
            f"  br i1 %{p}v.in, label %{p}vector, label %{p}rest",
            f"{p}vector:",
            *self.wide.lines,
            f"  br label %{p}vector.end",
            f"{p}vector.end:",
            f"  %{p}v.next = add i64 %{p}v, {lanes}",
            f"  br label %{p}vectors",
            f"{p}rest:",
            f"  %{p}left = sub i64 {length}, %{p}whole",
            f"  %{p}some = icmp sgt i64 %{p}left, 0",
            f"  br i1 %{p}some, label %{p}last, label %{outside}",
            # The remainder is a vector, too, with a mask for its elements.
            f"{p}last:",
            f"  %{p}left.one = insertelement <{lanes} x i64> poison, i64 %{p}left, i64 0",
            f"  %{p}left.all = shufflevector <{lanes} x i64> %{p}left.one, <{lanes} x i64> poison, "
            f"<{lanes} x i32> zeroinitializer",
            f"  %{p}mask = icmp slt <{lanes} x i64> <{numbers}>, %{p}left.all",
            *self.rest.lines,
            f"  br label %{outside}",
        ]

    def body(self, w: StepWriter, place: str) -> None:
        """Writes one vector, at position ``place`` of the tile."""
        plan, stage = self.plan, self.number
        # The position along the whole axis.
        index = w.put(f"add i64 %tile.begin, {place}") if plan.last else place
        values = [""] * len(plan.stage)
        parts: dict[int, list[str]] = {}

        def need(number: int) -> str:
            """The name of a value; values of earlier stages are loaded from scratch memory."""
            if not values[number]:
                if number < plan.inputs:
                    values[number] = w.input(number, index)
                elif plan.steps[number - plan.inputs][0] == "Const":
                    values[number] = w.constant(plan.steps[number - plan.inputs][1][0])
                else:
                    values[number] = self.from_scratch(w, number, place)
            return values[number]

        for number, (op, operands) in enumerate(plan.steps, plan.inputs):
            if plan.stage[number] == stage and op not in plan.called and op != "Const":
                for o in sorted(_needs(op, operands, number)):
                    need(o)
                values[number] = w.value_of(op, operands, values[:number], parts)
        for number in plan.kept[stage]:
            self.to_scratch(w, number, need(number), place)
        if stage == plan.last:
            for i, (value, letter) in enumerate(plan.results, plan.inputs):
                w.store_result(i, letter, need(value), index)

    def _scratch(self, w: StepWriter, value: int, place: str) -> str:
        at = w.put(f"add i64 {place}, {self.plan.slots[value] * self.tile}")
        return w.put(f"getelementptr {w.element}, ptr %scratch, i64 {at}")

    def to_scratch(self, w: StepWriter, value: int, name: str, place: str) -> None:
        """Saves a whole vector: a tile consists of whole vectors."""
        address = self._scratch(w, value, place)
        if value in self.truths:
            kind = f"<{self.lanes} x i8>"
            name, at = w.put(f"zext {w.truth} {name} to {kind}"), f"ptr {address}, align 1"
            w.lines.append(f"  store {kind} {name}, {at}")
        else:
            w.lines.append(f"  store {w.type} {name}, ptr {address}, align {w.align}")

    def from_scratch(self, w: StepWriter, value: int, place: str) -> str:
        address = self._scratch(w, value, place)
        if value in self.truths:
            return w.truth_of(w.put(f"load <{self.lanes} x i8>, ptr {address}, align 1"))
        return w.put(f"load {w.type}, ptr {address}, align {w.align}")


def _calls(plan: _Plan, stage: int, element: str, tile: int) -> tuple[list[str], set[str]]:
    """The calls after a stage, and their declarations."""
    lines, declared = [], set()
    names = iter(f"%call{stage}.{i}" for i in range(1 << 20))

    def put(text: str) -> str:
        name = next(names)
        lines.append(f"  {name} = {text}")
        return name

    def place(value: int) -> str:
        if value in plan.slots:
            at = str(plan.slots[value] * tile)
            return put(f"getelementptr {element}, ptr %scratch, i64 {at}")
        return put(f"getelementptr {element}, ptr %row{value}, i64 %tile.begin")

    for call in plan.calls[stage]:
        for i, value in enumerate((*call.operands, call.value)):
            pointer = place(value)
            to = put(f"getelementptr ptr, ptr %call.arrays, i64 {i}")
            lines.append(f"  store ptr {pointer}, ptr {to}")
        function = ufunc_loops.symbol(call.op, "f" if element == "float" else "d")
        declared.add(f"declare void {function}(ptr, ptr, ptr, ptr)")
        arguments = "ptr %call.arrays, ptr %call.length, ptr %call.steps, ptr null"
        lines.append(f"  call void {function}({arguments})")
    return lines, declared


def _innermost(
    loop: Loop, inlined: frozenset[str], before: str, outside: str
) -> tuple[list[str], list[str], set[str]]:
    """The code along the innermost axis, the function's prologue, and declarations."""
    plan = _Plan(loop, inlined)
    size = np.dtype(loop.dtype).itemsize
    lanes = _VECTOR_BYTES // size
    element = "float" if loop.dtype == "float32" else "double"
    if not plan.last:
        text = _StageText(loop, plan, 0, lanes, 0)
        lines = text.lines(before, "%length", outside)
        return lines, [], text.wide.declared | text.rest.declared
    tile = _SCRATCH_BYTES // (size * len(plan.slots))
    tile = min(max(tile, _LEAST_TILE), _MOST_TILE) // _LEAST_TILE * _LEAST_TILE
    begin = [
        f"  %scratch = alloca [{tile * len(plan.slots)} x {element}], align {_VECTOR_BYTES}",
        "  %call.arrays = alloca [3 x ptr]",
        "  %call.length = alloca i64",
        "  %call.steps = alloca [3 x i64]",
        *(f"  %call.step{i} = getelementptr i64, ptr %call.steps, i64 {i}" for i in range(3)),
        *(f"  store i64 {size}, ptr %call.step{i}" for i in range(3)),
    ]
    lines = [
        "  br label %tiles",
        "tiles:",
        f"  %tile.begin = phi i64 [0, %{before}], [%tile.next, %tile.end]",
        "  %tile.in = icmp slt i64 %tile.begin, %length",
        f"  br i1 %tile.in, label %tile0, label %{outside}",
    ]
    declared: set[str] = set()
    for stage in range(plan.last + 1):
        text = _StageText(loop, plan, stage, lanes, tile)
        lines.append(f"tile{stage}:")
        if stage == 0:
            lines += [
                "  %tile.left = sub i64 %length, %tile.begin",
                f"  %tile.short = icmp slt i64 %tile.left, {tile}",
                f"  %tile.length = select i1 %tile.short, i64 %tile.left, i64 {tile}",
                "  store i64 %tile.length, ptr %call.length",
            ]
        after = f"calls{stage}" if stage < plan.last else "tile.end"
        lines += text.lines(f"tile{stage}", "%tile.length", after)
        declared |= text.wide.declared | text.rest.declared
        if stage < plan.last:
            calls, functions = _calls(plan, stage, element, tile)
            lines += [f"calls{stage}:", *calls, f"  br label %tile{stage + 1}"]
            declared |= functions
    lines += ["tile.end:", f"  %tile.next = add i64 %tile.begin, {tile}", "  br label %tiles"]
    return lines, begin, declared


def source(loop: Loop, inlined: frozenset[str] = frozenset()) -> str:
    """The loop in LLVM assembly, with the functions ``inlined`` written out as steps.

    The table of a loop with rows ends with the address of the row indices (along the first axis) and
    the number of rows. It returns the position of an index that is out of range, else -1.
    """
    element = "float" if loop.dtype == "float32" else "double"
    letters = loop.letters
    rank, count = loop.rank, len(letters)
    lines = ["define i64 @loop(ptr %table) {", "entry:"]

    def field(name: str, place: int, kind: str = "i64") -> None:
        lines.append(f"  %{name}.at = getelementptr i64, ptr %table, i64 {place}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")

    for r in range(rank):
        field(f"length{r}", r)
    field("length", rank)
    place = rank + 1 + count
    for i, letter in enumerate(letters):
        if letter == "n":
            field(f"double{i}", rank + 1 + i, "double")
            cast = "fptrunc double" if element == "float" else "fadd double -0.0,"
            lines.append(f"  %u{i} = {cast} %double{i}" + (" to float" * (element == "float")))
            continue
        field(f"base{i}", rank + 1 + i, "ptr")
        for r in range(rank):
            field(f"stride{i}.{r}", place)
            place += 1
    if "r" in letters:
        field("rows", place, "ptr")
        field("limit", place + 1)
    begin_at = len(lines)
    before = "entry"
    if "r" in letters:
        lines += [*_CHECK, *_row_number(loop, "checked", "%c"), *_CHECKED]
        before = "sound"
    for r in range(rank):
        lines += [f"  br label %head{r}", f"head{r}:"]
        lines.append(f"  %i{r} = phi i64 [0, %{before}], [%next{r}, %end{r}]")
        lines.append(f"  %in{r} = icmp slt i64 %i{r}, %length{r}")
        outside = f"end{r - 1}" if r else "done"
        lines += [f"  br i1 %in{r}, label %start{r}, label %{outside}", f"start{r}:"]
        before = f"start{r}"
    if "r" in letters:
        lines += _row_number(loop, "number", "%i0")
    for i, letter in enumerate(letters):
        if letter == "n":
            continue
        offset = "0"
        for r in range(rank):
            index = "%number" if letter == "r" and r == 0 else f"%i{r}"
            lines.append(f"  %step{i}.{r} = mul i64 {index}, %stride{i}.{r}")
            lines.append(f"  %offset{i}.{r} = add i64 {offset}, %step{i}.{r}")
            offset = f"%offset{i}.{r}"
        lines.append(f"  %row{i} = getelementptr i8, ptr %base{i}, i64 {offset}")
        if letter == "u":
            lines.append(f"  %u{i} = load {element}, ptr %row{i}")
        if letter == "t":
            lines.append(f"  %byte{i} = load i8, ptr %row{i}")
            lines.append(f"  %u{i} = icmp ne i8 %byte{i}, 0")
    outside = f"end{rank - 1}" if rank else "done"
    along, begin, declared = _innermost(loop, inlined, before, outside)
    lines = [*lines[:begin_at], *begin, *lines[begin_at:], *along]
    for r in reversed(range(rank)):
        lines += [f"end{r}:", f"  %next{r} = add i64 %i{r}, 1", f"  br label %head{r}"]
    lines += ["done:", "  ret i64 -1", "}", *sorted(declared)]
    return "\n".join([*lines, *_for_objects(loop), ""])


#: All row indices are checked before anything is changed.
_CHECK = (
    "  br label %check",
    "check:",
    "  %c = phi i64 [0, %entry], [%c.next, %fine]",
    "  %c.in = icmp slt i64 %c, %length0",
    "  br i1 %c.in, label %look, label %sound",
    "look:",
)
_CHECKED = (
    "  %c.fine = icmp ult i64 %checked, %limit",  # a negative number is a large one
    "  br i1 %c.fine, label %fine, label %wrong",
    "wrong:",
    "  ret i64 %c",
    "fine:",
    "  %c.next = add i64 %c, 1",
    "  br label %check",
    "sound:",
)


def _row_number(loop: Loop, name: str, place: str) -> list[str]:
    """Loads the row index at a position of the index array."""
    lines = [f"  %{name}.at = getelementptr {loop.index_type}, ptr %rows, i64 {place}"]
    if loop.index_type == "i64":
        return [*lines, f"  %{name} = load i64, ptr %{name}.at"]
    lines.append(f"  %{name}.short = load {loop.index_type}, ptr %{name}.at")
    return [*lines, f"  %{name} = sext {loop.index_type} %{name}.short to i64"]


def _for_objects(loop: Loop) -> list[str]:
    """A function whose table has the array objects in place of the data's addresses."""
    letters = loop.letters
    fields = loop.rank + 1 + len(letters) + loop.rank * (len(letters) - letters.count("n"))
    fields += 2 * ("r" in letters)
    lines = ["define i64 @objects(ptr %objects) {", f"  %table = alloca [{fields} x i64]"]
    for i in range(fields):
        lines.append(f"  %from{i} = getelementptr i64, ptr %objects, i64 {i}")
        lines.append(f"  %to{i} = getelementptr i64, ptr %table, i64 {i}")
        place = i - loop.rank - 1
        array = 0 <= place < len(letters) and letters[place] != "n"
        if array or ("r" in letters and i == fields - 2):
            lines.append(f"  %record{i} = load ptr, ptr %from{i}")
            lines.append(f"  %data{i} = getelementptr i8, ptr %record{i}, i64 {DATA_OFFSET}")
            lines.append(f"  %value{i} = load i64, ptr %data{i}")
        else:
            lines.append(f"  %value{i} = load i64, ptr %from{i}")
        lines.append(f"  store i64 %value{i}, ptr %to{i}")
    return [*lines, "  %result = call i64 @loop(ptr %table)", "  ret i64 %result", "}"]
