"""``tfp.bijectors``: those of `tf.contrib.distributions.bijectors`, and a few that came later."""

from __future__ import annotations

import math
from typing import Any

from dataflow.distributions import bijectors as _contrib
from dataflow.distributions.elementary_bijectors import Elementwise
from dataflow.distributions.normal_functions import ndtr, ndtri
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.math import abs_, expm1, log, log1p, reciprocal, square
from dataflow.shim.probability.names import name_of


class Expm1(Elementwise):
    """``y = exp(x) - 1``."""

    def _forward(self, x: TensorLike) -> Any:
        return expm1(x)

    def _inverse(self, y: TensorLike) -> Any:
        return log1p(y)

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        return x


class Reciprocal(Elementwise):
    """``y = 1 / x``."""

    def _forward(self, x: TensorLike) -> Any:
        return reciprocal(x)

    def _inverse(self, y: TensorLike) -> Any:
        return reciprocal(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -2.0 * log(abs_(x))


class NormalCDF(Elementwise):
    """``y`` is the probability that a standard normal number is at most ``x``."""

    def _forward(self, x: TensorLike) -> Any:
        return ndtr(x)

    def _inverse(self, y: TensorLike) -> Any:
        return ndtri(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -0.5 * square(x) - 0.5 * math.log(2.0 * math.pi)


def __getattr__(name: str) -> Any:
    return name_of(_contrib, "bijectors", name, _LATER)


_LATER = ("Expm1", "NormalCDF", "Reciprocal")


def __dir__() -> list[str]:
    return sorted({*_LATER, *dir(_contrib)})
