"""Kernels that put elements in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_basics import int_tuple
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("Transpose", any_dtype=True)
def transpose_kernel(xp: Module, x: Array, perm: Array) -> Any:
    return x.transpose(int_tuple(perm))


@kernel("ConjugateTranspose")
def conjugate_transpose_kernel(xp: Module, x: Array, perm: Array) -> Any:
    out = x.transpose(int_tuple(perm))
    return out.conj() if out.dtype.kind == "c" else out


@kernel("ReverseV2", any_dtype=True)
def reverse_kernel(xp: Module, x: Array, axis: Array) -> Any:
    return xp.flip(x, int_tuple(axis)) if len(axis) else x


@kernel("Reverse")
def reverse_v1_kernel(xp: Module, x: Array, dims: Array) -> Any:
    axes = tuple(i for i, flag in enumerate(dims.tolist()) if flag)
    return xp.flip(x, axes) if axes else x


@kernel("ReverseSequence")
def reverse_sequence_kernel(
    xp: Module, x: Array, lengths: Array, *, seq_dim: int, batch_dim: int
) -> Any:
    """Gathers with indices: ``length - 1 - t`` inside of each sequence, ``t`` after it."""
    if seq_dim % x.ndim == batch_dim % x.ndim:
        raise ValueError(f"batch_dim == seq_dim == {seq_dim}: they must be different axes")
    batch, time = x.shape[batch_dim], x.shape[seq_dim]
    if lengths.shape[0] != batch:
        raise ValueError(f"{lengths.shape[0]} lengths for a batch of {batch}")
    if lengths.size and (int(lengths.min()) < 0 or int(lengths.max()) > time):
        raise ValueError(f"lengths must lie in [0, {time}], got {lengths.tolist()}")
    moved = xp.moveaxis(x, (batch_dim, seq_dim), (0, 1))
    steps = xp.arange(time)[None, :]
    ends = xp.asarray(lengths)[:, None]
    index = xp.where(steps < ends, ends - 1 - steps, steps)
    out = moved[xp.arange(batch)[:, None], index]
    return xp.moveaxis(out, (0, 1), (batch_dim, seq_dim))


@kernel("Roll")
def roll_kernel(xp: Module, x: Array, shift: Array, axis: Array) -> Any:
    shifts, axes = np.atleast_1d(shift).tolist(), np.atleast_1d(axis).tolist()
    return xp.roll(x, shifts, axes)


@kernel("SpaceToBatchND")
def space_to_batch_nd_kernel(xp: Module, x: Array, block_shape: Array, paddings: Array) -> Any:
    blocks = int_tuple(block_shape)
    count = len(blocks)
    pads = [(0, 0), *map(tuple, paddings.tolist()), *[(0, 0)] * (x.ndim - count - 1)]
    x = xp.pad(x, pads)
    sizes = x.shape[1 : count + 1]
    if any(d % b for d, b in zip(sizes, blocks, strict=True)):
        raise ValueError(f"the padded sizes {list(sizes)} are no multiples of {list(blocks)}")
    rest = x.shape[count + 1 :]
    parts = [s for d, b in zip(sizes, blocks, strict=True) for s in (d // b, b)]
    x = x.reshape(x.shape[0], *parts, *rest)
    order = [2 * i + 2 for i in range(count)] + [0] + [2 * i + 1 for i in range(count)]
    x = x.transpose(*order, *range(2 * count + 1, x.ndim))
    return x.reshape(-1, *(d // b for d, b in zip(sizes, blocks, strict=True)), *rest)


@kernel("BatchToSpaceND")
def batch_to_space_nd_kernel(xp: Module, x: Array, block_shape: Array, crops: Array) -> Any:
    blocks = int_tuple(block_shape)
    count = len(blocks)
    product = int(np.prod(blocks))
    if x.shape[0] % product:
        raise ValueError(f"the batch {x.shape[0]} is not a multiple of {product}")
    batch = x.shape[0] // product
    sizes, rest = x.shape[1 : count + 1], x.shape[count + 1 :]
    y = x.reshape(*blocks, batch, *sizes, *rest)
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    y = y.transpose(*order, *range(2 * count + 1, y.ndim))
    y = y.reshape(batch, *(d * b for d, b in zip(sizes, blocks, strict=True)), *rest)
    index = [slice(None)]
    for axis, (start, end) in enumerate(crops.tolist(), 1):
        if start + end > y.shape[axis]:
            raise ValueError(f"crops {[start, end]} exceed the size {y.shape[axis]}")
        index.append(slice(start, y.shape[axis] - end))
    return y[tuple(index)]


@kernel("SpaceToDepth")
def space_to_depth_kernel(xp: Module, x: Array, *, block_size: int, data_format: str) -> Any:
    if data_format == "NCHW":
        x = x.transpose(0, 2, 3, 1)
    n, h, w, c = x.shape
    b = block_size
    if h % b or w % b:
        raise ValueError(f"image of {h} x {w} is not divisible into blocks of {b}")
    y = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    y = y.reshape(n, h // b, w // b, b * b * c)
    return y.transpose(0, 3, 1, 2) if data_format == "NCHW" else y


@kernel("DepthToSpace")
def depth_to_space_kernel(xp: Module, x: Array, *, block_size: int, data_format: str) -> Any:
    if data_format == "NCHW":
        x = x.transpose(0, 2, 3, 1)
    n, h, w, c = x.shape
    b = block_size
    if c % (b * b):
        raise ValueError(f"{c} channels do not divide by {b * b}")
    y = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    y = y.reshape(n, h * b, w * b, c // (b * b))
    return y.transpose(0, 3, 1, 2) if data_format == "NCHW" else y


@kernel("ExtractImagePatches")
def extract_image_patches_kernel(
    xp: Module, x: Array, *, ksizes: Any, strides: Any, rates: Any, padding: str
) -> Any:
    return _patches(xp, x, ksizes[1:-1], strides[1:-1], rates[1:-1], padding)


@kernel("ExtractVolumePatches")
def extract_volume_patches_kernel(
    xp: Module, x: Array, *, ksizes: Any, strides: Any, padding: str
) -> Any:
    return _patches(xp, x, ksizes[1:-1], strides[1:-1], [1, 1, 1], padding)


def _patches(xp: Module, x: Array, windows: Any, steps: Any, gaps: Any, padding: str) -> Any:
    """Windows over the axes between the first and the last, each flattened into the last."""
    rank = len(windows)
    pads, places = [(0, 0)], []
    for axis, (k, s, r) in enumerate(zip(windows, steps, gaps, strict=True)):
        size, span = x.shape[axis + 1], (k - 1) * r + 1
        if padding == "SAME":
            count = -(-size // s)
            total = max(0, (count - 1) * s + span - size)
        else:
            count, total = max(0, (size - span + s) // s), 0
        pads.append((total // 2, total - total // 2))
        inner = [1] * (2 * rank)
        inner[axis], inner[rank + axis] = count, k
        places.append((xp.arange(count)[:, None] * s + xp.arange(k) * r).reshape(inner))
    counts = [place.shape[axis] for axis, place in enumerate(places)]
    sizes = (x.shape[0], *counts, int(np.prod(windows)) * x.shape[-1])
    # [batch, a place for each axis, a tap for each axis, depth]
    out = xp.pad(x, [*pads, (0, 0)])[(slice(None), *places)]
    return out.reshape(sizes) if out.size else xp.zeros(sizes, x.dtype)
