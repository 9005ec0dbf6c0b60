"""``from tensorflow.python import debug as tf_debug``: imports go well, its sessions say what to use.

Programs import it for a flag ``--debug`` that is off, and make hooks that no session gets. The filter of
values is here as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.train.session_run_hook import SessionRunHook

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
    """Whether a value contains inf or NaN; False for other dtypes and for None."""
    if not isinstance(tensor, np.ndarray) or not np.issubdtype(tensor.dtype, np.inexact):
        return False
    return not bool(np.isfinite(tensor).all())


def _refused(debugger: Any) -> NotImplementedError:
    return NotImplementedError(
        f"tf.python.debug.{type(debugger).__name__}: tfdbg is not here; use tf.Print, sess.explain(fetches), "
        "or the stepper of dataflow_widgets."
    )


class _RefusedSession:
    """A debugger's session: making it raises `NotImplementedError` with what to use instead."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _refused(self)


class _RefusedHook(SessionRunHook):
    """A debugger's hook: a session that gets it raises `NotImplementedError`; making it does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def begin(self) -> None:
        raise _refused(self)


class LocalCLIDebugWrapperSession(_RefusedSession):
    """tfdbg's session for a terminal."""


class LocalCLIDebugHook(_RefusedHook):
    """tfdbg's hook for a terminal."""


class DumpingDebugWrapperSession(_RefusedSession):
    """tfdbg's session that writes all values to files."""


class DumpingDebugHook(_RefusedHook):
    """tfdbg's hook that writes all values to files."""


class TensorBoardDebugWrapperSession(_RefusedSession):
    """tfdbg's session for TensorBoard."""


class TensorBoardDebugHook(_RefusedHook):
    """tfdbg's hook for TensorBoard."""
