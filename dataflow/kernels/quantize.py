"""Kernels of the ops in `dataflow.ops.quantize`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.registry import kernel


def _limits(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def _half_away(xp: Any, x: Any) -> Any:
    return xp.copysign(xp.floor(xp.abs(x) + 0.5), x)


def _scaled_limit(low: float, high: float, low_range: float, high_range: float) -> float:
    """The largest scale at which neither end leaves the integers."""
    from_low = low / low_range if low * low_range > 0 else np.inf
    from_high = high / high_range if high * high_range > 0 else np.inf
    return min(from_low, from_high)


@kernel("QuantizeV2")
def quantize_kernel(
    xp: Any,
    x: Any,
    min_range: Any,
    max_range: Any,
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
    xp: Any,
    x: Any,
    min_range: Any,
    max_range: Any,
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


def _fake_quant(xp: Any, x: Any, low: float, high: float, num_bits: int, narrow_range: bool) -> Any:
    if low == high == 0.0:
        return xp.zeros_like(x)
    first, last, scale = _nudged(low, high, num_bits, narrow_range)
    inverse = np.float32(1.0) / np.float32(scale)
    numbers = [np.float32(number) for number in (first, last, scale, inverse)]

    return _fake_quantized(xp, x, *numbers)


@NativeUfunc
def _fake_quantized(xp: Any, x: Any, first: Any, last: Any, scale: Any, inverse: Any) -> Any:
    steps = (xp.clip(x, first, last) - first) * inverse
    return xp.floor(steps + np.float32(0.5)) * scale + first


@kernel("FakeQuantWithMinMaxArgs")
def fake_quant_args_kernel(
    xp: Any, x: Any, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Any:
    return _fake_quant(xp, x, min, max, num_bits, narrow_range)


@kernel("FakeQuantWithMinMaxArgsGradient")
def fake_quant_args_gradient_kernel(
    xp: Any, dy: Any, x: Any, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Any:
    first, last, _ = _nudged(min, max, num_bits, narrow_range)
    return dy * ((x >= np.float32(first)) & (x <= np.float32(last)))


@kernel("FakeQuantWithMinMaxVars")
def fake_quant_vars_kernel(
    xp: Any, x: Any, low: Any, high: Any, *, num_bits: int, narrow_range: bool
) -> Any:
    return _fake_quant(xp, x, float(low), float(high), num_bits, narrow_range)


@kernel("FakeQuantWithMinMaxVarsGradient")
def fake_quant_vars_gradient_kernel(
    xp: Any, dy: Any, x: Any, low: Any, high: Any, *, num_bits: int, narrow_range: bool
) -> Any:
    if float(low) == float(high) == 0.0:
        return dy.copy(), np.float32(0), np.float32(0)
    first, last, _ = _nudged(float(low), float(high), num_bits, narrow_range)
    below, above = x < np.float32(first), x > np.float32(last)
    return (
        dy * ~(below | above),
        (dy * below).sum(dtype=np.float32),
        (dy * above).sum(dtype=np.float32),
    )
