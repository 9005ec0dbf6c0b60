"""Layers whose weights are multiplied by a mask, for `dataflow.contrib.model_pruning`."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.contrib.layers.initializers import xavier_initializer
from dataflow.contrib.layers.parts import apply_layer, renamed
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import InitializerLike
from dataflow.layers import convolutional, core
from dataflow.ops import activation as activations, initializers
from dataflow.ops.arithmetic import multiply
from dataflow.ops.variable_scope import variable_scope
from dataflow.rnn import cells

#: The collections of masks, thresholds, masked weights and weights, in the same order.
MASK_COLLECTION = "masks"
THRESHOLD_COLLECTION = "thresholds"
MASKED_WEIGHT_COLLECTION = "masked_weights"
WEIGHT_COLLECTION = "kernel"
MASKED_WEIGHT_NAME = "weights/masked_weight"


def collect(mask: Any, threshold: Any, weight: Any) -> Any:
    """``mask * weight``; notes all of them in their collections, the first time that the mask is seen."""
    masked = multiply(mask, weight, name=MASKED_WEIGHT_NAME)
    graph = default_graph()
    if all(mask is not known for known in graph.get_collection(MASK_COLLECTION)):
        graph.add_to_collection(THRESHOLD_COLLECTION, threshold)
        graph.add_to_collection(MASK_COLLECTION, mask)
        graph.add_to_collection(MASKED_WEIGHT_COLLECTION, masked)
        graph.add_to_collection(WEIGHT_COLLECTION, weight)
    return masked


class _Masked:
    """Mix-in that masks the kernel of a layer."""

    _kernel_name = "kernel"

    def build(self, input_shape: Any) -> None:
        layer: Any = self
        super().build(input_shape)  # type: ignore[misc]
        layer.built = False
        kernel = getattr(layer, self._kernel_name)
        layer.mask = layer.add_variable(
            "mask", kernel.shape, initializer=initializers.ones_initializer(), trainable=False
        )
        layer.threshold = layer.add_variable(
            "threshold", [], initializer=initializers.zeros_initializer(), trainable=False
        )
        layer.masked_kernel = collect(layer.mask, layer.threshold, kernel)
        layer.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        layer: Any = self
        kernel = getattr(layer, self._kernel_name)
        setattr(layer, self._kernel_name, layer.masked_kernel)
        try:
            return super().call(*args, **kwargs)  # type: ignore[misc]
        finally:
            setattr(layer, self._kernel_name, kernel)


class MaskedConv2D(_Masked, convolutional.Conv2D):
    """`tf.layers.Conv2D` with a masked kernel; variables ``mask`` and ``threshold`` beside it."""


class MaskedFullyConnected(_Masked, core.Dense):
    """`tf.layers.Dense` with a masked kernel; variables ``mask`` and ``threshold`` beside it."""


class MaskedBasicLSTMCell(_Masked, cells.BasicLSTMCell):
    """`tf.nn.rnn_cell.BasicLSTMCell` with a masked kernel."""

    _kernel_name = "_kernel"


class MaskedLSTMCell(_Masked, cells.LSTMCell):
    """`tf.nn.rnn_cell.LSTMCell` with a masked kernel; projections are not masked."""

    _kernel_name = "_kernel"


def _settings(
    normalizer_fn: Any,
    weights_initializer: Any,
    weights_regularizer: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
    trainable: Any,
    captured: Any,
    reuse: Any,
) -> dict[str, Any]:
    """The arguments that both functions pass to their layers."""
    return {
        "use_bias": normalizer_fn is None and biases_initializer is not None,
        "kernel_initializer": weights_initializer,
        "bias_initializer": biases_initializer,
        "kernel_regularizer": weights_regularizer,
        "bias_regularizer": biases_regularizer,
        "trainable": trainable,
        "name": captured.name,
        "_scope": captured,
        "_reuse": reuse,
    }


@add_arg_scope
def masked_convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike = xavier_initializer(),  # noqa: B008
    weights_regularizer: Any = None,
    biases_initializer: InitializerLike | None = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """As `tf.contrib.layers.conv2d`, with masked weights; variables ``mask`` and ``threshold`` besides.

    Raises `ValueError` for inputs of another rank than 4, and for other layouts than NHWC and NCHW.
    """
    inputs = convert_to_tensor(inputs)
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}; it is 'NHWC' or 'NCHW'.")
    if inputs.shape.ndims != 4:
        raise ValueError(f"Sparse convolutions need inputs of rank 4, got shape {inputs.shape}.")
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=renamed) as captured:
        layer = MaskedConv2D(
            num_outputs,
            kernel_size,
            stride,
            padding,
            "channels_first" if data_format == "NCHW" else "channels_last",
            rate,
            **_settings(
                *(normalizer_fn, weights_initializer, weights_regularizer),
                *(biases_initializer, biases_regularizer, trainable, captured, reuse),
            ),
        )
        return apply_layer(
            *(layer, inputs, normalizer_fn, normalizer_params, activation_fn),
            *(variables_collections, outputs_collections),
        )


masked_conv2d = masked_convolution


@add_arg_scope
def masked_fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike = xavier_initializer(),  # noqa: B008
    weights_regularizer: Any = None,
    biases_initializer: InitializerLike | None = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """As `tf.contrib.layers.fully_connected`, with masked weights.

    Raises `ValueError` unless ``num_outputs`` is an integer.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs should be int or long, got {num_outputs!r}.")
    with variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=renamed
    ) as captured:
        layer = MaskedFullyConnected(
            num_outputs,
            **_settings(
                *(normalizer_fn, weights_initializer, weights_regularizer),
                *(biases_initializer, biases_regularizer, trainable, captured, reuse),
            ),
        )
        return apply_layer(
            *(layer, inputs, normalizer_fn, normalizer_params, activation_fn),
            *(variables_collections, outputs_collections),
        )
