"""`tf.compat`: text and bytes, ``tf.compat.v1`` and ``tf.compat.v2`` for code of the time between 1 and 2."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import numbers
from typing import Any

import numpy as np

from dataflow.namespaces import absent
from dataflow.shapes import (
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
)

bytes_or_text_types = (bytes, str)
complex_types = (numbers.Complex, np.number)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes; raises `TypeError` for anything else."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text; raises `TypeError` for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any) -> str:
    """Anything as text."""
    return as_str(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """The text of a path object."""
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether TensorFlow 1.15 wrote what came on that day: what came before 21 August 2019."""
    return datetime.date(year, month, day) < datetime.date(2019, 8, 21)


def forward_compatibility_horizon(
    year: int, month: int, day: int
) -> contextlib.AbstractContextManager[None]:
    """A block that changes nothing: graphs are written in one format."""
    return contextlib.nullcontext()


def __getattr__(name: str) -> Any:
    if name in ("v1", "v2"):  # import dataflow.compat.v1 as tf
        return importlib.import_module(f"dataflow.compat.{name}")
    raise absent(__name__, name)
