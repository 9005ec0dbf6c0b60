"""Dense, dropout and flatten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import InitializerLike, TensorLike
from dataflow.layers.base import InputSpec, Layer, layer_function, smart_cond
from dataflow.layers.layer_arguments import activation_function
from dataflow.ops import array, bias as bias_ops, dropout as dropout_ops
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import cast, matmul
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sparse_dense import sparse_tensor_dense_matmul
from dataflow.ops.sparse_tensor import is_sparse
from dataflow.ops.tensor_products import tensordot
from dataflow.shapes import TensorShape, dimension_value


class Dense(Layer):
    """``activation(inputs @ kernel + bias)`` over the last axis.

    ``kernel`` has shape [inputs' last size, units], ``bias`` [units].
    """

    def __init__(
        self,
        units: int,
        activation: Callable[..., Any] | str | None = None,
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
        self.units = int(units)
        self.activation = activation_function(activation)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        if self._dtype is not None and not (self._dtype.is_floating or self._dtype.is_complex):
            raise TypeError(
                f"Unable to build a Dense layer with non-floating point dtype {self._dtype.name}: "
                "cast the inputs to tf.float32."
            )
        size = self._size_of(input_shape)
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_variable(
            "kernel",
            [size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_variable(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(inputs.shape[:-1].concatenate([self.units]))
        else:
            inputs = cast(inputs, self.kernel.dtype.base_dtype)
            product = sparse_tensor_dense_matmul if is_sparse(inputs) else matmul
            outputs = product(inputs, self.kernel)
        if self.use_bias:
            outputs = bias_ops.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    @staticmethod
    def _size_of(input_shape: Any) -> int:
        """The last size of the inputs; raises `ValueError` where it is not known."""
        size = dimension_value(TensorShape(input_shape).with_rank_at_least(1)[-1])
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        return int(size)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = TensorShape(input_shape).with_rank_at_least(2)
        self._size_of(shape)
        return shape[:-1].concatenate([self.units])  # type: ignore[no-any-return]


class Dropout(Layer):
    """Sets a part ``rate`` of the inputs to 0 while training, and scales the others up."""

    def __init__(
        self,
        rate: TensorLike = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: Any, training: bool | Tensor = False) -> Any:
        return smart_cond(
            training,
            lambda: dropout_ops.dropout(
                inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed
            ),
            lambda: array.identity(inputs),
        )

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape(input_shape)


class Flatten(Layer):
    """All axes but the first become one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or "channels_last"
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 2:
            inputs = array.transpose(inputs, [0, *range(2, rank), 1])
        wanted = self.compute_output_shape(inputs.shape)
        if rank == 1:
            return array.expand_dims(inputs, 1)
        size = dimension_value(wanted[1])
        batch = dimension_value(wanted[0])
        if size is not None:
            outputs = array.reshape(inputs, [-1 if batch is None else batch, size])
            if batch is None:
                count_left_out(6)  # the size of the batch is read there
        else:
            outputs = array.reshape(inputs, array.stack([array.shape(inputs)[0], -1]))
        outputs.set_shape(wanted)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = TensorShape(input_shape)
        if shape.ndims is None:
            return TensorShape([None, None])
        if shape.ndims == 1:
            return TensorShape([shape[0], 1])
        rest = shape[1:]
        size = int(np.prod(rest.as_list())) if rest.is_fully_defined() else None
        return TensorShape([shape[0], size])


dense = layer_function(Dense, "dense")


def dropout(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: bool | Tensor = False,
    name: str | None = None,
) -> Any:
    """A `Dropout` layer, applied."""
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)


def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Any:
    """A `Flatten` layer, applied."""
    return Flatten(data_format=data_format, name=name)(inputs)
