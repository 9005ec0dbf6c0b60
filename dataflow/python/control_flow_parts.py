"""Functions of ``tensorflow.python.ops.control_flow_ops`` in the form that they have there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.sparse_tensor import SparseTensor

__all__ = ["merge", "switch"]


class _Merge(NamedTuple):
    """What `merge` gives."""

    output: Any
    value_index: Tensor


def _parts(value: Any) -> list[Any]:
    """The tensors of a value; ``dense_shape`` may be None."""
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, IndexedSlices):
        return [value.values, value.indices, value.dense_shape]
    return [value]


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """(output_false, output_true): ``data``, which may be sparse, goes to the one that ``pred`` names."""
    if not isinstance(data, (IndexedSlices, SparseTensor, Tensor)):
        data = convert_to_tensor(data, dtype)
    pred = convert_to_tensor(pred)
    parts = _parts(data)
    pairs = [
        (None, None) if part is None else control_flow.switch(part, pred, name if i == 0 else None)
        for i, part in enumerate(parts)
    ]
    if len(parts) == 1:
        return pairs[0][0], pairs[0][1]
    return type(data)(*(p[0] for p in pairs)), type(data)(*(p[1] for p in pairs))


def merge(inputs: Sequence[Any], name: str | None = None) -> Any:
    """``(output, value_index)``: the input that is not dead, all tensors or all sparse alike, and its number.

    Raises `ValueError` where one is None.
    """
    if any(value is None for value in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    kind: Any = next(
        (type(v) for v in inputs if isinstance(v, (IndexedSlices, SparseTensor))), Tensor
    )
    if kind is Tensor:
        inputs = [v if isinstance(v, Tensor) else convert_to_tensor(v) for v in inputs]
    columns = list(zip(*map(_parts, inputs), strict=True))
    merged: list[Any] = [
        None if None in column else _merge(list(column), name) for column in columns
    ]
    first = merged[0]
    if kind is Tensor:
        return first
    return _Merge(kind(*(part and part.output for part in merged)), first.value_index)


def _merge(tensors: list[Any], name: str | None) -> Any:
    by_reference = all(tensor.dtype.is_ref for tensor in tensors)
    op = control_flow.ref_merge_op if by_reference else control_flow.merge_op
    return _Merge(*op(tensors, name=name))
