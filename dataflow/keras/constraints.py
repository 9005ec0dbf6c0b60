"""`tf.keras.constraints`: projections of weights after each update."""

from __future__ import annotations

from typing import Any

from dataflow.keras import backend as K
from dataflow.keras.serialization import deserialize as _deserialize, lookup, serialize
from dataflow.ops.clip import clip_by_value
from dataflow.ops.elementary import sqrt, square
from dataflow.ops.math import maximum
from dataflow.ops.reduce import reduce_sum

__all__ = ["Constraint", "MaxNorm", "NonNeg", "UnitNorm", "deserialize", "get", "max_norm"]
__all__ += ["non_neg", "serialize", "unit_norm"]


class Constraint:
    """Called with a weight, returns the allowed value nearest to it."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {}


class MaxNorm(Constraint):
    """Columns no longer than ``max_value``."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
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

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (K.epsilon() + sqrt(reduce_sum(square(w), axis=self.axis, keepdims=True)))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


max_norm = maxnorm = MaxNorm
non_neg = nonneg = NonNeg
unit_norm = unitnorm = UnitNorm
_BY_NAME: dict[str, Any] = {
    **{cls.__name__: cls for cls in (MaxNorm, NonNeg, UnitNorm)},
    "max_norm": MaxNorm,
    "non_neg": NonNeg,
    "unit_norm": UnitNorm,
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


deserialize = get
