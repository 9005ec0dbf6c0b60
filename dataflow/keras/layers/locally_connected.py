"""Convolutions that do not share their filters: each place has its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.graph.type_aliases import InitializerLike
from dataflow.keras import activations, backend as K
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers.layer_arguments import pair
from dataflow.ops import array
from dataflow.ops.math import matmul
from dataflow.shapes import TensorShape


class _LocallyConnected(Layer):
    """``kernel`` [places, values of a patch, filters], ``bias`` [*places, filters]."""

    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
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
        super().__init__(
            **weight_settings({"activity_regularizer": activity_regularizer}), **kwargs
        )
        if padding.lower() != "valid":
            raise ValueError(
                f"{type(self).__name__}: padding must be 'valid', got {padding!r}; pad before it."
            )
        self.filters = int(filters)
        self.kernel_size = pair(kernel_size, self.rank, "kernel_size")
        self.strides = pair(strides, self.rank, "strides")
        self.data_format = data_format or K.image_data_format()
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self._settings = weight_settings(
            {
                "kernel_initializer": kernel_initializer,
                "kernel_regularizer": kernel_regularizer,
                "kernel_constraint": kernel_constraint,
                "bias_initializer": bias_initializer,
                "bias_regularizer": bias_regularizer,
                "bias_constraint": bias_constraint,
            }
        )

    def _is_channels_first(self) -> bool:
        return self.rank > 1 and self.data_format == "channels_first"

    def build(self, input_shape: Any) -> None:
        sizes: list[Any] = TensorShape(input_shape).as_list()[1:]
        if self._is_channels_first():
            sizes = [*sizes[1:], sizes[0]]
        if None in sizes:
            raise ValueError(
                f"The shape of the inputs of {self.name} should be fully defined, found {sizes}."
            )
        *space, channels = sizes
        self.places = [
            (n - k) // s + 1 for n, k, s in zip(space, self.kernel_size, self.strides, strict=True)
        ]
        patch = int(np.prod(self.kernel_size)) * channels
        get = self._settings.get
        self.kernel = self.add_weight(
            "kernel",
            [int(np.prod(self.places)), patch, self.filters],
            initializer=get("kernel_initializer"),
            regularizer=get("kernel_regularizer"),
            constraint=get("kernel_constraint"),
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [*self.places, self.filters],
                initializer=get("bias_initializer"),
                regularizer=get("bias_regularizer"),
                constraint=get("bias_constraint"),
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        if self._is_channels_first():
            inputs = array.transpose(inputs, [0, *range(2, self.rank + 2), 1])
        patch = self.kernel.shape[1].value
        patches = []
        for place in itertools.product(*map(range, self.places)):
            starts = [i * s for i, s in zip(place, self.strides, strict=True)]
            window = tuple(slice(a, a + k) for a, k in zip(starts, self.kernel_size, strict=True))
            patches.append(array.reshape(inputs[(slice(None), *window)], [-1, patch]))
        outputs = matmul(array.stack(patches), self.kernel)  # [places, batch, filters]
        outputs = array.reshape(
            array.transpose(outputs, [1, 0, 2]), [-1, *self.places, self.filters]
        )
        if self.bias is not None:
            outputs = outputs + self.bias
        outputs = self.activation(outputs)
        if self._is_channels_first():
            outputs = array.transpose(outputs, [0, self.rank + 1, *range(1, self.rank + 1)])
        return outputs


class LocallyConnected1D(_LocallyConnected):
    """A convolution along the steps, with filters of its own at each step."""

    rank = 1


class LocallyConnected2D(_LocallyConnected):
    """A convolution of images, with filters of its own at each pixel."""

    def __init__(self, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1), **kwargs: Any) -> None:  # fmt: skip
        super().__init__(filters, kernel_size, strides, **kwargs)
