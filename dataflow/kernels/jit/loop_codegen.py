"""Writes a `Loop` in LLVM assembly: nested axes, with vectors along the innermost one.

Functions that processors have no instruction for are NumPy's own (`ufunc_loops`), which take an array
rather than a vector. A loop with such steps processes the innermost axis in tiles that stay in the L1
cache, and each tile in stages: a stage computes, vector by vector, everything that needs no further
call, and saves in scratch memory what later stages and the calls after it need. The last stage
stores all results, as they may overwrite the inputs.

Reductions along the innermost axis are such calls, too. Then a tile is a whole row, of at most `MOST_SUMMED`
elements, and what is one number for the row is computed once, between the stages.
"""

from __future__ import annotations

from collections.abc import Callable

from dataflow.kernels.jit import ufunc_loops
from dataflow.kernels.jit.expression import ROW_MAX, ROW_MEAN
from dataflow.kernels.jit.llvm_builder import Writer, module, vector_of, vector_type
from dataflow.kernels.jit.loop_stages import Call, Stages, needs
from dataflow.kernels.jit.narrow_codegen import NARROW, widened
from dataflow.kernels.jit.row_reduction_codegen import write_row_reduction
from dataflow.kernels.jit.step_codegen import Loop, Places, StepWriter

_VECTOR_BYTES = 64
#: Bytes of scratch memory, and the fewest and most elements of a tile.
_SCRATCH_BYTES, _LEAST_TILE, _MOST_TILE = 1 << 15, 64, 1024
#: The longest row that is summed; and the elements of scratch memory for each value of it, not a power of
#: two, which would have all values fall on the same sets of the cache.
MOST_SUMMED = 1024
_ROW_TILE = MOST_SUMMED + 16
#: Rows that are added to the same sums at a time.
_ROWS_TOGETHER = 4
#: The offset of the data's address in a NumPy array object: the first field after the object header
#: (NumPy's C interface, `PyArrayObject`, unchanged since 1.0).
DATA_OFFSET = object.__basicsize__


class _Axis:
    """Writes the loop along the innermost axis."""

    def __init__(self, w: Writer, loop: Loop, plan: Stages) -> None:
        self.w, self.loop, self.plan = w, loop, plan
        self.truths = plan.truths(loop)
        size = 8 if loop.dtype == "float64" else 4
        self.lanes = _VECTOR_BYTES // size
        self.element = element_type(loop)
        if not plan.last:
            return
        #: The names of the values that are one number for the row.
        self.row_values: dict[int, str] = {}
        if plan.by_row:
            self.tile = _ROW_TILE
        else:
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
        """Writes the code for an axis of this many elements."""
        w, plan = self.w, self.plan
        if not plan.last:
            self._stage(0, length, "", places)
            return

        def tile(begin: str) -> int:
            here = w.least(w.op("sub", length, begin), self.tile)
            w.store("i64", here, self.length)
            for stage in range(plan.last + 1):
                self._write_by_row(stage, places)
                self._stage(stage, here, begin, places)
                if stage < plan.last:
                    for call in plan.calls[stage]:
                        if call.value in plan.by_row:
                            self._reduce(call, here, places)
                        else:
                            self._call(call, begin, places)
            self._store_by_row(places)
            return self.tile

        w.loop(length, tile)

    @property
    def only_adds(self) -> bool:
        """Whether all results are added to arrays, and nothing is called in between."""
        return not self.plan.last and {letter for _, letter in self.plan.results} == {"+"}

    def add_rows(self, length: str, rows: list[Places]) -> None:
        """Adds several rows to the same sums, one after the other; where `only_adds` holds."""
        w = self.w

        def body(place: str, mask: str) -> None:
            x = [StepWriter(w, self.loop, self.lanes, places, mask) for places in rows]
            values = [self._values(one, 0, place, place) for one in x]
            for i, (value, _) in enumerate(self.plan.results, self.plan.inputs):
                x[0].add_up(i, [need(value) for need in values], place)

        self._vectors(length, body)

    def _stage(self, stage: int, length: str, begin: str, places: Places) -> None:
        if self.plan.has_work(stage):
            self._vectors(
                length,
                lambda place, mask: self._body(
                    StepWriter(self.w, self.loop, self.lanes, places, mask), stage, place, begin
                ),
            )

    def _vectors(self, length: str, body: Callable[[str, str], None]) -> None:
        """The loop over vectors, and then the remainder, with a mask for its elements."""
        w, lanes = self.w, self.lanes
        whole = w.op("and", length, -lanes)

        def vector(place: str) -> int:
            body(place, "")
            return lanes

        w.loop(whole, vector)
        left = w.op("sub", length, whole)

        def rest() -> None:
            every = f"{vector_of('i64', range(lanes))}, {w.spread(lanes, 'i64', left)}"
            body(whole, w.put(f"icmp slt {vector_type(lanes, 'i64')} {every}"))

        w.when(w.compare("sgt", left, 0), rest)

    def _write_by_row(self, stage: int, places: Places) -> None:
        """Writes the values of a stage that are one number for the row, as vectors of it."""
        plan = self.plan
        if not plan.by_row:
            return
        x = StepWriter(self.w, self.loop, self.lanes, places)
        for number in sorted(plan.by_row):
            if plan.stage[number] != stage or number in self.row_values:
                continue
            if number < plan.inputs:
                self.row_values[number] = x.input(number, "0")
                continue
            op, operands = plan.steps[number - plan.inputs]
            values = [self.row_values.get(i, "") for i in range(number)]
            self.row_values[number] = x.value_of(op, operands, values, {})

    def _reduce(self, call: Call, length: str, places: Places) -> None:
        """Sums a value along the row, or finds its maximum."""
        w, (value,) = self.w, call.operands
        x = StepWriter(w, self.loop, self.lanes, places)
        if value in self.plan.slots:
            row = self._slot(value, "0")
        else:
            row = places.rows[value]

        largest = call.op == ROW_MAX
        found = write_row_reduction(w, self.element, self.lanes, x.align, largest, row, length)
        if call.op == ROW_MEAN:
            count = w.put(f"uitofp i64 {length} to {self.element}")
            found = w.put(f"fdiv {self.element} {found}, {count}")
        self.row_values[call.value] = x.spread(found)

    def _store_by_row(self, places: Places) -> None:
        """Stores the results that are one number for the row."""
        w = self.w
        kind = vector_type(self.lanes, self.element)
        for i, (value, letter) in enumerate(self.plan.results, self.plan.inputs):
            if letter == "s":
                first = w.put(f"extractelement {kind} {self.row_values[value]}, i64 0")
                w.store(self.element, first, places.rows[i])

    def _body(self, x: StepWriter, stage: int, place: str, begin: str) -> None:
        """Writes one vector, at position ``place`` of the tile that begins at ``begin``."""
        plan = self.plan
        # The position along the whole axis.
        index = self.w.op("add", begin, place) if begin else place
        need = self._values(x, stage, place, index)
        for number in plan.kept[stage]:
            self._to_scratch(x, number, need(number), place)
        if stage == plan.last:
            for i, (value, letter) in enumerate(plan.results, plan.inputs):
                if letter != "s":
                    x.store_result(i, letter, need(value), index)

    def _values(self, x: StepWriter, stage: int, place: str, index: str) -> Callable[[int], str]:
        """Writes the steps of a stage on one vector; the function gives the name of a value."""
        plan = self.plan
        values = [""] * len(plan.stage)
        parts: dict[int, list[str]] = {}

        def need(number: int) -> str:
            """The name of a value; values of earlier stages are loaded from scratch memory."""
            if not values[number]:
                if number in plan.by_row:
                    values[number] = self.row_values[number]
                elif number < plan.inputs:
                    values[number] = x.input(number, index)
                elif plan.steps[number - plan.inputs][0] == "Const":
                    values[number] = x.constant(plan.steps[number - plan.inputs][1][0])
                else:
                    values[number] = self._from_scratch(x, number, place)
            return values[number]

        for number, (op, operands) in enumerate(plan.steps, plan.inputs):
            at_hand = op == "Const" or op in plan.called or number in plan.by_row
            if plan.stage[number] == stage and not at_hand:
                for o in sorted(needs(op, operands, number)):
                    need(o)
                values[number] = x.value_of(op, operands, values[:number], parts)
        return need

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

    def _call(self, call: Call, begin: str, places: Places) -> None:
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
    return "double" if loop.dtype == "float64" else "float"


def source(loop: Loop, inlined: frozenset[str] = frozenset()) -> str:
    """The loop in LLVM assembly, with the functions ``inlined`` written out as steps.

    The table of a loop with rows ends with the address of the row indices (along the first axis) and
    the number of rows. It returns the position of an index that is out of range, else -1.
    """
    return module(_on_data(loop, inlined), _on_objects(loop))


def _on_data(loop: Loop, inlined: frozenset[str]) -> Writer:
    """The function ``loop``, whose table has the addresses of the data."""
    w = Writer("i64 @loop(ptr %table)")
    _Nest(w, loop, inlined).write()
    return w


class _Nest:
    """Writes the loops over the axes of the arrays, around what `_Axis` writes for the last one."""

    def __init__(self, w: Writer, loop: Loop, inlined: frozenset[str]) -> None:
        self.w, self.loop = w, loop
        letters, rank = loop.letters, loop.rank
        self.lengths = [self._field(r) for r in range(rank + 1)]
        #: By number of the array: the address of its data, its strides in bytes; of a number, its value.
        self.bases, self.strides = dict[int, str](), dict[int, list[str]]()
        self.scalars = dict[int, str]()
        place = rank + 1 + len(letters)
        for number, letter in enumerate(letters):
            i = rank + 1 + number
            if letter == "n":
                value = self._field(i, "double")
                if element_type(loop) == "float":
                    value = w.put(f"fptrunc double {value} to float")
                self.scalars[number] = value
                continue
            self.bases[number] = self._field(i, "ptr")
            self.strides[number] = [self._field(place + r) for r in range(rank)]
            place += rank
        self.has_rows = "r" in letters
        self.rows = self._field(place, "ptr") if self.has_rows else ""
        self.limit = self._field(place + 1) if self.has_rows else ""
        self.axis = _Axis(w, loop, Stages(loop, inlined))
        self.adds_rows = rank > 0 and self.axis.only_adds and not self.has_rows

    def _field(self, place: int, kind: str = "i64") -> str:
        return self.w.load(kind, self.w.element("i64", "%table", place))

    def write(self) -> None:
        if self.has_rows:
            self.w.loop(self.lengths[0], self._check)  # before anything is changed
        self._nest([])
        self.w.leave("i64", -1)

    def _row_number(self, position: str) -> str:
        """Loads the row index at a position of the index array."""
        w, kind = self.w, self.loop.index_type
        number = w.load(kind, w.element(kind, self.rows, position))
        return number if kind == "i64" else w.put(f"sext i32 {number} to i64")

    def _check(self, position: str) -> int:
        w = self.w
        fine, wrong = w.name("fine"), w.name("wrong")
        # A negative number is a large one.
        w.branch(w.compare("ult", self._row_number(position), self.limit), fine, wrong)
        w.begin(wrong)
        w.leave("i64", position)
        w.begin(fine)
        return 1

    def _places_at(self, indices: list[str]) -> Places:
        """Where the arrays are at these positions of the outer axes."""
        w, loop = self.w, self.loop
        row = self._row_number(indices[0]) if self.has_rows else ""
        pointers, found = {}, dict(self.scalars)
        for i, base in self.bases.items():
            letter = loop.letters[i]
            along = [row, *indices[1:]] if letter == "r" else indices
            offset = w.at("0", *zip(along, self.strides[i], strict=True))
            pointers[i] = w.element("i8", base, offset)
            if letter == "u":
                narrow = loop.dtype in NARROW
                found[i] = w.load("i16" if narrow else element_type(loop), pointers[i])
                if narrow:
                    found[i] = widened(w, loop.dtype, found[i])
            if letter == "t":
                found[i] = w.put(f"icmp ne i8 {w.load('i8', pointers[i])}, 0")
        return Places(pointers, found)

    def _nest(self, indices: list[str]) -> None:
        """The loops over the axes from ``len(indices)`` on."""
        w, rank = self.w, self.loop.rank
        if len(indices) == rank:
            self.axis.write(self.lengths[rank], self._places_at(indices))
            return
        length, together = self.lengths[len(indices)], "0"
        if self.adds_rows and len(indices) == rank - 1:
            together = self._add_rows(indices, length)
            length = w.op("sub", length, together)

        def inside(i: str) -> int:
            self._nest([*indices, i if together == "0" else w.op("add", i, together)])
            return 1

        w.loop(length, inside)

    def _add_rows(self, indices: list[str], length: str) -> str:
        """Rows that are added to the same sums, which are loaded and stored once for several; how many they are."""
        w, loop = self.w, self.loop
        apart = "0"
        for i in range(len(loop.inputs), len(loop.letters)):
            apart = w.op("or", apart, self.strides[i][-1])
        whole = w.op("and", length, -_ROWS_TOGETHER)
        together = w.select(w.compare("eq", apart, 0), whole, 0)

        def several(i: str) -> int:
            numbers = [w.op("add", i, j) for j in range(_ROWS_TOGETHER)]
            places = [self._places_at([*indices, j]) for j in numbers]
            self.axis.add_rows(self.lengths[loop.rank], places)
            return _ROWS_TOGETHER

        w.loop(together, several)
        return together


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
