"""Batch normalization and local response normalization; `moments` has means and variances."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import FLOATING
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.elementary import exp_op, log_op, rsqrt_op, square_op
from dataflow.ops.math import cast, reduce_mean, reduce_sum
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.sources import constant
from dataflow.shapes import Dims, list_dims, merge

# ---- batch normalization ----------------------------------------------------------------------------


def _like(value: Any, x: Tensor) -> Any:
    """``value`` in the dtype of ``x``: statistics of float16 are kept in float32."""
    dtype = x.dtype.base_dtype
    return value if value.dtype.base_dtype is dtype else cast(value, dtype)


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """``(x - mean) / sqrt(variance + epsilon) * scale + offset`` (Ioffe and Szegedy 2015).

    The four broadcast against x; ``offset`` and ``scale`` may be ``None``.
    """
    with op_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert_to_tensor(x, name="x")
        inverse = rsqrt_op(variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        scaled = x * _like(inverse, x)
        moved = mean * inverse
        shift = -moved if offset is None else offset - moved
        return scaled + _like(shift, x)  # type: ignore[no-any-return]


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """`batch_normalization` of an image batch, by its older name and argument order."""
    t = renamed("input", input, "t", t)
    m = renamed("mean", mean, "m", m)
    v = renamed("variance", variance, "v", v)
    gamma = gamma if scale_after_normalization else None
    return batch_normalization(t, m, v, beta, gamma, variance_epsilon, name)


_BATCH_NORM = (
    "x: T, scale: U, offset: U, mean: U, variance: U -> y: T, batch_mean: U, "
    "batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U"
)
_BATCH_NORM_GRAD = (
    "y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U, "
    "reserve_space_3: U -> x_backprop: T, scale_backprop: U, offset_backprop: U, "
    "reserve_space_4: U, reserve_space_5: U"
)
_FORMATS = {"NHWC": 4, "NCHW": 4, "NDHWC": 5, "NCDHW": 5}


def dims_by_channel(x: Tensor, per_channel: dict[str, Tensor], data_format: str) -> Any:
    """Dims of x and its number of channels, merged with those of the per-channel vectors."""
    if data_format not in _FORMATS:
        raise ValueError(f"data_format must be one of {', '.join(_FORMATS)}, got {data_format!r}")
    rank = _FORMATS[data_format]
    dims = x.dims if x.dims is not None else (None,) * rank
    if len(dims) != rank:
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(dims)}: x is {list_dims(dims)}"
        )
    axis = 1 if data_format.startswith("NC") else rank - 1
    channels = dims[axis]
    for name, vector in per_channel.items():
        try:
            merged = merge((channels,), vector.dims)
        except ValueError as e:
            raise ValueError(
                f"{name} must be a vector with an element for each of the {channels} channels, "
                f"got {list_dims(vector.dims)}"
            ) from e
        assert merged is not None
        channels = merged[0]
    return (*dims[:axis], channels, *dims[axis + 1 :]), (channels,)


@define_op(
    "FusedBatchNormV3",
    _BATCH_NORM,
    own_results=(0,),
    T=FLOATING,
    U=Defaulted(dtypes.float32, FLOATING),
    later_attrs={"exponential_avg_factor": 1.0},
)
def fused_batch_norm_op(
    x: Tensor,
    scale: Tensor,
    offset: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 9.999999747378752e-05,
    exponential_avg_factor: float = 1.0,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> list[Dims]:
    """Batch normalization of images in one step (Ioffe and Szegedy 2015).

    In training the batch's own mean and variance are used, and returned (the variance unbiased);
    otherwise ``mean`` and ``variance`` are. Shape: x [batch, height, width, channels] or NCHW,
    the others [channels] (mean and variance empty in training). Dtype: x's; the statistics are
    float32 (float64 for float64). Gradient: `FusedBatchNormGradV3` to x, scale and offset.
    """
    vectors = {"scale": scale, "offset": offset}
    if not is_training:
        vectors |= {"mean": mean, "variance": variance}
    dims, channels = dims_by_channel(x, vectors, data_format)
    return [dims, channels, channels, channels, channels, None]


@define_op(
    "FusedBatchNormGradV3",
    _BATCH_NORM_GRAD.replace("scale: float32", "scale: U"),
    own_results=(0,),
    T=FLOATING,
    U=Defaulted(dtypes.float32, FLOATING),
)
def fused_batch_norm_grad_op(
    y_backprop: Tensor,
    x: Tensor,
    scale: Tensor,
    reserve_space_1: Tensor,
    reserve_space_2: Tensor,
    reserve_space_3: Tensor,
    *,
    epsilon: float = 9.999999747378752e-05,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> list[Dims]:
    """The gradient of `FusedBatchNormV3` by x, scale and offset.

    ``reserve_space_1`` and ``_2``: mean and (biased) variance that normalized x. Shape: that of x;
    [channels] twice; two unused ones, empty in training. Gradient: by differentiating the formula, written as ops.
    """
    vectors = {
        "scale": scale,
        "reserve_space_1": reserve_space_1,
        "reserve_space_2": reserve_space_2,
    }
    dims, channels = dims_by_channel(x, vectors, data_format)
    try:
        dims = merge(dims, y_backprop.dims)
    except ValueError as e:
        raise ValueError("x and y_backprop differ in shape") from e
    # 1.15 and 2.x do not agree on it in inference, and each refuses the other's.
    unused = (0,) if is_training else (None,)
    return [dims, channels, channels, unused, unused]


@fused_batch_norm_op.gradient
def fused_batch_norm_gradient(op: Operation, *grads: Any) -> list[Any]:
    attrs = {n: op.attrs[n] for n in ("epsilon", "data_format", "is_training")}
    x, scale = op.inputs[:2]
    if op.attrs["is_training"]:
        used = op.outputs[3], op.outputs[4]
    else:
        used = op.inputs[3], op.inputs[4]
    result = fused_batch_norm_grad_op(grads[0], x, scale, *used, op.outputs[5], **attrs)
    return [result[0], result[1], result[2], None, None]


def _gradient_as_ops(op: Operation) -> tuple[Tensor, Tensor, Tensor]:
    """What `FusedBatchNormGradV3` computes, in ops that have gradients themselves."""
    grad_y, x, scale, mean, variance = op.inputs[:5]
    data_format = op.attrs["data_format"]
    rank = _FORMATS[data_format]
    kind = scale.dtype.base_dtype
    grad_y, x = cast(grad_y, kind), cast(x, kind)
    if data_format.startswith("NC"):
        axes = [0, *range(2, rank)]
        shape = [1, -1] + [1] * (rank - 2)
    else:
        axes = list(range(rank - 1))
        shape = [1] * (rank - 1) + [-1]

    def wide(vector: Tensor) -> Tensor:
        return array_ops.reshape(vector, shape)

    if op.attrs["is_training"]:
        mean = reduce_mean(x, axes, keepdims=True)
        centered = x - mean
        inverse = rsqrt_op(
            reduce_mean(square_op(centered), axes, keepdims=True) + op.attrs["epsilon"]
        )
        mean_grad = reduce_mean(grad_y, axes, keepdims=True)
        projection = reduce_mean(grad_y * centered, axes, keepdims=True)
        grad_x = (
            wide(scale)
            * inverse
            * (grad_y - mean_grad - centered * square_op(inverse) * projection)
        )
    else:
        centered = x - wide(mean)
        inverse = wide(rsqrt_op(variance + op.attrs["epsilon"]))
        grad_x = grad_y * wide(scale) * inverse
    grad_scale = reduce_sum(grad_y * centered * inverse, axes)
    grad_offset = reduce_sum(grad_y, axes)
    return grad_x, grad_scale, grad_offset


@fused_batch_norm_grad_op.gradient
def fused_batch_norm_grad_gradient(op: Operation, *grads: Any) -> list[Any]:
    from dataflow.autodiff.gradients import gradients

    outputs = _gradient_as_ops(op)
    kind = op.inputs[2].dtype.base_dtype
    incoming = [cast(g, kind) for g in grads[:3]]
    own = list(op.inputs[:3])  # partial derivatives: y_backprop may depend on x elsewhere
    to_y, to_x, to_scale = gradients(list(outputs), own, incoming, stop_gradients=own)
    return [to_y, to_x, to_scale, None, None, None]


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalization of images: ``(y, mean, variance)``. See the op `FusedBatchNormV3`.

    With ``is_training=False`` the given ``mean`` and ``variance`` are used.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` {variance!r}"
        )
    x = convert_to_tensor(x, name="input")
    kind = dtypes.float64 if x.dtype.base_dtype is dtypes.float64 else dtypes.float32
    scale = convert_to_tensor(scale, kind, name="scale")
    offset = convert_to_tensor(offset, kind, name="offset")
    if mean is None:
        mean = constant(np.zeros(0, kind.as_numpy_dtype))
    if variance is None:
        variance = constant(np.zeros(0, kind.as_numpy_dtype))
    # cuDNN's smallest epsilon, which TensorFlow applies everywhere.
    result = fused_batch_norm_op(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return result[0], result[1], result[2]


# ---- local response normalization ---------------------------------------------------------------------


@define_op("LRN", "input: T -> output: T", T=Defaulted(dtypes.float32, FLOATING), cost=0.02)
def local_response_normalization(
    input: Tensor,
    *,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
) -> Dims:
    """Each element divided by ``(bias + alpha * s)**beta``, s the squares in nearby channels.

    ``depth_radius`` channels on both sides count (Krizhevsky et al. 2012). Shape: [batch, height,
    width, channels], kept. Dtype: kept. Gradient: `LRNGrad`.
    """
    if input.dims is not None and len(input.dims) != 4:
        raise ValueError(
            f"Shape must be rank 4 but is rank {len(input.dims)}: the input is "
            f"{list_dims(input.dims)}"
        )
    return input.dims or (None,) * 4


@define_op(
    "LRNGrad",
    "input_grads: T, input_image: T, output_image: T -> output: T",
    T=Defaulted(dtypes.float32, FLOATING),
)
def lrn_grad_op(
    input_grads: Tensor,
    input_image: Tensor,
    output_image: Tensor,
    *,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Dims:
    """The gradient of `LRN`, from the incoming gradient, its input and its output.

    Shape: that of the input. Dtype: kept. Gradient: by differentiating the formula, written as
    ops.
    """
    image = merge((None,) * 4, merge(input_image.dims, output_image.dims))
    return merge(input_grads.dims, image)


def _lrn_attrs(op: Operation) -> dict[str, Any]:
    return {n: op.attrs[n] for n in ("depth_radius", "bias", "alpha", "beta")}


@local_response_normalization.gradient
def lrn_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [lrn_grad_op(grad, op.inputs[0], op.outputs[0], **_lrn_attrs(op))]


@lrn_grad_op.gradient
def lrn_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.autodiff.gradients import gradients
    from dataflow.ops.matmul import matmul

    incoming, image, _ = op.inputs
    if image.dims is None or image.dims[-1] is None:
        raise ValueError(f"{op.name!r}: the number of channels must be known; use set_shape")
    channels, a = image.dims[-1], op.attrs
    near = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels))) <= a["depth_radius"]
    band = constant(near.astype(image.dtype.base_dtype.as_numpy_dtype))

    def nearby(values: Tensor) -> Tensor:
        flat = array_ops.reshape(values, [-1, channels])
        return array_ops.reshape(matmul(flat, band), array_ops.shape(values))

    norm = a["bias"] + a["alpha"] * nearby(square_op(image))
    power = exp_op(-a["beta"] * log_op(norm))
    formula = incoming * power - 2 * a["alpha"] * a["beta"] * image * nearby(
        incoming * image * power / norm
    )
    to_incoming, to_image = gradients(
        [formula], [incoming, image], [grad], stop_gradients=[incoming, image]
    )
    # The output is a function of the image and is differentiated as such.
    return [to_incoming, to_image, None]


lrn = local_response_normalization
