"""Public functions under the names that TensorFlow's private modules have for them."""

from __future__ import annotations

from dataflow.ops.logging_ops import print_ as print_v2
from dataflow.ops.matrix_functions import matrix_exponential

__all__ = ["matrix_exponential", "print_v2"]
