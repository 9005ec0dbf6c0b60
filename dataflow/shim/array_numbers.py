"""``int(a)`` and ``float(a)`` of an array with one element and some dimensions, as before NumPy 2.4.

Programs of TensorFlow 1's time write ``"%.3f" % loss`` where the loss is an array of shape [1], and NumPy
made numbers of such arrays until 2.4. The two conversions are slots of a C type, which Python code cannot
set; `put_back` writes them through ctypes. Where the layout of types is not that of a usual CPython
(checked by the type's name in it), nothing is changed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

# struct _typeobject and PyNumberMethods of CPython's Include/cpython/object.h, in pointers.
_HEADER = 3  # ob_refcnt, ob_type, ob_size
_NAME, _AS_NUMBER = _HEADER, _HEADER + 9
_INT, _FLOAT = 16, 18

_Slot = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
#: Slots that are in use: ctypes would free their machine code with them.
_kept: list[Any] = []


def put_back() -> None:
    """Lets ``int`` and ``float`` take arrays of one element, where NumPy does not; once."""
    if _kept or _works() or not _has_known_layout():
        return
    numbers = _pointers(_pointers(id(np.ndarray))[_AS_NUMBER])
    for slot, convert in ((_INT, np.ndarray.__int__), (_FLOAT, np.ndarray.__float__)):
        function = _Slot(_of_one_element(convert))
        _kept.append(function)
        numbers[slot] = ctypes.cast(function, ctypes.c_void_p).value


def _works() -> bool:
    try:
        int(np.ones(1))
    except TypeError:
        return False
    return True


def _has_known_layout() -> bool:
    if sys.implementation.name != "cpython" or hasattr(sys, "getobjects"):
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False  # without the lock objects have another header
    name = _pointers(id(np.ndarray))[_NAME]
    return bool(name) and ctypes.string_at(name, len(_OWN_NAME) + 1) == _OWN_NAME + b"\0"


_OWN_NAME = b"numpy.ndarray"


def _pointers(address: int) -> Any:
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


def _of_one_element(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``convert`` of NumPy, for arrays of one element and any number of dimensions.

    An exception cannot leave a function that C calls through ctypes. Python itself raises `TypeError`
    where the result is no number, and names its class: so that class has the message for a name.
    """

    def number(array: Any) -> Any:
        try:
            return convert(array if array.ndim == 0 else array.reshape(()))
        except Exception:
            text = "array: only arrays of one number are"
            return type(text, (), {})()

    return number
