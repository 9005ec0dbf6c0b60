"""Linear maps of one axis of an image, in machine code: what resizing is made of.

A map makes each place of an axis from a few places of another: the weights of a sparse matrix. Two
of them, one after the other, resize images [batch, height, width, channels] or give the gradient.

Along height whole lines are added up, times a number for each. Along width that is so for places
with many channels; with few, a vector holds several places, and what it needs lies in 32 or 64 numbers
side by side, from which each tap takes its own by permutations (or anywhere, by a gather, where
images get much smaller). What a vector needs is written down once for a map and a number of
channels. Weights that are zero are left out.

Single precision, on processors with AVX-512. Measured, two threads, 16 images of 64 x 64 x 3 to
128 x 128, bilinear: 3.2 ms as products with matrices, 0.2 ms here.
"""

from __future__ import annotations

import functools
import struct
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.jit.avx512_microkernel import LANES, NUMBER_BYTES, VECTOR_BYTES, is_available
from dataflow.kernels.jit.compiler import JitEntry, address_of, compile_source
from dataflow.kernels.jit.llvm_builder import ALL_LANES, DECLARED, VECTOR, Writer
from dataflow.kernels.jit.thread_pool import run_calls

#: Below this many results NumPy's products cost no more.
SMALL_ELEMENTS = 1024
#: From here on the team's threads share the lines; pieces of about so many bytes.
_SHARED_BYTES, _PIECE_BYTES = 1 << 18, 1 << 17
#: With fewer channels a vector holds several places.
_FEW_CHANNELS = 12
_LINES = ("x", "out", "images", "x_image", "out_image", "line", "first", "last", "starts", "taps")
_PLACES = ("x", "out", "lines", "x_line", "out_line", "length", "heads", "masks", "lanes", "taps")
_pack = struct.Struct("q" * len(_LINES)).pack
_HEAD_BYTES = 16
_TAP = np.dtype([("source", np.int64), ("weight", np.float32), ("", np.int32)])
_TAP_BYTES = _TAP.itemsize
#: The functions for places that lie in so many vectors side by side.
_NEAR = {"in_two": 2, "in_four": 4}
_INDICES = f"<{LANES} x i32>"
_MASK = f"<{LANES} x i1>"


class _Lines(NamedTuple):
    """For each result, from which tap on its own begin (one more at the end); the taps, each the
    number of its line and a weight."""

    starts: Any
    taps: Any


class _Places(NamedTuple):
    """For each vector of results: where its numbers begin and which exist, up to 64; for each of its
    taps the lanes that have one, the numbers' places and their weights."""

    kind: str
    heads: Any
    masks: Any
    lanes: Any


class LinearMap:
    """A map by its matrix [results, places]."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.is_identity = matrix.shape[0] == matrix.shape[1] and bool(
            (matrix == np.eye(matrix.shape[0], dtype=matrix.dtype)).all()
        )
        self._places: dict[int, _Places] = {}

    @functools.cached_property
    def lines(self) -> _Lines:
        """For lines as wholes."""
        results, sources = np.nonzero(self.matrix)
        starts = np.searchsorted(results, np.arange(self.matrix.shape[0] + 1)).astype(np.int64)
        taps = np.zeros(len(results), _TAP)
        taps["source"], taps["weight"] = sources, self.matrix[results, sources]
        return _Lines(starts, taps)

    def places(self, channels: int) -> _Places:
        """For vectors of several places with so many channels."""
        found = self._places.get(channels)
        if found is None:
            found = self._places[channels] = _places_of(self.matrix, self.lines, channels)
        return found


def _places_of(matrix: Any, lines: _Lines, channels: int) -> _Places:
    length, size = matrix.shape[0] * channels, matrix.shape[1] * channels
    vectors = -(-length // LANES)
    counts = np.diff(lines.starts)
    taps = max(1, int(counts.max(initial=0)))
    result, channel = np.divmod(np.arange(vectors * LANES), channels)
    result = np.minimum(result, matrix.shape[0] - 1)
    tap = np.arange(taps)
    has = tap < counts[result][:, None]
    has &= (np.arange(vectors * LANES) < length)[:, None]
    number = np.minimum(lines.starts[result][:, None] + tap, max(0, len(lines.taps) - 1))
    source = lines.taps["source"][number] * channels + channel[:, None]
    weight = np.where(has, lines.taps["weight"][number], 0)
    shape = vectors, LANES, taps
    source, has = source.reshape(shape), has.reshape(shape)
    first = np.where(has, source, size).min((1, 2))
    last = np.where(has, source, 0).max((1, 2))
    reach = int((last - first).max()) + 1
    kind = next((name for name, near in _NEAR.items() if reach <= near * LANES), "gathered")
    first = np.zeros_like(first) if kind == "gathered" else np.minimum(first, size - 1)
    heads = np.empty((vectors, 2), np.int64)
    heads[:, 0] = first * NUMBER_BYTES
    exist = [(1 << min(4 * LANES, int(n))) - 1 for n in size - first]
    heads[:, 1] = np.array(exist, np.uint64).view(np.int64)
    masks = (has.transpose(0, 2, 1) << np.arange(LANES)).sum(-1).astype(np.int64)
    lanes = np.empty((vectors, taps, 2, LANES), np.int32)
    lanes[:, :, 0] = np.where(has, source - first[:, None, None], 0).transpose(0, 2, 1)
    lanes[:, :, 1] = weight.reshape(shape).transpose(0, 2, 1).astype(np.float32).view(np.int32)
    return _Places(kind, heads, masks, lanes)


def compile_maps() -> dict[str, int]:
    """The addresses of the functions. Raises `ImportError` where `is_available` is false."""
    if not is_available():
        raise ImportError("llvmlite is not installed, or the processor has no AVX-512")
    names = ("lines", "gathered", *_NEAR)
    return dict(zip(names, compile_source(source(), *names), strict=True))


_code: JitEntry[dict[str, int]] = JitEntry(compile_maps, at_once=True)


def resample(rows: LinearMap, columns: LinearMap, images: Any) -> Any:
    """Images [batch, results of ``rows``, results of ``columns``, channels]; ``None`` where that is
    not possible (yet)."""
    n, height, width, channels = images.shape
    out_height, out_width = rows.matrix.shape[0], columns.matrix.shape[0]
    out_size = n * out_height * out_width * channels
    if out_size < SMALL_ELEMENTS or not images.size or images.dtype.char != "f":
        return None
    code = _code.get()
    if code is None:
        return None
    images = np.ascontiguousarray(images)
    # The map that makes more of less comes last.
    if out_height * width <= height * out_width:
        return _along_width(code, columns, _along_height(code, rows, images))
    return _along_height(code, rows, _along_width(code, columns, images))


class Neighbours(NamedTuple):
    """For each result of an axis, [boxes, results]: two places, and the share of the second."""

    first: Any
    second: Any
    share: Any

    def taps(self) -> Any:
        """As `_Lines` has them, [boxes, results, 2]."""
        taps = np.zeros((*self.first.shape, 2), _TAP)
        taps["source"][..., 0], taps["source"][..., 1] = self.first, self.second
        taps["weight"][..., 0], taps["weight"][..., 1] = 1 - self.share, self.share
        return taps


def crop(images: Any, which: Any, rows: Neighbours, columns: Neighbours) -> Any:
    """Boxes [boxes, results of ``rows``, results of ``columns``, channels] of the images that
    ``which`` names; ``None`` where that is not possible (yet)."""
    _, height, width, channels = images.shape
    (boxes, out_height), out_width = rows.first.shape, columns.first.shape[1]
    if boxes * out_height * out_width * channels < SMALL_ELEMENTS or images.dtype.char != "f":
        return None
    code = _code.get()
    if code is None:
        return None
    images = np.ascontiguousarray(images)
    line_bytes, place_bytes = width * channels * NUMBER_BYTES, channels * NUMBER_BYTES
    out_line = out_width * place_bytes
    between = np.empty((boxes, out_height, width * channels), np.float32)
    out = np.empty((boxes, out_height, out_width, channels), np.float32)
    starts = np.arange(0, 2 * max(out_height, out_width) + 1, 2)
    high, wide = rows.taps(), columns.taps()
    begins = [address_of(a) for a in (images, between, out, starts, high, wide)]
    calls = []
    for box, image in enumerate(which.tolist()):
        at, made, to = (
            begins[0] + image * height * line_bytes,
            begins[1] + box * out_height * line_bytes,
            begins[2] + box * out_height * out_line,
        )
        taps = begins[4] + box * high[0].nbytes, begins[5] + box * wide[0].nbytes
        lines = _pack(at, made, 1, 0, 0, line_bytes, 0, out_height, begins[3], taps[0])
        strides = line_bytes, out_line, place_bytes
        places = _pack(made, to, out_height, *strides, 0, out_width, begins[3], taps[1])
        calls += [(code["lines"], lines), (code["lines"], places)]
    run_calls(calls, 2)
    return out


def _pieces(count: int, each_bytes: int) -> list[tuple[int, int]]:
    size = count
    if count * each_bytes >= _SHARED_BYTES:
        size = max(1, _PIECE_BYTES // each_bytes)
    return [(first, min(first + size, count)) for first in range(0, count, size)]


def _along_height(code: dict[str, int], given: LinearMap, images: Any) -> Any:
    """Each line of the result from a few lines."""
    if given.is_identity:
        return images
    results, (n, _, width, channels) = given.matrix.shape[0], images.shape
    out = np.empty((n, results, width, channels), np.float32)
    line_bytes = width * channels * NUMBER_BYTES
    strides = images.nbytes // n, out.nbytes // n
    _call_lines(code, given.lines, images, out, n, strides, results, line_bytes)
    return out


def _call_lines(
    code: dict[str, int],
    given: _Lines,
    x: Any,
    out: Any,
    images: int,
    strides: tuple[int, int],
    results: int,
    line_bytes: int,
) -> None:
    """``lines`` of so many images, by pieces of images, or of their results where they are large."""
    tables = address_of(given.starts), address_of(given.taps) if len(given.taps) else 0
    by_image = results * line_bytes <= _PIECE_BYTES
    calls = []
    pieces = (
        _pieces(images, results * line_bytes) if by_image else [(i, i + 1) for i in range(images)]
    )
    within = [(0, results)] if by_image else _pieces(results, line_bytes)
    for first, last in pieces:
        begin = address_of(x) + first * strides[0], address_of(out) + first * strides[1]
        for start, end in within:
            table = _pack(*begin, last - first, *strides, line_bytes, start, end, *tables)
            calls.append((code["lines"], table))
    run_calls(calls)


def _along_width(code: dict[str, int], given: LinearMap, images: Any) -> Any:
    """Each place of the result from a few places."""
    if given.is_identity:
        return images
    results, (n, height, width, channels) = given.matrix.shape[0], images.shape
    out = np.empty((n, height, results, channels), np.float32)
    lines, place_bytes = n * height, channels * NUMBER_BYTES
    x_line, out_line = width * place_bytes, results * place_bytes
    if channels >= _FEW_CHANNELS:
        strides = x_line, out_line
        _call_lines(code, given.lines, images, out, lines, strides, results, place_bytes)
        return out
    places = given.places(channels)
    tables = [address_of(a) for a in (places.heads, places.masks, places.lanes)]
    calls = []
    for first, last in _pieces(lines, max(x_line, out_line)):
        begin = address_of(images) + first * x_line, address_of(out) + first * out_line
        size = results * channels, *tables, places.masks.shape[1]
        calls.append((code[places.kind], _pack(*begin, last - first, x_line, out_line, *size)))
    run_calls(calls)
    return out


# ---- the text ---------------------------------------------------------------------------------

_FMA = f"@llvm.fma.v{LANES}f32"
_PERMUTE = "@llvm.x86.avx512.vpermi2var.ps.512"
_GATHER = f"@llvm.masked.gather.v{LANES}f32.v{LANES}p0"


def source() -> str:
    """All functions in LLVM's assembly language; their argument is a table of fields."""
    declared = (
        f"declare {VECTOR} {_FMA}({VECTOR}, {VECTOR}, {VECTOR})\n"
        f"declare {VECTOR} {_PERMUTE}({VECTOR}, {_INDICES}, {VECTOR})\n"
        f"declare {VECTOR} {_GATHER}(<{LANES} x ptr>, i32, {_MASK}, {VECTOR})\n"
    )
    functions = [_lines_function(), _places_function("gathered", 0)]
    functions += [_places_function(name, near) for name, near in _NEAR.items()]
    return "".join([*functions, DECLARED, declared])


def _fields(w: Writer, names: tuple[str, ...]) -> dict[str, str]:
    return {
        name: w.put(f"load i64, ptr {w.put(f'getelementptr i64, ptr %table, i64 {i}')}")
        for i, name in enumerate(names)
    }


def _number(w: Writer, address: str) -> str:
    return w.put(f"load i64, ptr {w.pointer(address)}")


def _first_lanes(w: Writer, count: str) -> str:
    """A mask of so many lanes, at most all."""
    bits = w.op("lshr", str(ALL_LANES), w.op("sub", str(LANES), w.least(count, LANES)))
    return w.mask(bits)


def _lines_function() -> str:
    w = Writer("void @lines(ptr %table)")
    f = _fields(w, _LINES)

    def image(number: str) -> int:
        x, out = w.at(f["x"], (number, f["x_image"])), w.at(f["out"], (number, f["out_image"]))

        def line(i: str) -> int:
            result = w.op("add", i, f["first"])
            entry = w.at(f["starts"], (result, "8"))
            begin, end = _number(w, entry), _number(w, w.op("add", entry, 8))
            count, to = w.op("sub", end, begin), w.at(out, (result, f["line"]))
            taps = w.at(f["taps"], (begin, str(_TAP_BYTES)))

            def vector(at: str) -> str:
                mask = _first_lanes(w, w.op("lshr", w.op("sub", f["line"], at), 2))
                column = w.op("add", x, at)

                def tap(t: str, total: str) -> str:
                    own = w.at(taps, (t, str(_TAP_BYTES)))
                    here = w.load(w.at(column, (_number(w, own), f["line"])), mask)
                    weight = w.put(f"load float, ptr {w.pointer(w.op('add', own, 8))}")
                    one = w.put(f"insertelement {VECTOR} poison, float {weight}, i64 0")
                    zeros = f"{_INDICES} zeroinitializer"
                    every = w.put(f"shufflevector {VECTOR} {one}, {VECTOR} poison, {zeros}")
                    operands = f"{VECTOR} {here}, {VECTOR} {every}, {VECTOR} {total}"
                    return w.put(f"call {VECTOR} {_FMA}({operands})")

                total = w.fold(count, VECTOR, "zeroinitializer", tap)
                w.store_masked(total, w.op("add", to, at), mask)
                return str(VECTOR_BYTES)

            w.loop(f["line"], vector)
            return 1

        w.loop(w.op("sub", f["last"], f["first"]), line)
        return 1

    w.loop(f["images"], image)
    return w.text()


def _places_function(name: str, near: int) -> str:
    """With ``near``, what a vector needs lies in so many vectors side by side."""
    w = Writer(f"void @{name}(ptr %table)")
    f = _fields(w, _PLACES)
    vectors = w.quotient_up(f["length"], LANES)

    def permuted(pair: list[str], places: str) -> str:
        operands = f"{VECTOR} {pair[0]}, {_INDICES} {places}, {VECTOR} {pair[1]}"
        return w.put(f"call {VECTOR} {_PERMUTE}({operands})")

    def chosen(mask: str, one: str, other: str) -> str:
        return w.put(f"select {_MASK} {mask}, {VECTOR} {one}, {VECTOR} {other}")

    def taken(begin: str, parts: list[str], places: str, mask: str) -> str:
        if not near:
            where = w.put(f"getelementptr float, ptr {w.pointer(begin)}, {_INDICES} {places}")
            return w.put(
                f"call {VECTOR} {_GATHER}(<{LANES} x ptr> {where}, i32 {NUMBER_BYTES}, "
                f"{_MASK} {mask}, {VECTOR} zeroinitializer)"
            )
        found = permuted(parts[:2], places)
        if near > 2:
            half = f"<{', '.join([f'i32 {2 * LANES}'] * LANES)}>"
            bit = w.put(f"and {_INDICES} {places}, {half}")
            is_far = w.put(f"icmp ne {_INDICES} {bit}, zeroinitializer")
            found = chosen(is_far, permuted(parts[2:], places), found)
        return chosen(mask, found, "zeroinitializer")

    def line(number: str) -> int:
        x, out = w.at(f["x"], (number, f["x_line"])), w.at(f["out"], (number, f["out_line"]))

        def vector(v: str) -> int:
            head = w.at(f["heads"], (v, str(_HEAD_BYTES)))
            begin = w.op("add", x, _number(w, head))
            bits = _number(w, w.op("add", head, 8))
            parts = []
            for i in range(near):
                exist = w.mask(w.op("lshr", bits, i * LANES))
                parts.append(w.load(w.op("add", begin, i * VECTOR_BYTES), exist))
            first = w.op("mul", v, f["taps"])

            def tap(t: str, total: str) -> str:
                entry = w.op("add", first, t)
                mask = w.mask(_number(w, w.at(f["masks"], (entry, "8"))))
                lanes = w.at(f["lanes"], (entry, str(2 * VECTOR_BYTES)))
                places = w.put(f"load {_INDICES}, ptr {w.pointer(lanes)}, align 4")
                at = w.pointer(w.op("add", lanes, VECTOR_BYTES))
                weights = w.put(f"load {VECTOR}, ptr {at}, align 4")
                here = taken(begin, parts, places, mask)
                operands = f"{VECTOR} {here}, {VECTOR} {weights}, {VECTOR} {total}"
                return w.put(f"call {VECTOR} {_FMA}({operands})")

            total = w.fold(f["taps"], VECTOR, "zeroinitializer", tap)
            start = w.op("mul", v, LANES)
            left = _first_lanes(w, w.op("sub", f["length"], start))
            w.store_masked(total, w.at(out, (start, str(NUMBER_BYTES))), left)
            return 1

        w.loop(vectors, vector)
        return 1

    w.loop(f["lines"], line)
    return w.text()
