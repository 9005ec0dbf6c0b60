"""Sums of lists of tensors."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import NUMBERS, as_dtype
from dataflow.graph.conversion import convert_n_to_tensor
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DynamicShapeLike
from dataflow.ops import array as array_ops
from dataflow.ops.indexed_slices import takes_slices
from dataflow.ops.ragged_dispatch import is_ragged
from dataflow.shapes import Dims, Shape


def _merged_dims(inputs: list[Tensor]) -> Dims:
    dims: Dims = None
    for tensor in inputs:
        try:
            dims = shapes.merge(dims, tensor.dims)
        except ValueError:
            raise ValueError(
                f"all inputs must have the same shape, got {shapes.list_dims(dims)} and "
                f"{shapes.list_dims(tensor.dims)}\nUse + for tensors that broadcast."
            ) from None
    return dims


@define_op(
    "AddN",
    "inputs: N * T -> sum: T",
    T=NUMBERS | {dtypes.variant},
    shape_like=0,
    equal_shapes=True,
    keeps_rows=True,
    own_memory=True,
    inline_safe=True,
)
def add_n_op(inputs: list[Tensor]) -> Dims:
    """The sum of a list of tensors.

    Shape: all the same. Dtype: any number. Gradient: dz to each of them.
    """
    return _merged_dims(inputs)


@add_n_op.gradient
@takes_slices
def add_n_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad] * len(op.inputs)


@define_op("AccumulateNV2", "inputs: N * T -> sum: T", T=NUMBERS)
def accumulate_n_op(inputs: list[Tensor], *, shape: Shape) -> Dims:
    """The sum of a list of tensors, as AddN; graphs from elsewhere have it.

    Shape: all the same, and ``shape``. Gradient: dz to each of them.
    """
    return shapes.merge(shape, _merged_dims(inputs))


@accumulate_n_op.gradient
@takes_slices
def accumulate_n_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad] * len(op.inputs)


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of the same shape and dtype.

    Raises `ValueError` for an empty list or shapes that differ.
    """
    if isinstance(inputs, Tensor) or not hasattr(inputs, "__iter__"):
        raise ValueError("inputs must be an iterable of at least one Tensor/IndexedSlices")
    inputs = list(inputs)
    if any(map(is_ragged, inputs)):
        return add_n_op(inputs, name=name)  # type: ignore[no-any-return]
    tensors = convert_n_to_tensor(inputs)
    if not tensors:
        raise ValueError("inputs must be an iterable of at least one Tensor/IndexedSlices")
    if len(tensors) == 1:
        return array_ops.identity(tensors[0], name=name) if name else tensors[0]
    return add_n_op(tensors, name=name)  # type: ignore[no-any-return]


def accumulate_n(
    inputs: Any,
    shape: DynamicShapeLike | None = None,
    tensor_dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """The sum of a list of tensors, as `add_n`; ``shape`` and ``tensor_dtype`` are checked."""
    tensors = convert_n_to_tensor(inputs)
    if not tensors:
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices")
    if tensor_dtype is not None and tensors[0].dtype.base_dtype != as_dtype(tensor_dtype):
        raise TypeError(
            f"tensor_dtype is {as_dtype(tensor_dtype).name}, but the inputs are "
            f"{tensors[0].dtype.base_dtype.name}"
        )
    dims = shapes.merge(shapes.as_dims(shape), _merged_dims(tensors))
    if len(tensors) == 1:
        return array_ops.identity(tensors[0], name=name) if name else tensors[0]
    total: Tensor = add_n_op(tensors, name=name)
    total.set_shape(dims)
    return total
