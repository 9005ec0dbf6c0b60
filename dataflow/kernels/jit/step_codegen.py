"""Writes single steps of a loop in LLVM assembly.

Results are bit for bit those of the NumPy ops in the same order: every step is one IEEE operation,
and none are contracted or reordered.
"""

from __future__ import annotations

import platform
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit import masked_while, transcendental, ufunc_loops
from dataflow.kernels.jit.llvm_builder import Writer, number, vector_of, vector_type
from dataflow.kernels.jit.narrow_codegen import NARROW, narrowed, widened
from dataflow.kernels.jit.op_table import TABLE, elementary_ops, truths_among


class Loop(NamedTuple):
    """The work on each element, in static single assignment form.

    ``inputs`` has a letter for each array:

    - ``v``: contiguous along the innermost axis; ``r``: the same, in the row given by an index;
    - ``u``: one element for the whole innermost axis; ``n``: one number for all elements;
    - ``b``: bool, contiguous; ``t``: one bool for the whole innermost axis;
    - ``w``: contiguous numbers in single precision, in a loop over narrower ones.

    Numbers of 16 bits (`narrow_codegen.NARROW`) are computed with in single precision, and rounded when stored;
    those of half precision after each step of a composed op, too.

    A result may be ``+``: as ``v``, but added to the array; or ``s``: one number for the whole innermost
    axis. Value i is input i or the result of a step;
    ``steps`` are (op type, operand indices), ``("Const", (number,))``, those of a `masked_while`, or sums along
    the innermost axis (`expression.ROW_SUMS`), whose results are one number for all of it;
    ``results`` are (value, letter) of what is stored; ``rank`` is the number of axes around the innermost
    one; ``index_type`` is LLVM's type of row indices.
    """

    dtype: str
    inputs: str
    steps: tuple[tuple[str, tuple[Any, ...]], ...]
    results: tuple[tuple[int, str], ...]
    rank: int = 0
    index_type: str = "i64"

    @property
    def letters(self) -> str:
        """The letters of the inputs, then those of the results."""
        return self.inputs + "".join(letter for _, letter in self.results)


#: Steps that are not in `TABLE`, and those whose code depends on the processor.
_OTHERS = frozenset({"Const", "Repeat", "Part", "Maximum", "Minimum"})


def _calls(op: str) -> bool:
    """True for an op that calls a NumPy function, itself or in one of its steps."""
    return not elementary_ops(op).isdisjoint(ufunc_loops.UFUNCS)


def _is_written(op: str) -> bool:
    return op in _OTHERS or bool(TABLE[op].llvm)


#: The op types that steps of both dtypes may have.
OPS = _OTHERS | {op for op in TABLE if all(map(_is_written, elementary_ops(op)))}
#: The op types that call NumPy's own functions, between the loops over a tile (`loop_codegen`).
CALLED = frozenset(op for op in TABLE if _calls(op))
#: The alignment of numbers of 16 bits.
_NARROW_BYTES = 2
#: Of equal operands, such as zeros of both signs, NumPy's maximum and minimum take the second on this
#: processor; elsewhere +0 counts as larger than -0.
_TAKES_SECOND = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


def can_write(op: str, dtype: Any) -> bool:
    """True when there is machine code for an op on float32 or float64."""
    return np.dtype(dtype).char in "fd" and (op in OPS or op in CALLED)


class Places(NamedTuple):
    """Where a loop's arrays are, by number: names of pointers to the current row, and of the inputs that
    are one number (or bool) for the whole of it."""

    rows: dict[int, str]
    scalars: dict[int, str]


class StepWriter:
    """Writes the steps on vectors of ``lanes`` elements.

    With a ``mask``, only the elements that it selects are read and stored.
    """

    def __init__(self, w: Writer, loop: Loop, lanes: int, places: Places, mask: str = "") -> None:
        self.w, self.loop, self.lanes, self.mask = w, loop, lanes, mask
        self._places = places
        single = loop.dtype != "float64"
        self.element, self._whole_element = ("float", "i32") if single else ("double", "i64")
        self.align = 4 if single else 8
        self.type = vector_type(lanes, self.element)
        self.truth = vector_type(lanes, "i1")
        self.bytes = vector_type(lanes, "i8")
        #: The type of integers as wide as the elements.
        self.whole_type = vector_type(lanes, self._whole_element)
        self._truths: set[str] = set()
        self.put = w.put

    def constant(self, value: float) -> str:
        """A number, for each element."""
        text = number(float(value) if self.element == "double" else float(np.float32(value)))
        return vector_of(self.element, [text] * self.lanes)

    def whole(self, value: int) -> str:
        """An integer, for each element."""
        return vector_of(self._whole_element, [value] * self.lanes)

    def spread(self, scalar: str, element: str = "") -> str:
        """A vector whose elements all equal ``scalar``."""
        return self.w.spread(self.lanes, element or self.element, scalar)

    def step(self, op: str, *x: Any) -> str:
        """Writes one op on names or Python numbers; returns the name of its result."""
        if op in ("Maximum", "Minimum"):
            return self._furthest(op, *x)
        row = TABLE[op]
        if row.composed is not None:
            return str(row.composed.evaluate(list(x), self._step_with_truths))
        if row.llvm.startswith("llvm."):
            return self.call(row.llvm.removeprefix("llvm."), *x)
        x = tuple(self._operand(v) for v in x)
        if row.llvm:
            text = row.llvm.format(*x, t=self.type, truth=self.truth, false="zeroinitializer")
            name = self.put(text)
            if row.is_bool:
                self._truths.add(name)
            return name
        if self.element == "float" and op in ("Exp", "Log"):
            return transcendental.write(self, op, *x)
        raise ValueError(f"no machine code for the op type {op!r}")

    def _step_with_truths(self, op: str, *x: Any) -> str:
        """A step of a composed op, where a bool in arithmetic counts as 1 or 0."""
        truths = truths_among(op, len(x))
        found = self.step(
            op,
            *(
                self._number_of(v) if i >= truths and v in self._truths else v
                for i, v in enumerate(x)
            ),
        )
        if self.loop.dtype != "float16" or found in self._truths:
            return found
        # NumPy, as TensorFlow, has an array of half precision between any two steps.
        bits = narrowed(self.w, self.loop.dtype, found, self.lanes)
        return widened(self.w, self.loop.dtype, bits, self.lanes)

    def _number_of(self, truth: str) -> str:
        """1 or 0 for a bool. Of a choice between numbers, LLVM would make one between a factor and its product with 0:
        subnormal factors would not become 0, as they do when they are multiplied."""
        one = 0x3F800000 if self.element == "float" else 0x3FF0000000000000
        kind = self.whole_type
        chosen = f"select {self.truth} {truth}, {kind} {self.whole(one)}, {kind} zeroinitializer"
        return self.put(f"bitcast {kind} {self.put(chosen)} to {self.type}")

    def _furthest(self, op: str, x: Array, y: Array) -> str:
        """The maximum or minimum of two elements, or of one and a number; NaN is propagated."""
        if self.loop.dtype == "float16":  # NumPy takes the first operand if it is NaN, or as large
            takes = self.step("GreaterEqual" if op == "Maximum" else "LessEqual", x, y)
            takes = self.step("LogicalOr", takes, self.step("NotEqual", x, x))
            return self.step("Select", takes, x, y)
        if not _TAKES_SECOND:
            return self.call(op.lower(), x, y)
        # The second operand if it is NaN, or at least as large (as small).
        takes = self.step("LessEqual" if op == "Maximum" else "GreaterEqual", x, y)
        if not isinstance(y, float):
            takes = self.step("LogicalOr", takes, self.step("NotEqual", y, y))
        return self.step("Select", takes, y, x)

    def _operand(self, x: Any) -> str:
        return self.constant(x) if isinstance(x, float) else x

    def call(self, name: str, *x: Any) -> str:
        """Calls an LLVM intrinsic on names or Python numbers."""
        return self.w.intrinsic(name, self.type, *map(self._operand, x))

    def _element(self, array: int, index: str, kind: str) -> str:
        return self.w.element(kind, self._places.rows[array], index)

    def input(self, array: int, index: str) -> str:
        """Loads an input's element at a position of the innermost axis."""
        letter = self.loop.inputs[array]
        if letter in "unt":
            return self.spread(self._places.scalars[array], "i1" if letter == "t" else "")
        if letter == "b":
            place = self._element(array, index, "i8")
            return self.truth_of(self.w.load(self.bytes, place, 1, self.mask))
        if letter == "v" and self.loop.dtype in NARROW:
            place, kind = self._element(array, index, "i16"), vector_type(self.lanes, "i16")
            bits = self.w.load(kind, place, _NARROW_BYTES, self.mask)
            return widened(self.w, self.loop.dtype, bits, self.lanes)
        place = self._element(array, index, self.element)
        return self.w.load(self.type, place, self.align, self.mask)

    def truth_of(self, byte: str) -> str:
        """The bools that bytes represent."""
        return self.put(f"icmp ne {self.bytes} {byte}, zeroinitializer")

    def store_result(self, array: int, letter: str, value: str, index: str) -> None:
        """Stores an element of an array at a position of the innermost axis, or adds to it."""
        if letter == "v" and self.loop.dtype in NARROW:
            place, kind = self._element(array, index, "i16"), vector_type(self.lanes, "i16")
            bits = narrowed(self.w, self.loop.dtype, value, self.lanes)
            self.w.store(kind, bits, place, _NARROW_BYTES, self.mask)
            return
        if letter == "+":
            self.add_up(array, [value], index)
            return
        place = self._element(array, index, self.element)
        self.w.store(self.type, value, place, self.align, self.mask)

    def add_up(self, array: int, values: list[str], index: str) -> None:
        """Adds values to an element of an array, one after the other."""
        place = self._element(array, index, self.element)
        total = self.w.load(self.type, place, self.align, self.mask)
        for value in values:
            total = self.put(f"fadd {self.type} {total}, {value}")
        self.w.store(self.type, total, place, self.align, self.mask)

    def values_of(self, steps: Any, values: list[str]) -> None:
        """Writes steps one after the other, and appends the names of their results to ``values``."""
        parts: dict[int, list[str]] = {}
        for op, operands in steps:
            values.append(self.value_of(op, operands, values, parts))

    def value_of(
        self, op: str, operands: Any, values: list[str], parts: dict[int, list[str]]
    ) -> str:
        """Writes a step whose operands are among ``values``; ``parts`` are the states of inner loops."""
        if op == "Const":
            return self.constant(operands[0])
        if op == "Repeat":
            parts[len(values)] = masked_while.write(self, values, *operands)
            return parts[len(values)][0]
        if op == "Part":
            found: str = parts[operands[0]][operands[1]]
            return found
        return self.step(op, *[values[o] for o in operands])
