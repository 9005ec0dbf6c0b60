"""Normalization by a batch that stays the same (Salimans et al., "Improved Techniques", 2016)."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.elementary import square
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import ones_initializer, zeros_initializer
from dataflow.ops.normalization import batch_normalization
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.variable_scope import get_variable, variable_scope

_ZEROS, _ONES = zeros_initializer(), ones_initializer()


def _statistics(x: Any, axes: list[int]) -> tuple[Any, Any]:
    """The mean, and the mean of squares, of as many dimensions as ``x``; halves are added as floats."""
    wide = cast(x, dtypes.float32) if x.dtype == dtypes.float16 else x
    mean, squares = (reduce_mean(of, axes, keepdims=True) for of in (wide, square(wide)))
    return cast(mean, x.dtype), cast(squares, x.dtype)


def _positive_axis(batch: Any, axis: int) -> int:
    ndims = batch.shape.ndims
    if ndims is None:
        raise ValueError("`reference_batch` has unknown dimensions.")
    positive = ndims + axis if axis < 0 else axis
    if not 0 <= positive < ndims:
        raise ValueError(
            f"Value of `axis` argument {positive} is out of range for input with rank {ndims}"
        )
    return positive


class VBN:
    """Virtual batch normalization: each example by its own statistics and those of a reference batch.

    ``axis`` is the dimension of the features, ``batch_axis`` that of the examples; the two are not the
    same and within the rank of ``reference_batch`` (`ValueError`).
    """

    def __init__(
        self,
        reference_batch: Any,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = _ZEROS,
        gamma_initializer: Any = _ONES,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        batch_axis: int = 0,
    ) -> None:
        axis = _positive_axis(reference_batch, axis)
        self._batch_axis = _positive_axis(reference_batch, batch_axis)
        if axis == self._batch_axis:
            raise ValueError("`axis` and `batch_axis` cannot be the same.")
        self._epsilon = epsilon
        self._reference_batch = reference_batch
        ndims = reference_batch.shape.ndims
        features = reference_batch.shape.as_list()[axis]
        self._parameter_shape = [features if i == axis else 1 for i in range(ndims)]
        self._example_axes = [i for i in range(ndims) if i not in (axis, self._batch_axis)]

        def parameter(name: str, initializer: Any, regularizer: Any) -> Any:
            return get_variable(
                name,
                (features,),
                initializer=initializer,
                regularizer=regularizer,
                trainable=trainable,
            )

        with variable_scope(name, "VBN", values=[reference_batch]) as self._scope:
            self._mean, self._mean_of_squares = _statistics(
                reference_batch, [i for i in range(ndims) if i != axis]
            )
            self._variance = self._mean_of_squares - square(self._mean)
            size = cast(array.shape(reference_batch)[self._batch_axis], dtypes.float32)
            self._example_weight = 1.0 / (size + 1.0)
            self._reference_weight = 1.0 - self._example_weight
            self._beta = parameter("beta", beta_initializer, beta_regularizer) if center else None
            self._gamma = (
                parameter("gamma", gamma_initializer, gamma_regularizer) if scale else None
            )

    def _normalized(self, x: Any, mean: Any, variance: Any) -> Any:
        def parameter(value: Any) -> Any:
            return None if value is None else array.reshape(value, self._parameter_shape)

        return batch_normalization(
            x,
            mean,
            variance,
            parameter(self._beta),
            parameter(self._gamma),
            self._epsilon,
        )

    def reference_batch_normalization(self) -> Any:
        """The reference batch, normalized by its own statistics."""
        with name_scope(self._scope.name):
            return self._normalized(self._reference_batch, self._mean, self._variance)

    def __call__(self, inputs: Any) -> Any:
        """``inputs`` normalized; of the reference batch's shape but for the number of examples."""
        shapes = [tensor.shape.as_list() for tensor in (inputs, self._reference_batch)]
        for shape in shapes:
            del shape[self._batch_axis]
        if len(shapes[0]) != len(shapes[1]) or any(
            None not in pair and pair[0] != pair[1] for pair in zip(*shapes, strict=True)
        ):
            raise ValueError(f"Shapes {shapes[0]} and {shapes[1]} are incompatible")
        with name_scope(self._scope.name):
            mean, mean_of_squares = _statistics(inputs, self._example_axes)
            mean = self._example_weight * mean + self._reference_weight * self._mean
            mean_of_squares = (
                self._example_weight * mean_of_squares
                + self._reference_weight * self._mean_of_squares
            )
            return self._normalized(inputs, mean, mean_of_squares - square(mean))
