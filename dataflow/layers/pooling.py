"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.layers.base import InputSpec, Layer, layer_function
from dataflow.layers.layer_arguments import padding_and_format, pair, window_count
from dataflow.ops import array, pooling_functions
from dataflow.shapes import TensorShape


class _Pooling(Layer):
    rank = 2
    kind = "MAX"

    def __init__(
        self,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = pair(pool_size, self.rank, "pool_size")
        self.strides = pair(strides, self.rank, "strides")
        self.padding, self.data_format = padding_and_format(padding, data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output for inputs of ``input_shape``; raises `ValueError` for another rank."""
        dims = TensorShape(input_shape).with_rank(self.rank + 2).as_list()
        first = 2 if self.data_format == "channels_first" else 1
        for i in range(self.rank):
            dims[first + i] = window_count(
                dims[first + i], self.pool_size[i], self.strides[i], self.padding
            )
        return TensorShape(dims)

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        if first and self.rank == 3:  # TensorFlow pools volumes on CPUs with channels last only
            outputs = self._pooled(array.transpose(inputs, [0, 2, 3, 4, 1]), False)
            return array.transpose(outputs, [0, 4, 1, 2, 3])
        return self._pooled(inputs, first)

    def _pooled(self, inputs: Any, first: bool) -> Any:
        size, strides, axis = list(self.pool_size), list(self.strides), 2
        if self.rank == 1:
            axis = 3 if first else 2
            inputs = array.expand_dims(inputs, axis)
            size, strides = [*size, 1], [*strides, 1]
        window = [1, 1, *size] if first else [1, *size, 1]
        steps = [1, 1, *strides] if first else [1, *strides, 1]
        function: Any
        if self.rank == 3:
            function = (
                pooling_functions.max_pool3d if self.kind == "MAX" else pooling_functions.avg_pool3d
            )
            layout = "NDHWC"
        else:
            function = (
                pooling_functions.max_pool if self.kind == "MAX" else pooling_functions.avg_pool
            )
            layout = "NCHW" if first else "NHWC"
        outputs = function(inputs, window, steps, padding=self.padding.upper(), data_format=layout)
        return array.squeeze(outputs, [axis]) if self.rank == 1 else outputs


class MaxPooling1D(_Pooling):
    """The largest value of each window along one axis."""

    rank = 1


class MaxPooling2D(_Pooling):
    """The largest value of each window of images."""


class MaxPooling3D(_Pooling):
    """The largest value of each window of volumes."""

    rank = 3


class AveragePooling1D(_Pooling):
    """The mean of each window along one axis."""

    rank = 1
    kind = "AVG"


class AveragePooling2D(_Pooling):
    """The mean of each window of images."""

    kind = "AVG"


class AveragePooling3D(_Pooling):
    """The mean of each window of volumes."""

    rank = 3
    kind = "AVG"


max_pooling1d = layer_function(MaxPooling1D, "max_pooling1d", reuse=False)
max_pooling2d = layer_function(MaxPooling2D, "max_pooling2d", reuse=False)
max_pooling3d = layer_function(MaxPooling3D, "max_pooling3d", reuse=False)
average_pooling1d = layer_function(AveragePooling1D, "average_pooling1d", reuse=False)
average_pooling2d = layer_function(AveragePooling2D, "average_pooling2d", reuse=False)
average_pooling3d = layer_function(AveragePooling3D, "average_pooling3d", reuse=False)
