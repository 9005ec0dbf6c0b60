"""Pooling and depthwise convolution in machine code: places one by one, channels by vectors.

For images [batch, height, width, channels] in single precision, on processors with AVX-512. A place
looks at the taps of its window that lie on the image, whatever the stride and the padding. Where
windows overlap, gradients are added up image by image, while the image lies in the cache.

A kind of work has one function. ``max``, ``average`` and ``weighted`` make places [batch, places,
places, channels] of images, their ``_gradient``s images of places; ``weights_gradient`` adds up
what all places give to the weights [taps, taps, channels].
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

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
    *("tap_line", "tap_place", "lines", "high", "places", "wide", "weights", "weights_line"),
)
_pack = struct.Struct("q" * len(_FIELDS)).pack
_KINDS = (
    *("max", "average", "max_gradient", "average_gradient"),
    *("weighted", "weighted_gradient", "weights_gradient"),
)
_ENTRY_BYTES = 24


def compile_pools() -> dict[str, int]:
    """The addresses of the functions. Raises `ImportError` where `is_available` is false."""
    if not is_available():
        raise ImportError("llvmlite is not installed, or the processor has no AVX-512")
    return dict(zip(_KINDS, compile_source(source(), *_KINDS), strict=True))


_code: Lazy[dict[str, int]] = Lazy(compile_pools)


@functools.lru_cache(256)
def _taps(w: Window, step_bytes: int) -> Any:
    """For each place: where its first tap on the axis lies, in bytes, how many there are, and which
    it is."""
    rows = []
    for place in range(w.count):
        start = place * w.stride - w.before
        inside = [t for t in range(w.taps) if 0 <= start + t * w.dilation < w.size] or [0]
        first = start + inside[0] * w.dilation
        on_axis = 0 <= first < w.size
        rows.append((first * step_bytes * on_axis, len(inside) * on_axis, inside[0]))
    return np.array(rows, np.int64)


def slide(
    kind: str,
    height: Window,
    width: Window,
    *,
    x: Any = None,
    y: Any = None,
    grad: Any = None,
    weights: Any = None,
    out: Any,
) -> bool:
    """Fills ``out``; ``False`` where it cannot (yet).

    ``x`` are images; ``y`` their maxima and ``grad`` a gradient, both places. Each kind reads what
    its formula has. All are contiguous and of one type.
    """
    image = out if x is None else x
    given = [a for a in (x, y, grad, weights, out) if a is not None]
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
    if weights is None and not (lines[:, 1].all() and places[:, 1].all()):
        return False  # windows that lie on padding alone: kernels differ in what they give
    image_bytes = image.nbytes // batch
    places_bytes = height.count * width.count * place_bytes
    size = batch
    if image.nbytes >= _SHARED_BYTES:  # (not by the threads that are free: shares decide rounding)
        size = max(1, min(_PIECE_BYTES // image_bytes, -(-batch // 4)))
    shares = range(0, batch, size)
    totals = None
    if kind == "weights_gradient":
        totals = np.zeros((len(shares), *weights.shape), np.float32)
    addresses = [0 if a is None else address_of(a) for a in (x, y, grad, out)]
    steps = [image_bytes, places_bytes, places_bytes, places_bytes]
    if kind.endswith("gradient"):
        steps[3] = image_bytes
    weights_at = address_of(weights if totals is None else totals) if weights is not None else 0
    calls = []
    for number, first in enumerate(shares):
        here = [a + first * step if a else 0 for a, step in zip(addresses, steps, strict=True)]
        table = _pack(
            *here,
            *(min(size, batch - first), image_bytes, line_bytes, place_bytes),
            *(line_bytes * height.dilation, place_bytes * width.dilation),
            *(address_of(lines), height.count, address_of(places), width.count),
            weights_at + (number * weights.nbytes if totals is not None else 0),
            width.taps * place_bytes,
        )
        calls.append((code[kind], table))
    run_calls(calls)
    if totals is not None:
        np.add.reduce(totals, 0, out=out)
    return True


# ---- the text ---------------------------------------------------------------------------------

_MASK = f"<{LANES} x i1>"


def _spread(number: str) -> str:
    return f"<{', '.join([f'float {number}'] * LANES)}>"


class _Place(NamedTuple):
    """A place: the distances of its first tap, of itself and of the first tap's weights from the
    starts of their arrays, in bytes; how many taps it has in height and in width."""

    image: str
    small: str
    weight: str
    high: str
    wide: str


#: (address, address of the weights, what was made of the taps before) -> with this one
_Tap = Callable[[str, str, str], str]


def source() -> str:
    """All functions in LLVM's assembly language; their one argument is the table of `_FIELDS`."""
    declared = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
    declared += f"declare {VECTOR} @llvm.fma.v{LANES}f32({VECTOR}, {VECTOR}, {VECTOR})\n"
    return "".join([*(_function(kind) for kind in _KINDS), DECLARED, declared])


def _function(kind: str) -> str:
    w = Writer(f"void @{kind}(ptr %table)")
    field = {
        name: w.put(f"load i64, ptr {w.put(f'getelementptr i64, ptr %table, i64 {i}')}")
        for i, name in enumerate(_FIELDS)
    }
    makes_image = kind.endswith("gradient") and kind != "weights_gradient"
    row_bytes = w.op("mul", field["wide"], field["place_bytes"])
    small_bytes = w.op("mul", field["high"], row_bytes)

    def entry(table: str, i: str) -> list[str]:
        start = w.pointer(w.at(field[table], (i, str(_ENTRY_BYTES))))
        places = [w.put(f"getelementptr i64, ptr {start}, i64 {k}") for k in range(3)]
        return [w.put(f"load i64, ptr {place}") for place in places]

    def over_taps(at: _Place, name: str, type_: str, start: str, tap: _Tap) -> str:
        """``tap(address, address of the weights, value)`` for all taps of a place."""
        first = w.op("add", field[name], at.image)
        weight = w.op("add", field["weights"], at.weight)

        def line(i: str, value: str) -> str:
            here = w.at(first, (i, field["tap_line"]))
            weights = w.at(weight, (i, field["weights_line"]))

            def one(j: str, value: str) -> str:
                own = w.at(weights, (j, field["place_bytes"]))
                return tap(w.at(here, (j, field["tap_place"])), own, value)

            return w.fold(at.wide, type_, value, one)

        return w.fold(at.high, type_, start, line)

    def count(high: str, wide: str) -> str:
        """The number of taps, in all lanes."""
        number = w.put(f"uitofp i64 {w.op('mul', high, wide)} to float")
        first = w.put(f"insertelement {VECTOR} poison, float {number}, i64 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        return w.put(f"shufflevector {VECTOR} {first}, {VECTOR} poison, {zeros}")

    def vector(at: _Place, mask: str) -> None:
        """One place's vector of channels."""

        def small(name: str) -> str:
            return w.op("add", field[name], at.small)

        def product(a: str, b: str, plus: str) -> str:
            vectors = f"{VECTOR} {a}, {VECTOR} {b}, {VECTOR} {plus}"
            return w.put(f"call {VECTOR} @llvm.fma.v{LANES}f32({vectors})")

        def add_to(address: str, number: str) -> None:
            total = w.put(f"fadd {VECTOR} {w.load(address, mask)}, {number}")
            w.store_masked(total, address, mask)

        zero = "zeroinitializer"
        if kind == "max":

            def larger(address: str, _: str, value: str) -> str:
                v = w.load(address, mask)
                more = w.put(f"fcmp ogt {VECTOR} {v}, {value}")
                nan = w.put(f"fcmp uno {VECTOR} {v}, {v}")
                takes = w.put(f"or {_MASK} {more}, {nan}")
                return w.put(f"select {_MASK} {takes}, {VECTOR} {v}, {VECTOR} {value}")

            lowest = _spread("0xFFF0000000000000")
            w.store_masked(over_taps(at, "x", VECTOR, lowest, larger), small("out"), mask)
        elif kind == "average":

            def plus(address: str, _: str, value: str) -> str:
                return w.put(f"fadd {VECTOR} {value}, {w.load(address, mask)}")

            total = over_taps(at, "x", VECTOR, zero, plus)
            mean = w.put(f"fdiv {VECTOR} {total}, {count(at.high, at.wide)}")
            w.store_masked(mean, small("out"), mask)
        elif kind == "average_gradient":
            grad = w.load(small("grad"), mask)
            share = w.put(f"fdiv {VECTOR} {grad}, {count(at.high, at.wide)}")

            def give_share(address: str, _: str, value: str) -> str:
                add_to(address, share)
                return value

            over_taps(at, "out", VECTOR, zero, give_share)
        elif kind == "max_gradient":
            highest, grad = w.load(small("y"), mask), w.load(small("grad"), mask)
            distance = w.op("sub", field["x"], field["out"])

            def give_first(address: str, _: str, found: str) -> str:
                v = w.load(w.op("add", address, distance), mask)
                equal = w.put(f"fcmp oeq {VECTOR} {v}, {highest}")
                both = w.put(f"or {_MASK} {found}, {equal}")
                first = w.put(f"xor {_MASK} {both}, {found}")
                # A factor, not a choice: an infinite gradient times zero is NaN, as by slices.
                one = _spread("1.0")
                factor = w.put(f"select {_MASK} {first}, {VECTOR} {one}, {VECTOR} {zero}")
                add_to(address, w.put(f"fmul {VECTOR} {grad}, {factor}"))
                return both

            over_taps(at, "out", _MASK, zero, give_first)
        elif kind == "weighted":

            def times(address: str, weight: str, value: str) -> str:
                return product(w.load(address, mask), w.load(weight, mask), value)

            w.store_masked(over_taps(at, "x", VECTOR, zero, times), small("out"), mask)
        else:
            grad = w.load(small("grad"), mask)

            def give(address: str, weight: str, value: str) -> str:
                other, to = (weight, address) if makes_image else (address, weight)
                total = product(grad, w.load(other, mask), w.load(to, mask))
                w.store_masked(total, to, mask)
                return value

            over_taps(at, "out" if makes_image else "x", VECTOR, zero, give)

    def one_image(number: str) -> int:
        image = w.op("mul", number, field["image_bytes"])
        small = w.op("mul", number, small_bytes)
        if makes_image:
            begin, size = w.pointer(w.op("add", field["out"], image)), field["image_bytes"]
            w.lines.append(
                f"  call void @llvm.memset.p0.i64(ptr {begin}, i8 0, i64 {size}, i1 false)"
            )

        def line(i: str) -> int:
            start, high, tap = entry("lines", i)
            row = w.at(small, (i, row_bytes))
            line_at = w.op("add", image, start)
            line_weight = w.op("mul", tap, field["weights_line"])

            def place(j: str) -> int:
                shift, wide, tap = entry("places", j)
                first = w.op("add", line_at, shift)
                here = w.at(row, (j, field["place_bytes"]))
                weight = w.at(line_weight, (tap, field["place_bytes"]))

                def channels(c: str) -> str:
                    left = w.op("sub", field["place_bytes"], c)
                    lanes = w.op("lshr", w.least(left, LANES * NUMBER_BYTES), 2)
                    bits = w.op("lshr", str(ALL_LANES), w.op("sub", str(LANES), lanes))
                    image, small, own = (w.op("add", x, c) for x in (first, here, weight))
                    vector(_Place(image, small, own, high, wide), w.mask(bits))
                    return str(LANES * NUMBER_BYTES)

                w.loop(field["place_bytes"], channels)
                return 1

            w.loop(field["wide"], place)
            return 1

        w.loop(field["high"], line)
        return 1

    w.loop(field["images"], one_image)
    return w.text()
