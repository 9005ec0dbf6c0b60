"""Ops that pass a value on: Identity, and those that say something about it."""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DynamicShapeLike, TensorLike
from dataflow.ops.indexed_slices import IndexedSlices, takes_slices
from dataflow.ops.ragged_dispatch import maps_ragged
from dataflow.shapes import Dims, Shape


@define_op("Identity", "input: T -> output: T", is_alias=True, shape_like=0, inline_safe=True)
def identity_op(input: Tensor) -> Dims:
    """The input itself. Gradient: passes unchanged."""
    return input.dims


@define_op("IdentityN", "input: list(T) -> output: list(T)")
def identity_n(input: list[Tensor]) -> list[Dims]:
    """Several inputs, each itself. Gradient: passes unchanged."""
    return [t.dims for t in input]


@define_op("StopGradient", "input: T -> output: T", is_alias=True, shape_like=0)
@maps_ragged
def stop_gradient(input: Tensor) -> Dims:
    """The input itself, which counts as a constant for `tf.gradients`."""
    return input.dims


@define_op("PreventGradient", "input: T -> output: T", is_alias=True, shape_like=0)
def prevent_gradient_op(input: Tensor, *, message: str = "") -> Dims:
    """The input itself; asking for a gradient through it is an error with ``message``."""
    return input.dims


@define_op("Snapshot", "input: T -> output: T", is_alias=True)
def snapshot_op(input: Tensor) -> Dims:
    """The input itself. Gradient: passes unchanged."""
    return input.dims


@define_op("DebugGradientIdentity", "input: T -> output: T", is_alias=True)
def debug_gradient_identity_op(input: Tensor) -> Dims:
    """The input itself; marks a gradient for debuggers. Gradient: passes unchanged."""
    return input.dims


@define_op("GuaranteeConst", "input: T -> output: T", stateful=True)
def guarantee_const(input: Tensor) -> Dims:
    """The input itself, promised never to change. Not differentiable."""
    return input.dims


@define_op("EnsureShape", "input: T -> output: T")
def ensure_shape_op(input: Tensor, *, shape: Shape) -> Dims:
    """The input itself, checked to fit ``shape`` when it runs. Gradient: passes unchanged."""
    return shapes.merge(input.dims, shape)


@takes_slices
def _pass_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    return list(grads)


for _op in (identity_op, identity_n, snapshot_op, debug_gradient_identity_op, ensure_shape_op):
    _op.gradient(_pass_gradient)

not_differentiable(stop_gradient)

refuse_gradient(guarantee_const)


@prevent_gradient_op.gradient
def prevent_gradient_gradient(op: Operation, grad: Tensor) -> list[Any]:
    raise LookupError(
        f"Gradient explicitly disabled at {op.name!r}. Reason: {op.attrs['message']!r}"
    )


@maps_ragged
def identity(input: Any, name: str | None = None) -> Tensor:
    """A tensor with the value of ``input``; as a node of its own it can be named or controlled.

    A variable's identity is its value at that point of the run.
    """
    if isinstance(input, IndexedSlices):
        dense = None if input.dense_shape is None else identity(input.dense_shape)
        return IndexedSlices(identity(input.values, name), identity(input.indices), dense)  # type: ignore[return-value]
    if hasattr(input, "dense_shape") and hasattr(input, "indices"):
        return type(input)(  # type: ignore[no-any-return]
            identity(input.indices), identity(input.values, name), identity(input.dense_shape)
        )
    return identity_op(input, name=name)  # type: ignore[no-any-return]


def ensure_shape(x: TensorLike, shape: DynamicShapeLike, name: str | None = None) -> Tensor:
    """``x`` with the static shape ``shape`` added, checked when it runs.

    Raises `ValueError` when the static shape of ``x`` contradicts ``shape`` already.
    """
    return ensure_shape_op(x, shape=shape, name=name)  # type: ignore[no-any-return]
