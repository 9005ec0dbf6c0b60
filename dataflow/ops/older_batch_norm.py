"""Batch normalization as TensorFlow wrote it before 1.15: other op types, which old graph files have.

`FusedBatchNormV3` had fewer outputs, and before there was `tf.nn.batch_normalization` images were normalized
by ``BatchNormWithGlobalNormalization`` (the frozen Inception of 2015, for one).
"""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import FLOATING
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.normalization import (
    batch_norm_with_global_normalization,
    dims_by_channel,
    fused_batch_norm_grad_gradient,
    fused_batch_norm_grad_op,
    fused_batch_norm_op,
)
from dataflow.shapes import Dims, merge

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


@define_op(
    "BatchNormWithGlobalNormalization",
    "t: T, m: T, v: T, beta: T, gamma: T -> result: T",
    T=FLOATING,
)
def batch_norm_with_global_normalization_op(
    t: Tensor,
    m: Tensor,
    v: Tensor,
    beta: Tensor,
    gamma: Tensor,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> list[Dims]:
    """``(t - m) / sqrt(v + variance_epsilon) * gamma + beta``; without gamma unless ``scale_after_normalization``.

    Shape: t and the result [batch, height, width, channels], the others [channels]. Dtype: t's.
    """
    dims, _ = dims_by_channel(t, {"m": m, "v": v, "beta": beta, "gamma": gamma}, "NHWC")
    return [dims]


@define_op(
    "BatchNormWithGlobalNormalizationGrad",
    "t: T, m: T, v: T, gamma: T, backprop: T -> dx: T, dm: T, dv: T, db: T, dg: T",
    T=FLOATING,
)
def batch_norm_with_global_normalization_grad_op(
    t: Tensor,
    m: Tensor,
    v: Tensor,
    gamma: Tensor,
    backprop: Tensor,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> list[Dims]:
    """The gradients to t, m, v, beta and gamma (zeros where gamma is not used).

    Shape: t and backprop [batch, height, width, channels], the others [channels]. Dtype: t's.
    """
    dims, channels = dims_by_channel(t, {"m": m, "v": v, "gamma": gamma}, "NHWC")
    dims = merge(dims, backprop.dims)
    return [dims, *(channels,) * 4]


@batch_norm_with_global_normalization_op.gradient
def _global_normalization_gradient(op: Operation, grad: Any) -> list[Any]:
    t, m, v, _, gamma = op.inputs
    return list(batch_norm_with_global_normalization_grad_op(t, m, v, gamma, grad, **_settings(op)))


@batch_norm_with_global_normalization_grad_op.gradient
def _global_normalization_grad_gradient(op: Operation, *grads: Any) -> list[Any]:
    """By the formula of the same normalization in other ops, which have gradients of gradients."""
    from dataflow.autodiff.gradients import gradients

    *inputs, backprop = op.inputs
    t, m, v, gamma = inputs
    beta = m * 0
    y = batch_norm_with_global_normalization(t, m, v, beta, gamma, **_settings(op))
    firsts = gradients(y, [t, m, v, beta, gamma], backprop)
    used = [(a, b) for a, b in zip(firsts, grads, strict=True) if a is not None and b is not None]
    return gradients([a for a, _ in used], op.inputs, [b for _, b in used])


def _settings(op: Operation) -> dict[str, Any]:
    return {n: op.attrs[n] for n in ("variance_epsilon", "scale_after_normalization")}
