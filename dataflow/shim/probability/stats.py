"""``tfp.stats``, as far as it is here: statistics of samples along an axis."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.distributions import (
    auto_correlation as auto_correlation,
    percentile as percentile,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import sqrt, squared_difference
from dataflow.ops.reduce import reduce_mean


def variance(
    x: TensorLike, sample_axis: Any = 0, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean squared distance from the mean along ``sample_axis`` (all axes for None)."""
    with name_scope(name, "variance"):
        tensor = convert_to_tensor(x, name="x")
        mean = reduce_mean(tensor, sample_axis, True)
        return reduce_mean(squared_difference(tensor, mean), sample_axis, keepdims)


def stddev(
    x: TensorLike, sample_axis: Any = 0, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of `variance`."""
    with name_scope(name, "stddev"):
        return sqrt(variance(x, sample_axis, keepdims))  # type: ignore[no-any-return]
