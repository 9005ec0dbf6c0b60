"""Rows sorted into several tensors by number, and put together again."""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.gather_scatter import gather
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import product_of, shape
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


@define_op("DynamicPartition", "data: T, partitions: int32 -> outputs: num_partitions * T")
def dynamic_partition_op(data: Tensor, partitions: Tensor, *, num_partitions: int) -> list[Dims]:
    """The slices of ``data`` sorted into ``num_partitions`` tensors by the number of each.

    Shape: [unknown] + what follows the axes of ``partitions``. Gradient: stitched together again.
    """
    if num_partitions < 1:
        raise ValueError(f"num_partitions must be at least 1, got {num_partitions}")
    if data.dims is None or partitions.dims is None:
        return [None] * num_partitions
    count = len(partitions.dims)
    if not shapes.compatible(data.dims[:count], partitions.dims):
        raise ValueError(
            f"data must start with the shape of partitions: {shapes.list_dims(data.dims)} and "
            f"{shapes.list_dims(partitions.dims)}"
        )
    return [(None, *data.dims[count:])] * num_partitions


def _stitched(indices: list[Tensor], data: list[Tensor]) -> Dims:
    rest: Dims = None
    largest: int | None = -1
    for where_to, part in zip(indices, data, strict=True):
        if where_to.dims is not None and part.dims is not None:
            count = len(where_to.dims)
            if not shapes.compatible(part.dims[:count], where_to.dims):
                raise ValueError(
                    f"data must start with the shape of its indices: {shapes.list_dims(part.dims)} "
                    f"and {shapes.list_dims(where_to.dims)}"
                )
            try:
                rest = shapes.merge(rest, part.dims[count:])
            except ValueError:
                raise ValueError("the slices must all have the same shape") from None
        known = static_value(where_to)
        if known is None:
            largest = None
        elif largest is not None and known.size:
            largest = max(largest, int(known.max()))
    return None if rest is None else (None if largest is None else largest + 1, *rest)


@define_op("DynamicStitch", "indices: N * int32, data: N * T -> merged: T")
def dynamic_stitch(indices: list[Tensor], data: list[Tensor]) -> Dims:
    """Slices put at the rows that ``indices`` say; of several for one row the last counts.

    Shape: [largest index + 1] + the slices'. Gradient: gathered.
    """
    return _stitched(indices, data)


@define_op("ParallelDynamicStitch", "indices: N * int32, data: N * T -> merged: T")
def parallel_dynamic_stitch(indices: list[Tensor], data: list[Tensor]) -> Dims:
    """As DynamicStitch, where no row may be given twice. Gradient: gathered."""
    return _stitched(indices, data)


@dynamic_partition_op.gradient
def dynamic_partition_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    from dataflow.ops.sequences import range_

    data, partitions = op.inputs
    prefix = shape(partitions)
    numbers = reshape(range_(product_of(prefix)), prefix)
    parts = dynamic_partition_op(numbers, partitions, num_partitions=op.attrs["num_partitions"])
    merged = parallel_dynamic_stitch(list(parts), list(grads))
    return [reshape(merged, shape(data)), None]


def _stitch_gradient(op: Operation, grad: Tensor) -> list[Any]:
    count = len(op.inputs) // 2
    return [None] * count + [gather(grad, i) for i in op.inputs[:count]]


dynamic_stitch.gradient(_stitch_gradient)
parallel_dynamic_stitch.gradient(_stitch_gradient)


def dynamic_partition(
    data: TensorLike, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """``data`` sorted into ``num_partitions`` tensors; ``partitions`` says which each slice is in."""
    return list(dynamic_partition_op(data, partitions, num_partitions=num_partitions, name=name))
