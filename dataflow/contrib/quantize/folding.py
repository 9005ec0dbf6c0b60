"""Batch normalizations folded into the layers before them: their scale goes into the weights.

Only fused ones, those of `tf.layers` and `tf.contrib.layers` for images; others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dataflow import dtypes
from dataflow.contrib.quantize.rewiring import identical, quantization_step, reroute
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import RegisterGradient
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.conditionals import cond
from dataflow.ops.conv_functions import conv2d
from dataflow.ops.depthwise_functions import depthwise_conv2d
from dataflow.ops.math import add, divide, greater_equal, multiply, reciprocal, rsqrt, subtract
from dataflow.ops.matmul import matmul
from dataflow.ops.space_batch_depth import batch_to_space_nd

_NORMALIZATIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_LAYERS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_GRADIENT = "FoldFusedBatchNormGrad"


@dataclass
class _Normalization:
    """A fused batch normalization, the layer before it, and the ops between and after that only reshape."""

    op: Operation
    layer: Operation
    to_batch: Operation | None
    output: Tensor
    moving: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    @property
    def is_training(self) -> bool:
        return bool(self.op.get_attr("is_training"))


def fold_batch_norms(graph: Graph, freeze_delay: int | None) -> None:
    """Folds every fused batch normalization of a convolution or a product of matrices.

    In training the batch's statistics count, up to step ``freeze_delay`` where it is given, and the weights are
    scaled by the moving ones. Raises `ValueError` where the moving averages of a normalization are not found.
    """
    for found in list(_normalizations(graph)):
        _fold(graph, found, freeze_delay)


def _normalizations(graph: Graph) -> Iterator[_Normalization]:
    for op in graph.get_operations():
        if op.type not in _NORMALIZATIONS:
            continue
        before = op.inputs[0].op
        reshaped = before.type == "Reshape"
        before = before.inputs[0].op if reshaped else before
        before = before.inputs[0].op if before.type == "Identity" else before
        to_batch = before if before.type == "BatchToSpaceND" else None
        layer = before.inputs[0].op if to_batch else before
        if layer.type not in _LAYERS or (layer.type == "MatMul") != reshaped:
            continue
        output = op.outputs[0]
        if reshaped:
            after = [user for user in output.consumers() if user.type == "Reshape"]
            if not after:
                continue
            output = after[0].outputs[0]
        if output.consumers():
            yield _Normalization(op, layer, to_batch, output)


def _fold(graph: Graph, found: _Normalization, freeze_delay: int | None) -> None:
    layer, (_, gamma, beta, mean, variance) = found.layer, found.op.inputs[:5]
    inputs, weights = layer.inputs
    scope = layer.name.rpartition("/")[0]
    prefix = f"{scope}/" if scope else ""
    corrections: _Corrections | None = None
    if found.is_training:
        mean, variance = _batch_statistics(graph, found)
    with graph.name_scope(prefix or None):
        with graph.name_scope(f"{prefix}BatchNorm_Fold/"):
            scale = gamma * rsqrt(variance + found.op.get_attr("epsilon"))
            bias = subtract(beta, mean * scale, name="bias")
            if found.is_training:
                corrections = _corrections(found, gamma, mean, variance, freeze_delay)
            if layer.type == "DepthwiseConv2dNative":
                dims = weights.shape.as_list()[2:]
                scale = array.reshape(scale, dims, name="scale_reshape")
                if corrections:
                    corrections.scale = array.reshape(
                        corrections.scale, dims, name="correction_reshape"
                    )
        if corrections:
            weights = multiply(corrections.scale, weights, name="correction_mult")
        result = _again(found, inputs, multiply(weights, scale, name="mul_fold"))
        if corrections:
            result = multiply(corrections.reciprocal, result, name="post_conv_mul")
            result = add(result, corrections.offset, name="correction_add")
        result = add(result, bias, name="add_fold")
    reroute(result, found.output)


def _again(found: _Normalization, inputs: Tensor, weights: Any) -> Any:
    """The layer with other weights."""
    layer = found.layer
    name = layer.name.rpartition("/")[2] + "_Fold"
    if layer.type == "MatMul":
        sides = {key: layer.get_attr(key) for key in ("transpose_a", "transpose_b")}
        return matmul(inputs, weights, name=name, **sides)
    strides, padding = layer.get_attr("strides"), layer.get_attr("padding")
    padding = padding.decode() if isinstance(padding, bytes) else padding
    if layer.type == "DepthwiseConv2dNative":
        result = depthwise_conv2d(inputs, weights, strides, padding, name=name)
        if found.to_batch is None:
            return result
        own = found.to_batch.name.rpartition("/")[2] + "_Fold"
        return batch_to_space_nd(result, *found.to_batch.inputs[1:], name=own)
    data_format = layer.get_attr("data_format")
    data_format = data_format.decode() if isinstance(data_format, bytes) else data_format
    return conv2d(inputs, weights, strides, padding, data_format=data_format, name=name)


def _batch_statistics(graph: Graph, found: _Normalization) -> tuple[Tensor, Tensor]:
    """Mean and variance of a batch, as a normalization in training gives them; gradients go through them.

    Its own output is not used any more, so that only its gradient of these two is wanted.
    """
    op = found.op
    op.gradient_override = _GRADIENT
    scope = op.name.rpartition("/")[0]
    with graph.name_scope(f"{scope}/" if scope else None):
        count = cast(array.size(found.layer.outputs[0]) / array.size(op.outputs[1]), dtypes.float32)
        variance = multiply(op.outputs[2], (count - 1) / count, name="Undo_Bessel_Correction")
    for update in graph.get_operations():  # moving_mean -= (moving_mean - mean) * decay
        if update.type != "Mul" or update.inputs[0].op.type != "Sub":
            continue
        moving, batch = update.inputs[0].op.inputs
        for i in (1, 2):
            if batch is op.outputs[i]:
                found.moving[i] = moving, update.inputs[1]
    if set(found.moving) != {1, 2}:
        raise ValueError(
            f"The moving averages of {op.name!r} are not in the graph: fold it as it was made by tf.layers or "
            "tf.contrib.layers, with its update ops."
        )
    return op.outputs[1], variance


@RegisterGradient(_GRADIENT)
def _fold_gradient(op: Operation, _: Any, grad_mean: Any, grad_variance: Any, *__: Any) -> Any:
    """The gradient of a batch's mean and variance alone."""
    x = op.inputs[0]
    count = cast(array.size(x) / array.size(grad_mean), dtypes.float32)
    by_variance = 2.0 * grad_variance * (x - op.outputs[1]) / (count - 1.0)
    return (grad_mean / count + by_variance, *[None] * (len(op.inputs) - 1))


@dataclass
class _Corrections:
    """By what weights scaled with moving statistics differ from those scaled with the batch's."""

    scale: Any
    reciprocal: Any
    offset: Any


def _corrections(
    found: _Normalization, gamma: Tensor, mean: Any, variance: Any, freeze_delay: int | None
) -> _Corrections:
    """The layer's output is right with the batch's statistics, until step ``freeze_delay``: then with the moving."""
    (moving_mean, mean_decay), (moving_variance, variance_decay) = found.moving[1], found.moving[2]
    epsilon = found.op.get_attr("epsilon")
    with found.op.graph.name_scope("batch_norm_correction"):
        moving_sigma, sigma = rsqrt(moving_variance + epsilon), rsqrt(variance + epsilon)
        scale = array.identity(
            divide(moving_sigma, sigma, name="scale_compute"), name="correction_scale"
        )
        inverse = reciprocal(scale, name="reciprocal_compute")
        if freeze_delay is None:
            return _Corrections(scale, inverse, array.zeros(scale.shape.as_list()))
        offset = multiply(gamma, mean * sigma - moving_mean * moving_sigma, name="offset_compute")
        is_frozen = greater_equal(quantization_step(), freeze_delay, name="use_moving_average")
        for decay, name in (
            (mean_decay, "freeze_moving_mean"),
            (variance_decay, "freeze_moving_var"),
        ):
            users = list(decay.consumers())
            reroute(
                cond(is_frozen, lambda: 0.0, partial(identical, decay), name=name), decay, users
            )
        dims = scale.shape.as_list()
        return _Corrections(
            scale,
            cond(is_frozen, lambda: array.ones(dims), lambda: inverse, name="correction_recip"),
            cond(is_frozen, lambda: offset, lambda: array.zeros(dims), name="correction_offset"),
        )
