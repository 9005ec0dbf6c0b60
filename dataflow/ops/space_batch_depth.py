"""Blocks of space become entries of the batch, or channels, and back: SpaceToBatchND, SpaceToDepth."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.fills import zeros
from dataflow.ops.shape import need_rank
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


def _block(block_shape: Tensor, input: Tensor) -> list[int | None] | None:
    """The sizes of a block, of which ``input`` must have the axes; ``None`` where their number is unknown."""
    need_rank(block_shape, 1, "block_shape")
    value = static_value(block_shape)
    sizes: list[int | None]
    if value is not None:
        sizes = [int(v) for v in np.asarray(value).reshape(-1)]
        if any(s < 1 for s in sizes if s is not None):
            raise ValueError(f"block sizes must be positive, got {sizes}")
    elif block_shape.dims is None or block_shape.dims[0] is None:
        return None
    else:
        sizes = [None] * block_shape.dims[0]
    if input.dims is not None and len(input.dims) < len(sizes) + 1:
        raise ValueError(f"the input must have rank {len(sizes) + 1} at least")
    return sizes


def _pairs(pairs: Tensor, count: int, what: str) -> list[Any]:
    need_rank(pairs, 2, what)
    value = static_value(pairs)
    if value is None:
        return [None] * count
    if np.shape(value) != (count, 2):
        raise ValueError(f"{what} must have shape [{count}, 2], got {list(np.shape(value))}")
    if (np.asarray(value) < 0).any():
        raise ValueError(f"{what} must not be negative")
    return [(int(a), int(b)) for a, b in value]


def _product(sizes: list[Any]) -> int | None:
    return None if None in sizes else int(np.prod(sizes, dtype=np.int64))


@define_op(
    "SpaceToBatchND",
    "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T",
    Tblock_shape=INDEX,
    Tpaddings=INDEX,
)
def space_to_batch_nd(input: Tensor, block_shape: Tensor, paddings: Tensor) -> Dims:
    """Pads the axes after the batch, and moves blocks of them into the batch.

    Shape: [batch * prod(block), (size + padding) / block, ..., rest]. Gradient: BatchToSpaceND.
    """
    blocks = _block(block_shape, input)
    if input.dims is None or blocks is None:
        return None
    pads = _pairs(paddings, len(blocks), "paddings")
    product = _product(blocks)
    batch = None if input.dims[0] is None or product is None else input.dims[0] * product
    out: list[int | None] = [batch]
    for d, b, p in zip(input.dims[1:], blocks, pads, strict=False):
        if d is None or b is None or p is None:
            out.append(None)
            continue
        if (d + sum(p)) % b:
            raise ValueError(f"the padded size {d + sum(p)} is not a multiple of the block {b}")
        out.append((d + sum(p)) // b)
    return (*out, *input.dims[len(blocks) + 1 :])


@define_op(
    "BatchToSpaceND",
    "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T",
    Tblock_shape=INDEX,
    Tcrops=INDEX,
)
def batch_to_space_nd(input: Tensor, block_shape: Tensor, crops: Tensor) -> Dims:
    """The inverse of SpaceToBatchND: batch entries become blocks, which are then cropped.

    Shape: [batch / prod(block), size * block - crops, ..., rest]. Gradient: SpaceToBatchND.
    """
    blocks = _block(block_shape, input)
    if input.dims is None or blocks is None:
        return None
    cuts = _pairs(crops, len(blocks), "crops")
    product = _product(blocks)
    batch = None
    if input.dims[0] is not None and product is not None:
        if input.dims[0] % product:
            raise ValueError(f"the batch {input.dims[0]} is not a multiple of {product}")
        batch = input.dims[0] // product
    out: list[int | None] = [batch]
    for d, b, c in zip(input.dims[1:], blocks, cuts, strict=False):
        if d is None or b is None or c is None:
            out.append(None)
            continue
        if d * b < sum(c):
            raise ValueError(f"crops {list(c)} are more than the {d * b} elements of their axis")
        out.append(d * b - sum(c))
    return (*out, *input.dims[len(blocks) + 1 :])


@space_to_batch_nd.gradient
def space_to_batch_nd_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [batch_to_space_nd(grad, op.inputs[1], op.inputs[2]), None, None]


@batch_to_space_nd.gradient
def batch_to_space_nd_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [space_to_batch_nd(grad, op.inputs[1], op.inputs[2]), None, None]


def _sides(size: Any) -> Any:
    """A block's sides: one number stands for both."""
    return [size, size] if np.ndim(size) == 0 else size


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """`space_to_batch_nd` with one block size for height and width."""
    block = _sides(block_size if block_shape is None else block_shape)
    result = space_to_batch_nd(input, np.array(block, np.int64), paddings, name=name)
    if block_shape is None:
        result.set_shape([None] * 4)
    return result  # type: ignore[no-any-return]


def batch_to_space(
    input: TensorLike,
    crops: Any,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """`batch_to_space_nd` with one block size for height and width."""
    block = _sides(block_size if block_shape is None else block_shape)
    result = batch_to_space_nd(input, np.array(block, np.int64), crops, name=name)
    if block_shape is None:
        result.set_shape([None] * 4)
    return result  # type: ignore[no-any-return]


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """``(paddings, crops)`` that make ``input_shape`` divide into blocks of ``block_shape``.

    ``base_paddings``: at least that much before and after; the rest goes after.
    """
    from dataflow.ops.concat_split import stack

    with op_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = convert_to_tensor(input_shape, dtypes.int32, "input_shape")
        block_shape = convert_to_tensor(block_shape, dtypes.int32, "block_shape")
        count = block_shape.dims[0]
        if base_paddings is None:
            base_paddings = zeros([count, 2], dtypes.int32)
        base_paddings = convert_to_tensor(base_paddings, dtypes.int32, "base_paddings")
        known = [static_value(t) for t in (input_shape, block_shape, base_paddings)]
        if all(k is not None for k in known):
            sizes, block, base = known
            end = base[:, 1] + (-(sizes + base.sum(1))) % block
            extra = end - base[:, 1]
            return (
                constant(np.stack([base[:, 0], end], 1).astype(np.int32), name="paddings"),
                constant(np.stack([extra * 0, extra], 1).astype(np.int32), name="crops"),
            )
        start, end = base_paddings[:, 0], base_paddings[:, 1]
        extra = (block_shape - (input_shape + start + end) % block_shape) % block_shape
        paddings = stack([start, end + extra], 1, name="paddings")
        crops = stack([extra - extra, extra], 1, name="crops")
        return paddings, crops


def _space_depth_axes(input: Tensor, block_size: int, data_format: str) -> tuple[int, int, int]:
    """The numbers of the axes of height, width and channels, after a look at all arguments."""
    need_rank(input, 4, "the input")
    if block_size < 2:
        raise ValueError(f"block_size must be at least 2, got {block_size}")
    if data_format == "NHWC":
        return 1, 2, 3
    if data_format == "NCHW":
        return 2, 3, 1
    raise ValueError(f"data_format must be NHWC or NCHW, got {data_format!r}")


@define_op("SpaceToDepth", "input: T -> output: T")
def space_to_depth_op(input: Tensor, *, block_size: int, data_format: str = "NHWC") -> Dims:
    """Blocks of height and width become channels. Gradient: DepthToSpace."""
    height, width, depth = _space_depth_axes(input, block_size, data_format)
    if input.dims is None:
        return (None,) * 4
    out = list(input.dims)
    for axis in (height, width):
        if out[axis] is not None:
            if out[axis] % block_size:  # type: ignore[operator]
                raise ValueError(
                    f"axis {axis} has size {out[axis]}, not a multiple of the block {block_size}"
                )
            out[axis] //= block_size  # type: ignore[operator]
    if out[depth] is not None:
        out[depth] *= block_size * block_size  # type: ignore[operator]
    return tuple(out)


@define_op("DepthToSpace", "input: T -> output: T")
def depth_to_space_op(input: Tensor, *, block_size: int, data_format: str = "NHWC") -> Dims:
    """Channels become blocks of height and width. Gradient: SpaceToDepth."""
    height, width, depth = _space_depth_axes(input, block_size, data_format)
    if input.dims is None:
        return (None,) * 4
    out = list(input.dims)
    for axis in (height, width):
        if out[axis] is not None:
            out[axis] *= block_size  # type: ignore[operator]
    if out[depth] is not None:
        square = block_size * block_size
        if out[depth] % square:  # type: ignore[operator]
            raise ValueError(f"{out[depth]} channels do not divide by block_size² = {square}")
        out[depth] //= square  # type: ignore[operator]
    return tuple(out)


@space_to_depth_op.gradient
def space_to_depth_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a = op.attrs
    return [depth_to_space_op(grad, block_size=a["block_size"], data_format=a["data_format"])]


@depth_to_space_op.gradient
def depth_to_space_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a = op.attrs
    return [space_to_depth_op(grad, block_size=a["block_size"], data_format=a["data_format"])]


def space_to_depth(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Blocks of ``block_size`` x ``block_size`` pixels become channels."""
    return space_to_depth_op(input, block_size=block_size, data_format=data_format, name=name)  # type: ignore[no-any-return]


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Channels become blocks of ``block_size`` x ``block_size`` pixels."""
    return depth_to_space_op(input, block_size=block_size, data_format=data_format, name=name)  # type: ignore[no-any-return]
