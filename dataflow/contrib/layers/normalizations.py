"""Layers that bring activations to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.contrib.layers.building import collect_named_outputs
from dataflow.contrib.layers.parts import collect_variables, model_weights
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.layers import normalization as normalization_layers
from dataflow.ops import array, initializers, normalization as normalization_ops
from dataflow.ops.math import (
    maximum,
    minimum,
    reduce_mean,
    reduce_sum,
    rsqrt,
    sqrt,
    square,
)
from dataflow.ops.moments import moments, weighted_moments
from dataflow.ops.seeds import count_left_out
from dataflow.ops.variable_scope import variable_scope
from dataflow.shapes import dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


def _check_data_format(data_format: str) -> None:
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC. Got {data_format!r}.")


class _Normalization(normalization_layers.BatchNormalization):
    """Batch normalization of examples that may have weights.

    With ``zero_debias`` the moving mean is corrected for having started at 0. ``by_contrib``: what
    TensorFlow's core layer does not do (inputs of rank 2, updates elsewhere) is done there by contrib's
    own code, which makes beta first, and moves the averages of a frozen layer, too.
    """

    zero_debias = by_contrib = False
    batch_weights: Any = None

    def build(self, input_shape: Any) -> None:
        self._beta_first = self.by_contrib
        super().build(input_shape)

    def _is_frozen(self) -> bool:
        return not self.by_contrib and super()._is_frozen()

    def _moments(self, inputs: Any, axes: list[int], keep: bool) -> tuple[Any, Any]:
        if self.batch_weights is None:
            return super()._moments(inputs, axes, keep)
        weights = convert_to_tensor(self.batch_weights, dtype=inputs.dtype.base_dtype)
        weights = array.reshape(weights, [-1] + [1] * (inputs.shape.ndims - 1))
        return weighted_moments(inputs, axes, weights, keep_dims=keep)

    def _move(self, variable: Any, value: TensorLike, momentum: float, training: Any) -> Any:
        if not self.zero_debias or variable is not self.moving_mean:
            return super()._move(variable, value, momentum, training)
        return self._move_without_bias(variable, value, momentum, training)


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: str | Sequence[str] | None = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: Any = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: str | VariableScope | None = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Batch normalization. With ``updates_collections=None`` the averages move within the layer.

    ``zero_debias_moving_mean`` divides the bias towards the first mean, 0, out of the average;
    ``batch_weights`` [batch] count each example so often. Inputs of rank 2 are normalized by the fused
    op, too, unless ``fused`` is False, so that the moving variance is that of a sample (n - 1).

    Raises `ValueError` for ``fused`` with ``batch_weights``, which that op does not take, and for a
    ``data_format`` other than "NHWC" and "NCHW".
    """
    _check_data_format(data_format)
    if fused and batch_weights is not None:
        raise ValueError(
            "Weighted mean and variance is not currently supported for fused batch norm."
        )
    first = param_initializers or {}
    penalties = param_regularizers or {}
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as captured:
        inputs = convert_to_tensor(inputs)
        given = inputs
        plain = batch_weights is None and not renorm and adjustment is None
        if inputs.shape.ndims == 2 and plain and (fused is None or fused):
            channels = dimension_value(inputs.shape[1])
            as_images = [-1, channels, 1, 1] if data_format == "NCHW" else [-1, 1, 1, channels]
            inputs = array.reshape(inputs, as_images)
        layer = _Normalization(
            1 if data_format == "NCHW" else -1,
            decay,
            epsilon,
            center,
            scale,
            first.get("beta", initializers.zeros_initializer()),
            first.get("gamma", initializers.ones_initializer()),
            first.get("moving_mean", initializers.zeros_initializer()),
            first.get("moving_variance", initializers.ones_initializer()),
            beta_regularizer=penalties.get("beta"),
            gamma_regularizer=penalties.get("gamma"),
            trainable=trainable,
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_decay,
            fused=False if batch_weights is not None else fused,
            adjustment=adjustment,
            name=captured.name,
            _scope=captured,
            _reuse=reuse,
        )
        layer.zero_debias, layer.batch_weights = zero_debias_moving_mean, batch_weights
        layer.by_contrib = (
            inputs is not given
            or batch_weights is not None
            or zero_debias_moving_mean
            or updates_collections != GraphKeys.UPDATE_OPS
        )
        outputs = layer(inputs, training=is_training)
        if layer.by_contrib and layer.fused:
            _count_left_out(is_training, updates_collections)
        if inputs is not given:
            outputs = array.reshape(outputs, array.shape(given))
            outputs.set_shape(given.shape)
        collect_variables(layer, variables_collections)
        if updates_collections != GraphKeys.UPDATE_OPS:
            outputs = _move_updates(layer, updates_collections, outputs)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def _count_left_out(training: Any, updates_collections: Any) -> None:
    """What TensorFlow makes more than for tf.layers: its own function has one condition for both averages."""
    if isinstance(training, Tensor):
        count_left_out(5 if updates_collections is not None else 4)
    else:
        count_left_out(-3 if training else -1)


def _move_updates(layer: _Normalization, collections: Any, outputs: Tensor) -> Tensor:
    """Takes a layer's updates from `GraphKeys.UPDATE_OPS` to ``collections``; None runs them before ``outputs``."""
    graph = default_graph()
    collected = graph.get_collection_ref(GraphKeys.UPDATE_OPS)
    for update in layer.updates:
        collected.remove(update)
    if collections is None:
        with graph.control_dependencies(layer.updates):
            return array.identity(outputs)
    for update in layer.updates:  # tensors here, as in TensorFlow
        graph.add_to_collections(collections, update.outputs[0])
    return outputs


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[..., Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: str | VariableScope | None = None,
) -> Any:
    """Each example is brought to mean 0 and variance 1 (Ba et al. 2016).

    The axes from ``begin_norm_axis`` on are normalized, those from ``begin_params_axis`` on have a
    scale and an offset for each element; negative ones count from the end. Raises `ValueError` for
    inputs of unknown rank, or whose size is not known where the parameters are.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as captured:
        inputs = convert_to_tensor(inputs)
        if inputs.dims is None:
            raise ValueError(
                f"layer_norm: the inputs {inputs.name!r} have undefined rank; give them a shape "
                f"with set_shape.\n  built at {inputs.op.built_at}"
            )
        rank = len(inputs.dims)
        for name, axis in (
            ("begin_norm_axis", begin_norm_axis),
            ("begin_params_axis", begin_params_axis),
        ):
            if not -rank <= axis < rank:
                raise ValueError(
                    f"layer_norm: {name} must be from {-rank} to {rank - 1} for inputs of rank "
                    f"{rank}, but got {axis}."
                )
        shape = inputs.shape[begin_params_axis:].as_list()
        if None in shape:
            raise ValueError(
                f"layer_norm: the axes of the inputs {inputs.name!r} from {begin_params_axis} on "
                f"must be known, as variables have their shape, but it is {inputs.shape}."
            )
        axes = list(range(begin_norm_axis % rank, rank))
        beta = gamma = None
        dtype = inputs.dtype.base_dtype

        def parameter(name: str, initializer: Any) -> Any:
            return model_weights(
                name, shape, dtype, initializer, variables_collections, trainable=trainable
            )

        if center:
            beta = parameter("beta", initializers.zeros_initializer())
        if scale:
            gamma = parameter("gamma", initializers.ones_initializer())
        mean, variance = moments(inputs, axes, keep_dims=True)
        epsilon = 1e-3 if dtype is dtypes.float16 else 1e-12  # the least that float16 can tell
        outputs = normalization_ops.batch_normalization(
            inputs, mean, variance, beta, gamma, epsilon
        )
        outputs.set_shape(inputs.shape)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Vectors of length 1 along ``dim``, which counts from 0.

    Raises `ValueError` for inputs of unknown rank, and for a ``dim`` that they do not have.
    """
    inputs = convert_to_tensor(inputs)
    if inputs.dims is None:
        raise ValueError("The input rank must be known.")
    if not 0 <= dim < len(inputs.dims):
        raise ValueError(
            f"dim must be positive but smaller than the input rank, got {dim} and rank {len(inputs.dims)}."
        )
    with default_graph().name_scope(scope or "UnitNorm"):
        return inputs / sqrt(reduce_sum(square(inputs), dim, keepdims=True) + epsilon)


def poincare_normalize(
    x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None
) -> Any:
    """Vectors along ``axis`` (one, or a list) brought into the Poincare ball: to length ``1 - epsilon`` at most."""
    with default_graph().name_scope(name or "poincare_normalize"):
        x = convert_to_tensor(x, name="x")
        squared = reduce_sum(square(x), axis, keepdims=True)
        return x * minimum((1.0 - epsilon) * rsqrt(maximum(squared, 1e-12)), 1.0)


@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Any = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Each group of channels of each example is brought to mean 0 and variance 1 (Wu and He 2018).

    ``mean_close_to_zero`` takes the variance as E[x^2] - E[x]^2, which costs one pass less. Variables
    ``beta`` and ``gamma`` have an element for each channel. Raises `ValueError` where the number of
    channels is not known or no multiple of ``groups``, and where axes are named twice.
    """
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as captured:
        inputs = convert_to_tensor(inputs)
        if inputs.dims is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        rank = len(inputs.dims)
        if channels_axis > rank - 1:
            raise ValueError(f"Axis is out of bounds. Got {channels_axis} of {rank}.")
        for reduction_axis in reduction_axes:
            if not -rank <= reduction_axis < rank:
                raise ValueError(f"Axis is out of bounds. Got {reduction_axis} of {rank}.")
        axis = channels_axis % rank
        reduced = [a % rank for a in reduction_axes]
        if axis in reduced or len(set(reduced)) != len(reduced):
            raise ValueError(
                "reduction_axes must be mutually exclusive with channels_axis, and with each "
                f"other: got {reduction_axes} and {channels_axis} for rank {rank}."
            )
        channels = inputs.dims[axis]
        if channels is None:
            raise ValueError(
                f"Inputs {inputs.name} has undefined channel dimension: {inputs.shape}."
            )
        if groups > channels:
            raise ValueError(f"Invalid groups {groups} for {channels} channels.")
        if channels % groups:
            raise ValueError(
                f"{channels} channels is not commensurate with {groups} groups. Take a divisor of it."
            )
        sizes = array.shape(inputs)
        dims = [sizes[i] if d is None else d for i, d in enumerate(inputs.dims)]
        split = [*dims[:axis], groups, channels // groups, *dims[axis + 1 :]]
        # The axis of the groups stands before the axis of the channels in each.
        over = [a if a < axis else a + 1 for a in reduced] + [axis + 1]
        grouped = array.reshape(inputs, split)
        if mean_close_to_zero:
            mean = reduce_mean(grouped, over, keepdims=True)
            variance = reduce_mean(square(grouped), over, keepdims=True) - square(mean)
        else:
            mean, variance = moments(grouped, over, keep_dims=True)
        shape = [1] * (rank + 1)
        shape[axis : axis + 2] = [groups, channels // groups]
        beta, gamma = _offset_and_scale(
            channels, inputs, center, scale, param_initializers, variables_collections, trainable
        )
        outputs = normalization_ops.batch_normalization(
            grouped,
            mean,
            variance,
            None if beta is None else array.reshape(beta, shape),
            None if gamma is None else array.reshape(gamma, shape),
            epsilon,
        )
        outputs = array.reshape(outputs, sizes if None in inputs.dims else dims)
        count_left_out(6 if None in inputs.dims else 2)
        outputs.set_shape(inputs.shape)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def _offset_and_scale(
    channels: int,
    inputs: Any,
    center: bool,
    scale: bool,
    param_initializers: Any,
    collections: Iterable[str],
    trainable: bool,
) -> tuple[Any, Any]:
    """``(beta, gamma)``, each with an element for each channel; None where it is not wanted."""
    first = param_initializers or {}

    def made(name: str, initializer: Any) -> Any:
        return model_weights(
            name,
            [channels],
            inputs.dtype.base_dtype,
            first.get(name, initializer),
            collections,
            trainable=trainable,
        )

    beta = made("beta", initializers.zeros_initializer()) if center else None
    return beta, made("gamma", initializers.ones_initializer()) if scale else None


@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Any:
    """Each channel of each example is brought to mean 0 and variance 1 (Ulyanov et al. 2016).

    Variables ``beta`` and ``gamma`` have an element for each channel. Raises `ValueError` for inputs
    of unknown rank or number of channels.
    """
    _check_data_format(data_format)
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as captured:
        inputs = convert_to_tensor(inputs)
        if inputs.dims is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        rank = len(inputs.dims)
        axis = 1 if data_format == "NCHW" else rank - 1
        channels = inputs.dims[axis]
        if channels is None:
            raise ValueError(
                f"Inputs {inputs.name} has undefined channels dimension {inputs.shape}."
            )
        beta, gamma = _offset_and_scale(
            channels, inputs, center, scale, param_initializers, variables_collections, trainable
        )
        if axis < rank - 1:
            shape = [channels if a == axis else 1 for a in range(rank)]
            beta, gamma = (v if v is None else array.reshape(v, shape) for v in (beta, gamma))
        mean, variance = moments(inputs, [a for a in range(1, rank) if a != axis], keep_dims=True)
        outputs = normalization_ops.batch_normalization(
            inputs,
            mean,
            variance,
            beta,
            gamma,
            epsilon,
            name="instancenorm",
        )
        outputs.set_shape(inputs.shape)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        return collect_named_outputs(outputs_collections, captured.name, outputs)
