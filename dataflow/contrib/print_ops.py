"""``contrib.framework.print_op``: what a tensor is, printed whenever it is used."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.logging_ops import Print
from dataflow.ops.math import argmax, cast
from dataflow.ops.sources import constant
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.variables import Variable


def print_op(
    input_: Any,
    data: list[Any] | None = None,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_shape: bool = True,
    summarize_indicator_vector: bool = True,
    name: str | None = None,
) -> Any:
    """``input_`` (a tensor, sparse tensor, `TensorArray` or variable), which prints itself when used.

    Name, type, shape and values go to standard error after ``message``, then the tensors of ``data``; of
    a vector of truth values (``summarize_indicator_vector``) also where the first true one is. The other
    arguments are those of `tf.Print`. Raises `ValueError` for anything else.
    """
    shown = _description(
        input_, print_tensor_name, print_tensor_type, print_shape, summarize_indicator_vector
    )
    arguments = ([*shown, *(data or [])], message or "", first_n, summarize)
    if isinstance(input_, (Tensor, Variable)):
        return Print(input_, *arguments, name=name)
    with control_dependencies([Print(constant([]), *arguments, name=name)]):
        if isinstance(input_, TensorArray):
            return input_.identity()
        parts = input_.indices, input_.values, input_.dense_shape
        return SparseTensor(*(array.identity(part) for part in parts))


def _description(
    t: Any, has_name: bool, has_type: bool, has_shape: bool, has_first: bool
) -> list[Any]:
    kinds = {
        Tensor: "Tensor",
        SparseTensor: "SparseTensor",
        TensorArray: "TensorArray",
        Variable: "Variable",
    }
    kind = next((name for base, name in kinds.items() if isinstance(t, base)), None)
    if kind is None:
        raise ValueError(f"t must be a Tensor, SparseTensor, TensorArray or Variable, got {t!r}.")
    shown: list[Any] = []
    if has_name and kind == "Tensor":
        shown.append(f"Name: {t.name}")
    if has_type:
        shown.append(f"Type: {kind} ({t.dtype.name})")
    if has_shape:
        if kind == "TensorArray":
            shown += ["Size:", t.size()]
        elif kind == "SparseTensor":
            shown += ["Shape:", t.dense_shape]
        elif kind == "Tensor":
            shown.append(f"Shape: {t.get_shape().dims}")
    if has_first and kind == "Tensor" and t.dtype.base_dtype == dtypes.bool_:
        shown += ["First True in Boolean tensor at:", argmax(cast(t, dtypes.uint8), 0)]
    if kind == "SparseTensor":
        return [*shown, "Sparse indices:", t.indices, "Sparse values:", t.values]
    return (
        shown
        if kind == "Variable"
        else [*shown, "Value:", t.stack() if kind == "TensorArray" else t]
    )
