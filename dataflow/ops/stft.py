"""Signals in frames: cutting, windows, the short-time Fourier transform."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import maximum
from dataflow.ops.casts import cast
from dataflow.ops.sequences import range_
from dataflow.ops.sources import constant
from dataflow.ops.spectral import rfft
from dataflow.shapes import normalize_axis, unknown_shape


def frame(
    signal: Any,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Overlapping pieces of an axis: shape [..., size, ...] -> [..., num_frames, frame_length, ...].

    Frame i starts at ``i * frame_step``. What does not fill a frame is dropped, or with ``pad_end``
    filled up with ``pad_value``. Where the size of the axis is not known, it is asked at run time.
    """
    with op_scope(name, "frame", [signal]):
        x = convert_to_tensor(signal)
        if x.dims == ():
            raise ValueError("signal needs an axis to be cut along, got a scalar")
        frame_length, frame_step, pad_value = (
            _number(value, label)
            for value, label in (
                (frame_length, "frame_length"),
                (frame_step, "frame_step"),
                (pad_value, "pad_value"),
            )
        )
        sizes_are_known = not isinstance(frame_length, Tensor) and not isinstance(
            frame_step, Tensor
        )
        if (
            x.dims is None
            or x.dims[normalize_axis(axis, len(x.dims))] is None
            or not sizes_are_known
        ):
            return _frame_at_run(x, frame_length, frame_step, pad_end, pad_value, axis)
        at = normalize_axis(axis, len(x.dims))
        size = x.dims[at]
        assert size is not None
        if pad_end:
            count = max(0, math.ceil(size / frame_step))
            missing = max(0, frame_length + frame_step * (count - 1) - size)
            if count and missing:
                paddings = [[0, missing if i == at else 0] for i in range(len(x.dims))]
                x = array_ops.pad(x, paddings, constant_values=pad_value)
        else:
            count = max(0, 1 + (size - frame_length) // frame_step)
        starts = np.arange(count, dtype=np.int32)[:, None] * frame_step
        numbers = starts + np.arange(frame_length, dtype=np.int32)
        return array_ops.gather(x, numbers, axis=at)


def _number(value: Any, label: str) -> Any:
    """A scalar: as it is, or the number that the graph knows. Raises `ValueError` for another rank."""
    from dataflow.ops.tensor_values import constant_value

    tensor = value if isinstance(value, Tensor) else np.asarray(value)
    if len(
        tensor.shape.as_list() if isinstance(tensor, Tensor) and tensor.dims is not None else ()
    ) or (isinstance(tensor, np.ndarray) and tensor.ndim):
        raise ValueError(f"{label} must be a scalar, got shape {tensor.shape}")
    if not isinstance(tensor, Tensor):
        return value
    known = constant_value(tensor)
    return tensor if known is None else known.item()


def _frame_at_run(
    x: Tensor, frame_length: Any, frame_step: Any, pad_end: bool, pad_value: Any, axis: int
) -> Tensor:
    """`frame` along an axis of unknown size."""
    rank = array_ops.rank(x)
    at: Any = axis if axis >= 0 else rank + axis
    if x.dims is not None:
        at = normalize_axis(axis, len(x.dims))
    dims = None if x.dims is None else list(x.dims)
    size = array_ops.shape(x)[at]
    if pad_end:
        count = maximum(0, -(-size // frame_step))
        missing = maximum(0, frame_length + frame_step * (count - 1) - size)
        after = array_ops.one_hot(at, rank, missing, 0, dtype=dtypes.int32)
        paddings = array_ops.stack([array_ops.zeros_like(after), after], axis=1)
        padded = None if dims is None else [*dims[:at], None, *dims[at + 1 :]]
        x = array_ops.pad(x, paddings, constant_values=pad_value)
        x.set_shape(unknown_shape() if padded is None else padded)
    else:
        count = maximum(0, 1 + (size - frame_length) // frame_step)
    starts = range_(count)[:, None] * frame_step
    found = array_ops.gather(x, starts + range_(frame_length), axis=at)
    if dims is not None:
        length = None if isinstance(frame_length, Tensor) else frame_length
        whole = dims[at] if pad_end and not isinstance(frame_step, Tensor) else None
        frames = None if whole is None else -(-whole // frame_step)
        found.set_shape([*dims[:at], frames, length, *dims[at + 1 :]])
    return found


def overlap_and_add(signal: Any, frame_step: int, name: str | None = None) -> Tensor:
    """Frames put back at their places and added: [..., frames, length] -> [..., size].

    ``size`` is ``(frames - 1) * frame_step + length``.
    """
    with op_scope(name, "overlap_and_add", [signal]):
        x = convert_to_tensor(signal)
        if x.dims is None or len(x.dims) < 2:
            raise ValueError("overlap_and_add needs frames of known rank, at least 2")
        rank = len(x.dims)
        frames: Any = x.dims[-2]
        length: Any = x.dims[-1]
        if frames is None or length is None:
            now = array_ops.shape(x)
            frames, length = now[rank - 2], now[rank - 1]
            places: Any = range_(frames)[:, None] * frame_step + range_(length)
        else:
            numbers = np.arange(frames)[:, None] * frame_step + np.arange(length)
            places = constant(numbers.astype(np.int32))
        # Segments are summed over the first axis: the frames go there, flat.
        order = [rank - 2, rank - 1, *range(rank - 2)]
        leading = array_ops.shape(x)[:-2]
        moved = array_ops.transpose(x, order)
        flat = array_ops.reshape(moved, array_ops.concat([[frames * length], leading], 0))
        from dataflow.ops.segment import unsorted_segment_sum

        size = (frames - 1) * frame_step + length
        summed = unsorted_segment_sum(flat, array_ops.reshape(places, [-1]), size)
        return array_ops.transpose(summed, [*range(1, rank - 1), 0])


def _raised_cosine(
    window_length: Any, periodic: bool, dtype: DTypeLike, a: float, b: float, name: str
) -> Tensor:
    length = int(window_length)
    dtype = as_dtype(dtype)
    with op_scope(None, name, []):
        if length == 1:
            return constant(np.ones(1), dtype)
        n = length - 1 + (1 if periodic and length % 2 == 0 else 0)
        count = np.arange(length)
        return constant(a - b * np.cos(2 * np.pi * count / n), dtype)


def hann_window(
    window_length: int,
    periodic: bool = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """A raised cosine from 0 to 1, [window_length]; periodic windows of even length end early."""
    return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5, name or "hann_window")


def hamming_window(
    window_length: int,
    periodic: bool = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """A raised cosine from 0.08 to 1, [window_length]."""
    return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46, name or "hamming_window")


def stft(
    signals: Any,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: [..., size] -> complex [..., frames, fft_length // 2 + 1].

    ``fft_length`` is by default the power of two at or above ``frame_length``.
    """
    with op_scope(name, "stft", [signals]):
        x = convert_to_tensor(signals)
        if fft_length is None:
            fft_length = 2 ** math.ceil(math.log2(frame_length))
        pieces = frame(x, frame_length, frame_step, pad_end)
        if window_fn is not None:
            pieces = pieces * cast(window_fn(frame_length, dtype=x.dtype), x.dtype)
        return rfft(pieces, [fft_length])  # type: ignore[no-any-return]


def kaiser_window(
    window_length: int,
    beta: float = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """A Kaiser window, [window_length]; ``beta`` makes it narrower."""
    with op_scope(name, "kaiser_window", []):
        return constant(np.kaiser(int(window_length), float(beta)), as_dtype(dtype))


def kaiser_bessel_derived_window(
    window_length: int,
    beta: float = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The window of even length that a Kaiser window's sums make; with `mdct` it reconstructs."""
    with op_scope(name, "kaiser_bessel_derived_window", []):
        sums = np.cumsum(np.kaiser(int(window_length) // 2 + 1, float(beta)))
        half = np.sqrt(sums[:-1] / sums[-1])
        return constant(np.concatenate([half, half[::-1]]), as_dtype(dtype))


def vorbis_window(
    window_length: int, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """``sin(pi/2 sin(pi (n + 1/2) / window_length)^2)``, [window_length]."""
    with op_scope(name, "vorbis_window", []):
        angles = np.pi / int(window_length) * (np.arange(int(window_length)) + 0.5)
        return constant(np.sin(np.pi / 2 * np.sin(angles) ** 2), as_dtype(dtype))
