"""``tf.contrib.layers``: the older functional layers, initializers and regularizers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib.feature_columns import (  # noqa: F401  (names for users)
    bucketized_column,
    create_feature_spec_for_parsing,
    crossed_column,
    embedding_column,
    input_from_feature_columns,
    one_hot_column,
    real_valued_column,
    sparse_column_with_hash_bucket,
    sparse_column_with_integerized_feature,
    sparse_column_with_keys,
    sparse_column_with_vocabulary_file,
    weighted_sparse_column,
)
from dataflow.contrib.framework import add_arg_scope
from dataflow.contrib.named_outputs import collect_named_outputs
from dataflow.contrib.optimize_loss import (  # noqa: F401  (names for users)
    OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES,
    optimize_loss,
)
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.layers import convolutional, core, normalization as normalization_layers, pooling
from dataflow.layers.base import smart_cond
from dataflow.namespaces import explain_absent
from dataflow.ops import (
    activation as activations,
    array,
    bias,
    custom_gradient,
    embedding,
    initializers,
    normalization as normalization_ops,
)
from dataflow.ops.depthwise_functions import depthwise_conv2d
from dataflow.ops.embedding import (
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
)
from dataflow.ops.math import abs_, add_n, multiply, reduce_sum, sqrt, square
from dataflow.ops.moments import moments
from dataflow.ops.sources import constant
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.train.moving_averages import assign_moving_average


def recompute_grad(fn: Any, use_data_dep: Any = True, tupleize_grads: bool = False) -> Any:
    """`tf.recompute_grad`.

    ``use_data_dep`` and ``tupleize_grads`` say how the second call waits, which changes no result:
    it always waits for the gradients that come in.
    """
    return custom_gradient.recompute_grad(fn)


def xavier_initializer(uniform: bool = True, seed: Any = None, dtype: Any = dtypes.float32) -> Any:
    """Glorot and Bengio's initializer, uniform or normal."""
    return initializers.variance_scaling_initializer(
        scale=1.0,
        mode="fan_avg",
        distribution="uniform" if uniform else "truncated_normal",
        seed=seed,
        dtype=dtype,
    )


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: Any = None,
    dtype: Any = dtypes.float32,
) -> Any:
    """Values of variance ``factor`` / fan; He's initializer by default."""
    modes = {"FAN_IN": "fan_in", "FAN_OUT": "fan_out", "FAN_AVG": "fan_avg"}
    if mode not in modes:
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
    return initializers.variance_scaling_initializer(
        scale=factor,
        mode=modes[mode],
        distribution="uniform" if uniform else "truncated_normal",
        seed=seed,
        dtype=dtype,
    )


def _check_scale(scale: Any) -> None:
    if isinstance(scale, int) and not isinstance(scale, bool):
        raise ValueError(f"scale cannot be an integer: {scale}; write {float(scale)}.")
    if isinstance(scale, str | bytes):
        raise ValueError(f"scale must be a float, got the text {scale!r}.")
    if isinstance(scale, float | np.floating) and scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")


def _is_zero(scale: Any) -> bool:
    """True for a number that switches a regularizer off; False for a tensor."""
    return isinstance(scale, float | np.floating) and scale == 0.0


def l2_regularizer(scale: float, scope: str | None = None) -> Any:
    """``scale * sum(w ** 2) / 2``."""
    _check_scale(scale)

    def l2(weights: Any) -> Any:
        with default_graph().name_scope(scope or "l2_regularizer") as name:
            return multiply(scale, activations.l2_loss(weights), name=name)

    return (lambda _: None) if _is_zero(scale) else l2


def l1_regularizer(scale: float, scope: str | None = None) -> Any:
    """``scale * sum(|w|)``."""
    _check_scale(scale)

    def l1(weights: Any) -> Any:
        with default_graph().name_scope(scope or "l1_regularizer") as name:
            return multiply(scale, reduce_sum(abs_(weights)), name=name)

    return (lambda _: None) if _is_zero(scale) else l1


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Any:
    """The sum of both."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)


def sum_regularizer(regularizer_list: list[Any], scope: str | None = None) -> Any:
    """The sum of several regularizers."""

    def total(weights: Any) -> Any:
        with default_graph().name_scope(scope or "sum_regularizer"):
            parts = [r(weights) for r in regularizer_list]
            parts = [p for p in parts if p is not None]
            return add_n(parts) if parts else None

    return total


def apply_regularization(regularizer: Any, weights_list: Any = None) -> Any:
    """The regularizer of all ``weights_list`` (the WEIGHTS collection by default), collected."""
    graph = default_graph()
    weights = weights_list or graph.get_collection(GraphKeys.WEIGHTS)
    if not weights:
        raise ValueError("No weights to regularize.")
    with graph.name_scope("get_regularization_penalty") as scope:
        penalties = [regularizer(w) for w in weights]
        penalties = [constant(0.0) if p is None else convert_to_tensor(p) for p in penalties]
        for penalty in penalties:
            if penalty.shape.ndims not in (0, None):
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{penalty.shape.ndims}."
                )
        penalty = add_n(penalties, name=scope)
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, penalty)
    return penalty


def _collect_variables(layer: Any, collections: Any) -> None:
    graph = default_graph()
    for variable in layer.weights:
        if variable not in graph.get_collection_ref(GraphKeys.MODEL_VARIABLES):
            graph.add_to_collection(GraphKeys.MODEL_VARIABLES, variable)
    if not collections:
        return
    for variable in layer.weights:
        keys = collections
        if isinstance(collections, dict):
            keys = collections.get(variable.op.name.rpartition("/")[2], [])
        if keys:
            default_graph().add_to_collections(keys, variable)


def _finish(outputs: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any) -> Any:
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    return outputs if activation_fn is None else activation_fn(outputs)


class _Renamed:
    """A variable getter that calls ``kernel`` ``weights`` and ``bias`` ``biases``."""

    names = {
        "kernel": "weights",
        "bias": "biases",
        "depthwise_kernel": "depthwise_weights",
        "pointwise_kernel": "pointwise_weights",
    }

    def __call__(self, getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        prefix, _, last = name.rpartition("/")
        last = self.names.get(last, last)
        return getter(f"{prefix}/{last}" if prefix else last, *args, **kwargs)


@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    weights_regularizer: Any = None,
    biases_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A dense layer, ReLU by default. Variables ``weights`` and ``biases``."""
    with variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=_Renamed()
    ) as captured:
        layer = core.Dense(
            num_outputs,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=captured.name,
            _scope=captured,
            _reuse=reuse,
        )
        outputs = layer(convert_to_tensor(inputs))
        _collect_variables(layer, variables_collections)
        outputs = _finish(outputs, normalizer_fn, normalizer_params, activation_fn)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def linear(*args: Any, **kwargs: Any) -> Any:
    """`fully_connected` without an activation."""
    kwargs.setdefault("activation_fn", None)
    return fully_connected(*args, **kwargs)


relu = fully_connected


@add_arg_scope
def convolution2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: Any = None,
    rate: Any = 1,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    weights_regularizer: Any = None,
    biases_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution of images, ReLU by default. Variables ``weights`` and ``biases``."""
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=_Renamed()) as captured:
        layer = convolutional.Conv2D(
            num_outputs,
            kernel_size,
            stride,
            padding.lower(),
            "channels_first" if data_format == "NCHW" else "channels_last",
            rate,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=captured.name,
            _scope=captured,
            _reuse=reuse,
        )
        outputs = layer(convert_to_tensor(inputs))
        _collect_variables(layer, variables_collections)
        outputs = _finish(outputs, normalizer_fn, normalizer_params, activation_fn)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


conv2d = convolution2d


@add_arg_scope
def convolution2d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    weights_regularizer: Any = None,
    biases_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A transposed convolution of images, ReLU by default."""
    with variable_scope(
        scope, "Conv2d_transpose", [inputs], reuse=reuse, custom_getter=_Renamed()
    ) as captured:
        layer = convolutional.Conv2DTranspose(
            num_outputs,
            kernel_size,
            stride,
            padding.lower(),
            "channels_first" if data_format == "NCHW" else "channels_last",
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=captured.name,
            _scope=captured,
            _reuse=reuse,
        )
        outputs = layer(convert_to_tensor(inputs))
        _collect_variables(layer, variables_collections)
        outputs = _finish(outputs, normalizer_fn, normalizer_params, activation_fn)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


conv2d_transpose = convolution2d_transpose


class _DepthwiseOnly(convolutional.SeparableConv2D):
    """A separable convolution without the second part, which mixes channels."""

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.filters = channels * self.depth_multiplier
        self.depthwise_kernel = self.add_variable(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
        )
        self.bias = self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        channels_first = self.data_format == "channels_first"
        outputs = depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            [1, 1, *self.strides] if channels_first else [1, *self.strides, 1],
            self.padding.upper(),
            rate=list(self.dilation_rate),
            data_format="NCHW" if channels_first else "NHWC",
        )
        return self._finish(outputs)


@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution of each channel, then one of size 1 over them (MobileNet's); ReLU by default.

    Variables ``depthwise_weights``, ``pointwise_weights`` and ``biases``. ``num_outputs=None`` leaves
    the second convolution out: there are ``depth_multiplier`` outputs for each channel.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    shared: dict[str, Any] = {
        "strides": stride,
        "padding": padding.lower(),
        "data_format": "channels_first" if data_format == "NCHW" else "channels_last",
        "dilation_rate": rate,
        "depth_multiplier": depth_multiplier,
        "use_bias": normalizer_fn is None and biases_initializer is not None,
        "depthwise_initializer": weights_initializer,
        "depthwise_regularizer": weights_regularizer,
        "bias_initializer": biases_initializer,
        "bias_regularizer": biases_regularizer,
        "trainable": trainable,
    }
    with variable_scope(
        scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=_Renamed()
    ) as captured:
        shared |= {"name": captured.name, "_scope": captured, "_reuse": reuse}
        layer: Any
        if num_outputs is None:
            layer = _DepthwiseOnly(1, kernel_size, **shared)
        else:
            layer = convolutional.SeparableConv2D(
                num_outputs,
                kernel_size,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                pointwise_regularizer=weights_regularizer,
                **shared,
            )
        outputs = layer(convert_to_tensor(inputs))
        _collect_variables(layer, variables_collections)
        outputs = _finish(outputs, normalizer_fn, normalizer_params, activation_fn)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


separable_conv2d = separable_convolution2d


def _pool(layer_class: Any, name: str) -> Any:
    @add_arg_scope
    def pool2d(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = "NHWC",
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        with default_graph().name_scope(scope or name) as captured:
            if data_format not in ("NCHW", "NHWC"):
                raise ValueError(f"data_format has to be either NCHW or NHWC, got {data_format!r}.")
            layout = "channels_first" if data_format == "NCHW" else "channels_last"
            layer = layer_class(kernel_size, stride, padding.lower(), layout, _scope=captured)
            return collect_named_outputs(
                outputs_collections, captured, layer(convert_to_tensor(inputs))
            )

    pool2d.__doc__ = f"{layer_class.__doc__}"
    return pool2d


max_pool2d = _pool(pooling.MaxPooling2D, "MaxPool2D")
avg_pool2d = _pool(pooling.AveragePooling2D, "AvgPool2D")


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: Any = None,
) -> Any:
    """Dropout while ``is_training``."""
    with variable_scope(scope, "Dropout", [inputs]) as captured:
        layer = core.Dropout(
            rate=1 - keep_prob,
            noise_shape=noise_shape,
            seed=seed,
            name=captured.name,
            _scope=captured,
        )
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    """All axes but the first become one."""
    with default_graph().name_scope(scope or "Flatten") as captured:
        outputs = core.flatten(convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, captured, outputs)


class _DebiasedMean(normalization_layers.BatchNormalization):
    """Batch normalization whose moving mean is corrected for having started at 0."""

    def _move(self, variable: Any, value: Any, momentum: float, training: Any) -> Any:
        if variable is not self.moving_mean:
            return super()._move(variable, value, momentum, training)
        moved = smart_cond(
            training,
            lambda: assign_moving_average(variable, value, momentum, zero_debias=True),
            lambda: array.identity(variable),
        )
        self.add_update(moved)
        return moved


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: Any = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Batch normalization. With ``updates_collections=None`` the averages move within the layer.

    ``zero_debias_moving_mean`` divides the bias towards the first mean, 0, out of the average.
    """
    graph = default_graph()
    first = param_initializers or {}
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as captured:
        kind = _DebiasedMean if zero_debias_moving_mean else normalization_layers.BatchNormalization
        layer = kind(
            1 if data_format == "NCHW" else -1,
            decay,
            epsilon,
            center,
            scale,
            first.get("beta", initializers.zeros_initializer()),
            first.get("gamma", initializers.ones_initializer()),
            first.get("moving_mean", initializers.zeros_initializer()),
            first.get("moving_variance", initializers.ones_initializer()),
            trainable=trainable,
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_decay,
            fused=fused,
            adjustment=adjustment,
            name=captured.name,
            _scope=captured,
            _reuse=reuse,
        )
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        _collect_variables(layer, variables_collections)
        if updates_collections != GraphKeys.UPDATE_OPS:
            collected = graph.get_collection_ref(GraphKeys.UPDATE_OPS)
            for update in layer.updates:
                collected.remove(update)
            if updates_collections is None:
                with graph.control_dependencies(layer.updates):
                    outputs = array.identity(outputs)
            else:
                for update in layer.updates:
                    graph.add_to_collections(updates_collections, update)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
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
        if center:
            beta = get_variable("beta", shape, dtype, initializers.zeros_initializer())
        if scale:
            gamma = get_variable("gamma", shape, dtype, initializers.ones_initializer())
        mean, variance = moments(inputs, axes, keep_dims=True)
        epsilon = 1e-3 if dtype is dtypes.float16 else 1e-12  # the least that float16 can tell
        outputs = normalization_ops.batch_normalization(
            inputs, mean, variance, beta, gamma, epsilon
        )
        outputs.set_shape(inputs.shape)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """The embeddings of sequences of ids: [batch, steps] -> [batch, steps, embed_dim]."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError("Must specify vocab size and embedding dimension when not reusing.")
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        table = get_variable(
            "embeddings",
            shape,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        return embedding.embedding_lookup(table, ids)


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """One-hot rows."""
    with default_graph().name_scope(scope or "OneHotEncoding") as captured:
        outputs = array.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, captured, outputs)


def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """The layer again and again: one for each of ``stack_args``."""
    if not isinstance(stack_args, (list, tuple)):
        raise TypeError(f"stack_args needs to be a list or tuple, got {stack_args!r}.")
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Stack", [inputs]):
        outputs = inputs
        base = scope or getattr(layer, "__name__", "stack")
        for i, arguments in enumerate(stack_args):
            given = arguments if isinstance(arguments, (list, tuple)) else [arguments]
            outputs = layer(outputs, *given, scope=f"{base}_{i + 1}", **kwargs)
        return outputs


def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """The same layer ``repetitions`` times."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        base = scope or getattr(layer, "__name__", "layer")
        for i in range(repetitions):
            inputs = layer(inputs, *args, scope=f"{base}_{i + 1}", **kwargs)
        return inputs


def softmax(logits: Any, scope: Any = None) -> Any:
    """Softmax along the last axis, for logits of any rank."""
    with variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        rows = array.reshape(logits, [-1, array.shape(logits)[-1]])
        predictions = array.reshape(activations.softmax(rows), array.shape(logits))
        predictions.set_shape(logits.shape)
        return predictions


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """``inputs`` plus a variable ``biases``, one for each channel; zeros to begin with."""
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as captured:
        inputs = convert_to_tensor(inputs)
        axis = 1 if data_format == "NCHW" else -1
        channels = None if inputs.dims is None else inputs.dims[axis]
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        collections = variables_collections
        if isinstance(collections, dict):
            collections = collections.get("biases", [])
        biases = get_variable(
            "biases",
            [channels],
            dtype=inputs.dtype.base_dtype,
            initializer=initializers.zeros_initializer() if initializer is None else initializer,
            regularizer=regularizer,
            collections=[
                GraphKeys.GLOBAL_VARIABLES,
                GraphKeys.MODEL_VARIABLES,
                *(collections or []),
            ],
            trainable=trainable,
        )
        outputs = bias.bias_add(inputs, biases, data_format=data_format)
        outputs = _finish(outputs, None, None, activation_fn)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Vectors of length 1 along ``dim``."""
    with default_graph().name_scope(scope or "UnitNorm"):
        return inputs / sqrt(reduce_sum(square(inputs), dim, keepdims=True) + epsilon)


__getattr__ = explain_absent(__name__)
