"""Ops by the names that ``gen_*_ops`` and ``training_ops`` have for them: ``apply_gradient_descent``.

Each is a function of the op's inputs and then its attributes, by position or by name: in TensorFlow's
order, with the attributes that have no default first, and under the names that its Python functions have.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from dataflow.graph.operation import Operation
from dataflow.graph.registry import all_ops, get_op
from dataflow.layers.base import snake_case

#: Inputs and attributes that TensorFlow's Python functions call otherwise than the op does, by op type ("": any).
_RENAMED: dict[str, dict[str, str]] = {
    "": {"reduction_indices": "axis", "split_dim": "axis", "squeeze_dims": "axis"},
    "ExpandDims": {"dim": "axis"},
    "Select": {"t": "x", "e": "y"},
    "Where": {"input": "condition"},
}


@cache
def _names() -> dict[str, str]:
    """``apply_gradient_descent`` -> ``ApplyGradientDescent``."""
    found = {}
    for op_type, op_def in all_ops().items():
        name = re.sub(r"(\d)_d(?=_|$)", r"\1d", snake_case(op_type))  # Conv2D is conv2d
        if not op_def.is_internal:
            found[name] = op_type
    return found


@cache
def _parameters(op_type: str) -> dict[str, str]:
    """The arguments of the function of an op, in order -> the op's own names for them."""
    op = get_op(op_type)
    every = inspect.signature(op).parameters
    inputs = [n for n in every if n not in op.attr_by_name and n != "name"]
    required = [n for n in op.attr_by_name if every[n].default is inspect.Parameter.empty]
    rest = [n for n in every if n not in inputs and n not in required]
    names = {**_RENAMED[""], **_RENAMED.get(op_type, {})}
    return {names.get(n, n): n for n in (*inputs, *required, *rest)}


def __getattr__(name: str) -> Callable[..., Any]:
    # Until TensorFlow 1.7 most of them began with ``_``, and those that Python has names of its own for still do.
    op_type = _names().get(name if name.startswith("__") else name.removeprefix("_"))
    if op_type is None:
        raise AttributeError(f"no op is called {name!r}", name=name, obj=object())
    return function_of(op_type, name)


def function_of(op_type: str, name: str) -> Callable[..., Any]:
    """The function called ``name`` that adds a node of an op."""
    op = get_op(op_type)
    parameters = _parameters(op_type)

    @functools.wraps(op, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(parameters):
            raise TypeError(f"{name} takes {len(parameters)} arguments, got {len(args)}.")
        named = {parameters.get(n, n): value for n, value in kwargs.items()}
        result = op(**dict(zip(parameters.values(), args, strict=False)), **named)
        ran = isinstance(result, Operation) and result.graph.executes_eagerly
        return None if ran else result  # with eager execution there is nothing left of it

    function.__name__ = function.__qualname__ = name
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in parameters]
    )
    return function


def __dir__() -> list[str]:
    return sorted(_names())
