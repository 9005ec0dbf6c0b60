"""``from tensorflow.python.util import tf_inspect``: Python's `inspect`, which looks into wrappers.

A wrapper made by `tf_decorator.make_decorator` counts as what it wraps, and has the arguments that the
outermost one says.
"""

import functools as _functools
import inspect as _inspect
from collections import namedtuple as _namedtuple
from collections.abc import Callable
from inspect import *  # noqa: F403
from typing import Any

from dataflow.python.util import tf_decorator as _tf_decorator

__all__ = ["ArgSpec", "getargspec", "getcallargs", "getfullargspec"]

ArgSpec = _namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])


def _target(object: Any) -> Any:
    return _tf_decorator.unwrap(object)[1]


def getfullargspec(obj: Callable[..., Any]) -> _inspect.FullArgSpec:  # type: ignore[no-redef]
    """As Python's; a function of this engine is what it decorates, and shows no annotations.

    Libraries compare the argument lists of TensorFlow's functions with those of their own.
    """
    wrappers, target = _tf_decorator.unwrap(obj)
    for wrapper in wrappers:
        if wrapper.decorator_argspec is not None:
            return _full(wrapper.decorator_argspec)
    module = getattr(target, "__module__", None) or type(target).__module__
    if module.partition(".")[0] != "dataflow" or isinstance(target, type):
        return _inspect.getfullargspec(target)
    plain = _inspect.signature(target)
    unannotated = [p.replace(annotation=p.empty) for p in plain.parameters.values()]

    def stand_in() -> None: ...

    stand_in.__signature__ = _inspect.Signature(unannotated)  # type: ignore[attr-defined]
    return _inspect.getfullargspec(stand_in)


def _full(spec: Any) -> _inspect.FullArgSpec:
    if isinstance(spec, _inspect.FullArgSpec):
        return spec
    return _inspect.FullArgSpec(spec.args, spec.varargs, spec.keywords, spec.defaults, [], None, {})


def getargspec(obj: Callable[..., Any]) -> Any:
    """(args, varargs, keywords, defaults) of a callable, or of a `functools.partial` of one.

    Raises `ValueError` where these cannot say it: a partial that gives a value to an argument before one
    that has none.
    """
    if not isinstance(obj, _functools.partial):
        spec = getfullargspec(obj)
        return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)
    inner = getargspec(obj.func)
    args = inner.args[len(obj.args) :]
    unknown = set(obj.keywords) - set(args)
    if unknown and not inner.keywords:
        raise ValueError(
            f"Function does not have **kwargs parameter, but a partial gives {sorted(unknown)}."
        )
    values = dict(zip(reversed(inner.args), reversed(inner.defaults or ()), strict=False))
    values.update(obj.keywords)
    first = next((i for i, name in enumerate(args) if name in values), len(args))
    without = [name for name in args[first:] if name not in values]
    if without:
        raise ValueError(
            f"Some arguments {without} do not have default value, but they are positioned after "
            f"{args[first]!r}, which has one: ArgSpec cannot say that."
        )
    return ArgSpec(
        args, inner.varargs, inner.keywords, tuple(values[n] for n in args[first:]) or None
    )


def getcallargs(*func_and_positional: Any, **named: Any) -> dict[str, Any]:  # type: ignore[no-redef]
    """Name -> value of the arguments that ``func(*positional, **named)`` gives, defaults among them."""
    func, *positional = func_and_positional
    spec = getfullargspec(func)
    if _inspect.ismethod(func):
        positional.insert(0, func.__self__)
    values = dict(zip(reversed(spec.args), reversed(spec.defaults or ()), strict=False))
    values.update(spec.kwonlydefaults or {})
    values.update(zip([n for n in spec.args if n not in named], positional, strict=False))
    return {**values, **named}


def _of_target(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `inspect`, asked about what is wrapped."""

    @_functools.wraps(plain)
    def asked(object: Any) -> Any:
        return plain(_target(object))

    return asked


_FUNCTIONS = "getfile getsource getsourcefile getsourcelines isclass isfunction ismethod isroutine"
globals().update((name, _of_target(getattr(_inspect, name))) for name in _FUNCTIONS.split())
