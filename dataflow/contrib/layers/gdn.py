"""Generalized divisive normalization. Source: Balle, Laparra and Simoncelli, "Density modeling", 2015."""

from __future__ import annotations

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.layers.base import Layer
from dataflow.ops import array
from dataflow.ops.initializers import ones_initializer
from dataflow.ops.math import matmul, maximum, rsqrt, sqrt, square
from dataflow.ops.matrix_diag import eye
from dataflow.shapes import dimension_value

_FORMATS = ("channels_last", "channels_first")


class GDN(Layer):
    """x[i] / sqrt(beta[i] + sum_j gamma[j, i] x[j]**2) over the channels; ``inverse`` multiplies.

    Inputs of rank 2 or more, whose channels are known and lie last or, with
    ``data_format="channels_first"``, after the batch. ``beta`` stays above ``beta_min`` and gamma
    (at first ``gamma_init`` on its diagonal) above 0. Raises `ValueError` for another format.
    """

    def __init__(
        self,
        inverse: bool = False,
        beta_min: float = 1e-6,
        gamma_init: float = 0.1,
        reparam_offset: float = 2**-18,
        data_format: str = "channels_last",
        activity_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if data_format not in _FORMATS:
            raise ValueError(f"Unknown data format: {data_format!r}.")
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.inverse = inverse
        self.data_format = data_format
        self._beta_min = beta_min
        self._gamma_init = gamma_init
        self._offset = reparam_offset

    def build(self, input_shape: Any) -> None:
        """Makes the variables of beta and gamma, which hold their square roots."""
        at = 1 if self.data_format == "channels_first" else -1
        channels = dimension_value(input_shape[at])
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        pedestal = self._offset**2

        def root_of_ones(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            return sqrt(ones_initializer()(shape, dtype=dtype) + pedestal)

        def root_of_diagonal(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            diagonal = self._gamma_init * eye(shape[0], shape[1], dtype=dtype)
            return sqrt(diagonal + pedestal)

        self._beta = self.add_variable("reparam_beta", [channels], initializer=root_of_ones)
        self._gamma = self.add_variable(
            "reparam_gamma", [channels, channels], initializer=root_of_diagonal
        )
        self.built = True

    @property
    def beta(self) -> Tensor:
        """The constant of each channel."""
        bound = (self._beta_min + self._offset**2) ** 0.5
        return square(maximum(self._beta, bound)) - self._offset**2  # type: ignore[no-any-return]

    @property
    def gamma(self) -> Tensor:
        """How much the square of each channel [rows] counts in each."""
        return square(maximum(self._gamma, self._offset)) - self._offset**2  # type: ignore[no-any-return]

    def call(self, inputs: Tensor) -> Tensor:
        """The normalized inputs, of the same shape."""
        first = self.data_format == "channels_first"
        rank = len(inputs.get_shape().as_list())
        last = list(range(rank))
        if first:
            last = [0, *range(2, rank), 1]
        moved = array.transpose(inputs, last) if first else inputs
        flat = array.reshape(square(moved), [-1, moved.get_shape().as_list()[-1]])
        pooled = array.reshape(matmul(flat, self.gamma) + self.beta, array.shape(moved))
        outputs = moved * (sqrt(pooled) if self.inverse else rsqrt(pooled))
        if first:
            outputs = array.transpose(outputs, [0, rank - 1, *range(1, rank - 1)])
        outputs.set_shape(inputs.get_shape())
        return outputs  # type: ignore[no-any-return]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape stays."""
        return input_shape


def gdn(
    inputs: TensorLike,
    inverse: bool = False,
    beta_min: float = 1e-6,
    gamma_init: float = 0.1,
    reparam_offset: float = 2**-18,
    data_format: str = "channels_last",
    activity_regularizer: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """`GDN` as a function: ``inputs`` normalized, with variables of the scope ``name``."""
    layer = GDN(
        inverse, beta_min, gamma_init, reparam_offset, data_format, activity_regularizer, trainable,
        name, _scope=name, _reuse=reuse,
    )  # fmt: skip
    return layer.apply(inputs)  # type: ignore[no-any-return]
