"""Writes single steps of a loop in LLVM assembly.

Results are bit for bit those of the NumPy ops in the same order: every step is one IEEE operation,
and none are contracted or reordered.
"""

from __future__ import annotations

import platform
import struct
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.jit import masked_while, transcendental, ufunc_loops
from dataflow.kernels.jit.op_table import TABLE, elementary_ops, truths_among


class Loop(NamedTuple):
    """What is done to each element, in static single assignment form.

    ``inputs`` has a letter for each array:

    - ``v``: contiguous along the innermost axis; ``r``: the same, in the row given by an index;
    - ``u``: one element for the whole innermost axis; ``n``: one number for all elements;
    - ``b``: bool, contiguous; ``t``: one bool for the whole innermost axis.

    A result may be ``+``: as ``v``, but added to the array. Value i is input i or the result of a step;
    ``steps`` are (op type, operand indices), ``("Const", (number,))``, or those of a `masked_while`;
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
#: Of equal operands, such as zeros of both signs, NumPy's maximum and minimum take the second on this
#: processor; elsewhere +0 counts as larger than -0.
_TAKES_SECOND = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


def can_write(op: str, dtype: Any) -> bool:
    """True when there is machine code for an op on float32 or float64."""
    return np.dtype(dtype).char in "fd" and (op in OPS or op in CALLED)


class StepWriter:
    """Writes the steps for one width: a vector of elements, or a single one.

    With a ``mask``, only the elements that it selects are read and stored.
    """

    def __init__(self, loop: Loop, lanes: int, prefix: str, mask: str = "") -> None:
        self.loop, self.lanes, self.prefix, self.mask = loop, lanes, prefix, mask
        self.element = "float" if loop.dtype == "float32" else "double"
        self.letter = f"{'f32' if self.element == 'float' else 'f64'}"
        self.align = 4 if self.element == "float" else 8
        self.type = self.element if lanes == 1 else f"<{lanes} x {self.element}>"
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.intrinsic = self.letter if lanes == 1 else f"v{lanes}{self.letter}"
        self.lines: list[str] = []
        self.truths: set[str] = set()
        self.declared: set[str] = set()
        self.count = 0

    def put(self, text: str) -> str:
        """Adds the instruction ``text`` and returns the name of its result."""
        name = f"%{self.prefix}{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, number: float) -> str:
        rounded = float(np.dtype(self.loop.dtype).type(number))
        text = "0x" + struct.pack(">d", rounded).hex().upper()
        if self.lanes == 1:
            return text
        return "<" + ", ".join([f"{self.element} {text}"] * self.lanes) + ">"

    def spread(self, scalar: str, element: str = "") -> str:
        """A vector whose elements all equal ``scalar``."""
        if self.lanes == 1:
            return scalar
        kind = f"<{self.lanes} x {element or self.element}>"
        first = self.put(f"insertelement {kind} poison, {element or self.element} {scalar}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return self.put(f"shufflevector {kind} {first}, {kind} poison, {mask}")

    def step(self, op: str, *x: Any) -> str:
        """Writes one op on names or Python numbers; returns the name of its result."""
        if op in ("Maximum", "Minimum"):
            return self._furthest(op, *x)
        row = TABLE[op]
        if row.composed is not None:
            return str(row.composed.evaluate(list(x), self._step_with_truths))
        x = tuple(self.constant(v) if isinstance(v, float) else v for v in x)
        if row.llvm.startswith("llvm."):
            return self._intrinsic(row.llvm.removeprefix("llvm."), *x)
        if row.llvm:
            false = "false" if self.lanes == 1 else "zeroinitializer"
            name = self.put(row.llvm.format(*x, t=self.type, truth=self.truth, false=false))
            if row.is_bool:
                self.truths.add(name)
            return name
        if self.element == "float" and op in ("Exp", "Log"):
            return transcendental.write(self, op, *x)
        raise ValueError(f"no machine code for the op type {op!r}")

    def _step_with_truths(self, op: str, *x: Any) -> str:
        """A step of a composed op, where a bool in arithmetic counts as 1 or 0."""
        truths = truths_among(op, len(x))
        return self.step(
            op,
            *(
                self.step("Select", v, 1.0, 0.0) if i >= truths and v in self.truths else v
                for i, v in enumerate(x)
            ),
        )

    def _furthest(self, op: str, x: Any, y: Any) -> str:
        """The maximum or minimum of two elements, or of one and a number; NaN is propagated."""
        if not _TAKES_SECOND:
            return self._intrinsic(op.lower(), x, self.constant(y) if isinstance(y, float) else y)
        # The second operand if it is NaN, or at least as large (as small).
        takes = self.step("LessEqual" if op == "Maximum" else "GreaterEqual", x, y)
        if not isinstance(y, float):
            takes = self.step("LogicalOr", takes, self.step("NotEqual", y, y))
        return self.step("Select", takes, y, x)

    @property
    def whole_type(self) -> str:
        """The type of integers as wide as the elements."""
        bits = "i32" if self.element == "float" else "i64"
        return bits if self.lanes == 1 else f"<{self.lanes} x {bits}>"

    def whole(self, number: int) -> str:
        """An integer, for each element."""
        if self.lanes == 1:
            return str(number)
        bits = "i32" if self.element == "float" else "i64"
        return "<" + ", ".join([f"{bits} {number}"] * self.lanes) + ">"

    def call(self, name: str, *x: Any) -> str:
        """Calls an LLVM intrinsic on names or Python numbers."""
        return self._intrinsic(name, *(self.constant(v) if isinstance(v, float) else v for v in x))

    def _intrinsic(self, name: str, *x: str) -> str:
        types = ", ".join([self.type] * len(x))
        self.declared.add(f"declare {self.type} @llvm.{name}.{self.intrinsic}({types})")
        operands = ", ".join(f"{self.type} {v}" for v in x)
        return self.put(f"call {self.type} @llvm.{name}.{self.intrinsic}({operands})")

    def element_address(self, number: int, index: str, kind: str) -> str:
        return self.put(f"getelementptr {kind}, ptr %row{number}, i64 {index}")

    def load(self, kind: str, address: str, align: int) -> str:
        """Loads the elements at an address."""
        if not self.mask:
            return self.put(f"load {kind}, ptr {address}, align {align}")
        name = f"@llvm.masked.load.v{self.lanes}{'i8' if align == 1 else self.letter}.p0"
        self.declared.add(f"declare {kind} {name}(ptr, i32, {self.truth}, {kind})")
        mask = f"{self.truth} {self.mask}"
        return self.put(
            f"call {kind} {name}(ptr {address}, i32 {align}, {mask}, {kind} zeroinitializer)"
        )

    def store(self, value: str, address: str, align: int) -> None:
        """Stores results at an address."""
        if not self.mask:
            self.lines.append(f"  store {self.type} {value}, ptr {address}, align {align}")
            return
        name = f"@llvm.masked.store.v{self.lanes}{self.letter}.p0"
        self.declared.add(f"declare void {name}({self.type}, ptr, i32, {self.truth})")
        self.lines.append(
            f"  call void {name}({self.type} {value}, ptr {address}, i32 {align}, "
            f"{self.truth} {self.mask})"
        )

    def input(self, number: int, index: str) -> str:
        """Loads an input's element at a position of the innermost axis."""
        letter = self.loop.inputs[number]
        if letter in "un":
            return self.spread(f"%u{number}")
        if letter == "t":
            return self.spread(f"%u{number}", "i1")
        if letter == "b":
            kind = "i8" if self.lanes == 1 else f"<{self.lanes} x i8>"
            byte = self.load(kind, self.element_address(number, index, "i8"), 1)
            return self.truth_of(byte)
        return self.load(self.type, self.element_address(number, index, self.element), self.align)

    def truth_of(self, byte: str) -> str:
        """The bools that bytes represent."""
        kind, zero = ("i8", "0") if self.lanes == 1 else (f"<{self.lanes} x i8>", "zeroinitializer")
        return self.put(f"icmp ne {kind} {byte}, {zero}")

    def store_result(self, number: int, letter: str, value: str, index: str) -> None:
        """Stores an element of array ``number`` at a position of the innermost axis, or adds to it."""
        address = self.element_address(number, index, self.element)
        if letter == "+":
            before = self.load(self.type, address, self.align)
            value = self.put(f"fadd {self.type} {before}, {value}")
        self.store(value, address, self.align)

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
