"""Parts of ragged tensors: Python's index syntax, gathered rows, chosen rows."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import maximum_op, minimum_op
from dataflow.ops.casts import cast
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.ragged_ranges import ragged_range
from dataflow.ops.ragged_shape import expand_dims
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.segment import unsorted_segment_sum


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
            return gathered(params, indices)
        if rank is None:
            raise ValueError("indices of a RaggedTensor must have a known rank")
        inner = RaggedTensor.from_tensor(indices, ragged_rank=rank - 1)
        return inner.with_flat_values(gathered(params, inner.flat_values))


def _as_rows(params: Any, indices: TensorLike) -> Any:
    return (
        gathered(params, indices)
        if isinstance(params, RaggedTensor)
        else array.gather(params, indices)
    )


def gathered(rt: RaggedTensor, indices: TensorLike) -> RaggedTensor:
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
        raise ValueError("boolean_mask of a RaggedTensor must start at axis 0")
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


def lookup(params: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
    """`tf.nn.embedding_lookup` of ragged ids: the embeddings in the ids' rows."""
    ids = convert_to_ragged(ids)
    return ids.with_flat_values(embedding_lookup(params, ids.flat_values, *args, **kwargs))
