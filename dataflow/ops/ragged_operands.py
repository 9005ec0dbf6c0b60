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


def self_like(values: Any) -> RaggedTensor:
    """The first ragged operand."""
    first: RaggedTensor = next(v for v in values if isinstance(v, RaggedTensor))
    return first


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
        elif rank == 2 and tensor.get_shape()[1].value == 1 and first.ragged_rank == 1:
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
