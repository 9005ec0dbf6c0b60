"""Kernels of the ops in `dataflow.ops.quantize`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.registry import kernel


def _limits(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def _half_away(xp: Module, x: Array) -> Any:
    return xp.copysign(xp.floor(xp.abs(x) + 0.5), x)


def _scaled_limit(low: float, high: float, low_range: float, high_range: float) -> float:
    """The largest scale at which neither end leaves the integers."""
    from_low = low / low_range if low * low_range > 0 else np.inf
    from_high = high / high_range if high * high_range > 0 else np.inf
    return min(from_low, from_high)


@kernel("QuantizeV2")
def quantize_kernel(
    xp: Module,
    x: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: DType,
    mode: str,
    round_mode: str,
    narrow_range: bool,
    ensure_minimum_range: float,
) -> Any:
    low, high = _limits(T)
    given_min, given_max = float(min_range), float(max_range)
    if given_min > given_max:
        raise ValueError(f"min_range {given_min} is larger than max_range {given_max}")
    epsilon = max(1.0, abs(given_min), abs(given_max)) * ensure_minimum_range
    first = min(0.0, given_min)
    last = max(0.0, given_max, first + epsilon)
    wide = xp.asarray(x, np.float64)
    if mode == "SCALED":
        lowest = low + 1 if narrow_range and low < 0 else low
        scale = _scaled_limit(lowest, high, first, last)
        first, last = lowest / scale, high / scale
        scaled = xp.clip(wide, first, last) * scale
        codes = xp.rint(scaled) if round_mode == "HALF_TO_EVEN" else _half_away(xp, scaled)
    elif mode == "MIN_FIRST":
        steps = float(high - low + 1)
        scale = steps / ((last - first) * steps / (steps - 1))
        codes = _half_away(xp, wide * scale) - np.round(first * scale) + low
    else:
        scale = (high - low) / (last - first)
        half = (high - low + 1) / 2 if low < 0 else 0.0
        codes = _half_away(xp, (xp.clip(wide, first, last) - first) * scale - half)
    codes = xp.clip(codes, low, high).astype(T.numpy)
    return codes, np.float32(first), np.float32(last)


@kernel("Dequantize")
def dequantize_kernel(
    xp: Module,
    x: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: DType,
    mode: str,
    narrow_range: bool,
    dtype: DType,
) -> Any:
    low, high = _limits(T)
    first, last = float(min_range), float(max_range)
    wide = xp.asarray(x, np.float64)
    if mode == "SCALED":
        lowest = low + 1 if narrow_range and low < 0 else low
        scale = max(last / high, first / lowest if lowest else 0.0)
        result = wide * scale
    elif mode == "MIN_FIRST":
        steps = float(high - low + 1)
        step = (last - first) / (steps - 1)
        result = np.round(first / step) * step + (wide - low) * step
    else:
        half = (high - low + 1) / 2 if low < 0 else 0.0
        result = (wide + half) * ((last - first) / (high - low)) + first
    return result.astype(dtype.numpy)


def _nudged(
    low: float, high: float, num_bits: int, narrow_range: bool
) -> tuple[float, float, float]:
    """The range moved a little, so that 0 is one of the values; and the distance of values."""
    if not 2 <= num_bits <= 16:
        raise ValueError(f"num_bits must be between 2 and 16, inclusive: {num_bits}")
    code_min = 1 if narrow_range else 0
    code_max = 2**num_bits - 1
    # In single precision, as TensorFlow computes it: halves are rounded the same way then.
    scale = np.float32(np.float32(high) - np.float32(low)) / np.float32(code_max - code_min)
    zero = np.float32(code_min) - np.float32(low) / scale
    if zero < code_min:
        code = code_min
    elif zero > code_max:
        code = code_max
    else:
        code = int(np.floor(zero + np.float32(0.5)))
    return float((code_min - code) * scale), float((code_max - code) * scale), float(scale)


def _fake_quant(
    xp: Module, x: Array, low: float, high: float, num_bits: int, narrow_range: bool
) -> Any:
    if low == high == 0.0:
        return xp.zeros_like(x)
    first, last, scale = _nudged(low, high, num_bits, narrow_range)
    inverse = np.float32(1.0) / np.float32(scale)
    numbers = [np.float32(number) for number in (first, last, scale, inverse)]

    return _fake_quantized(xp, x, *numbers)


@NativeUfunc
def _fake_quantized(xp: Module, x: Array, first: Any, last: Any, scale: Any, inverse: Any) -> Any:
    steps = (xp.clip(x, first, last) - first) * inverse
    return xp.floor(steps + np.float32(0.5)) * scale + first


@kernel("FakeQuantWithMinMaxArgs")
def fake_quant_args_kernel(
    xp: Module, x: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Any:
    return _fake_quant(xp, x, min, max, num_bits, narrow_range)


@kernel("FakeQuantWithMinMaxArgsGradient")
def fake_quant_args_gradient_kernel(
    xp: Module, dy: Array, x: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Any:
    first, last, _ = _nudged(min, max, num_bits, narrow_range)
    return dy * ((x >= np.float32(first)) & (x <= np.float32(last)))


@kernel("FakeQuantWithMinMaxVars")
def fake_quant_vars_kernel(
    xp: Module, x: Array, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> Any:
    return _fake_quant(xp, x, float(low), float(high), num_bits, narrow_range)


@kernel("FakeQuantWithMinMaxVarsGradient")
def fake_quant_vars_gradient_kernel(
    xp: Module, dy: Array, x: Array, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> Any:
    if float(low) == float(high) == 0.0:
        return dy.copy(), xp.zeros((), np.float32), xp.zeros((), np.float32)
    first, last, _ = _nudged(float(low), float(high), num_bits, narrow_range)
    below, above = x < np.float32(first), x > np.float32(last)
    return (
        dy * ~(below | above),
        (dy * below).sum(dtype=np.float32),
        (dy * above).sum(dtype=np.float32),
    )


def _per_channel(inputs: list[Any], low: Any, high: Any, work: Any) -> list[Any]:
    """``work(*columns, low, high)`` for each channel of the inputs, the last axis."""
    if inputs[0].shape[-1:] != low.shape or low.shape != high.shape:
        raise ValueError(
            f"min and max must have {inputs[0].shape[-1]} numbers, one a channel, got "
            f"{list(low.shape)} and {list(high.shape)}"
        )
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return [work(*(x[..., i] for x in inputs), *pair) for i, pair in enumerate(ends)]


@kernel("FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_per_channel_kernel(
    xp: Module, x: Array, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> Any:
    columns = _per_channel(
        [x], low, high, lambda x, a, b: _fake_quant(xp, x, a, b, num_bits, narrow_range)
    )
    return xp.stack(columns, -1) if columns else xp.zeros_like(x)


@kernel("FakeQuantWithMinMaxVarsPerChannelGradient")
def fake_quant_per_channel_gradient_kernel(
    xp: Module, dy: Array, x: Array, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> Any:
    def work(dy: Array, x: Array, low: float, high: float) -> Any:
        return fake_quant_vars_gradient_kernel(
            xp, dy, x, low, high, num_bits=num_bits, narrow_range=narrow_range
        )

    columns = _per_channel([dy, x], low, high, work)
    if not columns:
        return xp.zeros_like(dy), xp.zeros_like(low), xp.zeros_like(high)
    inputs, lows, highs = zip(*columns, strict=True)
    return xp.stack(inputs, -1), xp.stack(lows), xp.stack(highs)


@kernel("QuantizeAndDequantizeV2")
def quantize_and_dequantize_kernel(
    xp: Module,
    x: Array,
    low: Array,
    high: Array,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
    axis: int,
) -> Any:
    along = [i for i in range(x.ndim) if i != axis] if axis >= 0 else list(range(x.ndim))
    if not x.size:
        return x.copy()
    if range_given:
        if xp.any(low > high):
            raise ValueError(f"Invalid range: input_min {low} > input_max {high}")
        place = [1 if i in along else -1 for i in range(x.ndim)] if axis >= 0 else ()
        low, high = low.reshape(place), high.reshape(place)
    else:
        low, high = (f(x, axis=tuple(along), keepdims=True) for f in (xp.min, xp.max))
    last = 2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1
    first = (-last if narrow_range else -last - 1) if signed_input else 0
    number = x.dtype.type
    tiny, huge = number(0), xp.asarray(np.finfo(x.dtype).max, x.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_low = xp.where(first * low > tiny, number(first) / low, huge)
        from_high = xp.where(last * high > tiny, number(last) / high, huge)
        by_low = from_low < from_high
        scale = xp.where(by_low, from_low, from_high)
        step = xp.where(by_low, low / number(first or 1), high / number(last))
    if range_given:
        x = xp.clip(x, xp.where(by_low, low, first * step), xp.where(by_low, last * step, high))
    scaled = x * scale
    rounded = xp.rint(scaled) if round_mode == "HALF_TO_EVEN" else xp.floor(scaled + number(0.5))
    return (rounded * step).astype(x.dtype, copy=False)
