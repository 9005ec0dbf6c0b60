"""``tf.contrib.framework``: argument scopes, the global step, lists of variables, checkpoints."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from dataflow import logging, nest
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import is_tensor_like as is_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.namespaces import explain_absent
from dataflow.ops.sequences import argsort, sort
from dataflow.ops.variable_lists import global_variables
from dataflow.train.checkpoint_initializers import init_from_checkpoint
from dataflow.train.checkpoint_management import list_variables, load_checkpoint, load_variable
from dataflow.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from dataflow.train.saver import Saver

_scopes: list[dict[str, dict[str, Any]]] = [{}]
_functions: set[str] = set()


def _key(function: Any) -> str:
    return getattr(function, "arg_scope_key", f"{function.__module__}.{function.__name__}")


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

    with_defaults.arg_scope_key = key  # type: ignore[attr-defined]
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


def assign_from_checkpoint_fn(
    model_path: Any,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], None] | None:
    """``restore(session)`` that reads variables from the checkpoint at ``model_path``.

    ``var_list`` is a list of variables, or a dictionary from names in the checkpoint to variables.
    With ``ignore_missing_vars`` those that the checkpoint lacks keep their values, and are named in
    a warning; where it has none of them there is no function (``None``). ``reshape_variables`` takes
    a value of another shape and the same number of elements.

    Raises NotFoundError, when it is called, for a checkpoint or a variable that is not there, and
    ValueError for an empty ``var_list``.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty: name the variables to restore.")
    by_name = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    if ignore_missing_vars:
        there = dict(list_variables(model_path))
        for name in [name for name in by_name if name not in there]:
            logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        by_name = {name: v for name, v in by_name.items() if name in there}
        if not by_name:
            logging.warning("No variables to restore from %s", model_path)
            return None
    saver = Saver(by_name, reshape=reshape_variables)

    def restore(session: Any) -> None:
        saver.restore(session, model_path)

    return restore


__all__ = [
    "add_arg_scope",
    "arg_scope",
    "argsort",
    "assert_global_step",
    "assign_from_checkpoint_fn",
    "create_global_step",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_or_create_global_step",
    "get_trainable_variables",
    "get_variables",
    "get_variables_to_restore",
    "global_variables",
    "init_from_checkpoint",
    "is_tensor",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "nest",
    "sort",
]

__getattr__ = explain_absent(__name__)
