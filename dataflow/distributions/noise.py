"""Noise that continuous distributions draw from, and checks of the values that they are asked about."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.distributions.distribution import Distribution
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_positive
from dataflow.ops.random import random_uniform


def shape_of_draws(distribution: Distribution, n: ShapeLike | Tensor) -> Any:
    """``[n] + batch_shape``."""
    return array.concat([[n], distribution.batch_shape_tensor()], 0)


def uniform_noise(
    distribution: Distribution, n: ShapeLike | Tensor, seed: int, low: float = 0.0
) -> Any:
    """Uniform noise in (low, 1) for each draw; the smallest positive number stands for zero."""
    numpy_dtype = distribution.dtype.as_numpy_dtype
    smallest = (
        np.finfo(numpy_dtype).tiny if low == 0.0 else np.nextafter(numpy_dtype(low), numpy_dtype(0))
    )
    return random_uniform(
        shape_of_draws(distribution, n), smallest, 1.0, distribution.dtype, seed=seed
    )


def as_type(condition: TensorLike, dtype: DTypeLike) -> Any:
    """A bool as 0 or 1 of ``dtype``."""
    from dataflow.ops.casts import cast

    return cast(condition, dtype)


def require_positive(x: TensorLike) -> Any:
    """Raises `InvalidArgumentError` in the run for a value that is not above 0."""
    return assert_positive(x, message="sample must be positive")
