"""Convolutions that do not share their filters: each place has its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.graph.type_aliases import InitializerLike
from dataflow.keras import activations, backend as K
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.keras.convolution_masks import conv_kernel_idxs, conv_kernel_mask, conv_output_length
from dataflow.keras.layers.core import weight_settings
from dataflow.layers.layer_arguments import pair
from dataflow.ops import array
from dataflow.ops.math import matmul, reduce_prod
from dataflow.ops.sparse import sparse_tensor_dense_matmul
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape


class _LocallyConnected(Layer):
    """``bias`` [*places, filters], and a ``kernel`` that depends on ``implementation``.

    1: [places, values of a patch, filters]. 2: a weight for each pair of an input's and an output's
    value, of which ``kernel_mask`` takes those that are connected: [*space, channels, *places, filters],
    with "channels_first" [channels, *space, filters, *places]. 3: a vector of the connected ones, by
    ``kernel_idxs``. Padding "same" needs 2 or 3.
    """

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
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            **weight_settings({"activity_regularizer": activity_regularizer}), **kwargs
        )
        self.padding = padding.lower()
        if self.padding not in ("valid", "same"):
            raise ValueError(
                f"{type(self).__name__}: padding is 'valid' or 'same', got {padding!r}."
            )
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f'Invalid border mode for {type(self).__name__} (only "valid" is supported if '
                f"implementation is 1): {padding}"
            )
        if implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {implementation}.")
        self.implementation = implementation
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
        return self.data_format == "channels_first"

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
            conv_output_length(n, k, self.padding, step) or 0
            for n, k, step in zip(space, self.kernel_size, self.strides, strict=True)
        ]
        get = self._settings.get
        self.kernel = self.add_weight(
            "kernel",
            self._kernel_shape(space, channels),
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

    def _kernel_shape(self, space: list[int], channels: int) -> list[int]:
        """The kernel's shape; for the second and third implementation also its mask, or indices."""
        patch = int(np.prod(self.kernel_size)) * channels
        where = (self.kernel_size, self.strides, self.padding)
        if self.implementation == 1:
            return [int(np.prod(self.places)), patch, self.filters]
        if self.implementation == 2:
            mask = conv_kernel_mask(tuple(space), *where)
            first = self._is_channels_first()
            axes = (0, self.rank + 1) if first else (self.rank, 2 * self.rank + 1)
            self.kernel_mask = np.expand_dims(mask, axes).astype(K.floatx())
            if first:
                return [channels, *space, self.filters, *self.places]
            return [*space, channels, *self.places, self.filters]
        pairs = conv_kernel_idxs(tuple(space), *where, channels, self.filters, self.data_format)
        self.kernel_idxs = sorted(pairs)
        self._whole_shape = [
            int(np.prod(self.places)) * self.filters,
            int(np.prod(space)) * channels,
        ]
        return [len(self.kernel_idxs)]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of what `call` returns."""
        sizes: list[Any] = TensorShape(input_shape).as_list()
        space = sizes[2:] if self._is_channels_first() else sizes[1:-1]
        places = [
            conv_output_length(n, k, self.padding, step)
            for n, k, step in zip(space, self.kernel_size, self.strides, strict=True)
        ]
        if self._is_channels_first():
            return TensorShape([sizes[0], self.filters, *places])
        return TensorShape([sizes[0], *places, self.filters])

    def call(self, inputs: Any) -> Any:
        if self.implementation == 1:
            outputs = K.local_conv(
                inputs,
                self.kernel,
                self.kernel_size,
                self.strides,
                tuple(self.places),
                self.data_format,
            )
        else:
            first = self._is_channels_first()
            sizes = [self.filters, *self.places] if first else [*self.places, self.filters]
            outputs = array.reshape(self._of_flat(inputs), [-1, *sizes])
        if self.bias is not None:
            outputs = K.bias_add(outputs, self.bias, data_format=self.data_format)
        return self.activation(outputs)

    def _of_flat(self, inputs: Any) -> Any:
        """The outputs [batch, values], as a product with all weights, or with the connected ones."""
        if self.implementation == 2:
            flat = array.reshape(inputs, [array.shape(inputs)[0], -1])
            return matmul(flat, make_2d(self.kernel_mask * self.kernel, self.rank + 1))
        flat = array.reshape(inputs, [-1, self._whole_shape[1]])
        kernel = SparseTensor(self.kernel_idxs, self.kernel, self._whole_shape)
        return array.transpose(sparse_tensor_dense_matmul(kernel, flat, adjoint_b=True))


def make_2d(tensor: Any, split_dim: int) -> Any:
    """``tensor`` as a matrix: the axes before ``split_dim`` are its rows, the others its columns."""
    sizes = array.shape(tensor)
    rows, columns = reduce_prod(sizes[:split_dim]), reduce_prod(sizes[split_dim:])
    return array.reshape(tensor, array.stack([rows, columns]))


class LocallyConnected1D(_LocallyConnected):
    """A convolution along the steps, with filters of its own at each step."""

    rank = 1


class LocallyConnected2D(_LocallyConnected):
    """A convolution of images, with filters of its own at each pixel."""

    def __init__(self, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1), **kwargs: Any) -> None:  # fmt: skip
        super().__init__(filters, kernel_size, strides, **kwargs)
