"""``from tensorflow.python import debug as tf_debug``: imports go well, its sessions say what to use.

Programs import it for a flag ``--debug`` that is off. The filter of values is here as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.missing import advice

__all__ = [
    "DumpingDebugHook",
    "DumpingDebugWrapperSession",
    "LocalCLIDebugHook",
    "LocalCLIDebugWrapperSession",
    "TensorBoardDebugHook",
    "TensorBoardDebugWrapperSession",
    "has_inf_or_nan",
]


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Whether a value has an infinity or what is no number; False for other dtypes and no value."""
    if not isinstance(tensor, np.ndarray) or not np.issubdtype(tensor.dtype, np.inexact):
        return False
    return not bool(np.isfinite(tensor).all())


class _Refused:
    """A debugger: making it raises `NotImplementedError` with what to use instead."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"tf.python.debug.{type(self).__name__}: {advice('python.debug')}"
        )


class LocalCLIDebugWrapperSession(_Refused):
    """tfdbg's session for a terminal."""


class LocalCLIDebugHook(_Refused):
    """tfdbg's hook for a terminal."""


class DumpingDebugWrapperSession(_Refused):
    """tfdbg's session that writes all values to files."""


class DumpingDebugHook(_Refused):
    """tfdbg's hook that writes all values to files."""


class TensorBoardDebugWrapperSession(_Refused):
    """tfdbg's session for TensorBoard."""


class TensorBoardDebugHook(_Refused):
    """tfdbg's hook for TensorBoard."""
