"""``tensorflow.python.util.function_utils``: what a function is called and takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["fn_args", "get_func_code", "get_func_name", "has_kwargs"]


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a caller may give; those that a `functools.partial` binds are out."""
    if isinstance(fn, functools.partial):
        return tuple(a for a in fn_args(fn.func)[len(fn.args) :] if a not in fn.keywords)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(n for n, p in inspect.signature(fn).parameters.items() if p.kind in kinds)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Whether ``fn`` takes any argument by name; raises `TypeError` for what cannot be called."""
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    kinds = [p.kind for p in inspect.signature(fn).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def get_func_name(func: Callable[..., Any]) -> str:
    """The function's name; that of the class for an object that is called."""
    if isinstance(func, functools.partial):
        return get_func_name(func.func)
    if not callable(func):
        raise ValueError("Argument must be callable")
    if inspect.isfunction(func) and func.__name__ == "<lambda>":
        return "<lambda>"
    return getattr(func, "__name__", None) or str(type(func))


def get_func_code(func: Callable[..., Any]) -> Any:
    """The code object; None for what has none. Raises `ValueError` for what cannot be called."""
    if not callable(func):
        raise ValueError("Argument must be callable")
    inner = func.func if isinstance(func, functools.partial) else func
    code = getattr(inner, "__code__", None)
    return getattr(type(inner).__call__, "__code__", None) if code is None else code
