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
from dataflow.kernels.jit.llvm_builder import Writer, module, vector_of, vector_type
from dataflow.kernels.jit.op_table import TABLE, TRUTHS
from dataflow.kernels.jit.step_codegen import CALLED, Loop, Places, StepWriter

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
    """The values that each stage of a loop computes, and where later stages find them.

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


class _Axis:
    """Writes the loop along the innermost axis."""

    def __init__(self, w: Writer, loop: Loop, plan: _Plan) -> None:
        self.w, self.loop, self.plan = w, loop, plan
        self.truths = plan.truths(loop)
        size = np.dtype(loop.dtype).itemsize
        self.lanes = _VECTOR_BYTES // size
        self.element = element_type(loop)
        if not plan.last:
            return
        tile = _SCRATCH_BYTES // (size * len(plan.slots))
        self.tile = min(max(tile, _LEAST_TILE), _MOST_TILE) // _LEAST_TILE * _LEAST_TILE
        scratch = f"[{self.tile * len(plan.slots)} x {self.element}]"
        self.scratch = w.room(scratch, _VECTOR_BYTES)
        # The arguments of NumPy's functions: the arrays, their length, and the strides.
        self.arrays, self.length, steps = w.room("[3 x ptr]"), w.room("i64"), w.room("[3 x i64]")
        self.steps = [w.element("i64", steps, i) for i in range(3)]
        for step in self.steps:
            w.store("i64", size, step)

    def write(self, length: str, places: Places) -> None:
        """Writes the code for an axis of so many elements."""
        w, plan = self.w, self.plan
        if not plan.last:
            self._stage(0, length, "", places)
            return

        def tile(begin: str) -> int:
            here = w.least(w.op("sub", length, begin), self.tile)
            w.store("i64", here, self.length)
            for stage in range(plan.last + 1):
                self._stage(stage, here, begin, places)
                if stage < plan.last:
                    for call in plan.calls[stage]:
                        self._call(call, begin, places)
            return self.tile

        w.loop(length, tile)

    def _stage(self, stage: int, length: str, begin: str, places: Places) -> None:
        """The loop over vectors, and then the remainder, with a mask for its elements."""
        w, lanes = self.w, self.lanes
        whole = w.op("and", length, -lanes)

        def vector(place: str) -> int:
            self._body(StepWriter(w, self.loop, lanes, places), stage, place, begin)
            return lanes

        w.loop(whole, vector)
        left = w.op("sub", length, whole)

        def rest() -> None:
            every = f"{vector_of('i64', range(lanes))}, {w.spread(lanes, 'i64', left)}"
            mask = w.put(f"icmp slt {vector_type(lanes, 'i64')} {every}")
            self._body(StepWriter(w, self.loop, lanes, places, mask), stage, whole, begin)

        w.when(w.compare("sgt", left, 0), rest)

    def _body(self, x: StepWriter, stage: int, place: str, begin: str) -> None:
        """Writes one vector, at position ``place`` of the tile that begins at ``begin``."""
        plan = self.plan
        # The position along the whole axis.
        index = self.w.op("add", begin, place) if begin else place
        values = [""] * len(plan.stage)
        parts: dict[int, list[str]] = {}

        def need(number: int) -> str:
            """The name of a value; values of earlier stages are loaded from scratch memory."""
            if not values[number]:
                if number < plan.inputs:
                    values[number] = x.input(number, index)
                elif plan.steps[number - plan.inputs][0] == "Const":
                    values[number] = x.constant(plan.steps[number - plan.inputs][1][0])
                else:
                    values[number] = self._from_scratch(x, number, place)
            return values[number]

        for number, (op, operands) in enumerate(plan.steps, plan.inputs):
            if plan.stage[number] == stage and op not in plan.called and op != "Const":
                for o in sorted(_needs(op, operands, number)):
                    need(o)
                values[number] = x.value_of(op, operands, values[:number], parts)
        for number in plan.kept[stage]:
            self._to_scratch(x, number, need(number), place)
        if stage == plan.last:
            for i, (value, letter) in enumerate(plan.results, plan.inputs):
                x.store_result(i, letter, need(value), index)

    def _slot(self, value: int, place: str) -> str:
        at = self.w.op("add", place, self.plan.slots[value] * self.tile)
        return self.w.element(self.element, self.scratch, at)

    def _to_scratch(self, x: StepWriter, value: int, name: str, place: str) -> None:
        """Saves a whole vector: a tile consists of whole vectors."""
        slot = self._slot(value, place)
        if value in self.truths:
            self.w.store(x.bytes, self.w.put(f"zext {x.truth} {name} to {x.bytes}"), slot, 1)
        else:
            self.w.store(x.type, name, slot, x.align)

    def _from_scratch(self, x: StepWriter, value: int, place: str) -> str:
        slot = self._slot(value, place)
        if value in self.truths:
            return x.truth_of(self.w.load(x.bytes, slot, 1))
        return self.w.load(x.type, slot, x.align)

    def _call(self, call: _Call, begin: str, places: Places) -> None:
        """Calls NumPy's function on a tile."""
        w = self.w
        for i, value in enumerate((*call.operands, call.value)):
            if value in self.plan.slots:
                here = w.element(self.element, self.scratch, self.plan.slots[value] * self.tile)
            else:
                here = w.element(self.element, places.rows[value], begin)
            w.store("ptr", here, w.element("ptr", self.arrays, i))
        function = ufunc_loops.symbol(call.op, "f" if self.element == "float" else "d")
        w.declare(function, *["ptr"] * 4)
        operands = (self.arrays, self.length, self.steps[0], "null")
        w.call(function, *[("ptr", x) for x in operands])


def element_type(loop: Loop) -> str:
    """LLVM's type of a loop's elements."""
    return "float" if loop.dtype == "float32" else "double"


def source(loop: Loop, inlined: frozenset[str] = frozenset()) -> str:
    """The loop in LLVM assembly, with the functions ``inlined`` written out as steps.

    The table of a loop with rows ends with the address of the row indices (along the first axis) and
    the number of rows. It returns the position of an index that is out of range, else -1.
    """
    return module(_on_data(loop, inlined), _on_objects(loop))


def _on_data(loop: Loop, inlined: frozenset[str]) -> Writer:
    """The function ``loop``, whose table has the addresses of the data."""
    w = Writer("i64 @loop(ptr %table)")
    element, letters, rank = element_type(loop), loop.letters, loop.rank

    def field(place: int, kind: str = "i64") -> str:
        return w.load(kind, w.element("i64", "%table", place))

    lengths = [field(r) for r in range(rank + 1)]
    bases, strides, scalars = dict[int, str](), dict[int, list[str]](), dict[int, str]()
    place = rank + 1 + len(letters)
    for i, letter in enumerate(letters, rank + 1):
        number = i - rank - 1
        if letter == "n":
            scalars[number] = field(i, "double")
            if element == "float":
                scalars[number] = w.put(f"fptrunc double {scalars[number]} to float")
            continue
        bases[number] = field(i, "ptr")
        strides[number] = [field(place + r) for r in range(rank)]
        place += rank
    rows, limit = (field(place, "ptr"), field(place + 1)) if "r" in letters else ("", "")
    axis = _Axis(w, loop, _Plan(loop, inlined))

    def row_number(position: str) -> str:
        """Loads the row index at a position of the index array."""
        number = w.load(loop.index_type, w.element(loop.index_type, rows, position))
        return number if loop.index_type == "i64" else w.put(f"sext i32 {number} to i64")

    def check(position: str) -> int:
        fine, wrong = w.name("fine"), w.name("wrong")
        # A negative number is a large one.
        w.branch(w.compare("ult", row_number(position), limit), fine, wrong)
        w.begin(wrong)
        w.leave("i64", position)
        w.begin(fine)
        return 1

    def nest(indices: list[str]) -> None:
        """The loops over the axes from ``len(indices)`` on."""
        if len(indices) < rank:

            def inside(i: str) -> int:
                nest([*indices, i])
                return 1

            w.loop(lengths[len(indices)], inside)
            return
        row = row_number(indices[0]) if "r" in letters else ""
        pointers, found = {}, dict(scalars)
        for i, base in bases.items():
            along = [row, *indices[1:]] if letters[i] == "r" else indices
            offset = w.at("0", *zip(along, strides[i], strict=True))
            pointers[i] = w.element("i8", base, offset)
            if letters[i] == "u":
                found[i] = w.load(element, pointers[i])
            if letters[i] == "t":
                found[i] = w.put(f"icmp ne i8 {w.load('i8', pointers[i])}, 0")
        axis.write(lengths[rank], Places(pointers, found))

    if "r" in letters:
        w.loop(lengths[0], check)  # before anything is changed
    nest([])
    w.leave("i64", -1)
    return w


def _on_objects(loop: Loop) -> Writer:
    """The function ``objects``, whose table has the array objects in place of the data's addresses."""
    letters = loop.letters
    count = loop.rank + 1 + len(letters) + loop.rank * (len(letters) - letters.count("n"))
    count += 2 * ("r" in letters)
    w = Writer("i64 @objects(ptr %objects)")
    table = w.room(f"[{count} x i64]")
    for i in range(count):
        source, target = w.element("i64", "%objects", i), w.element("i64", table, i)
        number = i - loop.rank - 1
        is_array = 0 <= number < len(letters) and letters[number] != "n"
        if is_array or ("r" in letters and i == count - 2):
            source = w.element("i8", w.load("ptr", source), DATA_OFFSET)
        w.store("i64", w.load("i64", source), target)
    w.leave("i64", w.call("@loop", ("ptr", table), result="i64"))
    return w
