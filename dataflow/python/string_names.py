"""Functions of ``tensorflow.python.ops.string_ops`` that are not the generated op of that name."""

from __future__ import annotations

from dataflow.ops.string import string_format as string_format

__all__ = ["string_format"]
