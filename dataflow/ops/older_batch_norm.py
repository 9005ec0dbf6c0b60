"""`FusedBatchNormV3` as TensorFlow wrote it before 1.15: other op types, fewer outputs."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import FLOATING
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.normalization import (
    fused_batch_norm_grad_gradient,
    fused_batch_norm_grad_op,
    fused_batch_norm_op,
)
from dataflow.shapes import Dims

_ATTRS = (
    "epsilon: float = 9.999999747378752e-05, data_format: str = 'NHWC', is_training: bool = True"
)


def _define(version: str, kind: str) -> tuple[OpDef, OpDef]:
    """The op and its gradient; ``kind`` is the type attribute of the statistics."""
    types: dict[str, Any] = {"T": FLOATING, "U": FLOATING} if kind == "U" else {"T": FLOATING}
    types["attrs"] = _ATTRS

    def rule(*inputs: Tensor, **attrs: Any) -> list[Dims]:
        return fused_batch_norm_op.shape_rule(*inputs, **attrs)[:5]  # type: ignore[no-any-return]

    rule.__name__ = f"FusedBatchNorm{version}"
    rule.__doc__ = (
        "As `FusedBatchNormV3`, without its last output. Shape, dtype and gradient: the same."
    )
    forward = define_op(
        f"FusedBatchNorm{version}",
        f"x: T, scale: {kind}, offset: {kind}, mean: {kind}, variance: {kind} -> y: T, "
        f"batch_mean: {kind}, batch_variance: {kind}, reserve_space_1: {kind}, reserve_space_2: {kind}",
        **types,
    )(rule)

    def grad_rule(*inputs: Tensor, **attrs: Any) -> list[Dims]:
        return fused_batch_norm_grad_op.shape_rule(*inputs, inputs[-1], **attrs)  # type: ignore[no-any-return]

    grad_rule.__name__ = f"FusedBatchNormGrad{version}"
    grad_rule.__doc__ = (
        "As `FusedBatchNormGradV3`, without its last input. Shape and gradient: the same."
    )
    backward = define_op(
        f"FusedBatchNormGrad{version}",
        f"y_backprop: T, x: T, scale: {kind}, reserve_space_1: {kind}, reserve_space_2: {kind} "
        f"-> x_backprop: T, scale_backprop: {kind}, offset_backprop: {kind}, "
        f"reserve_space_3: {kind}, reserve_space_4: {kind}",
        **types,
    )(grad_rule)

    @forward.gradient
    def gradient(op: Operation, *grads: Any) -> list[Any]:
        used = op.outputs[3:5] if op.attrs["is_training"] else op.inputs[3:5]
        attrs = {n: op.attrs[n] for n in ("epsilon", "data_format", "is_training")}
        return [*backward(grads[0], *op.inputs[:2], *used, **attrs)[:3], None, None]

    @backward.gradient
    def grad_gradient(op: Operation, *grads: Any) -> list[Any]:
        return fused_batch_norm_grad_gradient(op, *grads)[:5]  # type: ignore[no-any-return]

    return forward, backward


_define("", "T")
_define("V2", "U")
