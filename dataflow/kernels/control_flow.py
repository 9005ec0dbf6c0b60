"""The kernel of Abort; control flow itself is written into a plan's code."""

from __future__ import annotations

from dataflow.errors import AbortedError
from dataflow.kernels.array_types import Module
from dataflow.kernels.registry import kernel


@kernel("Abort")
def abort_kernel(xp: Module, *, error_msg: str, exit_without_error: bool) -> tuple[()]:
    """TensorFlow ends the process here; a notebook should survive, so the run ends instead."""
    if not exit_without_error:
        raise AbortedError(None, None, error_msg or "Abort: the graph asked to stop the run.")
    return ()
