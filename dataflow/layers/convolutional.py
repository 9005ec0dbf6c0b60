"""Convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.type_aliases import InitializerLike
from dataflow.layers.base import InputSpec, Layer, layer_function
from dataflow.layers.layer_arguments import (
    activation_function,
    padding_and_format,
    pair,
    transposed_size,
    window_count,
)
from dataflow.ops import (
    array,
    bias as bias_ops,
    conv_functions,
    depthwise_functions,
    dilated_convolutions,
)
from dataflow.ops.dilated_convolutions import atrous_conv2d_transpose
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.shapes import TensorShape, dimension_value


def _format(data_format: str, rank: int) -> str:
    formats = {
        ("channels_last", 1): "NWC",
        ("channels_last", 2): "NHWC",
        ("channels_last", 3): "NDHWC",
        ("channels_first", 1): "NCW",
        ("channels_first", 2): "NCHW",
        ("channels_first", 3): "NCDHW",
    }
    return formats[data_format, rank]


class _Conv(Layer):
    """A convolution over ``rank`` axes; kernel of shape kernel_size + [channels, filters]."""

    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: Callable[..., Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = zeros_initializer,
        kernel_regularizer: Callable[[Any], Any] | None = None,
        bias_regularizer: Callable[[Any], Any] | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        kernel_constraint: Callable[[Any], Any] | None = None,
        bias_constraint: Callable[[Any], Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.filters = int(filters)
        self.kernel_size = pair(kernel_size, self.rank, "kernel_size")
        self.strides = pair(strides, self.rank, "strides")
        self.padding, self.data_format = padding_and_format(padding, data_format)
        self.dilation_rate = pair(dilation_rate, self.rank, "dilation_rate")
        self.activation = activation_function(activation)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def _size_after(self, size: int | None, axis: int) -> int | None:
        """How many places there are along the ``axis``-th of the spatial axes, of ``size`` (None: unknown)."""
        reach = self.dilation_rate[axis] * (self.kernel_size[axis] - 1) + 1
        return window_count(size, reach, self.strides[axis], self.padding)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output for inputs of ``input_shape``; raises `ValueError` for another rank."""
        dims = TensorShape(input_shape).with_rank(self.rank + 2).as_list()
        first = 2 if self.data_format == "channels_first" else 1
        sizes = [self._size_after(dims[first + i], i) for i in range(self.rank)]
        if self.data_format == "channels_first":
            return TensorShape([dims[0], self.filters, *sizes])
        return TensorShape([dims[0], *sizes, self.filters])

    def _channels(self, input_shape: Any) -> int:
        channels = dimension_value(TensorShape(input_shape)[self._channel_axis])
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        return int(channels)

    def _add_kernel(self, shape: list[int]) -> Any:
        return self.add_variable(
            "kernel",
            shape,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )

    def _add_bias(self) -> Any:
        if not self.use_bias:
            return None
        return self.add_variable(
            "bias",
            [self.filters],
            initializer=self.bias_initializer,
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
        )

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.kernel = self._add_kernel([*self.kernel_size, channels, self.filters])
        self.bias = self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        count_left_out(1)  # the dilation rate is a constant there
        layout = _format(self.data_format, self.rank)
        if self.rank == 2 and self.dilation_rate == (1, 1):
            strides = [1, *self.strides, 1] if layout == "NHWC" else [1, 1, *self.strides]
            outputs = conv_functions.conv2d(
                inputs,
                self.kernel,
                strides,
                self.padding.upper(),
                data_format=layout,
                name="Conv2D",
            )
        else:
            outputs = dilated_convolutions.convolution(
                inputs,
                self.kernel,
                padding=self.padding.upper(),
                strides=self.strides,
                dilation_rate=self.dilation_rate,
                data_format=layout,
            )
        return self._finish(outputs)

    def _finish(self, outputs: Any) -> Any:
        if self.use_bias:
            if self.rank == 2 or self.data_format == "channels_last":
                layout = "NCHW" if self.data_format == "channels_first" else "NHWC"
                outputs = bias_ops.bias_add(outputs, self.bias, data_format=layout)
            else:
                outputs = outputs + array.reshape(self.bias, [1, self.filters] + [1] * self.rank)
        return outputs if self.activation is None else self.activation(outputs)


class Conv1D(_Conv):
    """Convolution along one axis. Input [batch, steps, channels]."""

    rank = 1


class Conv2D(_Conv):
    """Convolution of images. Input [batch, height, width, channels]."""

    rank = 2


class Conv3D(_Conv):
    """Convolution of volumes. Input [batch, depth, height, width, channels]."""

    rank = 3


class _ConvTranspose(_Conv):
    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Callable[..., Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = zeros_initializer,
        kernel_regularizer: Callable[[Any], Any] | None = None,
        bias_regularizer: Callable[[Any], Any] | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        kernel_constraint: Callable[[Any], Any] | None = None,
        bias_constraint: Callable[[Any], Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        output_padding: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.output_padding = None
        if output_padding is not None:
            self.output_padding = pair(output_padding, self.rank, "output_padding")
            if any(s <= p for s, p in zip(self.strides, self.output_padding, strict=True)):
                raise ValueError(
                    f"Stride {self.strides} must be greater than output padding {self.output_padding}"
                )

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.kernel = self._add_kernel([*self.kernel_size, self.filters, channels])
        self.bias = self._add_bias()
        self.built = True

    def _size_after(self, size: Any, axis: int) -> Any:
        """The size of an axis after the layer, a number or (of a tensor) a tensor; None of None."""
        kernel = self.dilation_rate[axis] * (self.kernel_size[axis] - 1) + 1
        stride = self.strides[axis]
        if self.output_padding is None or size is None:
            return transposed_size(size, kernel, stride, self.padding)
        cut = kernel // 2 if self.padding == "same" else 0
        return (size - 1) * stride + kernel - 2 * cut + self.output_padding[axis]

    def call(self, inputs: Any) -> Any:
        layout = _format(self.data_format, self.rank)
        function = (
            conv_functions.conv2d_transpose if self.rank == 2 else conv_functions.conv3d_transpose
        )
        with counted_as(19 + self.rank * (4 if self.padding == "valid" else 2)):
            output_shape, strides, shape = self._shapes(inputs)
        if max(self.dilation_rate) > 1:
            outputs = self._dilated(inputs, output_shape)
            outputs.set_shape(shape)
            return self._finish(outputs)
        outputs = function(
            inputs,
            self.kernel,
            output_shape,
            strides,
            padding=self.padding.upper(),
            data_format=layout,
        )
        outputs.set_shape(shape)
        return self._finish(outputs)

    def _dilated(self, inputs: Any, output_shape: Any) -> Any:
        """The transposed convolution of images with holes in the kernel; `ValueError` for uneven rates."""
        if len({*self.dilation_rate}) > 1:
            raise ValueError(
                f"{type(self).__name__}: the dilation rates must be equal, got {self.dilation_rate}."
            )
        last = [0, 2, 3, 1]
        first = self.data_format == "channels_first"
        if first:
            inputs, output_shape = array.transpose(inputs, last), array.gather(output_shape, last)
        outputs = atrous_conv2d_transpose(
            inputs, self.kernel, output_shape, self.dilation_rate[0], self.padding.upper()
        )
        return array.transpose(outputs, [0, 3, 1, 2]) if first else outputs

    def _shapes(self, inputs: Any) -> tuple[Any, list[int], list[Any]]:
        """The sizes of the outputs as a tensor, the strides of all axes, and the sizes that are known."""
        first = 2 if self.data_format == "channels_first" else 1
        dynamic = array.shape(inputs)
        static = inputs.shape.as_list()
        sizes, known = [], []
        for i in range(self.rank):
            fixed = self._size_after(static[first + i], i)
            known.append(fixed)
            sizes.append(fixed if fixed is not None else self._size_after(dynamic[first + i], i))
        batch = static[0] if static[0] is not None else dynamic[0]
        if self.data_format == "channels_first":
            output_shape: Any = [batch, self.filters, *sizes]
            strides = [1, 1, *self.strides]
            shape = [static[0], self.filters, *known]
        else:
            output_shape = [batch, *sizes, self.filters]
            strides = [1, *self.strides, 1]
            shape = [static[0], *known, self.filters]
        return array.stack(output_shape), strides, shape


class Conv2DTranspose(_ConvTranspose):
    """The transposed convolution of images: what a convolution's gradient computes."""

    rank = 2


class Conv3DTranspose(_ConvTranspose):
    """The transposed convolution of volumes."""

    rank = 3


class _SeparableConv(_Conv):
    """Each channel is convolved by itself, then the channels are mixed."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: Callable[..., Any] | None = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: InitializerLike | None = zeros_initializer,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Callable[[Any], Any] | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Callable[[Any], Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            activity_regularizer,
            None,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = depthwise_initializer
        self.depthwise_regularizer = depthwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_initializer = pointwise_initializer
        self.pointwise_regularizer = pointwise_regularizer
        self.pointwise_constraint = pointwise_constraint

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.depthwise_kernel = self.add_variable(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_variable(
            "pointwise_kernel",
            [1] * self.rank + [channels * self.depth_multiplier, self.filters],
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self.bias = self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        strides, dilation = list(self.strides), list(self.dilation_rate)
        layout = _format(self.data_format, 2)
        axis = 1 if layout == "NHWC" else 2
        if self.rank == 1:  # a row of height 1; strides must be equal in both directions
            inputs = array.expand_dims(inputs, axis)
            depthwise = array.expand_dims(depthwise, 0)
            pointwise = array.expand_dims(pointwise, 0)
            strides, dilation = strides * 2, [1, *dilation]
        full = [1, *strides, 1] if layout == "NHWC" else [1, 1, *strides]
        outputs = depthwise_functions.separable_conv2d(
            inputs,
            depthwise,
            pointwise,
            full,
            padding=self.padding.upper(),
            rate=dilation,
            data_format=layout,
        )
        if self.rank == 1:
            outputs = array.squeeze(outputs, [axis])
        return self._finish(outputs)


class SeparableConv1D(_SeparableConv):
    """A separable convolution along one axis."""

    rank = 1


class SeparableConv2D(_SeparableConv):
    """A separable convolution of images."""

    rank = 2


conv1d = layer_function(Conv1D, "conv1d")
conv2d = layer_function(Conv2D, "conv2d")
conv3d = layer_function(Conv3D, "conv3d")
conv2d_transpose = layer_function(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose = layer_function(Conv3DTranspose, "conv3d_transpose")
separable_conv1d = layer_function(SeparableConv1D, "separable_conv1d")
separable_conv2d = layer_function(SeparableConv2D, "separable_conv2d")


# Their older names, which tensorflow.python.layers.convolutional keeps.
Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose = Deconvolution2D = Deconv2D = Conv2DTranspose
Convolution3DTranspose = Deconvolution3D = Deconv3D = Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
