"""``tf.contrib.framework``: argument scopes, the global step, lists of variables."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.variables import global_variables
from dataflow.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)

_scopes: list[dict[str, dict[str, Any]]] = [{}]
_functions: set[str] = set()


def _key(function: Any) -> str:
    return getattr(function, "_key_op", f"{function.__module__}.{function.__name__}")


def add_arg_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function takes default arguments from the `arg_scope`s around its calls."""
    key = f"{function.__module__}.{function.__qualname__}.{id(function)}"

    @functools.wraps(function)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        current = _scopes[-1].get(key)
        if current:
            names = function.__code__.co_varnames[: len(args)]
            kwargs = {**{k: v for k, v in current.items() if k not in names}, **kwargs}
        return function(*args, **kwargs)

    with_defaults._key_op = key  # type: ignore[attr-defined]
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
                raise ValueError(f"{key} is not decorated with @add_arg_scope")
            scope[key] = {**scope.get(key, {}), **kwargs}
    _scopes.append(scope)
    try:
        yield scope
    finally:
        _scopes.pop()


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Variables of a scope whose names end with ``suffix``."""
    name = getattr(scope, "name", scope)
    found = default_graph().get_collection(collection, name)
    if suffix is not None:
        found = [v for v in found if v.op.name.endswith(suffix)]
    return found


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The variables of the scopes in ``include``, without those in ``exclude``."""
    chosen = get_variables() if include is None else [v for s in include for v in get_variables(s)]
    left_out = [v for s in exclude or [] for v in get_variables(s)]
    return [v for v in chosen if v not in left_out]


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Variables that the layers of `tf.contrib.layers` made, averages of statistics included."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The variables of a scope that are trained."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The local variables of a scope."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


__all__ = [
    "add_arg_scope",
    "arg_scope",
    "assert_global_step",
    "create_global_step",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_or_create_global_step",
    "get_trainable_variables",
    "get_variables",
    "get_variables_to_restore",
    "global_variables",
]
