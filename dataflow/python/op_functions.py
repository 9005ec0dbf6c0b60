"""Ops by the names that ``gen_*_ops`` and ``training_ops`` have for them: ``apply_gradient_descent``.

Each is a function of the op's inputs and then its attributes, by position or by name.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from dataflow.graph.registry import all_ops
from dataflow.layers.base import snake_case


@cache
def _names() -> dict[str, str]:
    """``apply_gradient_descent`` -> ``ApplyGradientDescent``."""
    found = {}
    for op_type in all_ops():
        name = re.sub(r"(\d)_d(?=_|$)", r"\1d", snake_case(op_type))  # Conv2D is conv2d
        if not op_type.startswith("_"):
            found[name] = op_type
    return found


def __getattr__(name: str) -> Callable[..., Any]:
    op_type = _names().get(name)
    if op_type is None:
        raise AttributeError(f"no op is called {name!r}", name=name, obj=object())
    op = all_ops()[op_type]
    parameters = list(inspect.signature(op).parameters)

    @functools.wraps(op, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(parameters):
            raise TypeError(f"{name} takes {len(parameters)} arguments, got {len(args)}.")
        return op(**dict(zip(parameters, args, strict=False)), **kwargs)

    function.__name__ = function.__qualname__ = name
    return function


def __dir__() -> list[str]:
    return sorted(_names())
