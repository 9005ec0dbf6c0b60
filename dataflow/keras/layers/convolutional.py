"""Convolutions, padding and enlarging of images."""

from __future__ import annotations

from typing import Any

from dataflow.keras import backend as K
from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers import convolutional
from dataflow.layers.base import pair
from dataflow.ops import array
from dataflow.ops.image_geometry import resize_bilinear, resize_nearest_neighbor


def _arguments(rank: int, dilates: bool = True) -> Any:
    """The ``__init__`` of a convolution; strides and dilations default to one for each axis."""
    one: Any = 1 if rank == 1 else (1,) * rank

    def initialize(
        self: Any,
        filters: int,
        kernel_size: Any,
        strides: Any = one,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = one,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
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
        if dilates:
            settings["dilation_rate"] = dilation_rate
        elif dilation_rate not in (1, one):
            raise NotImplementedError(
                f"{type(self).__name__}(dilation_rate={dilation_rate}) is not supported; strides are."
            )
        Layer.__init__(
            self,
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format or K.image_data_format(),
            use_bias=use_bias,
            **settings,
            **kwargs,
        )

    return initialize


class Conv1D(Layer, convolutional.Conv1D):
    """Convolution along one axis. Input [batch, steps, channels]."""

    __init__ = _arguments(1)


class Conv2D(Layer, convolutional.Conv2D):
    """Convolution of images. Input [batch, height, width, channels]."""

    __init__ = _arguments(2)


class Conv3D(Layer, convolutional.Conv3D):
    """Convolution of volumes. Input [batch, depth, height, width, channels]."""

    __init__ = _arguments(3)


class Conv2DTranspose(Layer, convolutional.Conv2DTranspose):
    """Transposed convolution of images: strides enlarge."""

    __init__ = _arguments(2, dilates=False)


class SeparableConv2D(Layer, convolutional.SeparableConv2D):
    """A convolution of each channel, then one of 1 x 1 over channels."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        settings = weight_settings(
            {
                "activation": activation,
                "depthwise_initializer": depthwise_initializer,
                "pointwise_initializer": pointwise_initializer,
                "bias_initializer": bias_initializer,
            }
        )
        super().__init__(
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format or K.image_data_format(),
            dilation_rate=dilation_rate,
            depth_multiplier=depth_multiplier,
            use_bias=use_bias,
            **settings,
            **kwargs,
        )


Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution3D = Conv3D
Deconvolution2D = Conv2DTranspose


def _sides(value: Any, rank: int, name: str) -> list[tuple[int, int]]:
    if isinstance(value, int):
        return [(value, value)] * rank
    sides = [(v, v) if isinstance(v, int) else tuple(v) for v in value]
    if rank == 1 and len(sides) == 2 and all(isinstance(v, int) for v in value):
        sides = [tuple(value)]
    if len(sides) != rank or any(len(s) != 2 for s in sides):
        raise ValueError(
            f"{name}: expected an int, {rank} ints or {rank} pairs of ints; got {value!r}."
        )
    return sides


class _Spatial(Layer):
    rank = 2

    def _per_axis(self, data_format: Any, values: Any, outside: Any) -> list[Any]:
        """One value for each axis, ``outside`` for the batch and the channels."""
        if (data_format or K.image_data_format()) == "channels_first" and self.rank > 1:
            return [outside, outside, *values]
        return [outside, *values, outside]


class ZeroPadding1D(_Spatial):
    """Zeros before and after the steps."""

    rank = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.padding = _sides(padding, 1, "ZeroPadding1D")

    def call(self, inputs: Any) -> Any:
        return array.pad(inputs, self._per_axis(None, self.padding, (0, 0)))


class ZeroPadding2D(_Spatial):
    """Zeros around an image: an int, (rows, columns), or ((top, bottom), (left, right))."""

    def __init__(self, padding: Any = (1, 1), data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.padding = _sides(padding, 2, "ZeroPadding2D")
        self.data_format = data_format

    def call(self, inputs: Any) -> Any:
        return array.pad(inputs, self._per_axis(self.data_format, self.padding, (0, 0)))


class Cropping2D(_Spatial):
    """Cuts the borders of an image off."""

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: Any = None, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self.cropping = _sides(cropping, 2, "Cropping2D")
        self.data_format = data_format

    def call(self, inputs: Any) -> Any:
        slices = [slice(a, -b if b else None) for a, b in self.cropping]
        return inputs[tuple(self._per_axis(self.data_format, slices, slice(None)))]


class UpSampling1D(_Spatial):
    """Repeats each step ``size`` times."""

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = int(size)

    def call(self, inputs: Any) -> Any:
        return array.repeat(inputs, self.size, axis=1)


class UpSampling2D(_Spatial):
    """Repeats rows and columns, or interpolates ("bilinear")."""

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: Any = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.size = pair(size, 2, "size")
        self.data_format = data_format
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(
                f"UpSampling2D: interpolation is 'nearest' or 'bilinear', got {interpolation!r}."
            )
        self.resize = resize_nearest_neighbor if interpolation == "nearest" else resize_bilinear

    def call(self, inputs: Any) -> Any:
        first = (self.data_format or K.image_data_format()) == "channels_first"
        if first:
            inputs = array.transpose(inputs, [0, 2, 3, 1])
        sizes = array.shape(inputs)[1:3] * list(self.size)
        outputs = self.resize(inputs, sizes)
        static = [
            None if n is None else n * k
            for n, k in zip(inputs.shape.as_list()[1:3], self.size, strict=True)
        ]
        outputs.set_shape([inputs.shape[0], *static, inputs.shape[3]])
        return array.transpose(outputs, [0, 3, 1, 2]) if first else outputs
