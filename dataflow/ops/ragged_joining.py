"""Ragged tensors joined: one after the other, or along a new axis."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.ragged_indexing import gather, gathered
from dataflow.ops.ragged_shape import checked_axis, expand_dims
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged, num_rows
from dataflow.ops.static_value import static_value


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


def concat(values: Any, axis: Any = None, name: str = "concat", concat_dim: Any = None) -> Any:
    """`tf.concat` of ragged tensors, or of some beside tensors."""
    axis = concat_dim if axis is None else axis
    parts = [convert_to_ragged(v) for v in values]
    with op_scope(name, "RaggedConcat", []):
        ranks = [p.shape.ndims for p in parts if p.shape.ndims is not None]
        axis = checked_axis(axis, ranks[0] if ranks else None)
        levels = max(p.ragged_rank for p in parts if isinstance(p, RaggedTensor))
        if axis >= 1 and not all(isinstance(p, RaggedTensor) for p in parts):
            levels = max(levels, 1)
        parts = [
            p if isinstance(p, RaggedTensor) else RaggedTensor.from_tensor(p, ragged_rank=levels)
            for p in parts
        ]
        return _concat(parts, axis)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """`tf.tile` of a ragged tensor: each axis joined with itself so many times, which is known."""
    rt, times = convert_to_ragged(input), static_value(convert_to_tensor(multiples))
    if times is None:
        raise ValueError("tf.tile of a RaggedTensor needs multiples that are known now")
    if times.shape != (rt.shape.ndims,):
        raise ValueError(
            f"multiples {times.tolist()} for a RaggedTensor of rank {rt.shape.ndims}\n"
            "Give one number for each axis."
        )
    with op_scope(name, "RaggedTile", []):
        for axis, count in enumerate(times.tolist()):
            none = (*[slice(None)] * axis, slice(0, 0))
            rt = concat([rt] * count, axis) if count else rt[none]
    return rt


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
        mixed = gathered(whole, array.reshape(order, [-1]))
        return RaggedTensor(mixed.values, mixed.row_splits[::count])
    return parts[0].with_values(_concat([p.values for p in parts], axis - 1))


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Tensors and ragged tensors side by side along a new axis, which may be ragged behind it."""
    parts = [convert_to_ragged(v) for v in values]
    with op_scope(name, "RaggedStack", []):
        rank = next((p.shape.ndims for p in parts if p.shape.ndims is not None), None)
        place = checked_axis(axis, None if rank is None else rank + 1)
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
