"""Decorators of ``tensorflow.python.util`` that programs put on functions of their own."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from dataflow import logging

_told: set[Any] = set()


def tf_export(*names: str, **kwargs: Any) -> Callable[[Any], Any]:
    """``@tf_export("name")``: the function stays as it is; here nothing is published."""
    return lambda function: function


keras_export = estimator_export = tf_export


_silent = 0


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """A block in which no function warns that it is deprecated."""
    global _silent
    _silent += 1
    try:
        yield
    finally:
        _silent -= 1


def _warning(text: str, key: Any, warn_once: bool) -> None:
    if not _silent and not (warn_once and key in _told):
        _told.add(key)
        logging.warning("%s", text)


def deprecated(
    date: str | None, instructions: str, warn_once: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Warns, once, when the function is called that it will be removed after ``date``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def warned(*args: Any, **kwargs: Any) -> Any:
            when = f"after {date}" if date else "in a future version"
            text = (
                f"{function.__qualname__} is deprecated and will be removed {when}. {instructions}"
            )
            _warning(text, function, warn_once)
            return function(*args, **kwargs)

        return warned

    return decorate


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Warns when one of the arguments is passed; a tuple is (name, value that is still fine)."""
    fine = dict(
        (n, ()) if isinstance(n, str) else (n[0], n[1:]) for n in deprecated_arg_names_or_tuples
    )
    warn_once = kwargs.get("warn_once", True)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def warned(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind_partial(*args, **kwargs).arguments
            for name, values in fine.items():
                if name in given and not any(given[name] is v for v in values):
                    text = f"{name} of {function.__qualname__} is deprecated. {instructions}"
                    _warning(text, (function, name), warn_once)
            return function(*args, **kwargs)

        return warned

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Warns when one of the arguments is passed with the value that ``deprecated_kwargs`` names.

    Raises `ValueError` without any.
    """
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def warned(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind_partial(*args, **kwargs).arguments
            for name, value in deprecated_kwargs.items():
                if name in given and given[name] == value:
                    text = (
                        f"{name}={value!r} of {function.__qualname__} is deprecated. {instructions}"
                    )
                    _warning(text, (function, name, "value"), warn_once)
            return function(*args, **kwargs)

        return warned

    return decorate


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value that was given under one of two names; raises `ValueError` where both were."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old_value


contextmanager = tf_contextmanager = contextlib.contextmanager


def make_decorator(target: Any, decorator_func: Any, *args: Any, **kwargs: Any) -> Any:
    """``decorator_func`` with the name and documentation of ``target``."""
    return functools.wraps(target)(decorator_func)


def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """The wrappers of a function, and the function inside."""
    wrappers = []
    while hasattr(maybe_tf_decorator, "__wrapped__"):
        wrappers.append(maybe_tf_decorator)
        maybe_tf_decorator = maybe_tf_decorator.__wrapped__
    return wrappers, maybe_tf_decorator
