"""Nodes made from one flat list of inputs: the attributes that these imply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dataflow.graph.op_def import OpDef
    from dataflow.graph.tensor import Tensor


def infer_type_attrs(op_def: OpDef, inputs: list[Tensor], attrs: dict[str, Any]) -> None:
    """Fills in the attributes that the inputs imply, for nodes made from a flat input list.

    Raises `InvalidArgumentError` if the op takes another number of inputs.
    """
    position = 0
    for arg in op_def.inputs:
        if arg.type_list_attr is not None:
            if arg.type_list_attr in attrs:
                count = len(attrs[arg.type_list_attr])
            else:
                count = len(inputs) - position - (len(op_def.inputs) - 1)
                attrs[arg.type_list_attr] = [
                    t.dtype.base_dtype for t in inputs[position : position + count]
                ]
            position += count
            continue
        count = 1
        if arg.number_attr is not None:
            if arg.number_attr not in attrs:
                attrs[arg.number_attr] = len(inputs) - position - (len(op_def.inputs) - 1)
            count = attrs[arg.number_attr]
        if arg.type_attr is not None and arg.type_attr not in attrs and position < len(inputs):
            attrs[arg.type_attr] = inputs[position].dtype.base_dtype
        position += count
    if position != len(inputs):
        raise InvalidArgumentError(
            None, None, f"{op_def.type} takes {position} inputs, got {len(inputs)}"
        )
