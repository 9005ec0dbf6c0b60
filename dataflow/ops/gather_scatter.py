"""Elements by index: gather, scatter, one-hot."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.broadcasting import broadcast_to
from dataflow.ops.casts import cast, modulo_unsigned
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.fills import ones_like, zeros_like
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.permute import transpose
from dataflow.ops.ragged_dispatch import maps_ragged, takes_ragged
from dataflow.ops.reshape import reshape
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.shape import axis_of, need_rank, product_of, shape, shape_of_value, size
from dataflow.ops.state import scatter_nd_update
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims

_GATHER_INDICES = dtypes.INDICES | {dtypes.int16}


def join_dims(*parts: Any) -> Dims:
    """Partial shapes one after the other; unknown rank wins."""
    if any(p is None for p in parts):
        return None
    return tuple(d for p in parts for d in p)


# ---- Gather -------------------------------------------------------------------------------


@define_op(
    "Gather",
    "params: Tparams, indices: Tindices -> output: Tparams",
    Tindices=dtypes.INDICES,
    inline_safe=True,
    gathers=True,
)
def gather_v1_op(params: Tensor, indices: Tensor, *, validate_indices: bool = True) -> Dims:
    """Rows of ``params`` by number; the older form of GatherV2. Gradient: `IndexedSlices`."""
    return _dims_of_rows(params, indices)


def _dims_of_rows(params: Tensor, indices: Tensor) -> Dims:
    if params.dims == ():
        raise ValueError("params must be at least a vector")
    return join_dims(indices.dims, None if params.dims is None else params.dims[1:])


@define_op(
    "ResourceGather",
    "resource: Read(dtype), indices: Tindices -> output: dtype",
    Tindices=dtypes.INDICES,
    inline_safe=True,
    gathers=True,
)
def resource_gather_op(
    resource: Tensor, indices: Tensor, *, batch_dims: int = 0, validate_indices: bool = True
) -> Dims:
    """Rows of a resource variable by number, without reading the others. Gradient: `IndexedSlices`."""
    if batch_dims:
        raise ValueError(f"batch_dims must be 0, got {batch_dims}: read the variable, then gather.")
    return _dims_of_rows(resource, indices)


@define_op(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
    Tindices=_GATHER_INDICES,
    Taxis=dtypes.INDICES,
    inline_safe=True,
    gathers=True,
)
def gather_op(params: Tensor, indices: Tensor, axis: Tensor, *, batch_dims: int = 0) -> Dims:
    """Slices of ``params`` along ``axis``, by number.

    Shape: params[:axis] + indices[batch_dims:] + params[axis + 1:]. Indices outside of the axis are
    an `InvalidArgumentError`. Gradient: for axis 0 `IndexedSlices` with the rows that were taken.
    """
    need_rank(axis, 0, "axis")
    if params.dims is None:
        return None
    if not params.dims:
        raise ValueError("params must be at least a vector")
    at = axis_of(axis, len(params.dims))
    if batch_dims < 0:
        if indices.dims is None:
            return None
        batch_dims += len(indices.dims)
    if at is None:
        if indices.dims is None:
            return None
        return (None,) * (len(params.dims) + len(indices.dims) - 1 - batch_dims)
    if at < batch_dims:
        raise ValueError(f"batch_dims {batch_dims} must not exceed axis {at}")
    if indices.dims is None:
        return None
    if batch_dims > len(indices.dims):
        raise ValueError(
            f"batch_dims {batch_dims} exceeds the rank of the indices, {len(indices.dims)}"
        )
    batch = params.dims[:batch_dims]
    try:
        batch = shapes.merge(batch, indices.dims[:batch_dims]) or ()
    except ValueError:
        raise ValueError(
            f"batch axes differ: {shapes.list_dims(params.dims)} and "
            f"{shapes.list_dims(indices.dims)} with batch_dims {batch_dims}"
        ) from None
    return (
        *batch,
        *params.dims[batch_dims:at],
        *indices.dims[batch_dims:],
        *params.dims[at + 1 :],
    )


def _row_gradient(params: Tensor, indices: Tensor, grad: Tensor) -> IndexedSlices:
    """The rows that reached a gather along axis 0."""
    with params.graph.colocate_with(params.op):  # the table may be on another task
        whole = shape_of_value(params)
    if params.dims is not None and None not in params.dims[1:]:
        values = reshape(grad, [-1, *params.dims[1:]]) if 0 not in params.dims[1:] else None
    else:
        values = None
    if values is None:
        values = reshape(grad, concat([reshape(size(indices), [1]), whole[1:]], 0))
    return IndexedSlices(values, reshape(indices, [-1]), whole)


@gather_v1_op.gradient
def gather_v1_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [_row_gradient(op.inputs[0], op.inputs[1], grad), None]


@resource_gather_op.gradient
def resource_gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    with counted_as(12):
        return [_row_gradient(op.inputs[0], op.inputs[1], grad), None]


@gather_op.gradient
def gather_gradient(op: Any, grad: Tensor) -> list[Any]:
    params, indices, axis = op.inputs
    batch_dims = op.attrs["batch_dims"]
    rank = None if params.dims is None else len(params.dims)
    at = axis_of(axis, rank)
    if at is None:
        raise NotImplementedError(
            f"The gradient of {op.name!r} needs an axis that is known when the graph is built."
        )
    if batch_dims < 0:
        batch_dims += len(indices.dims)
    if at == 0 and batch_dims == 0:
        with counted_as(13):
            return [_row_gradient(params, indices, grad), None, None]
    return [_gather_axis_gradient(params, indices, at, batch_dims, grad), None, None]


def _gather_axis_gradient(
    params: Tensor, indices: Tensor, at: int, batch_dims: int, grad: Tensor
) -> Tensor:
    """The general case, on [batch, outer, n, inner]; taken elements are summed with one segment op."""
    from dataflow.ops.sequences import range_

    whole = shape(params)
    batch = product_of(whole[:batch_dims])
    outer = product_of(whole[batch_dims:at])
    length = whole[at]
    inner = product_of(whole[at + 1 :])
    flat = cast(reshape(indices, stack([batch, -1])), dtypes.int32)
    count = shape(flat)[1]
    numbers = flat + reshape(range_(batch) * length, [-1, 1])
    rows = transpose(reshape(grad, stack([batch, outer, count, inner])), [0, 2, 1, 3])
    rows = reshape(rows, stack([batch * count, outer, inner]))
    summed = get_op("UnsortedSegmentSum")(rows, reshape(numbers, [-1]), batch * length)
    back = transpose(reshape(summed, stack([batch, length, outer, inner])), [0, 2, 1, 3])
    return reshape(back, whole)


@takes_ragged("gather")
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The slices of ``params`` along ``axis`` (0 by default) that ``indices`` number.

    With ``batch_dims`` the first axes of both go together, as in a loop over batches.
    Raises `InvalidArgumentError` at run time for an index outside of the axis; on a GPU, which the
    host does not wait for, such an index gives zeros, as in TensorFlow.
    """
    if axis is None:
        axis = batch_dims
    sparse_read = getattr(params, "sparse_read", None)
    if sparse_read is not None and isinstance(axis, int) and axis == 0 and batch_dims == 0:
        return sparse_read(indices, name=name)  # type: ignore[no-any-return]
    return gather_op(params, indices, axis, batch_dims=batch_dims, name=name)  # type: ignore[no-any-return]


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """`gather` along the last axis of ``indices``, all axes before it in step."""
    with op_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if indices.dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if not indices.dims:
            raise ValueError("batch_gather needs indices of one axis or more, got a scalar.")
        count = len(indices.dims) - 1
        # TensorFlow adds a number to the indices for each axis before the last, and gathers from flat rows.
        with counted_as(25 + 16 * count + count * count):
            return gather(params, indices, axis=count, batch_dims=count)


@define_op(
    "GatherNd", "params: Tparams, indices: Tindices -> output: Tparams", Tindices=_GATHER_INDICES
)
def gather_nd_op(params: Tensor, indices: Tensor) -> Dims:
    """Elements or slices of ``params`` at coordinates, the last axis of ``indices``.

    Shape: indices[:-1] + params[indices.shape[-1]:]. Gradient: scattered back.
    """
    if indices.dims is None or params.dims is None:
        return None
    if not indices.dims:
        raise ValueError("indices must be at least a vector")
    depth = indices.dims[-1]
    if depth is None:
        return None
    if depth > len(params.dims):
        raise ValueError(
            f"the coordinates have {depth} numbers, params has rank {len(params.dims)}"
        )
    return (*indices.dims[:-1], *params.dims[depth:])


@define_op(
    "ResourceGatherNd",
    "resource: Read(dtype), indices: Tindices -> output: dtype",
    Tindices=dtypes.INDICES,
)
def resource_gather_nd_op(resource: Tensor, indices: Tensor) -> Dims:
    """As GatherNd, of a resource variable."""
    return gather_nd_op.shape_rule(resource, indices)  # type: ignore[no-any-return]


@resource_gather_nd_op.gradient
@gather_nd_op.gradient
def gather_nd_gradient(op: Operation, grad: Tensor) -> list[Any]:
    params, indices = op.inputs
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        return [IndexedSlices(grad, reshape(indices, [-1]), shape_of_value(params)), None]
    return [scatter_nd(indices, grad, shape_of_value(params, out_type=indices.dtype)), None]


def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    name: str | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """The elements (or slices) of ``params`` at the coordinates ``indices``."""
    if batch_dims == 0:
        return gather_nd_op(params, indices, name=name)  # type: ignore[no-any-return]
    with op_scope(name, "GatherNd", [params, indices]):
        params = convert_to_tensor(params)
        indices = convert_to_tensor(indices)
        from dataflow.ops.sequences import range_

        whole, asked = shape(params), shape(indices)
        batch = product_of(whole[:batch_dims])
        flat_params = reshape(params, concat([[batch], whole[batch_dims:]], 0))
        flat = reshape(indices, concat([[batch], asked[batch_dims:]], 0))
        single = ones_like(asked[batch_dims:])  # as many as indices has axes after the batch
        numbers = reshape(range_(batch), concat([[-1], single], 0))
        ones = concat([[batch], asked[batch_dims:-1], [1]], 0)
        column = cast(broadcast_to(numbers, ones), indices.dtype)
        result = gather_nd_op(flat_params, concat([column, flat], -1))
        return reshape(result, concat([whole[:batch_dims], shape(result)[1:]], 0))


# ---- Scatter ------------------------------------------------------------------------------


def _scatter_dims(indices: Tensor, updates: Tensor, dims: Dims) -> Dims:
    if indices.dims is None or dims is None:
        return dims
    if not indices.dims:
        raise ValueError("indices must be at least a vector")
    depth = indices.dims[-1]
    if depth is None:
        return dims
    if depth > len(dims):
        raise ValueError(f"the coordinates have {depth} numbers, the result has rank {len(dims)}")
    if shapes.num_elements(dims) == 0 and (
        shapes.num_elements(indices.dims) or shapes.num_elements(updates.dims)
    ):
        raise ValueError(
            f"Indices and updates specified for empty output shape {shapes.list_dims(dims)}."
        )
    wanted = (*indices.dims[:-1], *dims[depth:])
    if not shapes.compatible(wanted, updates.dims):
        raise ValueError(
            f"updates has shape {shapes.list_dims(updates.dims)}, expected "
            f"{shapes.list_dims(wanted)}: indices.shape[:-1] + shape[indices.shape[-1]:]"
        )
    return dims


@define_op(
    "ScatterNd",
    "indices: Tindices, updates: T, shape: Tindices -> output: T",
    Tindices=_GATHER_INDICES,
)
def scatter_nd(indices: Tensor, updates: Tensor, shape: Tensor) -> Dims:
    """Zeros of ``shape`` with ``updates`` added at coordinates; repeated ones add up.

    Gradient: gathered at the coordinates.
    """
    need_rank(shape, 1, "shape")
    return _scatter_dims(indices, updates, static_dims(shape))


@scatter_nd.gradient
def scatter_nd_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [None, gather_nd(grad, op.inputs[0]), None]


@define_op(
    "ScatterNdNonAliasingAdd",
    "input: T, indices: Tindices, updates: T -> output: T",
    T=dtypes.NUMBERS,
    Tindices=_GATHER_INDICES,
)
def scatter_nd_non_aliasing_add(input: Tensor, indices: Tensor, updates: Tensor) -> Dims:
    """As TensorScatterAdd, under the name that older graphs have for it. Gradient: to both."""
    return _scatter_dims(indices, updates, input.dims)


@scatter_nd_non_aliasing_add.gradient
def scatter_nd_non_aliasing_add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, gather_nd(grad, op.inputs[1])]


def _define_tensor_scatter(op_type: str, text: str, allowed: Any = None) -> OpDef:
    def tensor_scatter(tensor: Tensor, indices: Tensor, updates: Tensor) -> Dims:
        return _scatter_dims(indices, updates, tensor.dims)

    tensor_scatter.__doc__ = text
    attrs: dict[str, Any] = {"Tindices": _GATHER_INDICES}
    if allowed is not None:
        attrs["T"] = allowed
    return define_op(op_type, "tensor: T, indices: Tindices, updates: T -> output: T", **attrs)(
        tensor_scatter
    )


tensor_scatter_update = _define_tensor_scatter(
    "TensorScatterUpdate",
    "A copy of ``tensor`` with ``updates`` at coordinates. Gradient: zero where it was replaced.",
)
tensor_scatter_add = _define_tensor_scatter(
    "TensorScatterAdd",
    "A copy of ``tensor`` with ``updates`` added at coordinates. Gradient: to both.",
    dtypes.NUMBERS,
)
tensor_scatter_sub = _define_tensor_scatter(
    "TensorScatterSub",
    "A copy of ``tensor`` with ``updates`` subtracted at coordinates. Gradient: to both.",
    dtypes.NUMBERS,
)
tensor_scatter_max = _define_tensor_scatter(
    "TensorScatterMax",
    "The larger of ``tensor`` and ``updates`` at coordinates. Not differentiable.",
    dtypes.REAL_NUMBERS,
)
tensor_scatter_min = _define_tensor_scatter(
    "TensorScatterMin",
    "The smaller of ``tensor`` and ``updates`` at coordinates. Not differentiable.",
    dtypes.REAL_NUMBERS,
)
not_differentiable(tensor_scatter_max, tensor_scatter_min)


@tensor_scatter_update.gradient
def tensor_scatter_update_gradient(op: Operation, grad: Tensor) -> list[Any]:
    indices, updates = op.inputs[1], op.inputs[2]
    kept = tensor_scatter_update(grad, indices, zeros_like(updates))
    return [kept, None, gather_nd(grad, indices)]


@tensor_scatter_add.gradient
def tensor_scatter_add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, gather_nd(grad, op.inputs[1])]


@tensor_scatter_sub.gradient
def tensor_scatter_sub_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, -gather_nd(grad, op.inputs[1])]


# ---- One-hot ------------------------------------------------------------------------------


@define_op(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    TI=Defaulted(dtypes.int64, dtypes.INDICES | {dtypes.uint8, dtypes.int8}),
)
def one_hot_op(
    indices: Tensor, depth: Tensor, on_value: Tensor, off_value: Tensor, *, axis: int = -1
) -> Dims:
    """A new axis of size ``depth`` with ``on_value`` at the index, ``off_value`` elsewhere.

    An index outside of the depth gives ``off_value`` everywhere. Not differentiable.
    """
    need_rank(depth, 0, "depth")
    if indices.dims is None:
        return None
    rank = len(indices.dims)
    if not -1 <= axis <= rank:
        raise ValueError(f"axis {axis} must be -1 or in [0, {rank}]")
    known = static_value(depth)
    length = None if known is None else int(known)
    if length is not None and length < 0:
        raise ValueError(f"depth must not be negative, got {length}")
    at = rank if axis == -1 else axis
    return (*indices.dims[:at], length, *indices.dims[at:])


not_differentiable(one_hot_op)


def _hint(value: Any, wanted: DType | None) -> DType | None:
    """The dtype for a value that brings none of its own, as numbers of Python do."""
    return None if hasattr(value, "dtype") else wanted


@maps_ragged
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A vector of length ``depth`` for each index: ``on_value`` (1) there, ``off_value`` (0) else.

    ``axis``: where the new axis goes, -1 (last) by default. ``dtype``: float32 by default; a
    negative number wraps around in an unsigned one. Raises `TypeError` when the values and ``dtype`` disagree.
    """
    with op_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        wanted = None if dtype is None else as_dtype(dtype).base_dtype
        # TensorFlow makes a node of each value to learn its dtype, and another one to use it.
        count_left_out(
            sum(v is not None and not isinstance(v, Tensor) for v in (on_value, off_value))
        )
        on_value = modulo_unsigned(on_value, wanted)
        off_value = modulo_unsigned(off_value, wanted)
        on = (
            None
            if on_value is None
            else convert_to_tensor(
                on_value, name="on_value", preferred_dtype=_hint(on_value, wanted)
            )
        )
        off = (
            None
            if off_value is None
            else convert_to_tensor(
                off_value, name="off_value", preferred_dtype=_hint(off_value, wanted)
            )
        )
        for what, t in (("on_value", on), ("off_value", off)):
            if t is not None and wanted is not None and t.dtype.base_dtype is not wanted:
                raise TypeError(
                    f"dtype {t.dtype.name} of {what} does not match dtype parameter {wanted.name}"
                )
        if wanted is None:
            given = on if on is not None else off
            wanted = dtypes.float32 if given is None else given.dtype.base_dtype
        if on is None:
            on = convert_to_tensor(1, wanted, "on_value")
        if off is None:
            off = convert_to_tensor(0, wanted, "off_value")
        if on.dtype.base_dtype is not off.dtype.base_dtype:
            raise TypeError(
                f"dtype {on.dtype.name} of on_value does not match dtype {off.dtype.name} of off_value"
            )
        return one_hot_op(  # type: ignore[no-any-return]
            indices, depth, on, off, axis=-1 if axis is None else axis, name=scope
        )


def batch_scatter_update(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Replaces rows of each element of a batch: ``ref[b, indices[b, i]] = updates[b, i]``.

    ``indices``: [..., n], its first axes those of ``ref``; ``updates``: the shape of ``indices`` and
    then the axes of ``ref`` after the one that is indexed. Returns the variable's new value.
    """
    from dataflow.ops.sequences import range_

    with op_scope(name, "batch_scatter_update", [indices, updates]):
        indices = convert_to_tensor(indices, name="indices")
        if not indices.dims:
            raise ValueError(
                f"indices must be of known rank and at least a vector, got shape {indices.shape}"
            )
        rank, sizes = len(indices.dims), shape(indices, out_type=indices.dtype)
        coordinates = []
        for axis in range(rank - 1):
            numbers = range_(sizes[axis])
            column = reshape(numbers, [-1 if i == axis else 1 for i in range(rank)])
            coordinates.append(broadcast_to(column, sizes))
        return scatter_nd_update(  # type: ignore[no-any-return]
            ref, stack([*coordinates, indices], -1), updates, use_locking=use_locking
        )
