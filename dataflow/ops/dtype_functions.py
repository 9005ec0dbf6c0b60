"""The functions of `tf.dtypes`."""

from dataflow.ops.casts import cast, saturate_cast
from dataflow.ops.complex_numbers import complex_ as complex
from dataflow.ops.string import as_string

__all__ = ["as_string", "cast", "complex", "saturate_cast"]
