"""Pooling and depthwise convolution in machine code: places one by one, channels by vectors.

For images [batch, height, width, channels] in single precision, on processors with AVX-512. A place
looks at the taps of its window that lie on the image, whatever the stride and the padding. Where
windows overlap, gradients are added up image by image, while the image lies in the cache.

A kind of work has one function. ``max``, ``average`` and ``weighted`` make places [batch, places,
places, channels] of images, their ``_gradient``s images of places; ``weights_gradient`` adds up
what all places give to the weights [taps, taps, channels]; for up to `MOST_TAPS_WIDE` taps along
width it has functions that keep their sums in registers. Those called ``_many`` are for places with
several channels for each of the image's, side by side.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from dataflow.kernels.jit.avx512_microkernel import LANES, NUMBER_BYTES, is_available
from dataflow.kernels.jit.compiler import JitEntry, address_of, compile_source
from dataflow.kernels.jit.thread_pool import run_calls
from dataflow.kernels.jit.window_codegen import FIELDS, KINDS, MOST_TAPS_WIDE, SPREAD, source
from dataflow.windows import Window

#: Below this many numbers NumPy's calls cost no more.
SMALL_ELEMENTS = 4096
#: From here on the team's threads share the images; pieces of about so many bytes.
_SHARED_BYTES, _PIECE_BYTES = 1 << 20, 1 << 19
_pack = struct.Struct("q" * len(FIELDS)).pack


def compile_kind(kind: str) -> int:
    """The address of a function. Raises `ImportError` where `is_available` is false."""
    if not is_available():
        raise ImportError("llvmlite is not installed, or the processor has no AVX-512")
    return compile_source(source(kind), kind)[0]


_code = {kind: JitEntry(functools.partial(compile_kind, kind), at_once=True) for kind in KINDS}


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


@functools.lru_cache(64)
def _spread_of(channels: int, several: int) -> Any:
    """How vectors of places' channels are made of the image's, each ``several`` times."""
    places = channels * several
    firsts = np.arange(0, places, LANES)
    table = np.zeros(len(firsts), SPREAD)
    first = firsts // several
    table["at"] = first * NUMBER_BYTES
    table["lanes"] = (1 << np.minimum(channels - first, LANES)) - 1
    lanes = np.minimum(firsts[:, None] + np.arange(LANES), places - 1)
    table["order"] = lanes // several - first[:, None]
    return table


def _inside(w: Window) -> range:
    """The places all of whose taps lie on the axis."""
    inside = [w.inside(tap)[0] for tap in range(w.taps)]
    first, last = max(s.start for s in inside), min(s.stop for s in inside)
    return range(first, max(first, last))


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
    its formula has. All are contiguous and of one type. ``weights`` [taps, taps, channels] may have
    several channels for each of the image's, as places then have.
    """
    image = out if x is None else x
    given = [a for a in (x, y, grad, weights, out) if a is not None]
    if image.size < SMALL_ELEMENTS or not all(
        a.dtype.char == "f" and a.flags.c_contiguous for a in given
    ):
        return False
    batch, _, columns, channels = image.shape
    place_bytes = channels * NUMBER_BYTES
    several = 1 if weights is None else weights.shape[2] // channels
    small_place = several * place_bytes
    line_bytes = columns * place_bytes
    lines, places = _taps(height, line_bytes), _taps(width, place_bytes)
    if weights is None and not (lines[:, 1].all() and places[:, 1].all()):
        return False  # windows that lie on padding alone: kernels differ in what they give
    image_bytes = image.nbytes // batch
    places_bytes = height.count * width.count * small_place
    size = batch
    if image.nbytes >= _SHARED_BYTES:  # (not by the threads that are free: shares decide rounding)
        size = max(1, min(_PIECE_BYTES // image_bytes, -(-batch // 4)))
    shares = range(0, batch, size)
    inside = _inside(width)
    is_sum = kind == "weights_gradient"
    if is_sum and width.taps <= MOST_TAPS_WIDE:
        kind = f"{kind}_{width.taps}"
    makes_image = kind.endswith("_gradient") and not is_sum
    kind += "_many" if several > 1 else ""
    code = _code[kind].get()
    if code is None:
        return False
    totals = None
    if is_sum:
        totals = np.zeros((len(shares), *weights.shape), np.float32)
    addresses = [0 if a is None else address_of(a) for a in (x, y, grad, out)]
    steps = [image_bytes, places_bytes, places_bytes, places_bytes]
    if makes_image:
        steps[3] = image_bytes
    spread = None
    if several > 1:
        spread = _spread_of(channels, several)
        if makes_image:  # one after the other, as convolutions of their own
            parts = weights.reshape(*weights.shape[:2], channels, several).transpose(3, 0, 1, 2)
            weights = np.ascontiguousarray(parts)
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
            width.taps * (place_bytes if makes_image else small_place),
            *(small_place, several, height.taps * width.taps * place_bytes),
            *(0 if spread is None else address_of(spread), height.taps, width.taps),
            *(inside.start, inside.stop, width.stride * place_bytes),
        )
        calls.append((code, table))
    run_calls(calls)
    if totals is not None:
        np.add.reduce(totals, 0, out=out)
    return True
