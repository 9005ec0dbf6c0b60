"""Ragged tensors: ranges, indices, reductions, and joining."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import maximum_op, minimum_op
from dataflow.ops.assertions import assert_none_equal
from dataflow.ops.casts import cast
from dataflow.ops.cumulative import cumsum
from dataflow.ops.elementary import ceil
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.ragged_operands import flat_operands
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged, num_rows
from dataflow.ops.ragged_value import is_value
from dataflow.ops.reduce import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from dataflow.ops.segment import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)

# ---- rows --------------------------------------------------------------------------------------


def _check_ranges(**arguments: Tensor) -> None:
    """Raises `ValueError` for an argument that is neither a number nor a vector, or vectors of other lengths."""
    sizes = set()
    for name, each in arguments.items():
        if each.dims is not None and len(each.dims) > 1:
            raise ValueError(f"{name} must be a number or a vector, got shape {each.shape}.")
        sizes |= {d for d in each.dims or () if d is not None}
    if len(sizes) > 1:
        shapes = ", ".join(f"{name} {each.shape}" for name, each in arguments.items())
        raise ValueError(f"starts, limits and deltas must be of one length, got {shapes}.")


def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> RaggedTensor:
    """Row i counts from ``starts[i]`` up to, but not including, ``limits[i]``, by ``deltas[i]``.

    Of one argument the rows begin with 0. Scalars stand for all rows.
    """
    with op_scope(name, "RaggedRange", []):
        if limits is None:
            starts, limits = 0, starts
        parts = [p if isinstance(p, Tensor) else np.asarray(p) for p in (starts, limits, deltas)]
        if dtype is None:
            known = [p.dtype.base_dtype for p in parts if isinstance(p, Tensor)]
            dtype = known[0] if known else as_dtype(np.result_type(*parts))
            dtype = dtypes.int32 if not known and dtype is dtypes.int64 else dtype
        first, last, step = (cast(convert_to_tensor(p), as_dtype(dtype)) for p in parts)
        _check_ranges(starts=first, limits=last, deltas=step)
        zero = array.reshape((first + last + step) * 0, [-1])
        first, last, step = (array.reshape(p, [-1]) + zero for p in (first, last, step))
        kind = as_dtype(row_splits_dtype)
        if isinstance(deltas, Tensor) or not np.all(deltas):
            ok = assert_none_equal(step, array.zeros_like(step), message="Requires delta != 0")
            with control_dependencies([ok]):
                step = array.identity(step)
        if as_dtype(dtype).is_floating:
            counts = cast(ceil((last - first) / step), kind)
        else:
            counts = -cast((first - last) // step, kind)
        counts = maximum_op(counts, array.zeros_like(counts))
        splits = array.concat([array.zeros([1], kind), cumsum(counts)], 0)
        rows = RaggedTensor(array.range_(splits[-1]), splits)
        ids = rows.value_rowids()
        place = rows.values - array.gather(splits, ids)
        values = array.gather(first, ids) + cast(place, first.dtype) * array.gather(step, ids)
        return rows.with_values(values)


def row_splits_to_segment_ids(
    splits: Any, name: str | None = None, out_type: DTypeLike | None = None
) -> Any:
    """The row of each value: ``[0, 3, 3, 5]`` gives ``[0, 0, 0, 2, 2]``."""
    splits = convert_to_tensor(splits, preferred_dtype=dtypes.int64)
    ids = RaggedTensor(array.range_(splits[-1]), splits).value_rowids()
    return ids if out_type is None else cast(ids, as_dtype(out_type))


def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: Any = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    """Where rows begin: ``[0, 0, 0, 2, 2]`` gives ``[0, 3, 3, 5]``."""
    ids = convert_to_tensor(segment_ids, preferred_dtype=dtypes.int64)
    splits = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
    return cast(splits, ids.dtype if out_type is None else as_dtype(out_type))


def stack_dynamic_partitions(
    data: TensorLike, partitions: Any, num_partitions: Any, name: str | None = None
) -> RaggedTensor:
    """Row i holds the elements of ``data`` whose partition is i, in their order."""
    with op_scope(name, "StackDynamicPartitions", []):
        partitions = array.reshape(cast(partitions, dtypes.int64), [-1])
        data = convert_to_ragged(data)
        from dataflow.ops.sequences import argsort

        order = argsort(partitions, stable=True)
        moved = array.gather(data, order) if isinstance(data, Tensor) else gather(data, order)
        return RaggedTensor.from_value_rowids(
            moved, array.gather(partitions, order), cast(num_partitions, dtypes.int64)
        )


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``op`` of the innermost values of all ragged arguments, with their rows.

    The arguments' rows must be the same, and the result must have as many values. Without a ragged argument,
    ``op(*args, **kwargs)``.
    """
    values = [*args, *kwargs.values()]
    ragged = [convert_to_ragged(v) for v in values if is_value(v) or isinstance(v, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    flat = iter(flat_operands(ragged))

    def inner(value: Any) -> Any:
        return next(flat) if is_value(value) or isinstance(value, RaggedTensor) else value

    new_args = [inner(a) for a in args]
    new_kwargs = {k: inner(v) for k, v in kwargs.items()}
    return ragged[0].with_flat_values(op(*new_args, **new_kwargs))


# ---- indices ------------------------------------------------------------------------------------


def getitem(rt: RaggedTensor, key: Any) -> Any:
    """``rt[i]``, ``rt[a:b]``, ``rt[i, j]``, ``rt[:, a:b]``, ``rt[..., a]`` and combinations.

    Raises `ValueError` for a number where rows are ragged and the row is not chosen (``rt[:, 0]``): rows may
    have no such element.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [k for k in keys if k is Ellipsis]:
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        rank = rt.shape.ndims
        if rank is None:
            raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
        given = sum(1 for k in keys if k is not Ellipsis and k is not None)
        keys[at : at + 1] = [slice(None)] * (rank - given)
    return _getitem(rt, keys)


def _getitem(rt: Any, keys: list[Any]) -> Any:
    if not keys:
        return rt
    if not isinstance(rt, RaggedTensor):
        return rt[tuple(keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        return expand_dims(_getitem(rt, rest), 0)
    if isinstance(first, slice):
        chosen = rt if first == slice(None) else _rows(rt, first)
        return _inner(chosen, rest)
    place = convert_to_tensor(first, preferred_dtype=rt.row_splits.dtype)
    if place.get_shape().ndims not in (None, 0):
        raise TypeError("a RaggedTensor is indexed by numbers and slices; use tf.gather for more")
    place = cast(place, rt.row_splits.dtype)
    place = array.where(place < 0, place + rt.nrows(), place)
    start, end = rt.row_splits[place], rt.row_splits[place + 1]
    values = rt.values
    if isinstance(values, RaggedTensor):
        row: Any = _rows(values, slice(start, end))
    else:
        row = values[start:end]
    return _getitem(row, rest)


def _rows(rt: RaggedTensor, chosen: slice) -> Any:
    return gather(rt, array.range_(rt.nrows())[chosen])


def _inner(rt: RaggedTensor, keys: list[Any]) -> Any:
    """The rest of an index, within each row."""
    if not keys:
        return rt
    first, rest = keys[0], keys[1:]
    if first is None:
        return expand_dims(_inner(rt, rest), 1)
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if first != slice(None):
        rt = _cut(rt, first)
    if not rest:
        return rt
    if isinstance(rt.values, RaggedTensor):
        return rt.with_values(_inner(rt.values, rest))
    return rt.with_values(rt.values[(slice(None), *rest)])


def _cut(rt: RaggedTensor, chosen: slice) -> RaggedTensor:
    """``row[a:b:step]`` of each row; the step is positive."""
    step = 1 if chosen.step is None else chosen.step
    if not isinstance(step, int) or step <= 0:
        raise ValueError("the step of a slice of ragged rows must be a positive number")
    lengths = rt.row_lengths()
    kind = lengths.dtype

    def end(value: TensorLike | None, default: Any) -> Any:
        if value is None:
            return default
        number = cast(value, kind) + array.zeros_like(lengths)
        number = array.where(number < 0, number + lengths, number)
        return minimum_op(maximum_op(number, array.zeros_like(lengths)), lengths)

    first, last = end(chosen.start, array.zeros_like(lengths)), end(chosen.stop, lengths)
    starts = rt.row_splits[:-1]
    places = ragged_range(starts + first, starts + last, step, kind, row_splits_dtype=kind)
    return places.with_values(_take(rt.values, places.values))


def _take(values: Any, places: Any) -> Any:
    return (
        gather(values, places) if isinstance(values, RaggedTensor) else array.gather(values, places)
    )


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """`tf.gather` of the rows of a ragged tensor, or with ragged indices."""
    if axis not in (None, 0) or batch_dims:
        raise ValueError("tf.gather of a RaggedTensor takes rows: axis=0, batch_dims=0")
    with op_scope(name, "RaggedGather", []):
        params, indices = convert_to_ragged(params), convert_to_ragged(indices)
        if isinstance(indices, RaggedTensor):
            return indices.with_flat_values(_as_rows(params, indices.flat_values))
        rank = indices.get_shape().ndims
        if rank == 0:
            return getitem(params, indices)
        if rank == 1:
            return _gathered(params, indices)
        if rank is None:
            raise ValueError("indices of a RaggedTensor must have a known rank")
        inner = RaggedTensor.from_tensor(indices, ragged_rank=rank - 1)
        return inner.with_flat_values(_gathered(params, inner.flat_values))


def _as_rows(params: Any, indices: TensorLike) -> Any:
    return (
        _gathered(params, indices)
        if isinstance(params, RaggedTensor)
        else array.gather(params, indices)
    )


def _gathered(rt: RaggedTensor, indices: TensorLike) -> RaggedTensor:
    kind = rt.row_splits.dtype.base_dtype
    starts = array.gather(rt.row_splits, indices)
    limits = array.gather(rt.row_splits[1:], indices)
    places = ragged_range(starts, limits, 1, kind, row_splits_dtype=kind)
    return places.with_values(_take(rt.values, places.values))


def boolean_mask(
    data: Any, mask: Any, name: str | None = "boolean_mask", axis: AxisLike | None = None
) -> Any:
    """The elements of ``data`` where ``mask`` is true; the mask's axes stay, ragged.

    ``mask`` has the rows of ``data``, up to all its levels.
    """
    if axis not in (None, 0):
        raise ValueError("boolean_mask of a RaggedTensor begins with its first axis")
    with op_scope(name, "RaggedMask", []):
        data, mask = convert_to_ragged(data), convert_to_ragged(mask, dtypes.bool_)
        if not isinstance(mask, RaggedTensor):
            rank = mask.get_shape().ndims
            if rank == 1:
                kept = array.reshape(array.where(mask), [-1])
                return _take(data, kept)
            if rank is None:
                raise ValueError("the mask must have a known rank")
            mask = RaggedTensor.from_tensor(mask, ragged_rank=rank - 1)
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank)
        if isinstance(mask.values, RaggedTensor):
            return data.with_values(boolean_mask(data.values, mask.values))
        kept = cast(mask.values, data.row_splits.dtype)
        counts = unsorted_segment_sum(kept, data.value_rowids(), data.nrows())
        chosen = array.reshape(array.where(mask.values), [-1])
        return RaggedTensor.from_row_lengths(_take(data.values, chosen), counts)


# ---- shapes -------------------------------------------------------------------------------------


def _axis(axis: int, rank: int | None) -> int:
    if axis >= 0:
        return axis
    if rank is None:
        raise ValueError("axis may not be negative where the rank is unknown")
    return axis + rank


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """`tf.expand_dims` of a ragged tensor: an axis of size 1 at ``axis``."""
    input = convert_to_ragged(input)
    if not isinstance(input, RaggedTensor):
        return array.expand_dims(input, axis, name)
    place = axis if dim is None else dim
    rank = input.shape.ndims
    place = _axis(place, None if rank is None else rank + 1)
    kind = input.row_splits.dtype.base_dtype
    if place == 0:
        return RaggedTensor(input, array.stack([array.zeros([], kind), input.nrows()]))
    if place == 1:
        return RaggedTensor(input, array.range_(input.nrows() + 1))
    return input.with_values(expand_dims(input.values, place - 1))


def concat(values: Any, axis: Any = None, name: str = "concat", concat_dim: Any = None) -> Any:
    """`tf.concat` of ragged tensors, or of some beside tensors."""
    axis = concat_dim if axis is None else axis
    parts = [convert_to_ragged(v) for v in values]
    with op_scope(name, "RaggedConcat", []):
        ranks = [p.shape.ndims for p in parts if p.shape.ndims is not None]
        axis = _axis(axis, ranks[0] if ranks else None)
        levels = max(p.ragged_rank for p in parts if isinstance(p, RaggedTensor))
        if axis >= 1 and not all(isinstance(p, RaggedTensor) for p in parts):
            levels = max(levels, 1)
        parts = [
            p if isinstance(p, RaggedTensor) else RaggedTensor.from_tensor(p, ragged_rank=levels)
            for p in parts
        ]
        return _concat(parts, axis)


def _concat(parts: list[Any], axis: int) -> Any:
    if len(parts) == 1:
        return parts[0]
    if not any(isinstance(p, RaggedTensor) for p in parts):
        return array.concat(parts, axis)
    if axis == 0:
        splits, offset = [parts[0].row_splits], parts[0].row_splits[-1]
        for part in parts[1:]:
            splits.append(part.row_splits[1:] + offset)
            offset = offset + part.row_splits[-1]
        return RaggedTensor(_concat([p.values for p in parts], 0), array.concat(splits, 0))
    if axis == 1:
        count, rows = len(parts), parts[0].nrows()
        whole = _concat(parts, 0)
        order = array.transpose(array.reshape(array.range_(rows * count), [count, -1]))
        mixed = _gathered(whole, array.reshape(order, [-1]))
        return RaggedTensor(mixed.values, mixed.row_splits[::count])
    return parts[0].with_values(_concat([p.values for p in parts], axis - 1))


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Tensors and ragged tensors side by side along a new axis, which may be ragged behind it."""
    parts = [convert_to_ragged(v) for v in values]
    with op_scope(name, "RaggedStack", []):
        rank = next((p.shape.ndims for p in parts if p.shape.ndims is not None), None)
        place = _axis(axis, None if rank is None else rank + 1)
        if rank == 0:
            return array.stack(parts, axis)
        if place == 0:
            counts = array.stack([num_rows(p) for p in parts])
            joined = _concat_any(parts) if rank != 1 else array.concat(parts, 0)
            return RaggedTensor.from_row_lengths(joined, counts)
        return concat([_with_axis(p, place) for p in parts], place)


def _with_axis(part: Any, place: int) -> Any:
    return (
        expand_dims(part, place)
        if isinstance(part, RaggedTensor)
        else array.expand_dims(part, place)
    )


def _concat_any(parts: list[Any]) -> Any:
    if any(isinstance(p, RaggedTensor) for p in parts):
        return concat(parts, 0)
    ragged = [RaggedTensor.from_tensor(p) for p in parts]
    return _concat(ragged, 0)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Any:
    """The number of values."""
    return array.size(convert_to_ragged(input).flat_values, name, out_type)


def rank(input: TensorLike, name: str | None = None) -> Any:
    """The number of axes."""
    ragged = convert_to_ragged(input)
    return array.rank(ragged.flat_values) + ragged.ragged_rank


def _mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return map_flat_values(function, *args, **kwargs)

    mapped.__doc__ = "The function of the innermost values, with these rows."
    return mapped


ragged_cast = _mapped(cast)
zeros_like = _mapped(array.zeros_like)
ones_like = _mapped(array.ones_like)
identity = _mapped(array.identity)


def lookup(params: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
    """`tf.nn.embedding_lookup` of ragged ids: the embeddings in the ids' rows."""
    ids = convert_to_ragged(ids)
    return ids.with_flat_values(embedding_lookup(params, ids.flat_values, *args, **kwargs))


# ---- reductions -----------------------------------------------------------------------------------


def _aggregated(segments: Callable[..., Any], data: Any, ids: TensorLike, count: Any) -> Any:
    """What ``segments`` makes of the elements of ``data`` with one id; of rows, element by element."""
    if not isinstance(data, RaggedTensor):
        return segments(data, ids, count)
    lengths = data.row_lengths()
    widths = unsorted_segment_max(lengths, ids, count)
    widths = maximum_op(widths, array.zeros_like(widths))
    splits = array.concat([array.zeros([1], widths.dtype), cumsum(widths)], 0)
    starts = array.gather(splits, ids)
    places = ragged_range(starts, starts + lengths, 1, lengths.dtype).values
    values = _aggregated(segments, data.values, places, splits[-1])
    return RaggedTensor(values, splits)


def _reduced(whole: Any, segments: Any, rt: Any, axis: Any, name: str) -> Any:
    if not isinstance(rt, RaggedTensor):
        return whole(rt, axis)
    if axis is None:
        return whole(rt.flat_values, None)
    if isinstance(axis, (list, tuple)):
        for one in sorted((_axis(a, rt.shape.ndims) for a in axis), reverse=True):
            rt = _reduced(whole, segments, rt, one, name)
        return rt
    axis = _axis(int(axis), rt.shape.ndims)
    if axis == 0:
        lengths = rt.row_lengths()
        zero = array.zeros([1], lengths.dtype)
        count = reduce_max(array.concat([lengths, zero], 0))
        return _aggregated(
            segments, rt.values, ragged_range(lengths, dtype=lengths.dtype).values, count
        )
    if axis == 1:
        return _aggregated(segments, rt.values, rt.value_rowids(), rt.nrows())
    return rt.with_values(_reduced(whole, segments, rt.values, axis - 1, name))


def _reduction(name: str, whole: Any, segments: Any) -> Callable[..., Any]:
    def reduce(
        input_tensor: TensorLike,
        axis: AxisLike | None = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        if keepdims or keep_dims:
            raise ValueError("reductions of a RaggedTensor have no keepdims: use tf.expand_dims")
        axis = reduction_indices if axis is None else axis
        with op_scope(name, label, []):
            return _reduced(whole, segments, convert_to_ragged(input_tensor), axis, label)

    label = f"Ragged{name}"
    reduce.__doc__ = f"`tf.reduce_{name.lower()}` of a ragged tensor."
    return reduce


def _logic(segments: Any) -> Any:
    return lambda data, ids, count: cast(
        segments(cast(data, dtypes.int32), ids, count) > 0, dtypes.bool_
    )


sum_ = _reduction("Sum", reduce_sum, unsorted_segment_sum)
prod = _reduction("Prod", reduce_prod, unsorted_segment_prod)
max_ = _reduction("Max", reduce_max, unsorted_segment_max)
min_ = _reduction("Min", reduce_min, unsorted_segment_min)
all_ = _reduction("All", reduce_all, _logic(unsorted_segment_prod))
any_ = _reduction("Any", reduce_any, _logic(unsorted_segment_max))


def mean(
    input_tensor: Any,
    axis: AxisLike | None = None,
    keepdims: Any = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Any:
    """`tf.reduce_mean` of a ragged tensor: the sum over the number of elements, not the mean of means."""
    ragged = convert_to_ragged(input_tensor)
    axis = reduction_indices if axis is None else axis
    if axis is None:
        return reduce_mean(ragged.flat_values)
    total = sum_(ragged, axis, keepdims, name, None, keep_dims)
    return total / sum_(ones_like(ragged), axis)
