"""Kernels that pad."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


def _inner(pairs: Any, shape: Any) -> tuple[list[int], tuple[slice, ...]]:
    """The padded sizes, and where the input stands in them."""
    if len(pairs) != len(shape):
        raise ValueError(f"{len(pairs)} pairs of paddings for an input of rank {len(shape)}")
    if any(min(p) < 0 for p in pairs):
        raise ValueError(f"paddings must not be negative, got {pairs}")
    sizes = [b + d + a for d, (b, a) in zip(shape, pairs, strict=True)]
    return sizes, tuple(slice(b, b + d) for d, (b, _) in zip(shape, pairs, strict=True))


def pad(xp: Module, x: Array, pairs: Any) -> Any:
    """x with zeros, or empty texts, around it: ``pairs`` says how many before and after on each axis.

    For a small array this takes a fifth of the time of NumPy's own.
    """
    sizes, inner = _inner(pairs, x.shape)
    out = np.full(sizes, b"", object) if x.dtype.kind == "O" else xp.zeros(sizes, x.dtype)
    out[inner] = x
    return out


@kernel("Pad", any_dtype=True)
def pad_kernel(xp: Module, x: Array, paddings: Array) -> Any:
    return pad(xp, x, paddings.tolist())


@kernel("PadV2", any_dtype=True)
def pad_v2_kernel(xp: Module, x: Array, paddings: Array, constant_values: Array) -> Any:
    sizes, inner = _inner(paddings.tolist(), x.shape)
    out = xp.empty(sizes, x.dtype)
    out[...] = constant_values
    out[inner] = x
    return out


_NUMPY_MODE = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}


@kernel("MirrorPad")
def mirror_pad_kernel(xp: Module, x: Array, paddings: Array, *, mode: str) -> Any:
    spare = 1 if mode == "REFLECT" else 0
    for size, pair in zip(x.shape, paddings.tolist(), strict=True):
        if max(pair) > size - spare:
            raise ValueError(f"{mode} padding {pair} is too much for an axis of size {size}")
    return xp.pad(x, paddings.tolist(), mode=_NUMPY_MODE[mode])


@kernel("MirrorPadGrad")
def mirror_pad_grad_kernel(xp: Module, grad: Array, paddings: Array, *, mode: str) -> Any:
    spare = 1 if mode == "REFLECT" else 0
    out = grad
    for axis, (before, after) in enumerate(paddings.tolist()):
        rows = xp.moveaxis(out, axis, 0)
        size = rows.shape[0] - before - after
        inner = rows[before : before + size].copy()
        if before:
            inner[spare : spare + before] += rows[:before][::-1]
        if after:
            inner[size - spare - after : size - spare] += rows[before + size :][::-1]
        out = xp.moveaxis(inner, 0, axis)
    return out
