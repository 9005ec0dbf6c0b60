"""Calls of Python functions."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.dtypes import as_dtype, variant
from dataflow.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.subnormals import as_outside
from dataflow.python_functions import find_function

_ERRORS: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
)


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if not value.ndim:
            return value[()]
        return value.copy() if not value.flags.writeable else value
    return value


def _result(value: Any, dtype: Any, index: int, token: str, convert: bool) -> Any:
    if dtype is variant:
        return value  # the engine's own: a dataset of eager code, say
    numpy_dtype = object if dtype.kind == "S" else dtype.numpy
    array = np.asarray(value)
    if array.dtype.names is not None:
        raise UnimplementedError(None, None, f"Unsupported numpy type: {array.dtype} of {token}.")
    if array.dtype.kind == "O" and not all(isinstance(x, (str, bytes)) for x in array.flat):
        kinds = sorted({type(x).__name__ for x in array.flat})
        raise UnimplementedError(
            None, None, f"Unsupported object type {', '.join(kinds)} returned by {token}."
        )
    if dtype.kind == "S":
        if array.dtype.kind in "SUO":
            flat = [
                v.encode() if isinstance(v, str) else bytes(v) for v in array.reshape(-1).tolist()
            ]
            return object_array(flat, array.shape)
        raise InvalidArgumentError(
            None, None, f"{index}-th value returned by {token} is {array.dtype}, but expects string"
        )
    if array.dtype != numpy_dtype:
        if not convert:
            try:
                got = as_dtype(array.dtype).name
            except TypeError:
                got = str(array.dtype)
            raise InvalidArgumentError(
                None,
                None,
                f"{index}-th value returned by {token} is {got}, but expects {dtype.name}. Return "
                f"np.{np.dtype(numpy_dtype).name} values, or declare Tout=tf.{got}.",
            )
        array = array.astype(numpy_dtype)
    elif array is value:
        array = array.copy()  # the function may go on using its array
    return array if array.ndim else array[()]


def _make(token: str, tout: Any, convert: bool) -> Callable[..., Any]:
    def call(inputs: list[Any]) -> Any:
        function = find_function(token)
        if function is None:
            raise NotFoundError(
                None,
                None,
                f"The Python function {token} is not in this process: its graph was dropped, or "
                "the node came from elsewhere.",
            )
        arguments = [_argument(v) for v in inputs]
        try:
            with as_outside():
                result = function(*arguments)
        except OpError:
            raise
        except Exception as e:
            text = f"{type(e).__name__}: {e}\n{traceback.format_exc()}"
            for kind, error in _ERRORS:
                if isinstance(e, kind):
                    raise error(None, None, text) from e
            raise UnknownError(None, None, text) from e
        if not isinstance(result, (list, tuple)) or (
            len(tout) == 1 and isinstance(result, list) and len(result) != 1
        ):
            result = [] if result is None and not tout else [result]
        if len(result) != len(tout):
            raise InvalidArgumentError(
                None,
                None,
                f"{token} returns {len(result)} values, but expects to see {len(tout)} values.",
            )
        return tuple(
            _result(v, d, i, token, convert)
            for i, (v, d) in enumerate(zip(result, tout, strict=True))
        )

    return call


@kernel(
    "PyFunc", "PyFuncStateless", factory=True, cpu_only="the function is Python's and takes arrays"
)
def py_func_kernel(xp: Module, *, token: str, Tout: Any) -> Callable[..., Any]:
    return _make(token, Tout, False)


@kernel("EagerPyFunc", factory=True, cpu_only="the function is Python's and takes arrays")
def eager_py_func_kernel(xp: Module, *, token: str, Tout: Any) -> Callable[..., Any]:
    return _make(token, Tout, True)
