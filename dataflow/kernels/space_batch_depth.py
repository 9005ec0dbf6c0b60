"""Kernels that turn blocks of space into entries of the batch, or channels, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import int_tuple
from dataflow.kernels.pad import pad
from dataflow.kernels.registry import kernel


@kernel("SpaceToBatchND")
def space_to_batch_nd_kernel(xp: Module, x: Array, block_shape: Array, paddings: Array) -> Any:
    blocks = int_tuple(block_shape)
    count = len(blocks)
    pairs = paddings.tolist()
    if any(map(any, pairs)):
        x = pad(xp, x, [[0, 0], *pairs, *[[0, 0]] * (x.ndim - count - 1)])
    sizes = x.shape[1 : count + 1]
    if any(d % b for d, b in zip(sizes, blocks, strict=True)):
        raise ValueError(f"the padded sizes {list(sizes)} are not multiples of {list(blocks)}")
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
    pairs = crops.tolist()
    if not any(map(any, pairs)):
        return y
    index = [slice(None)]
    for axis, (start, end) in enumerate(pairs, 1):
        if start + end > y.shape[axis]:
            raise ValueError(f"crops {[start, end]} exceed the size {y.shape[axis]}")
        index.append(slice(start, y.shape[axis] - end))
    return xp.ascontiguousarray(y[tuple(index)])


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
