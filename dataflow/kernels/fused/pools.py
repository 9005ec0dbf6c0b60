"""Pooling over height and width in machine code: places one by one, channels by vectors.

For images [batch, height, width, channels] in single precision, on processors with AVX-512. A place
looks at the taps of its window that lie on the image, whatever the stride and the padding. Where
windows overlap, gradients are added up image by image, while the image lies in the cache.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.fused.native import Lazy, address_of, compile_source
from dataflow.kernels.fused.panels import ALL_LANES, DECLARED, VECTOR, Writer
from dataflow.kernels.fused.team import run_calls
from dataflow.kernels.fused.tile_assembly import LANES, NUMBER_BYTES, is_available
from dataflow.windows import Window

#: Below this many numbers NumPy's calls cost no more.
SMALL_ELEMENTS = 4096
#: From here on the team's threads share the images; pieces of about so many bytes.
_SHARED_BYTES, _PIECE_BYTES = 1 << 20, 1 << 19
_FIELDS = (
    *("x", "y", "grad", "out", "images", "image_bytes", "line_bytes", "place_bytes"),
    *("lines", "high", "places", "wide"),
)
_pack = struct.Struct("q" * len(_FIELDS)).pack
_KINDS = ("max", "average", "max_gradient", "average_gradient")


def compile_pools() -> dict[str, int]:
    """The addresses of the functions. Raises `ImportError` where `is_available` is false."""
    if not is_available():
        raise ImportError("llvmlite is not installed, or the processor has no AVX-512")
    return dict(zip(_KINDS, compile_source(source(), *_KINDS), strict=True))


_code: Lazy[dict[str, int]] = Lazy(compile_pools)


@functools.lru_cache(256)
def _taps(w: Window, step_bytes: int) -> Any:
    """For each place: where its first tap on the axis lies, in bytes, and how many there are."""
    rows = []
    for place in range(w.count):
        start = place * w.stride - w.before
        first, last = max(start, 0), min(start + w.taps, w.size)
        rows.append((first * step_bytes, last - first))
    return np.array(rows, np.int64)


def pool(
    kind: str, height: Window, width: Window, *, x: Any = None, y: Any, grad: Any = None, out: Any
) -> bool:
    """Fills ``out`` (of the shape of y, or of x for a gradient); ``False`` where it cannot (yet).

    The maximum and the average read ``x``; a gradient reads ``grad`` (of the shape of y), and the
    maximum's ``x`` and ``y``. All are contiguous and of one type.
    """
    given = [a for a in (x, y, grad, out) if a is not None]
    image = out if x is None else x
    if image.size < SMALL_ELEMENTS or not all(
        a.dtype.char == "f" and a.flags.c_contiguous for a in given
    ):
        return False
    code = _code.get()
    if code is None:
        return False
    batch, _, columns, channels = image.shape
    place_bytes = channels * NUMBER_BYTES
    line_bytes = columns * place_bytes
    lines, places = _taps(height, line_bytes), _taps(width, place_bytes)
    if lines[:, 1].min() < 1 or places[:, 1].min() < 1:  # windows that lie on padding alone
        return False
    addresses = [0 if a is None else address_of(a) for a in (x, y, grad, out)]
    image_bytes = image.nbytes // batch
    small_bytes = height.count * width.count * place_bytes
    steps = [image_bytes, small_bytes, small_bytes, image_bytes]
    if not kind.endswith("gradient"):
        steps[3] = small_bytes
    size = batch
    if image.nbytes >= _SHARED_BYTES:
        size = max(1, min(_PIECE_BYTES // image_bytes, -(-batch // 4)))
    calls = []
    for first in range(0, batch, size):
        here = [a + first * step if a else 0 for a, step in zip(addresses, steps, strict=True)]
        table = _pack(
            *here,
            *(min(size, batch - first), image_bytes, line_bytes, place_bytes),
            *(address_of(lines), height.count, address_of(places), width.count),
        )
        calls.append((code[kind], table))
    run_calls(calls)
    return True


# ---- the text ---------------------------------------------------------------------------------

_MASK = f"<{LANES} x i1>"


def _spread(number: str) -> str:
    return f"<{', '.join([f'float {number}'] * LANES)}>"


def source() -> str:
    """All four functions in LLVM's assembly language; their one argument is the table of `_FIELDS`."""
    declared = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
    return "".join([*(_function(kind) for kind in _KINDS), DECLARED, declared])


def _function(kind: str) -> str:
    w = Writer(f"void @{kind}(ptr %table)")
    field = {
        name: w.put(f"load i64, ptr {w.put(f'getelementptr i64, ptr %table, i64 {i}')}")
        for i, name in enumerate(_FIELDS)
    }
    of_gradient = kind.endswith("gradient")
    image_name = "out" if of_gradient else "x"
    row_bytes = w.op("mul", field["wide"], field["place_bytes"])
    small_bytes = w.op("mul", field["high"], row_bytes)

    def entry(table: str, i: str) -> tuple[str, str]:
        pair = w.pointer(w.at(field[table], (i, "16")))
        second = w.put(f"getelementptr i64, ptr {pair}, i64 1")
        return w.put(f"load i64, ptr {pair}"), w.put(f"load i64, ptr {second}")

    def over_taps(first: str, high: str, wide: str, type_: str, start: str, tap: _Tap) -> str:
        """``tap(address, value)`` for all taps of a place."""

        def line(i: str, value: str) -> str:
            at = w.at(first, (i, field["line_bytes"]))
            return w.fold(
                wide, type_, value, lambda j, v: tap(w.at(at, (j, field["place_bytes"])), v)
            )

        return w.fold(high, type_, start, line)

    def count(high: str, wide: str) -> str:
        """The number of taps, in all lanes."""
        number = w.put(f"uitofp i64 {w.op('mul', high, wide)} to float")
        first = w.put(f"insertelement {VECTOR} poison, float {number}, i64 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        return w.put(f"shufflevector {VECTOR} {first}, {VECTOR} poison, {zeros}")

    def channels(image: str, small: str, first: str, high: str, wide: str) -> None:
        """All channels of one place: ``first`` is its first tap's distance from the image."""

        def vector(c: str) -> str:
            left = w.least(w.op("sub", field["place_bytes"], c), LANES * NUMBER_BYTES)
            lanes = w.op("lshr", left, 2)
            mask = w.mask(w.op("lshr", str(ALL_LANES), w.op("sub", str(LANES), lanes)))
            at = w.op("add", first, c)

            def small_at(name: str) -> str:
                return w.op("add", w.op("add", field[name], small), c)

            def image_at(name: str) -> str:
                return w.op("add", w.op("add", field[name], image), at)

            if kind == "max":

                def larger(address: str, value: str) -> str:
                    v = w.load(address, mask)
                    more = w.put(f"fcmp ogt {VECTOR} {v}, {value}")
                    nan = w.put(f"fcmp uno {VECTOR} {v}, {v}")
                    takes = w.put(f"or {_MASK} {more}, {nan}")
                    return w.put(f"select {_MASK} {takes}, {VECTOR} {v}, {VECTOR} {value}")

                lowest = _spread("0xFFF0000000000000")
                result = over_taps(image_at("x"), high, wide, VECTOR, lowest, larger)
                w.store_masked(result, small_at("out"), mask)
            elif kind == "average":

                def plus(address: str, value: str) -> str:
                    return w.put(f"fadd {VECTOR} {value}, {w.load(address, mask)}")

                total = over_taps(image_at("x"), high, wide, VECTOR, "zeroinitializer", plus)
                result = w.put(f"fdiv {VECTOR} {total}, {count(high, wide)}")
                w.store_masked(result, small_at("out"), mask)
            elif kind == "average_gradient":
                share = w.put(
                    f"fdiv {VECTOR} {w.load(small_at('grad'), mask)}, {count(high, wide)}"
                )

                def add(address: str, value: str) -> str:
                    total = w.put(f"fadd {VECTOR} {w.load(address, mask)}, {share}")
                    w.store_masked(total, address, mask)
                    return value

                over_taps(image_at("out"), high, wide, VECTOR, "zeroinitializer", add)
            else:
                highest, grad = w.load(small_at("y"), mask), w.load(small_at("grad"), mask)
                distance = w.op("sub", field["x"], field["out"])

                def give(address: str, found: str) -> str:
                    v = w.load(w.op("add", address, distance), mask)
                    equal = w.put(f"fcmp oeq {VECTOR} {v}, {highest}")
                    both = w.put(f"or {_MASK} {found}, {equal}")
                    is_first = w.put(f"xor {_MASK} {both}, {found}")
                    # A factor, not a choice: an infinite gradient times zero is NaN, as by slices.
                    factor = w.put(
                        f"select {_MASK} {is_first}, {VECTOR} {_spread('1.0')}, "
                        f"{VECTOR} zeroinitializer"
                    )
                    given = w.put(f"fmul {VECTOR} {grad}, {factor}")
                    total = w.put(f"fadd {VECTOR} {w.load(address, mask)}, {given}")
                    w.store_masked(total, address, mask)
                    return both

                over_taps(image_at("out"), high, wide, _MASK, "zeroinitializer", give)
            return str(LANES * NUMBER_BYTES)

        w.loop(field["place_bytes"], vector)

    def one(number: str) -> int:
        image = w.op("mul", number, field["image_bytes"])
        small = w.op("mul", number, small_bytes)
        if of_gradient:
            begin = w.pointer(w.op("add", field[image_name], image))
            size = field["image_bytes"]
            w.lines.append(
                f"  call void @llvm.memset.p0.i64(ptr {begin}, i8 0, i64 {size}, i1 false)"
            )

        def line(i: str) -> int:
            start, high = entry("lines", i)
            row = w.at(small, (i, row_bytes))

            def place(j: str) -> int:
                shift, wide = entry("places", j)
                first = w.op("add", start, shift)
                channels(image, w.at(row, (j, field["place_bytes"])), first, high, wide)
                return 1

            w.loop(field["wide"], place)
            return 1

        w.loop(field["high"], line)
        return 1

    w.loop(field["images"], one)
    return w.text()


#: (address, what was made of the taps before) -> what is made of this one too
_Tap = Callable[[str, str], str]
