"""``tf.contrib.stateless``: random numbers that depend on a seed that is an input."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.ops.stateless_random import (
    stateless_multinomial,
    stateless_normal as stateless_random_normal,
    stateless_truncated_normal,
    stateless_uniform as stateless_random_uniform,
)

__all__ = [
    "stateless_multinomial",
    "stateless_random_normal",
    "stateless_random_uniform",
    "stateless_truncated_normal",
]

__getattr__ = explain_absent(__name__)
