"""Convolutions of each channel by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.contrib.layers.initializers import xavier_initializer
from dataflow.contrib.layers.parts import apply_layer, finish, model_weights, renamed
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import InitializerLike, TensorLike
from dataflow.layers import convolutional
from dataflow.layers.layer_arguments import pair
from dataflow.ops import activation as activations, array, bias, initializers
from dataflow.ops.depthwise_functions import depthwise_conv2d
from dataflow.ops.variable_scope import variable_scope
from dataflow.shapes import dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


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
    kernel_size: int | Sequence[int],
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: TensorLike = 1,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike = xavier_initializer(),  # noqa: B008
    pointwise_initializer: Any = None,
    weights_regularizer: Callable[[Any], Any] | None = None,
    biases_initializer: InitializerLike | None = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Callable[[Any], Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
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
        scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=renamed
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
        return apply_layer(
            *(layer, inputs, normalizer_fn, normalizer_params, activation_fn),
            *(variables_collections, outputs_collections),
        )


separable_conv2d = separable_convolution2d


@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: int | Sequence[int],
    stride: Any = 1,
    padding: str = "SAME",
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
    """One kernel for every channel, such as a gradient along an axis; ReLU by default.

    Variables ``weights`` [height, width, 1, 1] and ``biases`` [channels]. ``inputs`` are
    [batch, height, width, channels] with a known number of channels.
    """
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as captured:
        inputs = convert_to_tensor(inputs)
        dtype = inputs.dtype.base_dtype
        channels = dimension_value(inputs.shape[3])
        if channels is None:
            raise ValueError("conv2d_in_plane: the number of channels must be known, but is None.")
        height, width = pair(kernel_size, 2, "kernel_size")
        weights = model_weights(
            "weights",
            [height, width, 1, 1],
            dtype,
            weights_initializer,
            variables_collections,
            weights_regularizer,
            trainable,
        )
        outputs = depthwise_conv2d(
            inputs,
            array.tile(weights, [1, 1, channels, 1]),
            [1, *pair(stride, 2, "stride"), 1],
            padding,
        )
        if normalizer_fn is None and biases_initializer is not None:
            biases = model_weights(
                "biases",
                [channels],
                dtype,
                biases_initializer,
                variables_collections,
                biases_regularizer,
                trainable,
            )
            outputs = bias.bias_add(outputs, biases)
        return finish(
            outputs,
            normalizer_fn,
            normalizer_params,
            activation_fn,
            outputs_collections,
            captured.name,
        )


conv2d_in_plane = convolution2d_in_plane
