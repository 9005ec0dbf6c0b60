"""Functions of ``tensorflow.python.keras.utils.generic_utils`` that are not public there."""

from __future__ import annotations

import base64
import binascii
import inspect
import marshal
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

__all__ = [
    "check_for_unexpected_keys",
    "func_dump",
    "func_load",
    "has_arg",
    "object_list_uid",
    "slice_arrays",
    "to_list",
    "to_snake_case",
    "unpack_singleton",
]


def func_dump(func: Any) -> tuple[str, Any, Any]:
    """A function as text: its code in base 64, its defaults, and the values that it closes over."""
    code = base64.b64encode(marshal.dumps(func.__code__)).decode("ascii")
    closure = tuple(c.cell_contents for c in func.__closure__) if func.__closure__ else None
    return code, func.__defaults__, closure


def func_load(code: Any, defaults: Any = None, closure: Any = None, globs: Any = None) -> Any:
    """The function of what `func_dump` gave."""
    if isinstance(code, (tuple, list)):
        code, defaults, closure = code
        defaults = tuple(defaults) if isinstance(defaults, list) else defaults
    cells = None
    if closure is not None:
        cells = tuple(c if isinstance(c, types.CellType) else types.CellType(c) for c in closure)
    try:
        raw = base64.b64decode(code.encode("ascii"))
    except (UnicodeEncodeError, binascii.Error):  # as Keras before 2.1 wrote it
        raw = code.encode("raw_unicode_escape")
    made = marshal.loads(raw)
    return types.FunctionType(
        made, globals() if globs is None else globs, made.co_name, defaults, cells
    )


def has_arg(fn: Callable[..., Any], name: str, accept_all: bool = False) -> bool:
    """Whether ``fn`` has an argument of this name; with ``accept_all`` one for all others counts too."""
    parameters = inspect.signature(fn).parameters.values()
    if accept_all and any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return True
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(p.name == name and p.kind in by_name for p in parameters)


def slice_arrays(arrays: Any, start: Any = None, stop: int | None = None) -> Any:
    """Rows ``start`` to ``stop``, or those of a list of numbers, of an array or of each in a list."""
    if arrays is None:
        return [None]
    if isinstance(start, list) and stop is not None:
        raise ValueError(
            "The stop argument has to be None if the value of start is a list, got "
            f"start={start}, stop={stop}."
        )
    if hasattr(start, "__len__"):
        rows = start.tolist() if hasattr(start, "shape") else start
    else:
        rows = slice(start, stop)
    if isinstance(arrays, list):
        return [x[rows] if hasattr(x, "__getitem__") else None for x in arrays]
    return arrays[rows]


def to_list(x: Any) -> list[Any]:
    """A list as it is, anything else in one."""
    return x if isinstance(x, list) else [x]


def unpack_singleton(x: Any) -> Any:
    """The one element of a list that has one; anything else as it is."""
    return x[0] if len(x) == 1 else x


def object_list_uid(object_list: Any) -> str:
    """The identities of objects as one text."""
    return ", ".join(str(abs(id(x))) for x in to_list(object_list))


def to_snake_case(name: str) -> str:
    """``BatchNorm1`` is ``batch_norm1``; a name that begins with ``_`` gets ``private`` before it."""
    words = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub("([a-z])([A-Z])", r"\1_\2", words).lower()
    return "private" + snake if snake.startswith("_") else snake


def check_for_unexpected_keys(
    name: str, input_dict: Iterable[Any], expected_values: Iterable[Any]
) -> None:
    """Raises `ValueError` where a dictionary has keys that are none of the expected ones."""
    unknown = set(input_dict).difference(expected_values)
    if unknown:
        raise ValueError(
            f"Unknown entries in {name} dictionary: {list(unknown)}. Only expected following keys: "
            f"{expected_values}"
        )
