"""Undoes the filters of PNG files in machine code. In Pillow that takes most of the time of reading one.

Source: PNG specification, third edition, https://www.w3.org/TR/png-3, section 9.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.jit.compiler import JitEntry, address_of, compile_source
from dataflow.kernels.jit.llvm_builder import Writer, module, vector_of, vector_type

#: Bytes of a pixel that are computed together, though it may have fewer, and of a vector of a row. Up to a whole
#: vector is read and written beyond the last byte.
_PIXEL, _VECTOR = 4, 16
PADDING = _VECTOR
_BYTES, _WIDE = vector_type(_PIXEL, "i8"), vector_type(_PIXEL, "i16")
_FIELDS = ("rows", "out", "zeros", "height", "row_bytes", "pixel")


def _compile() -> Callable[[bytes], int]:
    (address,) = compile_source(source(), "unfilter")
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(address)


_entry: JitEntry[Callable[[bytes], int]] = JitEntry(_compile)


def unfiltered(rows: bytes, height: int, row_bytes: int, pixel: int) -> Any:
    """The bytes of each row, uint8 [height, row_bytes], from the filters' and their output, a byte and
    ``row_bytes`` for each row; ``pixel`` is the number of bytes of one, 1 to 4.

    ``None`` where there is no machine code (yet), and for a filter that does not exist.
    """
    function = _entry.get()
    if function is None:
        return None
    line = 1 + row_bytes
    source = np.empty(height * line + PADDING, np.uint8)
    source[: height * line] = np.frombuffer(rows, np.uint8, height * line)
    out = np.empty(height * row_bytes + PADDING, np.uint8)
    zeros = np.zeros(row_bytes + PADDING, np.uint8)
    addresses = address_of(source), address_of(out), address_of(zeros)
    table = np.array([*addresses, height, row_bytes, pixel], np.int64)
    if function(table.tobytes()):
        return None
    return out[: height * row_bytes].reshape(height, row_bytes)


def source() -> str:
    """The function in LLVM's assembly language; it returns 1 for a filter that does not exist, else 0."""
    w = Writer("i64 @unfilter(ptr %table)")
    field = w.fields("%table", _FIELDS)

    def row(y: str) -> int:
        line = w.at(field["rows"], (y, w.op("add", field["row_bytes"], 1)))
        out = w.at(field["out"], (y, field["row_bytes"]))
        before = w.op("sub", out, field["row_bytes"])
        above = w.select(w.compare("eq", y, 0), field["zeros"], before)
        kind = w.put(f"zext i8 {w.load('i8', w.pointer(line), 1)} to i64")
        fine, wrong = w.name("fine"), w.name("wrong")
        w.branch(w.compare("ult", kind, 5), fine, wrong)
        w.begin(wrong)
        w.leave("i64", 1)
        w.begin(fine)
        places = _Row(w, w.op("add", line, 1), above, out, field["row_bytes"], field["pixel"])
        w.switch(
            kind,
            {
                0: lambda: places.copy(adds_above=False),
                1: lambda: places.predict(lambda left, up, corner: left),
                2: lambda: places.copy(adds_above=True),
                3: lambda: places.predict(places.average),
                4: lambda: places.predict(places.paeth),
            },
        )
        return 1

    w.loop(field["height"], row)
    w.leave("i64", 0)
    return module(w)


class _Row:
    """Writes what is done to one row: the addresses of its filtered bytes, the row above, and the result."""

    def __init__(self, w: Writer, line: str, above: str, out: str, length: str, pixel: str) -> None:
        self.w, self.line, self.above, self.out = w, line, above, out
        self.length, self.pixel = length, pixel

    def _at(self, start: str, i: str) -> str:
        return self.w.pointer(self.w.op("add", start, i))

    def copy(self, adds_above: bool) -> None:
        """Whole vectors of the row, or their sums with those above."""
        w, kind = self.w, vector_type(_VECTOR, "i8")

        def vector(i: str) -> int:
            value = w.load(kind, self._at(self.line, i), 1)
            if adds_above:
                value = w.put(f"add {kind} {value}, {w.load(kind, self._at(self.above, i), 1)}")
            w.store(kind, value, self._at(self.out, i), 1)
            return _VECTOR

        w.loop(self.length, vector)

    def predict(self, prediction: Callable[[str, str, str], str]) -> None:
        """Pixel by pixel, from what is to the left, above, and above to the left."""
        w = self.w

        def pixel(i: str, before: list[str]) -> tuple[str, list[str]]:
            left, corner = before
            up = w.load(_BYTES, self._at(self.above, i), 1)
            value = w.load(_BYTES, self._at(self.line, i), 1)
            value = w.put(f"add {_BYTES} {value}, {prediction(left, up, corner)}")
            w.store(_BYTES, value, self._at(self.out, i), 1)
            return self.pixel, [value, up]

        w.carry(self.length, [(_BYTES, "zeroinitializer")] * 2, pixel)

    def _wide(self, x: str) -> str:
        return self.w.put(f"zext {_BYTES} {x} to {_WIDE}")

    def average(self, left: str, up: str, corner: str) -> str:
        """Of left and above, rounded down."""
        w = self.w
        total = w.put(f"add {_WIDE} {self._wide(left)}, {self._wide(up)}")
        half = w.put(f"lshr {_WIDE} {total}, {vector_of('i16', [1] * _PIXEL)}")
        return w.put(f"trunc {_WIDE} {half} to {_BYTES}")

    def paeth(self, left: str, up: str, corner: str) -> str:
        """Whichever of the three is nearest to left + above - corner; of equal ones the first."""
        w = self.w
        a, b, c = map(self._wide, (left, up, corner))

        def op(name: str, x: str, y: str) -> str:
            return w.put(f"{name} {_WIDE} {x}, {y}")

        def size(x: str) -> str:
            pairs = ((_WIDE, x), ("i1", "false"))
            return w.call("@llvm.abs.v4i16", *pairs, result=_WIDE)

        by_left, by_up = op("sub", b, c), op("sub", a, c)
        by_corner = size(op("add", by_left, by_up))
        by_left, by_up = size(by_left), size(by_up)
        truths = vector_type(_PIXEL, "i1")
        up_or_corner = op("icmp ule", by_up, by_corner)
        second = w.put(f"select {truths} {up_or_corner}, {_BYTES} {up}, {_BYTES} {corner}")
        both = w.put(
            f"and {truths} {op('icmp ule', by_left, by_up)}, {op('icmp ule', by_left, by_corner)}"
        )
        return w.put(f"select {truths} {both}, {_BYTES} {left}, {_BYTES} {second}")
