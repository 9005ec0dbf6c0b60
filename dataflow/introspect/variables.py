"""The variables of a session put aside and put back, so that a run can be tried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.kernels.xp import beside

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


def snapshot(session: BaseSession) -> dict[str, Any] | None:
    """The value of every variable in ``session``, by name; None where they live in other processes.

    Nothing is copied: variables are copy-on-write, so an array that is held here is never changed.
    """
    if session.remote is not None:
        return None
    return {name: each.array for name, each in session.resources.items("variable")}


def restore(session: BaseSession, values: dict[str, Any]) -> None:
    """Puts a `snapshot` back. Variables made since then become uninitialized."""
    for name, each in session.resources.items("variable"):
        with each.lock:
            each.array = values.get(name)


def assign(session: BaseSession, name: str, value: Any) -> None:
    """Gives the variable called ``name`` a value, outside of any run.

    Raises `KeyError` when the session has no such variable, `ValueError` when the shape is another.
    """
    for known, each in session.resources.items("variable"):
        if known != name:
            continue
        array = np.array(value, each.dtype.as_numpy_dtype)
        if each.array is not None and array.shape != np.shape(each.array):
            raise ValueError(
                f"variable {name!r} has shape {np.shape(each.array)}, got a value of shape "
                f"{array.shape}"
            )
        with each.lock:
            each.array = beside(each.array, array)
        return
    raise KeyError(f"this session has no variable {name!r}")
