"""Functions of tensors that take a `RaggedTensor`, too: which function of `ragged_math` does it for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from dataflow.providers import provided

Function = TypeVar("Function", bound=Callable[..., Any])


def is_ragged(value: Any) -> bool:
    """True for a `RaggedTensor` and its value."""
    return getattr(type(value), "is_ragged", False) is True


def _holds_ragged(value: Any) -> bool:
    return is_ragged(value) or (
        type(value) in (list, tuple) and len(value) < 1000 and any(map(is_ragged, value))
    )


def takes_ragged(handler: str) -> Callable[[Function], Function]:
    """Decorator: calls with a ragged argument go to the function ``handler`` of `ragged_math`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def dispatched(*args: Any, **kwargs: Any) -> Any:
            if any(map(_holds_ragged, args)) or any(map(_holds_ragged, kwargs.values())):
                ragged = provided("ragged_math")
                return getattr(ragged, handler)(*args, **kwargs)
            return function(*args, **kwargs)

        return cast(Function, dispatched)

    return decorate


def maps_ragged(function: Function) -> Function:
    """Decorator of a function that acts element by element: ragged arguments keep their rows."""

    @functools.wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_ragged, args)) or any(map(is_ragged, kwargs.values())):
            ragged = provided("ragged_math")
            return ragged.map_flat_values(function, *args, **kwargs)
        return function(*args, **kwargs)

    return cast(Function, dispatched)
