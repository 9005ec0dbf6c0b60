"""Functions of ``tensorflow.python.ops.script_ops`` in the form that they have there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.ops.script_ops import numpy_function, py_func, py_function
from dataflow.python_functions import num_functions

__all__ = ["_py_funcs", "eager_py_func", "numpy_function", "py_func", "py_function"]


def eager_py_func(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """`tf.py_function`."""
    return py_function(func, inp, Tout, name)


class _Functions:
    """The Python functions that nodes call."""

    def size(self) -> int:
        """How many there are."""
        return num_functions()


_py_funcs = _Functions()
