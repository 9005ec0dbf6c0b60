"""Dense layers, and what is done to their values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.contrib.layers.building import collect_named_outputs, last_dimension
from dataflow.contrib.layers.initializers import xavier_initializer
from dataflow.contrib.layers.parts import apply_layer, finish, model_weights, renamed
from dataflow.contrib.layers.sparse_conversions import dense_to_sparse_tensor
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import InitializerLike, TensorLike
from dataflow.layers import core
from dataflow.ops import activation as activations, array, bias, custom_gradient, initializers
from dataflow.ops.math import reduce_max
from dataflow.ops.seeds import count_left_out
from dataflow.ops.tensor_products import tensordot
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike = xavier_initializer(),  # noqa: B008
    weights_regularizer: Callable[[Any], Any] | None = None,
    biases_initializer: InitializerLike | None = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Callable[[Any], Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Any:
    """A dense layer, ReLU by default. Variables ``weights`` and ``biases``.

    Raises `ValueError` where ``num_outputs`` is no integer.
    """
    if not isinstance(num_outputs, (int, np.integer)):
        raise ValueError(
            f"num_outputs must be an integer, got {num_outputs!r}: a {type(num_outputs).__name__}."
        )
    with variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=renamed
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
        return apply_layer(
            *(layer, inputs, normalizer_fn, normalizer_params, activation_fn),
            *(variables_collections, outputs_collections),
        )


linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=activations.relu)
relu6 = functools.partial(fully_connected, activation_fn=activations.relu6)
elu = functools.partial(fully_connected, activation_fn=activations.elu)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: str | VariableScope | None = None,
    seed: int | None = None,
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


@add_arg_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """One-hot rows."""
    with default_graph().name_scope(scope or "OneHotEncoding") as captured:
        count_left_out(1)  # the labels as int64
        outputs = array.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, captured, outputs)


def _name_of(layer: Any, otherwise: str) -> str:
    """What a layer's scopes are called; `relu` and its like are partial functions."""
    layer = getattr(layer, "func", layer)
    return str(getattr(layer, "__name__", otherwise))


def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """The layer again and again: one for each of ``stack_args``."""
    if not isinstance(stack_args, (list, tuple)):
        raise TypeError(f"stack_args needs to be a list or tuple, got {stack_args!r}.")
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Stack", [inputs]):
        outputs = inputs
        base = scope or _name_of(layer, "stack")
        for i, arguments in enumerate(stack_args):
            given = arguments if isinstance(arguments, (list, tuple)) else [arguments]
            outputs = layer(outputs, *given, scope=f"{base}_{i + 1}", **kwargs)
        return outputs


def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """The same layer ``repetitions`` times."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        base = scope or _name_of(layer, "repeat")
        for i in range(repetitions):
            inputs = layer(inputs, *args, scope=f"{base}_{i + 1}", **kwargs)
        return inputs


def softmax(logits: TensorLike, scope: str | VariableScope | None = None) -> Any:
    """Softmax along the last axis; raises `ValueError` for logits of unknown rank or below rank 2."""
    with variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        last_dimension(logits.shape, min_rank=2)
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
        biases = model_weights(
            "biases",
            [channels],
            inputs.dtype.base_dtype,
            initializers.zeros_initializer() if initializer is None else initializer,
            variables_collections,
            regularizer,
            trainable,
        )
        outputs = bias.bias_add(inputs, biases, data_format=data_format)
        return finish(outputs, None, None, activation_fn, outputs_collections, captured.name)


def recompute_grad(
    fn: Callable[..., Any], use_data_dep: Any = True, tupleize_grads: bool = False
) -> Any:
    """`tf.recompute_grad`.

    ``use_data_dep`` and ``tupleize_grads`` say how the second call waits, which changes no result:
    it always waits for the gradients that come in.
    """
    return custom_gradient.recompute_grad(fn)


@add_arg_scope
def maxout(
    inputs: Any,
    num_units: int,
    axis: int = -1,
    outputs_collections: Any = None,
    scope: str | VariableScope | None = None,
) -> Any:
    """The greatest of each ``size / num_units`` neighbors along ``axis`` (Goodfellow et al. 2013).

    Raises `ValueError` where ``num_units`` does not divide the size of that axis.
    """
    with variable_scope(scope, "MaxOut", [inputs]) as captured:
        inputs = convert_to_tensor(inputs)
        rank = len(inputs.dims)
        size = inputs.dims[axis]
        if size is None or size % num_units:
            raise ValueError(
                f"number of features({size}) is not a multiple of num_units({num_units})"
            )
        at = axis % rank
        sizes = array.shape(inputs)
        dims = [sizes[i] if d is None else d for i, d in enumerate(inputs.dims)]
        grouped = array.reshape(inputs, [*dims[:at], num_units, size // num_units, *dims[at + 1 :]])
        outputs = reduce_max(grouped, at + 1)
        outputs.set_shape([*inputs.dims[:at], num_units, *inputs.dims[at + 1 :]])
        return collect_named_outputs(outputs_collections, captured.name, outputs)


@add_arg_scope
def dense_to_sparse(
    tensor: TensorLike,
    eos_token: Any = 0,
    outputs_collections: Any = None,
    scope: str | VariableScope | None = None,
) -> Any:
    """The elements other than ``eos_token`` as a sparse tensor, such as labels of `tf.nn.ctc_loss`."""
    with variable_scope(scope, "dense_to_sparse", [tensor]) as captured:
        outputs = dense_to_sparse_tensor(tensor, eos_token)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """``inputs``, with a gradient that is multiplied by ``gradient_multiplier``."""
    inputs = convert_to_tensor(inputs)
    factor = convert_to_tensor(gradient_multiplier, dtype=inputs.dtype.base_dtype)

    def scaled(x: Any) -> tuple[Any, Callable[[Any], Any]]:
        return array.identity(x), lambda gradient: gradient * factor

    return custom_gradient.custom_gradient(scaled)(inputs)


def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Callable[..., Any] | None = None,
    weight_init: Any = xavier_initializer(),  # noqa: B008
    bias_init: Any = initializers.zeros_initializer(),  # noqa: B008
    name: str | None = None,
    weight_collections: Any = ("weights",),
    bias_collections: Any = ("biases",),
    output_collections: Any = ("activations",),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Callable[[Any], Any] | None = None,
) -> Any:
    """A dense layer of TensorFlow 0.x: variables ``weights`` and ``bias``, no activation by default."""
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        if x.dims is None or len(x.dims) < 2:
            raise ValueError(f"rank of x must be at least 2 not: {x.shape.ndims}")
        size = x.dims[-1]
        if size is None:
            raise ValueError("last dimension of x must be known but is None")
        dtype = x.dtype.base_dtype
        weights = model_weights(
            "weights",
            [size, num_output_units],
            dtype,
            weight_init,
            list(weight_collections or []),
            weight_regularizer,
            trainable,
        )
        y = tensordot(x, weights, 1)
        if bias_init is not None:
            offset = model_weights(
                "bias",
                [num_output_units],
                dtype,
                bias_init,
                list(bias_collections or []),
                bias_regularizer,
                trainable,
            )
            y = bias.bias_add(y, offset)
        y = y if activation_fn is None else activation_fn(y)
        if output_collections:
            default_graph().add_to_collections(list(output_collections), y)
        return y


legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=activations.relu)
