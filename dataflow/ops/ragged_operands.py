"""Operands of element-wise ops that are ragged: their innermost values, where their rows agree."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.ragged_value import is_value
from dataflow.shapes import dimension_value


def self_like(values: Any) -> RaggedTensor:
    """The first ragged operand."""
    first: RaggedTensor = next(v for v in values if isinstance(v, RaggedTensor))
    return first


def broadcast_operands(values: list[Any]) -> list[Any]:
    """Operands of one shape: as they are where `flat_operands` takes them so, else each broadcast to that of all.

    Raises `ValueError` for shapes that do not fit, `InvalidArgumentError` where that shows as the graph runs.
    """
    from dataflow.ops.ragged_broadcast import (
        RaggedTensorDynamicShape,
        broadcast_dynamic_shape,
        broadcast_to,
    )

    values = [convert_to_ragged(v) if is_value(v) else v for v in values]
    first = self_like(values)
    if all(_fits(value, first) for value in values):
        return values
    values = [convert_to_ragged(v) for v in values]
    shapes = [RaggedTensorDynamicShape.from_tensor(v) for v in values]
    whole = shapes[0]
    for other in shapes[1:]:
        whole = broadcast_dynamic_shape(whole, other)
    return [broadcast_to(v, whole) for v in values]


def _fits(value: Any, first: RaggedTensor) -> bool:
    """Whether an operand has the rows of ``first``, or is the same for all elements, or for those of a row."""
    if isinstance(value, (int, float, complex, str, bytes)):
        return True
    rows = dimension_value(first.shape[0])
    if isinstance(value, RaggedTensor):
        alike = value.ragged_rank == first.ragged_rank and value.shape.ndims == first.shape.ndims
        return alike and first.shape[:1].is_compatible_with(value.shape[:1])
    shape = convert_to_tensor(value).get_shape()
    if (
        shape.ndims == 2
        and dimension_value(shape[1]) == 1
        and first.ragged_rank == 1
        and rows is not None
    ):
        return dimension_value(shape[0]) == rows and first.shape.ndims == 2
    return shape.ndims == 0


def flat_operands(values: list[Any]) -> list[Any]:
    """The innermost values of operands whose rows agree.

    Numbers and tensors without axes stay, [rows, 1] is repeated along the rows. Raises `ValueError` for operands
    of other shapes, and for ragged ranks that differ; where row splits differ, the run fails.
    """
    from dataflow.ops.assertions import assert_equal
    from dataflow.ops.graph_functions import control_dependencies

    values = [convert_to_ragged(v) if is_value(v) else v for v in values]
    first = self_like(values)
    checks: list[Any] = []
    flat: list[Any] = []
    for value in values:
        if isinstance(value, RaggedTensor):
            if value.ragged_rank != first.ragged_rank:
                raise ValueError(
                    f"operands have ragged ranks {first.ragged_rank} and {value.ragged_rank}: they must be "
                    "equal"
                )
            for a, b in zip(first.nested_row_splits, value.nested_row_splits, strict=True):
                if a is not b:
                    message = "Inputs must have identical ragged splits"
                    checks.append(
                        assert_equal(cast(a, dtypes.int64), cast(b, dtypes.int64), message=message)
                    )
            flat.append(value.flat_values)
            continue
        if isinstance(value, (int, float, complex, str, bytes)):
            flat.append(value)
            continue
        tensor = convert_to_tensor(value)
        rank = tensor.get_shape().ndims
        if rank == 0:
            flat.append(tensor)
        elif rank == 2 and dimension_value(tensor.get_shape()[1]) == 1 and first.ragged_rank == 1:
            flat.append(array.gather(tensor[:, 0], first.value_rowids()))
        else:
            raise ValueError(
                f"an operand of shape {tensor.get_shape()} cannot be broadcast to a RaggedTensor of shape "
                f"{first.shape}: use a scalar, [rows, 1], or a RaggedTensor with the same rows."
            )
    if checks:
        with control_dependencies(checks):
            flat = [array.identity(f) if isinstance(f, Tensor) else f for f in flat]
    return flat
