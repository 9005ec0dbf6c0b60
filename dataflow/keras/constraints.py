"""`tf.keras.constraints`: projections of weights after each update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.keras import backend_settings as K
from dataflow.layers.serialization import (
    custom_object_scope,
    deserialize as _deserialize,
    lookup,
    serialize,
)
from dataflow.ops import array
from dataflow.ops.clip import clip_by_value
from dataflow.ops.elementary import sqrt, square
from dataflow.ops.math import maximum
from dataflow.ops.reduce import reduce_sum

__all__ = ["Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "RadialConstraint", "UnitNorm"]
__all__ += ["deserialize", "get", "max_norm", "min_max_norm", "non_neg", "radial_constraint"]
__all__ += ["serialize", "unit_norm"]


class Constraint:
    """Called with a weight, returns the allowed value nearest to it."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {}


class MaxNorm(Constraint):
    """Columns no longer than ``max_value``."""

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0) -> None:
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        norms = sqrt(reduce_sum(square(w), axis=self.axis, keepdims=True))
        return w * (clip_by_value(norms, 0.0, self.max_value) / (K.epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """No negative weights."""

    def __call__(self, w: Any) -> Any:
        return maximum(w, 0.0)


class UnitNorm(Constraint):
    """Columns of length 1."""

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (K.epsilon() + sqrt(reduce_sum(square(w), axis=self.axis, keepdims=True)))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Columns between ``min_value`` and ``max_value`` long; with ``rate`` < 1, on the way there."""

    def __init__(
        self,
        min_value: float = 0.0,
        max_value: float = 1.0,
        rate: float = 1.0,
        axis: int | Sequence[int] = 0,
    ) -> None:
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        norms = sqrt(reduce_sum(square(w), axis=self.axis, keepdims=True))
        wanted = clip_by_value(norms, self.min_value, self.max_value)
        return w * ((self.rate * wanted + (1 - self.rate) * norms) / (K.epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        names = ("min_value", "max_value", "rate", "axis")
        return {name: getattr(self, name) for name in names}


class RadialConstraint(Constraint):
    """Kernels [size, size, inputs, outputs] whose values are the same on each square around the
    center: those on the diagonal, as Keras takes them. Raises `ValueError` for other shapes.
    """

    def __call__(self, w: Any) -> Any:
        sizes = w.shape.as_list()
        if len(sizes) != 4 or sizes[0] != sizes[1] or sizes[0] is None:
            raise ValueError(f"RadialConstraint: a kernel [n, n, inputs, outputs], got {sizes}.")
        places = _radial_places(sizes[0])
        return array.gather_nd(w, places)

    def get_config(self) -> dict[str, Any]:
        return {}


def _radial_places(size: int) -> np.ndarray[Any, Any]:
    """[size, size, 2]: from which row and column each value comes."""
    half = size // 2
    rows, columns = np.indices((size, size))
    ring = np.maximum(abs(rows - (size - 1) / 2), abs(columns - (size - 1) / 2)).astype(int)
    diagonal = np.where(ring == 0, half - 1, half + ring - size % 2)
    return np.stack([diagonal, diagonal], -1).astype("int32")


max_norm = maxnorm = MaxNorm
min_max_norm = MinMaxNorm
radial_constraint = RadialConstraint
non_neg = nonneg = NonNeg
unit_norm = unitnorm = UnitNorm
_BY_NAME: dict[str, Any] = {
    **{cls.__name__: cls for cls in (MaxNorm, MinMaxNorm, NonNeg, RadialConstraint, UnitNorm)},
    **dict.fromkeys(("max_norm", "maxnorm"), MaxNorm),
    **dict.fromkeys(("non_neg", "nonneg"), NonNeg),
    **dict.fromkeys(("unit_norm", "unitnorm"), UnitNorm),
    "min_max_norm": MinMaxNorm,
    "radial_constraint": RadialConstraint,
}


def get(identifier: Any) -> Any:
    """The constraint of a name, a config or itself; ``None`` stays."""
    if isinstance(identifier, str):
        return lookup("constraint", identifier, _BY_NAME)()
    if isinstance(identifier, dict):
        return _deserialize("constraint", identifier, _BY_NAME)
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret constraint identifier: {identifier!r}")


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The constraint of a config or a name; ``custom_objects`` has classes and functions of your own by name."""
    with custom_object_scope(custom_objects or {}):
        return get(config)
