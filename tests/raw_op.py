"""Any op by its type, on either engine: for ops that have no public function of their own."""

from __future__ import annotations

from typing import Any


def raw(tf: Any, op_type: str, **arguments: Any) -> Any:
    """The outputs of a node of this type; inputs and attributes by TensorFlow's names."""
    return getattr(tf.raw_ops, op_type)(**arguments)
