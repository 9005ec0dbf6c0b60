"""Vectors of numbers and sets: ranges, sorting, searching, unique elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.broadcasting import broadcast_to
from dataflow.ops.casts import cast
from dataflow.ops.fills import ones
from dataflow.ops.reshape import expand_dims, reshape
from dataflow.ops.seeds import counted_as
from dataflow.ops.shape import need_rank, rank, shape, size
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims

# ---- Range --------------------------------------------------------------------------------


@define_op(
    "Range",
    "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    Tidx=dtypes.REAL_NUMBERS,
    host_inputs=("start", "limit", "delta"),
    host_outputs=("output",),
)
def range_op(start: Tensor, limit: Tensor, delta: Tensor) -> Dims:
    """The vector start, start + delta, ... that ends before limit. Not differentiable."""
    for name, t in (("start", start), ("limit", limit), ("delta", delta)):
        need_rank(t, 0, name)
    known = [static_value(t) for t in (start, limit, delta)]
    if any(k is None for k in known):
        return (None,)
    first, last, step = (k.item() for k in known)
    if step == 0:
        raise ValueError("delta must not be 0")
    if (last - first) * step < 0:
        way = "<=" if step > 0 else ">="
        raise ValueError(
            f"start must be {way} limit for delta {step}, got start {first}, limit {last}"
        )
    return (range_length(first, last, step),)


not_differentiable(range_op)


def range_length(first: Any, last: Any, step: Any) -> int:
    """How many numbers ``range`` has; exact for integers."""
    if all(isinstance(v, int) for v in (first, last, step)):
        return len(range(first, last, step))
    return max(0, int(np.ceil(abs((last - first) / step))))


def range_(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """The numbers from ``start`` up to (not including) ``limit``, ``delta`` apart, as a vector.

    ``range_(n)`` starts at 0. Mixed dtypes become the widest of int32, int64, float32, float64.
    """
    if limit is None:
        start, limit = 0, start
    with op_scope(name, "range", [start, limit, delta]) as scope:
        wanted = None if dtype is None else as_dtype(dtype)
        parts = [
            convert_to_tensor(v, None if isinstance(v, Tensor) else wanted, name=n)
            for v, n in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
        if wanted is None:
            wanted = max((p.dtype.base_dtype for p in parts), key=order.index)
        if any(p.dtype.base_dtype is not wanted for p in parts):
            parts = [cast(p, wanted) for p in parts]
        return range_op(*parts, name=scope)  # type: ignore[no-any-return]


def all_axes(x: Tensor) -> Any:
    """The numbers of all axes of x, for a reduction: a constant where the rank is known."""
    if x.dims is not None:
        return constant(np.arange(len(x.dims), dtype=np.int32))
    return range_(0, rank(x))


# ---- Order --------------------------------------------------------------------------------


@define_op(
    "TopKV2", "input: T, k: int32 -> values: T, indices: int32", T=dtypes.REAL_NUMBERS, cost=0.05
)
def top_k_op(input: Tensor, k: Tensor, *, sorted: bool = True) -> list[Dims]:
    """The k largest elements along the last axis, and where they are; ties: lower index first.

    Shape: the input's with k for the last size. Gradient: goes to the elements that were chosen.
    """
    need_rank(k, 0, "k")
    known = static_value(k)
    size = None if known is None else int(known)
    if size is not None and size < 0:
        raise ValueError(f"k must not be negative, got {size}")
    if input.dims is None:
        return [None, None]
    if not input.dims:
        raise ValueError("the input must be at least a vector")
    if size is not None and input.dims[-1] is not None and size > input.dims[-1]:
        raise ValueError(
            f"the input must have at least k = {size} columns, it has {input.dims[-1]}"
        )
    dims = (*input.dims[:-1], size)
    return [dims, dims]


@top_k_op.gradient
def top_k_gradient(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    from dataflow.ops.gather_scatter import scatter_nd

    source, indices = op.inputs[0], op.outputs[1]
    whole = shape(source)
    flat = reshape(indices, [-1, shape(indices)[-1]])
    rows = shape(flat)[0]
    positions = flat + reshape(range_(rows), [-1, 1]) * whole[-1]
    total = rows * whole[-1]
    summed = scatter_nd(reshape(positions, [-1, 1]), reshape(grad, [-1]), reshape(total, [1]))
    return [reshape(summed, whole), None]


def top_k(input: TensorLike, k: Any = 1, sorted: bool = True, name: str | None = None) -> Any:
    """``(values, indices)`` of the ``k`` largest elements along the last axis."""
    return top_k_op(input, k, sorted=sorted, name=name)


@define_op("InTopKV2", "predictions: float32, targets: T, k: T -> precision: bool", T=INDEX)
def in_top_k_op(predictions: Tensor, targets: Tensor, k: Tensor) -> Dims:
    """For each row, whether the target's prediction is among the k largest. Not differentiable.

    Ties at the border count as inside; a prediction that is not finite makes it False.
    """
    need_rank(predictions, 2, "predictions")
    need_rank(targets, 1, "targets")
    need_rank(k, 0, "k")
    batch = (None,) if predictions.dims is None else predictions.dims[:1]
    try:
        return shapes.merge(batch, targets.dims)
    except ValueError:
        raise ValueError(
            f"{shapes.list_dims(predictions.dims)} predictions and "
            f"{shapes.list_dims(targets.dims)} targets: one target for each row is needed"
        ) from None


@define_op("InTopK", "predictions: float32, targets: T -> precision: bool", T=INDEX)
def in_top_k_v1_op(predictions: Tensor, targets: Tensor, *, k: int) -> Dims:
    """The older form of InTopKV2 with k as an attribute. Not differentiable."""
    need_rank(predictions, 2, "predictions")
    need_rank(targets, 1, "targets")
    return targets.dims


not_differentiable(in_top_k_op, in_top_k_v1_op)


def in_top_k(predictions: TensorLike, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether the prediction of each target is among the ``k`` largest of its row."""
    with op_scope(name, "in_top_k", [predictions, targets]):
        return in_top_k_op(predictions, targets, k)  # type: ignore[no-any-return]


@define_op("NthElement", "input: T, n: int32 -> values: T", T=dtypes.REAL_NUMBERS)
def nth_element(input: Tensor, n: Tensor, *, reverse: bool = False) -> Dims:
    """The n-th smallest (with ``reverse`` largest) element along the last axis.

    Gradient: shared evenly by the elements that equal it.
    """
    need_rank(n, 0, "n")
    known = static_value(n)
    if known is not None and known < 0:
        raise ValueError(f"n must be non-negative but is {int(known)}")
    if input.dims is None:
        return None
    if not input.dims:
        raise ValueError("the input must be at least rank 1 but is rank 0")
    if known is not None and input.dims[-1] is not None and int(known) >= input.dims[-1]:
        raise ValueError(
            f"the input must have last dimension > n = {int(known)} but it is {input.dims[-1]}"
        )
    return input.dims[:-1]


@nth_element.gradient
def nth_element_gradient(op: Operation, grad: Tensor) -> list[Any]:
    source = op.inputs[0]
    chosen = cast(get_op("Equal")(expand_dims(op.outputs[0], -1), source), grad.dtype)
    count = expand_dims(get_op("Sum")(chosen, -1), -1)
    return [expand_dims(grad, -1) * chosen / count, None]


def _sorted_last(values: Tensor, direction: str) -> Any:
    """(values, indices) sorted along the last axis."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction must be 'ASCENDING' or 'DESCENDING', got {direction!r}")
    size = shape(values)[-1]
    if direction == "DESCENDING":
        return top_k_op(values, size)
    dtype = values.dtype.base_dtype
    if dtype.is_unsigned:
        flipped = top_k_op(dtype.max - values, size)
        return dtype.max - flipped[0], flipped[1]
    if dtype.is_integer:  # -x - 1 mirrors integers without overflow
        flipped = top_k_op(-values - 1, size)
        return -flipped[0] - 1, flipped[1]
    flipped = top_k_op(-values, size)
    return -flipped[0], flipped[1]


def _along(
    values: TensorLike,
    axis: int,
    function: Callable[..., Any],
    name: str | None,
    default: str,
    num_nodes: int,
) -> Tensor:
    """``function`` of the last axis, applied along ``axis``; ``num_nodes`` are TensorFlow's for the last axis."""
    from dataflow.ops.permute import transpose

    with op_scope(name, default, [values]):
        tensor = convert_to_tensor(values, name="values")
        rank = None if tensor.dims is None else len(tensor.dims)
        if rank is None and axis != -1:
            raise ValueError(f"axis {axis} needs a tensor of known rank; use -1, the last axis")
        at = -1 if rank is None else shapes.normalize_axis(axis, rank)
        if rank is None or at == rank - 1:
            with counted_as(num_nodes):
                return function(tensor)  # type: ignore[no-any-return]
        order = [i for i in range(rank) if i != at] + [at]
        back = list(np.argsort(order))
        with counted_as(num_nodes + 3):
            return transpose(function(transpose(tensor, order)), back)


def sort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """``values`` sorted along ``axis``."""
    num_nodes = 10 if direction == "ASCENDING" else 8
    return _along(values, axis, lambda v: _sorted_last(v, direction)[0], name, "sort", num_nodes)


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The int32 indices that would sort ``values`` along ``axis``; equal ones keep their order."""
    num_nodes = 9 if direction == "ASCENDING" else 8
    return _along(values, axis, lambda v: _sorted_last(v, direction)[1], name, "argsort", num_nodes)


# ---- Search -------------------------------------------------------------------------------


def _bound_dims(sorted_inputs: Tensor, values: Tensor) -> Dims:
    need_rank(sorted_inputs, 2, "sorted_inputs")
    need_rank(values, 2, "values")
    return values.dims


@define_op("LowerBound", "sorted_inputs: T, values: T -> output: out_type", out_type=dtypes.INDICES)
def lower_bound_op(
    sorted_inputs: Tensor, values: Tensor, *, out_type: DType = dtypes.int32
) -> Dims:
    """For each value, the first place in its sorted row where it could stand. Not differentiable."""
    return _bound_dims(sorted_inputs, values)


@define_op("UpperBound", "sorted_inputs: T, values: T -> output: out_type", out_type=dtypes.INDICES)
def upper_bound_op(
    sorted_inputs: Tensor, values: Tensor, *, out_type: DType = dtypes.int32
) -> Dims:
    """For each value, the last place in its sorted row where it could stand. Not differentiable."""
    return _bound_dims(sorted_inputs, values)


not_differentiable(lower_bound_op, upper_bound_op)


def searchsorted(
    sorted_sequence: Any,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Where in the sorted last axis each value belongs; ``side`` as in `numpy.searchsorted`."""
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'. Saw: {side}.")
    make = lower_bound_op if side == "left" else upper_bound_op
    sequence = convert_to_tensor(sorted_sequence, name="sorted_sequence")
    values = convert_to_tensor(values, sequence.dtype, name="values")
    rows = reshape(sequence, [-1, shape(sequence)[-1]])
    wanted = reshape(values, [-1, shape(values)[-1]])
    return reshape(make(rows, wanted, out_type=out_type, name=name), shape(values))


# ---- Sets ---------------------------------------------------------------------------------


@define_op("Unique", "x: T -> y: T, idx: out_idx", out_idx=dtypes.INDICES)
def unique(x: Tensor, *, out_idx: DType = dtypes.int32) -> list[Dims]:
    """``(y, idx)``: the different elements in order of first appearance, and which one each x is.

    Shape: a vector of unknown length, and the input's. Not differentiable.
    """
    need_rank(x, 1, "x")
    return [(None,), x.dims or (None,)]


@define_op("UniqueWithCounts", "x: T -> y: T, idx: out_idx, count: out_idx", out_idx=dtypes.INDICES)
def unique_with_counts(x: Tensor, *, out_idx: DType = dtypes.int32) -> list[Dims]:
    """``(y, idx, count)``: as `unique`, and how often each element appears. Not differentiable."""
    need_rank(x, 1, "x")
    return [(None,), x.dims or (None,), (None,)]


def _unique_v2_dims(x: Tensor, axis: Tensor) -> list[Dims]:
    need_rank(axis, 1, "axis")
    if axis.dims == (0,):
        need_rank(x, 1, "x")
        return [(None,), x.dims or (None,)]
    known = static_value(axis)
    if x.dims is None or known is None:
        return [None if x.dims is None else (None,) * len(x.dims), (None,)]
    if known.size > 1:
        raise ValueError(f"axis must have one element or none, got {known.tolist()}")
    (at,), rank_ = known.tolist(), len(x.dims)
    if not -rank_ <= at < rank_:
        raise ValueError(f"axis {at} is out of range [-{rank_}, {rank_}) for x of rank {rank_}")
    dims = list(x.dims)
    dims[at] = None
    return [tuple(dims), (x.dims[at],)]


@define_op(
    "UniqueV2",
    "x: T, axis: Taxis -> y: T, idx: out_idx",
    Taxis=dtypes.INDICES,
    out_idx=dtypes.INDICES,
)
def unique_v2(x: Tensor, axis: Tensor, *, out_idx: DType = dtypes.int32) -> list[Dims]:
    """``(y, idx)``: the different slices along ``axis`` ([1], or [0] for a vector), in order of
    first appearance, and which one each slice of x is. Not differentiable."""
    return _unique_v2_dims(x, axis)


@define_op(
    "UniqueWithCountsV2",
    "x: T, axis: Taxis -> y: T, idx: out_idx, count: out_idx",
    Taxis=dtypes.INDICES,
    out_idx=dtypes.INDICES,
)
def unique_with_counts_v2(x: Tensor, axis: Tensor, *, out_idx: DType = dtypes.int32) -> list[Dims]:
    """``(y, idx, count)``: as UniqueV2, and how often each slice appears. Not differentiable."""
    return [*_unique_v2_dims(x, axis), (None,)]


@define_op("ListDiff", "x: T, y: T -> out: T, idx: out_idx", out_idx=dtypes.INDICES)
def list_diff_op(x: Tensor, y: Tensor, *, out_idx: DType = dtypes.int32) -> list[Dims]:
    """The elements of x that are not in y, in order, and their places in x. Not differentiable."""
    need_rank(x, 1, "x")
    need_rank(y, 1, "y")
    return [(None,), (None,)]


@define_op("InvertPermutation", "x: T -> y: T", T=INDEX)
def invert_permutation(x: Tensor) -> Dims:
    """The permutation that undoes x: ``y[x[i]] = i``. Not differentiable."""
    need_rank(x, 1, "x")
    return x.dims or (None,)


@define_op(
    "UnravelIndex",
    "indices: Tidx, dims: Tidx -> output: Tidx",
    Tidx=INDEX,
    int32_on_device=True,
    host_inputs=(),
)
def unravel_index(indices: Tensor, dims: Tensor) -> Dims:
    """Flat numbers of elements as coordinates in an array of shape ``dims``. Not differentiable.

    Shape: [rank] for a scalar, [rank, n] for n numbers.
    """
    need_rank(dims, 1, "dims")
    rank = (None,) if dims.dims is None else dims.dims
    if indices.dims is None:
        return None
    return rank if not indices.dims else (*rank, shapes.num_elements(indices.dims))


not_differentiable(invert_permutation, unravel_index)
refuse_gradient(unique, unique_with_counts, unique_v2, unique_with_counts_v2, list_diff_op)


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: Any = dtypes.int32, name: str | None = None
) -> Any:
    """``(out, idx)``: the elements of ``x`` that are not in ``y``, and where they stand."""
    return list_diff_op(x, y, out_idx=index_dtype, name=name)


def listdiff(x: TensorLike, y: TensorLike, out_idx: Any = None, name: str | None = None) -> Any:
    """The older name of `setdiff1d`."""
    return list_diff_op(x, y, out_idx=out_idx or dtypes.int32, name=name)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinate grids of several vectors; ``indexing`` "xy" (default) or "ij"."""
    from dataflow.ops.concat_split import stack

    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing parameter must be either 'xy' or 'ij', got {indexing!r}")
    with op_scope(name, "meshgrid", args):
        count = len(args)
        if count == 0:
            return []
        parts = []
        for i, x in enumerate(args):
            ones_around = [1] * count
            ones_around[i] = -1
            parts.append(reshape(stack(x), ones_around))
        sizes = [size(x) for x in args]
        if indexing == "xy" and count > 1:
            parts[0] = reshape(parts[0], [1, -1] + [1] * (count - 2))
            parts[1] = reshape(parts[1], [-1, 1] + [1] * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        if parts[0].dtype.base_dtype.kind in "fciu":
            full = ones(sizes, parts[0].dtype.base_dtype)
            return [p * full for p in parts]
        return [broadcast_to(expand_dims(p, 0)[0], sizes) for p in parts]
