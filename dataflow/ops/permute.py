"""The same elements in another order: transpose, reverse, roll, blocks between space and depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import REAL_NUMBERS
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops.array_basics import need_rank, product_of, rank, reshape, shape
from dataflow.ops.fills import zeros
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims

# ---- Transpose ----------------------------------------------------------------------------


def _transposed(x: Tensor, perm: Tensor) -> Dims:
    need_rank(perm, 1, "perm")
    length = None if perm.dims is None else perm.dims[0]
    if x.dims is None:
        return None if length is None else (None,) * length
    if length is not None and length != len(x.dims):
        raise ValueError(
            f"perm has {length} elements for an input of rank {len(x.dims)}: "
            f"{shapes.list_dims(x.dims)}\nIt must name each axis once."
        )
    known = static_value(perm)
    if known is None:
        return (None,) * len(x.dims)
    order = [int(p) for p in known]
    if sorted(p % len(x.dims) if p < 0 else p for p in order) != list(range(len(x.dims))):
        raise ValueError(f"perm {order} is not a permutation of 0 to {len(x.dims) - 1}")
    return tuple(x.dims[p] for p in order)


@define_op("Transpose", "x: T, perm: Tperm -> y: T", Tperm=INDEX, view_of=0)
def transpose_op(x: Tensor, perm: Tensor) -> Dims:
    """Axes in another order: axis i of the result is axis ``perm[i]`` of the input.

    Gradient: transposed by the inverse permutation.
    """
    return _transposed(x, perm)


@define_op("ConjugateTranspose", "x: T, perm: Tperm -> y: T", Tperm=INDEX)
def conjugate_transpose_op(x: Tensor, perm: Tensor) -> Dims:
    """As Transpose, with the complex conjugate of the elements.

    Gradient: the conjugate, transposed by the inverse permutation.
    """
    return _transposed(x, perm)


@transpose_op.gradient
def transpose_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [transpose(grad, _inverse(op.inputs[1])), None]


@conjugate_transpose_op.gradient
def conjugate_transpose_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [transpose(grad, _inverse(op.inputs[1]), conjugate=True), None]


def _inverse(perm: Tensor) -> Any:
    known = static_value(perm)
    if known is not None:
        return convert_to_tensor(np.argsort(known).astype(perm.dtype.as_numpy_dtype))
    from dataflow.ops.sequences import invert_permutation

    return invert_permutation(perm)


def transpose(
    a: TensorLike, perm: Any = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """The axes of ``a`` in the order ``perm``; without ``perm`` reversed (a matrix transposed)."""
    with op_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        make = conjugate_transpose_op if conjugate and a.dtype.is_complex else transpose_op
        if perm is None:
            if a.dims is not None:
                perm = np.arange(len(a.dims) - 1, -1, -1, dtype=np.int32)
                return make(a, convert_to_tensor(perm, name="perm"), name=scope)  # type: ignore[no-any-return]
            from dataflow.ops.sequences import range_

            top = rank(a)
            perm = (top - 1) - range_(0, top, 1)
        return make(a, perm, name=scope)  # type: ignore[no-any-return]


# ---- Reverse and roll ---------------------------------------------------------------------


@define_op("ReverseV2", "tensor: T, axis: Tidx -> output: T", Tidx=INDEX)
def reverse_op(tensor: Tensor, axis: Tensor) -> Dims:
    """Each axis of ``axis`` (a vector) reversed. Gradient: reversed again."""
    need_rank(axis, 1, "axis")
    known = static_value(axis)
    if known is not None and tensor.dims is not None:
        axes = [shapes.normalize_axis(int(a), len(tensor.dims)) for a in known]
        if len(set(axes)) != len(axes):
            raise ValueError(f"axis {known.tolist()} names an axis twice")
    return tensor.dims


@define_op("Reverse", "tensor: T, dims: bool -> output: T")
def reverse_v1_op(tensor: Tensor, dims: Tensor) -> Dims:
    """The older form: one bool for each axis says whether to reverse it. Gradient: again."""
    need_rank(dims, 1, "dims")
    return tensor.dims


@reverse_op.gradient
def reverse_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reverse(grad, op.inputs[1]), None]


@reverse_v1_op.gradient
def reverse_v1_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reverse_v1_op(grad, op.inputs[1]), None]


def reverse(tensor: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """``tensor`` with the order along each of the axes reversed.

    The form of TensorFlow before 1.0, with one bool for each axis, works too.
    """
    if isinstance(axis, (list, tuple)) and axis and all(isinstance(a, bool) for a in axis):
        return reverse_v1_op(tensor, axis, name=name)  # type: ignore[no-any-return]
    if getattr(axis, "dtype", None) is dtypes.bool_:
        return reverse_v1_op(tensor, axis, name=name)  # type: ignore[no-any-return]
    if isinstance(axis, (int, np.integer)):
        axis = [axis]
    return reverse_op(tensor, axis, name=name)  # type: ignore[no-any-return]


reverse_v2 = reverse


@define_op("ReverseSequence", "input: T, seq_lengths: Tlen -> output: T", Tlen=dtypes.INDICES)
def reverse_sequence_op(
    input: Tensor, seq_lengths: Tensor, *, seq_dim: int, batch_dim: int = 0
) -> Dims:
    """For each i along ``batch_dim``, the first ``seq_lengths[i]`` elements of ``seq_dim`` reversed.

    Gradient: reversed again.
    """
    need_rank(seq_lengths, 1, "seq_lengths")
    if input.dims is None:
        return None
    rank_ = len(input.dims)
    for name, axis in (("seq_dim", seq_dim), ("batch_dim", batch_dim)):
        if not -rank_ <= axis < rank_:
            raise ValueError(f"{name} {axis} is out of range for a tensor of rank {rank_}")
    batch = input.dims[batch_dim]
    if seq_lengths.dims is not None and not shapes.compatible((batch,), seq_lengths.dims):
        raise ValueError(
            f"{seq_lengths.dims[0]} lengths for a batch of {batch}\nGive one for each."
        )
    out = list(input.dims)
    if batch is None and seq_lengths.dims is not None:
        out[batch_dim] = seq_lengths.dims[0]
    return tuple(out)


@reverse_sequence_op.gradient
def reverse_sequence_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a = op.attrs
    return [
        reverse_sequence_op(grad, op.inputs[1], seq_dim=a["seq_dim"], batch_dim=a["batch_dim"]),
        None,
    ]


def reverse_sequence(
    input: TensorLike,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverses the first ``seq_lengths[i]`` elements of each sequence; what follows stays."""
    seq_axis = seq_axis if seq_axis is not None else seq_dim
    batch_axis = batch_axis if batch_axis is not None else batch_dim
    if seq_axis is None:
        raise ValueError("tf.reverse_sequence needs seq_axis (or seq_dim), the axis of time")
    return reverse_sequence_op(  # type: ignore[no-any-return]
        input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis or 0, name=name
    )


@define_op(
    "Roll",
    "input: T, shift: Tshift, axis: Taxis -> output: T",
    Tshift=dtypes.INDICES,
    Taxis=dtypes.INDICES,
)
def roll(input: Tensor, shift: Tensor, axis: Tensor) -> Dims:
    """Elements moved along axes; what leaves at the end comes in at the start.

    ``shift`` and ``axis``: scalars or vectors of one length. Gradient: rolled back.
    """
    if not shapes.compatible(shift.dims, axis.dims):
        raise ValueError(
            f"shift has shape {shapes.list_dims(shift.dims)}, axis {shapes.list_dims(axis.dims)}"
        )
    if input.dims == ():
        raise ValueError("the input must be at least a vector")
    return input.dims


@roll.gradient
def roll_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [roll(grad, -op.inputs[1], op.inputs[2]), None, None]


# ---- Space, batch and depth ---------------------------------------------------------------


def _block(block_shape: Tensor) -> list[int | None] | None:
    value = static_value(block_shape)
    if value is not None:
        sizes = [int(v) for v in np.asarray(value).reshape(-1)]
        if any(s < 1 for s in sizes):
            raise ValueError(f"block sizes must be positive, got {sizes}")
        return sizes  # type: ignore[return-value]
    if block_shape.dims is None or block_shape.dims[0] is None:
        return None
    return [None] * block_shape.dims[0]


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
    need_rank(block_shape, 1, "block_shape")
    blocks = _block(block_shape)
    if input.dims is None or blocks is None:
        return None
    if len(input.dims) < len(blocks) + 1:
        raise ValueError(f"the input must have rank {len(blocks) + 1} at least")
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
    need_rank(block_shape, 1, "block_shape")
    blocks = _block(block_shape)
    if input.dims is None or blocks is None:
        return None
    if len(input.dims) < len(blocks) + 1:
        raise ValueError(f"the input must have rank {len(blocks) + 1} at least")
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


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """`space_to_batch_nd` with one block size for height and width."""
    block = [block_size, block_size] if block_shape is None else block_shape
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
    block = [block_size, block_size] if block_shape is None else block_shape
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


def _space_depth_axes(data_format: str) -> tuple[int, int, int]:
    if data_format == "NHWC":
        return 1, 2, 3
    if data_format == "NCHW":
        return 2, 3, 1
    raise ValueError(f"data_format must be NHWC or NCHW, got {data_format!r}")


@define_op("SpaceToDepth", "input: T -> output: T")
def space_to_depth_op(input: Tensor, *, block_size: int, data_format: str = "NHWC") -> Dims:
    """Blocks of height and width become channels. Gradient: DepthToSpace."""
    need_rank(input, 4, "the input")
    if block_size < 2:
        raise ValueError(f"block_size must be at least 2, got {block_size}")
    height, width, depth = _space_depth_axes(data_format)
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
    need_rank(input, 4, "the input")
    if block_size < 2:
        raise ValueError(f"block_size must be at least 2, got {block_size}")
    height, width, depth = _space_depth_axes(data_format)
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


# ---- Patches ------------------------------------------------------------------------------


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
