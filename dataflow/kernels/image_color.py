"""Kernels of colors: hue, saturation and contrast.

A kernel takes an image's three colors apart, computes all pixels in one pass of machine code
(`jit.native_ufunc`; until there is some, and on other types, op by op), and puts the results together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.jit.native_ufunc import SMALL_ELEMENTS, MappedOp, Mapping
from dataflow.kernels.registry import kernel

_REASON = "written for the host"


class _Arrays:
    """Does each step at once, by NumPy."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, op: str, *x: Any) -> Any:
        match op:
            case "Const":
                return self.dtype.type(x[0])
            case "Select":
                return np.where(*x)
            case "Abs" | "Floor":
                return (np.abs if op == "Abs" else np.floor)(x[0])
        ufuncs: dict[str, Any] = {
            "Add": np.add,
            "Sub": np.subtract,
            "Mul": np.multiply,
            "RealDiv": np.divide,
            "Greater": np.greater,
            "Less": np.less,
            "Equal": np.equal,
            "Maximum": np.maximum,
            "Minimum": np.minimum,
        }
        return ufuncs[op](*x)


class _Steps:
    """Writes each step down, for machine code."""

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs = num_inputs
        self.steps: list[tuple[str, tuple[Any, ...]]] = []

    def __call__(self, op: str, *x: Any) -> int:
        self.steps.append((op, x))
        return self.num_inputs + len(self.steps) - 1


_Put = Callable[..., Any]


def _hsv(put: _Put, red: Any, green: Any, blue: Any) -> tuple[Any, Any, Any]:
    """Hexcone model (Smith, 1978)."""
    zero, one, six = put("Const", 0.0), put("Const", 1.0), put("Const", 6.0)
    value = put("Maximum", red, put("Maximum", green, blue))
    span = put("Sub", value, put("Minimum", red, put("Minimum", green, blue)))
    is_color = put("Greater", span, zero)
    safe = put("Select", is_color, span, one)

    def sixths(start: float, a: Any, b: Any) -> Any:
        part = put("RealDiv", put("Sub", a, b), safe)
        return put("Add", put("Const", start), part)

    others = put("Select", put("Equal", value, green), sixths(2, blue, red), sixths(4, red, green))
    hue = put("Select", put("Equal", value, red), sixths(0, green, blue), others)
    hue = put("Select", is_color, put("RealDiv", hue, six), zero)
    hue = put("Select", put("Less", hue, zero), put("Add", hue, one), hue)
    is_light = put("Greater", value, zero)
    share = put("RealDiv", span, put("Select", is_light, value, one))
    return hue, put("Select", is_light, share, zero), value


def _rgb(put: _Put, hue: Any, saturation: Any, value: Any) -> tuple[Any, Any, Any]:
    """The inverse of `_hsv`."""
    one, two = put("Const", 1.0), put("Const", 2.0)
    sixths = put("Mul", hue, put("Const", 6.0))

    def distance(to: float) -> Any:
        return put("Abs", put("Sub", sixths, put("Const", to)))

    def color(full: Any) -> Any:
        part = put("Mul", saturation, _inside(put, full))
        return put("Mul", put("Add", put("Sub", one, saturation), part), value)

    return (
        color(put("Sub", distance(3), one)),
        color(put("Sub", two, distance(2))),
        color(put("Sub", two, distance(4))),
    )


def _inside(put: _Put, x: Any) -> Any:
    """x within [0, 1]."""
    return put("Minimum", put("Maximum", x, put("Const", 0.0)), put("Const", 1.0))


def _turned(put: _Put, *x: Any) -> tuple[Any, Any, Any]:
    """Red, green, blue with the hue turned by ``x[3]``, a part of the circle."""
    hue, saturation, value = _hsv(put, *x[:3])
    hue = put("Add", hue, x[3])
    return _rgb(put, put("Sub", hue, put("Floor", hue)), saturation, value)


def _saturated(put: _Put, *x: Any) -> tuple[Any, Any, Any]:
    """Red, green, blue with the saturation times ``x[3]``."""
    hue, saturation, value = _hsv(put, *x[:3])
    return _rgb(put, hue, _inside(put, put("Mul", saturation, x[3])), value)


class _Colors:
    """A function of three colors, and perhaps a number, that gives three."""

    def __init__(self, function: Callable[..., tuple[Any, Any, Any]], numbers: int = 0) -> None:
        self.function = function
        steps = _Steps(3 + numbers)
        results = function(steps, *range(3 + numbers))
        self._mappings = {
            char: Mapping.of(char, tuple(steps.steps), results, adds=False) for char in "fd"
        }

    def __call__(self, images: Any, *numbers: Any) -> Any:
        """Images [..., 3] of the same shape and type."""
        parts = [np.ascontiguousarray(images[..., i]) for i in range(3)]
        parts += [np.asarray(number, images.dtype) for number in numbers]
        out = np.empty(images.shape, images.dtype)
        mapping = self._mappings.get(images.dtype.char)
        if mapping is not None and images.size >= SMALL_ELEMENTS:
            results = [np.empty(parts[0].shape, images.dtype) for _ in range(3)]
            if mapping.run(parts[0].shape, parts, results):
                for i, result in enumerate(results):
                    out[..., i] = result
                return out
        for i, result in enumerate(self.function(_Arrays(images.dtype), *parts)):
            out[..., i] = result
        return out


_TO_HSV, _TO_RGB = _Colors(_hsv), _Colors(_rgb)
_TURN, _SATURATE = _Colors(_turned, 1), _Colors(_saturated, 1)


@kernel("RGBToHSV", cpu_only=_REASON)
def rgb_to_hsv_kernel(xp: Any, images: Any) -> Any:
    return _TO_HSV(images)


@kernel("HSVToRGB", cpu_only=_REASON)
def hsv_to_rgb_kernel(xp: Any, images: Any) -> Any:
    return _TO_RGB(images)


@kernel("AdjustHue", cpu_only=_REASON)
def adjust_hue_kernel(xp: Any, images: Any, delta: Any) -> Any:
    return _TURN(images, delta)


@kernel("AdjustSaturation", cpu_only=_REASON)
def adjust_saturation_kernel(xp: Any, images: Any, scale: Any) -> Any:
    return _SATURATE(images, scale)


#: image, mean, factor
_CONTRAST = MappedOp(3, ("Sub", (0, 1)), ("Mul", (3, 2)), ("Add", (4, 1)))


@kernel("AdjustContrastv2")
def adjust_contrast_kernel(xp: Any, images: Any, factor: Any) -> Any:
    def by_ufuncs(inputs: list[Any]) -> Any:
        images, mean, factor = inputs
        return (images - mean) * factor + mean

    if xp is not np or images.dtype.char != "f" or not images.size:
        mean = images.mean((-3, -2), keepdims=True, dtype=np.float32)
        return by_ufuncs([images, mean, factor]).astype(images.dtype, copy=False)
    height, width, channels = images.shape[-3:]
    rows = np.ascontiguousarray(images).reshape(-1, height * width, channels)
    weights = np.full(height * width, 1 / (height * width), np.float32)
    mean = np.repeat((weights @ rows)[:, None], width, axis=1).reshape(-1, 1, width * channels)
    lines = rows.reshape(-1, height, width * channels)
    factor = np.float32(factor)
    return _CONTRAST(images.dtype, [lines, mean, factor], by_ufuncs).reshape(images.shape)
