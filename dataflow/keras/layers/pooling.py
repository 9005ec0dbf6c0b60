"""Pooling over windows, and over everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.keras import backend as K
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.layers import pooling
from dataflow.ops.reduce import reduce_max, reduce_mean


def _arguments(size: Any) -> Any:
    """The ``__init__`` of a pooling over windows of ``size`` where nothing else is said."""

    def initialize(
        self: Any,
        pool_size: Any = size,
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        layout = data_format or K.image_data_format()
        steps = pool_size if strides is None else strides
        Layer.__init__(self, pool_size, steps, padding=padding, data_format=layout, **kwargs)

    return initialize


class MaxPooling1D(Layer, pooling.MaxPooling1D):
    """The largest value of each window along one axis."""

    __init__ = _arguments(2)


class MaxPooling2D(Layer, pooling.MaxPooling2D):
    """The largest value of each window of images."""

    __init__ = _arguments((2, 2))


class MaxPooling3D(Layer, pooling.MaxPooling3D):
    """The largest value of each window of volumes."""

    __init__ = _arguments((2, 2, 2))


class AveragePooling1D(Layer, pooling.AveragePooling1D):
    """The mean of each window along one axis."""

    __init__ = _arguments(2)


class AveragePooling2D(Layer, pooling.AveragePooling2D):
    """The mean of each window of images."""

    __init__ = _arguments((2, 2))


class AveragePooling3D(Layer, pooling.AveragePooling3D):
    """The mean of each window of volumes."""

    __init__ = _arguments((2, 2, 2))


class _Global(Layer):
    rank = 2
    reduce: Any = staticmethod(reduce_mean)

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or K.image_data_format()
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Any:
        start = 2 if self.data_format == "channels_first" else 1
        return self.reduce(inputs, axis=list(range(start, start + self.rank)))


class GlobalAveragePooling1D(_Global):
    """The mean over all steps."""

    rank = 1


class GlobalAveragePooling2D(_Global):
    """The mean over an image."""


class GlobalMaxPooling1D(_Global):
    """The largest value over all steps."""

    rank = 1
    reduce = staticmethod(reduce_max)


class GlobalMaxPooling2D(_Global):
    """The largest value over an image."""

    reduce = staticmethod(reduce_max)


class GlobalAveragePooling3D(_Global):
    """The mean over a volume."""

    rank = 3


class GlobalMaxPooling3D(_Global):
    """The largest value over a volume."""

    rank = 3
    reduce = staticmethod(reduce_max)


MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
MaxPool3D = MaxPooling3D
AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
AvgPool3D = AveragePooling3D
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool3D = GlobalMaxPooling3D
