"""`arg_scope`: arguments that functions take by default within it."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "add_arg_scope",
    "arg_scope",
    "arg_scoped_arguments",
    "current_arg_scope",
    "has_arg_scope",
]

_scopes: list[dict[str, dict[str, Any]]] = [{}]
_functions: set[str] = set()


def _key(function: Any) -> str:
    """What a scope has the function under: as in TensorFlow, its text before it was decorated."""
    return getattr(function, "_key_op", str(function))


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}"


def add_arg_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function takes default arguments from the `arg_scope`s around its calls."""
    key = _key(function)

    @functools.wraps(function)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        current = _scopes[-1].get(key)
        if current:
            names = function.__code__.co_varnames[: len(args)]
            kwargs = {**{k: v for k, v in current.items() if k not in names}, **kwargs}
        return function(*args, **kwargs)

    with_defaults.__dict__["_key_op"] = key
    _functions.add(key)
    return with_defaults


@contextlib.contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[dict[str, dict[str, Any]]]:
    """Default arguments for the functions of a list, or those of a scope captured before.

    Raises `ValueError` for a function that was not decorated with `add_arg_scope`.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by supplying a dictionary, kwargs must be empty."
            )
        scope = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError(
                "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)"
            )
        scope = {k: dict(v) for k, v in _scopes[-1].items()}
        for function in list_ops_or_scope:
            key = _key(function)
            if key not in _functions:
                raise ValueError(f"{_name(function)} is not decorated with @add_arg_scope")
            scope[key] = {**scope.get(key, {}), **kwargs}
    _scopes.append(scope)
    try:
        yield scope
    finally:
        _scopes.pop()


def current_arg_scope() -> dict[str, dict[str, Any]]:
    """The scope around: the key of each function -> its default arguments."""
    return _scopes[-1]


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Whether the function was decorated with `add_arg_scope`."""
    return _key(func) in _functions


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that an `arg_scope` can set for ``func``: those with defaults.

    Raises `ValueError` for a function that was not decorated with `add_arg_scope`.
    """
    if not has_arg_scope(func):
        raise ValueError(f"{_name(func)} is not decorated with @add_arg_scope")
    own = inspect.signature(func).parameters.values()
    return tuple(p.name for p in own if p.default is not inspect.Parameter.empty)
