"""Pooling over windows, and over everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.keras import backend as K
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.layers import pooling
from dataflow.ops import array
from dataflow.ops.math import cast
from dataflow.ops.reduce import reduce_max, reduce_mean, reduce_sum
from dataflow.shapes import TensorShape


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
    """The base of layers that reduce everything but the batch and the channels."""

    rank = 2
    reduce: Any = staticmethod(reduce_mean)

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or K.image_data_format()
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Any:
        start = 2 if self.data_format == "channels_first" else 1
        return self.reduce(inputs, axis=list(range(start, start + self.rank)))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """[batch, channels]."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], sizes[1 if self.data_format == "channels_first" else -1]])


class GlobalPooling1D(_Global):
    """The base for sequences [batch, steps, channels]; programs derive theirs from it."""

    rank = 1


class GlobalPooling2D(_Global):
    """The base for images."""


class GlobalPooling3D(_Global):
    """The base for volumes."""

    rank = 3


class GlobalAveragePooling1D(GlobalPooling1D):
    """The mean over all steps; with a mask over those that it leaves."""

    supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        steps = 2 if self.data_format == "channels_first" else 1
        kept = array.expand_dims(cast(mask, inputs.dtype.base_dtype), 3 - steps)
        return reduce_sum(inputs * kept, axis=steps) / reduce_sum(kept, axis=steps)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: the steps are gone."""
        return None


class GlobalAveragePooling2D(GlobalPooling2D):
    """The mean over an image."""


class GlobalMaxPooling1D(GlobalPooling1D):
    """The largest value over all steps."""

    reduce = staticmethod(reduce_max)


class GlobalMaxPooling2D(GlobalPooling2D):
    """The largest value over an image."""

    reduce = staticmethod(reduce_max)


class GlobalAveragePooling3D(GlobalPooling3D):
    """The mean over a volume."""


class GlobalMaxPooling3D(GlobalPooling3D):
    """The largest value over a volume."""

    reduce = staticmethod(reduce_max)


# The package keras has the bases under private names.
_GlobalPooling1D, _GlobalPooling2D, _GlobalPooling3D = (
    GlobalPooling1D,
    GlobalPooling2D,
    GlobalPooling3D,
)

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
