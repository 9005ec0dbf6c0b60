"""`tf.keras.regularizers`: penalties on weights or outputs, added to the loss."""

from __future__ import annotations

from typing import Any

from dataflow.layers.serialization import (
    custom_object_scope,
    deserialize as _deserialize,
    lookup,
    serialize,
)
from dataflow.ops.elementary import abs_, square
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.seeds import count_left_out

__all__ = ["L1L2", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2", "serialize"]


class Regularizer:
    """Called with a tensor, returns a scalar."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """The regularizer of a config."""
        return cls(**config)


class L1L2(Regularizer):
    """``l1 * sum(|x|) + l2 * sum(x**2)``."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = float(l1)
        self.l2 = float(l2)

    def __call__(self, x: Any) -> Any:
        terms = []
        if self.l1:
            terms.append(self.l1 * reduce_sum(abs_(x)))
        if self.l2:
            terms.append(self.l2 * reduce_sum(square(x)))
        if not terms:
            return 0.0 * reduce_sum(x)
        count_left_out(2)  # they are added to 0 there
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2}


def l1(l: float = 0.01) -> L1L2:  # noqa: E741  (Keras's name)
    """``l * sum(|x|)``."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741  (Keras's name)
    """``l * sum(x**2)``."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Both."""
    return L1L2(l1, l2)


_BY_NAME: dict[str, Any] = {"l1": l1, "l2": l2, "l1_l2": l1_l2, "L1L2": L1L2}
_BY_NAME.update(L1=L1L2, L2=L1L2)  # as TensorFlow 2's files call them


def get(identifier: Any) -> Any:
    """The regularizer of a name, a config or itself; ``None`` stays.

    The name of a function of one's own (`custom_object_scope`) is that function.
    """
    if isinstance(identifier, str):
        found = lookup("regularizer", identifier, _BY_NAME)
        is_maker = isinstance(found, type) or found in _BY_NAME.values()
        return found() if is_maker else found
    if isinstance(identifier, dict):
        return _deserialize("regularizer", identifier, _BY_NAME)
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret regularizer identifier: {identifier!r}")


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The regularizer of a config or a name; ``custom_objects`` has classes and functions of your own by name."""
    with custom_object_scope(custom_objects or {}):
        return get(config)
