"""Random Fourier features (Rahimi and Recht 2007), and the kernels that they come near to."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.layers.serialization import serialize
from dataflow.ops.bias import bias_add
from dataflow.ops.elementary import abs_, cos, exp, square
from dataflow.ops.initializers import Constant, RandomNormal, RandomUniform
from dataflow.ops.math import cast
from dataflow.ops.matmul import matmul
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.reshape import expand_dims
from dataflow.shapes import TensorShape, dimension_value

__all__ = [
    "RandomFourierFeatures",
    "exact_gaussian_kernel",
    "exact_laplacian_kernel",
    "inner_product",
]

_KINDS = ["gaussian", "laplacian"]


class RandomFourierFeatures(Layer):
    """``cos(inputs @ kernel / scale + bias)``: the products of two rows are nearly a kernel of the inputs.

    Args:
        output_dim: how many features.
        kernel_initializer: "gaussian", "laplacian", or an initializer of the random directions.
        scale: the width of the kernel; by default sqrt(inputs / 2) of the Gaussian one and 1 of others.
        trainable: whether the scale is trained.

    Inputs are [batch, n]. Raises `ValueError` for other sizes, kernels and scales.
    """

    def __init__(
        self,
        output_dim: int,
        kernel_initializer: Any = "gaussian",
        scale: float | None = None,
        trainable: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if output_dim <= 0:
            raise ValueError(f"`output_dim` should be a positive integer. Given: {output_dim}.")
        if isinstance(kernel_initializer, str) and kernel_initializer.lower() not in _KINDS:
            raise ValueError(
                f"Unsupported kernel type: {kernel_initializer!r}. Supported kernel types: {_KINDS}."
            )
        if scale is not None and scale <= 0.0:
            raise ValueError(f"When provided, `scale` should be a positive float. Given: {scale}.")
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.output_dim = output_dim
        self.kernel_initializer = kernel_initializer
        self.scale = scale

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        if shape.ndims != 2:
            raise ValueError(
                f"The rank of the input tensor should be 2. Got {shape.ndims} instead."
            )
        size = dimension_value(shape[1])
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `RandomFourierFeatures` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(ndim=2, axes={1: size})
        self.unscaled_kernel = self.add_weight(
            "unscaled_random_features",
            (size, self.output_dim),
            "float32",
            self._directions(size),
            trainable=False,
        )
        self.bias = self.add_weight(
            "random_features_bias",
            (self.output_dim,),
            "float32",
            RandomUniform(0.0, 2 * np.pi),
            trainable=False,
        )
        if self.scale is None:
            is_gaussian = str(self.kernel_initializer).lower() == "gaussian"
            self.scale = float(np.sqrt(size / 2.0)) if is_gaussian else 1.0
        self.kernel_scale = self.add_weight(
            "random_features_scale", (1,), "float32", Constant(self.scale), constraint="NonNeg"
        )
        self.built = True

    def _directions(self, size: int) -> Any:
        if not isinstance(self.kernel_initializer, str):
            return self.kernel_initializer
        if self.kernel_initializer.lower() == "gaussian":
            return RandomNormal(stddev=1.0)
        draws = np.random.uniform(size=(size, self.output_dim))  # Cauchy's distribution
        return Constant(np.tan(np.pi * (draws - 0.5)))

    @property
    def kernel(self) -> Any:
        """float32[inputs, output_dim]: the random directions, as the scale has them."""
        return (1.0 / self.kernel_scale) * self.unscaled_kernel

    def call(self, inputs: Any) -> Any:
        outputs = matmul(cast(convert_to_tensor(inputs), "float32"), self.kernel)
        return cos(bias_add(outputs, self.bias))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = TensorShape(input_shape).with_rank(2)
        if dimension_value(shape[-1]) is None:
            raise ValueError(
                f"The innermost dimension of input shape must be defined. Given: {shape}"
            )
        return TensorShape([shape[0], self.output_dim])

    def get_config(self) -> dict[str, Any]:
        named = isinstance(self.kernel_initializer, str)
        return {
            **super().get_config(),
            "dtype": None if self._dtype is None else self._dtype.name,
            "output_dim": self.output_dim,
            "kernel_initializer": self.kernel_initializer
            if named
            else serialize(self.kernel_initializer),
            "scale": self.scale,
        }


def _rows(values: TensorLike) -> Tensor:
    rows = convert_to_tensor(values)
    if rows.shape.ndims not in (1, 2):
        raise ValueError(
            f"The input tensor should have rank 1 or 2. Given rank: {rows.shape.ndims}"
        )
    return expand_dims(rows, 0) if rows.shape.ndims == 1 else rows


def _differences(x: TensorLike, y: TensorLike) -> Any:
    """[m, n, size]: of each row of ``x`` and each row of ``y``."""
    x, y = _rows(x), _rows(y)
    if not x.shape[1:].is_compatible_with(y.shape[1:]):
        raise ValueError(
            f"The outermost dimensions of the input tensors should match. Given: {y.shape[1]} vs {x.shape[1]}."
        )
    return expand_dims(x, 1) - expand_dims(y, 0)


def inner_product(u: TensorLike, v: TensorLike) -> Any:
    """[m, n]: the product of each row of ``u`` and each row of ``v``."""
    return matmul(_rows(u), _rows(v), transpose_b=True)


def exact_gaussian_kernel(x: TensorLike, y: TensorLike, stddev: float) -> Any:
    """[m, n]: ``exp(-distance^2 / (2 stddev^2))`` of each row of ``x`` and each row of ``y``; of vectors [1, 1]."""
    return exp(-reduce_sum(square(_differences(x, y)), 2) / (2 * stddev * stddev))


def exact_laplacian_kernel(x: TensorLike, y: TensorLike, stddev: float) -> Any:
    """[m, n]: ``exp(-(sum of absolute differences) / stddev)`` of each row of ``x`` and each row of ``y``."""
    return exp(-reduce_sum(abs_(_differences(x, y)), 2) / stddev)
