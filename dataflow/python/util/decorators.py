"""Decorators of ``tensorflow.python.util`` that programs put on functions of their own."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from dataflow import logging
from dataflow.python.util.tf_decorator import make_decorator

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


def get_qualified_name(function: Any) -> str:
    """The name of a function with those of the classes that it is in."""
    return function.__qualname__  # type: ignore[no-any-return]


def validate_callable(func: Any, decorator_name: str) -> None:
    """Raises `ValueError` where a decorator of this name was put on something that cannot be called."""
    if not callable(func):
        raise ValueError(
            f"{func} is not a function. If this is a property, make sure @property appears before "
            f"@{decorator_name} in your source code:\n\n@property\n@{decorator_name}\ndef method(...)"
        )


def _checked(date: str | None, instructions: str, function: Any = str) -> None:
    """Raises `ValueError` for what says nothing, or puts the decorators in the wrong order."""
    if date is not None and not re.fullmatch(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError(f"Date must be YYYY-MM-DD or None, got {date!r}.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")
    validate_callable(function, "deprecated")


def deprecated(
    date: str | None, instructions: str, warn_once: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Warns, once, when the function is called that it will be removed after ``date``."""
    _checked(date, instructions)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _checked(date, instructions, function)

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


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal; what is compared element by element is not."""
    return a is b or (a == b) is True


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Warns when one of the arguments is passed; a tuple is (name, value that is still fine).

    ``*args`` and ``**kwargs`` of the function are arguments, too. Raises `ValueError` for a name that it
    does not have, and without any.
    """
    _checked(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    warn_once = kwargs.pop("warn_once", True)
    if kwargs:
        raise ValueError(f"Illegal argument to deprecated_args: {kwargs}")
    fine = dict(
        (n, ()) if isinstance(n, str) else (n[0], n[1:]) for n in deprecated_arg_names_or_tuples
    )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _checked(date, instructions, function)
        signature = inspect.signature(function)
        missing = [name for name in fine if name not in signature.parameters]
        if missing:
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: {missing}. "
                f"Found next arguments: {list(signature.parameters)}."
            )

        @functools.wraps(function)
        def warned(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind_partial(*args, **kwargs).arguments
            for name, values in fine.items():
                if name in given and not any(_same(given[name], v) for v in values):
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
    _checked(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _checked(date, instructions, function)
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


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """A docstring in which an argument has another name."""
    named = old_doc.replace(f"`{old_argument}`", f"`{new_argument}`")
    return named.replace(f"{old_argument}:", f"{new_argument}:")


def contextmanager(target: Callable[..., Any]) -> Any:
    """As Python's, of a function that keeps its argument list."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")


tf_contextmanager = contextmanager
