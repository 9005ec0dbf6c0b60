"""Convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.type_aliases import InitializerLike
from dataflow.keras import activations, backend as K
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers import convolutional
from dataflow.layers.layer_arguments import pair
from dataflow.namespaces import also_from
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.depthwise_functions import depthwise_conv2d
from dataflow.shapes import TensorShape, dimension_value


def _arguments(rank: int, transposed: bool = False) -> Any:
    """The ``__init__`` of a convolution; strides and dilations default to one for each axis."""
    one: Any = 1 if rank == 1 else (1,) * rank

    def initialize(
        self: Any,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = one,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = one,
        activation: str | Callable[..., Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: str | InitializerLike = "glorot_uniform",
        bias_initializer: str | InitializerLike = "zeros",
        kernel_regularizer: str | Callable[[Any], Any] | None = None,
        bias_regularizer: str | Callable[[Any], Any] | None = None,
        activity_regularizer: str | Callable[[Any], Any] | None = None,
        kernel_constraint: str | Callable[[Any], Any] | None = None,
        bias_constraint: str | Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        settings = weight_settings(
            {
                "activation": activation,
                "kernel_initializer": kernel_initializer,
                "bias_initializer": bias_initializer,
                "kernel_regularizer": kernel_regularizer,
                "bias_regularizer": bias_regularizer,
                "activity_regularizer": activity_regularizer,
                "kernel_constraint": kernel_constraint,
                "bias_constraint": bias_constraint,
            }
        )
        causal = rank == 1 and padding == "causal"
        dilation = pair(dilation_rate, rank, "dilation_rate")
        if not transposed:
            settings["dilation_rate"] = dilation_rate
        elif rank == 3 and max(dilation) > 1:
            raise NotImplementedError(
                f"{type(self).__name__}(dilation_rate={dilation_rate}) is not supported; strides are."
            )
        Layer.__init__(
            self,
            filters,
            kernel_size,
            strides=strides,
            padding="valid" if causal else padding,
            data_format=data_format or K.image_data_format(),
            use_bias=use_bias,
            **settings,
            **kwargs,
        )
        if causal:
            self._is_causal = True
        self.dilation_rate = dilation

    return initialize


class Conv1D(Layer, convolutional.Conv1D):
    """Convolution along one axis. Input [batch, steps, channels]; ``padding`` may be "causal"."""

    __init__ = _arguments(1)
    _is_causal = False

    def _size_after(self, size: int | None, axis: int) -> int | None:
        if self._is_causal:
            return None if size is None else -(-size // self.strides[axis])
        return super()._size_after(size, axis)

    def call(self, inputs: Any) -> Any:
        if self._is_causal:  # a step sees itself and those before it
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            inputs = array.pad(inputs, [[0, 0], [before, 0], [0, 0]])
        return convolutional.Conv1D.call(self, inputs)


class Conv2D(Layer, convolutional.Conv2D):
    """Convolution of images. Input [batch, height, width, channels]."""

    __init__ = _arguments(2)


class Conv3D(Layer, convolutional.Conv3D):
    """Convolution of volumes. Input [batch, depth, height, width, channels]."""

    __init__ = _arguments(3)


class Conv2DTranspose(Layer, convolutional.Conv2DTranspose):
    """Transposed convolution of images: strides enlarge."""

    __init__ = _arguments(2, transposed=True)


class Conv3DTranspose(Layer, convolutional.Conv3DTranspose):
    """Transposed convolution of volumes: strides enlarge."""

    __init__ = _arguments(3, transposed=True)


#: Keras takes these and does not use them: such a layer's kernels have settings of their own.
_UNUSED = ("kernel_initializer", "kernel_regularizer", "kernel_constraint")


def _without_unused(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _UNUSED}


def _separable_arguments(rank: int) -> Any:
    """The ``__init__`` of a separable convolution."""
    one: Any = 1 if rank == 1 else (1,) * rank

    def initialize(
        self: Any,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = one,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = one,
        depth_multiplier: int = 1,
        activation: str | Callable[..., Any] | None = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: str | InitializerLike = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: str | Callable[[Any], Any] | None = None,
        activity_regularizer: str | Callable[[Any], Any] | None = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: str | Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        settings = weight_settings(
            {
                "activation": activation,
                "depthwise_initializer": depthwise_initializer,
                "pointwise_initializer": pointwise_initializer,
                "bias_initializer": bias_initializer,
                "depthwise_regularizer": depthwise_regularizer,
                "pointwise_regularizer": pointwise_regularizer,
                "bias_regularizer": bias_regularizer,
                "activity_regularizer": activity_regularizer,
                "depthwise_constraint": depthwise_constraint,
                "pointwise_constraint": pointwise_constraint,
                "bias_constraint": bias_constraint,
            }
        )
        Layer.__init__(
            self,
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format or K.image_data_format(),
            dilation_rate=dilation_rate,
            depth_multiplier=depth_multiplier,
            use_bias=use_bias,
            **settings,
            **_without_unused(kwargs),
        )

    return initialize


class SeparableConv1D(Layer, convolutional.SeparableConv1D):
    """A convolution of each channel along one axis, then one of size 1 over channels."""

    __init__ = _separable_arguments(1)


class SeparableConv2D(Layer, convolutional.SeparableConv2D):
    """A convolution of each channel, then one of 1 x 1 over channels."""

    __init__ = _separable_arguments(2)


class DepthwiseConv2D(Layer):
    """A convolution of each channel by itself, with ``depth_multiplier`` filters for each."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: str | Callable[..., Any] | None = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: str | InitializerLike = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: str | Callable[[Any], Any] | None = None,
        activity_regularizer: str | Callable[[Any], Any] | None = None,
        depthwise_constraint: Any = None,
        bias_constraint: str | Callable[[Any], Any] | None = None,
        dilation_rate: Any = (1, 1),
        **kwargs: Any,
    ) -> None:
        settings = weight_settings({"activity_regularizer": activity_regularizer})
        super().__init__(**settings, **_without_unused(kwargs))
        self.kernel_size = pair(kernel_size, 2, "kernel_size")
        self.strides = pair(strides, 2, "strides")
        self.dilation_rate = pair(dilation_rate, 2, "dilation_rate")
        self.padding = padding.lower()
        if self.padding not in ("valid", "same"):
            raise ValueError(f"DepthwiseConv2D: padding is 'valid' or 'same', got {padding!r}.")
        self.depth_multiplier = int(depth_multiplier)
        self.data_format = data_format or K.image_data_format()
        self.use_bias = use_bias
        self.activation = activations.get(activation)
        self.input_spec = InputSpec(ndim=4)
        self._settings = weight_settings(
            {
                "depthwise_initializer": depthwise_initializer,
                "depthwise_regularizer": depthwise_regularizer,
                "depthwise_constraint": depthwise_constraint,
                "bias_initializer": bias_initializer,
                "bias_regularizer": bias_regularizer,
                "bias_constraint": bias_constraint,
            }
        )

    def _weight(self, name: str, kind: str, shape: list[int]) -> Any:
        return self.add_weight(
            name,
            shape,
            initializer=self._settings[kind + "_initializer"],
            regularizer=self._settings[kind + "_regularizer"],
            constraint=self._settings[kind + "_constraint"],
        )

    def build(self, input_shape: Any) -> None:
        axis = 1 if self.data_format == "channels_first" else 3
        channels = dimension_value(TensorShape(input_shape)[axis])
        if channels is None:
            raise ValueError(f"Layer {self.name}: the number of channels must be known.")
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self._weight("depthwise_kernel", "depthwise", shape)
        self.bias = None
        if self.use_bias:
            self.bias = self._weight("bias", "bias", [channels * self.depth_multiplier])
        self.built = True

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        if first:
            inputs = array.transpose(inputs, [0, 2, 3, 1])
        outputs = depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            [1, *self.strides, 1],
            self.padding.upper(),
            rate=list(self.dilation_rate),
        )
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        outputs = self.activation(outputs)
        return array.transpose(outputs, [0, 3, 1, 2]) if first else outputs


Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution3D = Conv3D
Deconvolution2D = Convolution2DTranspose = Conv2DTranspose
Deconvolution3D = Convolution3DTranspose = Conv3DTranspose
SeparableConvolution1D = SeparableConv1D
SeparableConvolution2D = SeparableConv2D


__getattr__ = also_from(__name__, "dataflow.keras.layers")
