"""Patches: windows of images and volumes, flattened into channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.dtypes import REAL_NUMBERS
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import need_rank, product_of, shape
from dataflow.shapes import Dims


def _windows(size: int | None, window: int, stride: int, rate: int, padding: str) -> int | None:
    if size is None:
        return None
    span = (window - 1) * rate + 1
    if padding == "SAME":
        return -(-size // stride)
    return max(0, (size - span + stride) // stride)


@define_op("ExtractImagePatches", "images: T -> patches: T")
def extract_image_patches_op(
    images: Tensor,
    *,
    ksizes: list[int],
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Dims:
    """Windows of an image batch [batch, height, width, depth], each flattened into channels.

    Shape: [batch, rows, columns, window height * window width * depth]. Gradient: each pixel gets
    the sum of what its copies got.
    """
    need_rank(images, 4, "images")
    for name, values in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if len(values) != 4 or values[0] != 1 or values[3] != 1:
            raise ValueError(f"{name} must be [1, rows, columns, 1], got {values}")
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding must be SAME or VALID, got {padding!r}")
    batch, height, width, depth = images.dims or (None,) * 4
    rows = _windows(height, ksizes[1], strides[1], rates[1], padding)
    columns = _windows(width, ksizes[2], strides[2], rates[2], padding)
    channels = None if depth is None else depth * ksizes[1] * ksizes[2]
    return (batch, rows, columns, channels)


@extract_image_patches_op.gradient
def extract_image_patches_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Extracts patches of pixel numbers, and adds each patch's gradient at its pixel's number."""
    from dataflow.ops.sequences import range_

    images = op.inputs[0]
    whole = shape(images)
    total = product_of(whole)
    numbers = reshape(range_(1, total + 1), whole)
    names = [n for n in ("ksizes", "strides", "rates", "padding") if n in op.attrs]
    where_from = get_op(op.type)(numbers, **{n: op.attrs[n] for n in names})
    summed = get_op("UnsortedSegmentSum")(reshape(grad, [-1]), reshape(where_from, [-1]), total + 1)
    return [reshape(summed[1:], whole)]


def extract_image_patches(
    images: TensorLike,
    ksizes: Any = None,
    strides: int | Sequence[int] | None = None,
    rates: Any = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Windows of ``images`` flattened into the channel axis; see the op ExtractImagePatches."""
    return extract_image_patches_op(  # type: ignore[no-any-return]
        images,
        ksizes=ksizes if ksizes is not None else sizes,
        strides=strides,
        rates=rates,
        padding=padding,
        name=name,
    )


@define_op("ExtractVolumePatches", "input: T -> patches: T", T=REAL_NUMBERS)
def extract_volume_patches(
    input: Tensor, *, ksizes: list[int], strides: list[int], padding: str
) -> Dims:
    """Windows of a batch of volumes [batch, planes, rows, columns, depth], flattened into channels.

    Shape: [batch, planes, rows, columns, number of voxels in a window * depth]; ksizes and strides have an entry for
    each axis. Gradient: each voxel gets the sum of what its copies got.
    """
    need_rank(input, 5, "input")
    for name, values in (("ksizes", ksizes), ("strides", strides)):
        if len(values) != 5 or values[0] != 1 or values[4] != 1 or min(values) < 1:
            raise ValueError(f"{name} must be [1, planes, rows, columns, 1], got {values}")
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding must be SAME or VALID, got {padding!r}")
    batch, *sizes, depth = input.dims or (None,) * 5
    counts = (
        _windows(size, k, step, 1, padding)
        for size, k, step in zip(sizes, ksizes[1:4], strides[1:4], strict=True)
    )
    return (batch, *counts, None if depth is None else depth * ksizes[1] * ksizes[2] * ksizes[3])


extract_volume_patches.gradient(extract_image_patches_gradient)
