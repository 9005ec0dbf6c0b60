"""``import tensorflow.compat.v2 as tf``: TensorFlow 2's names and orders of arguments, in graph mode.

As in TensorFlow 1.15, where libraries of the time between 1 and 2 (TensorFlow Probability, Sonnet) are
written with these names: nothing runs eagerly unless the program enables that, and what both versions have under one name and with the
same arguments is the same object. `v2_signatures` lists the others.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from itertools import accumulate
from types import ModuleType
from typing import Any

from dataflow.compat import v2_signatures, v2_summary as v2_summary
from dataflow.ops import variables
from dataflow.ops.graph_functions import name_scope as _name_scope

_ORDERS = v2_signatures.orders()
#: Namespaces that differ: each gets a module of its own.
_DIFFERING = {
    path
    for name in [*_ORDERS, *v2_signatures.ABSENT, *v2_signatures.PLACES]
    for path in accumulate(name.split(".")[:-1], lambda outer, inner: f"{outer}.{inner}")
}
_VARIABLE = (
    "initial_value trainable validate_shape caching_device name variable_def dtype import_scope "
    "constraint synchronization aggregation shape"
)


class name_scope(_name_scope):  # noqa: N801  (TensorFlow's name)
    """``with tf.name_scope("layer1"):``; a scope without a name raises `ValueError`."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        super().__init__(name)


class _AnyVariable(type):
    """`Variable(...)` makes a resource variable; every variable is an instance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, variables.Variable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, variables.Variable)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        order = {name: name for name in _VARIABLE.split()}
        given = _by_name(cls.__name__, order, args, kwargs)
        return variables.Variable(use_resource=True, **given)


class Variable(metaclass=_AnyVariable):
    """A resource variable, with the arguments of version 2; see `tf.Variable`."""


def _by_name(
    name: str, order: Mapping[str, str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments under version 1's names; raises `TypeError` as Python does for a function."""
    if len(args) > len(order):
        raise TypeError(
            f"{name}() takes {len(order)} arguments ({', '.join(order)}), got {len(args)}"
        )
    given = dict(zip(order, args, strict=False))
    for key, value in kwargs.items():
        if key not in order:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {key!r}; in tf.compat.v2 its "
                f"arguments are {', '.join(order)}"
            )
        if key in given:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
        given[key] = value
    return {order[key]: value for key, value in given.items()}


def _reordered(path: str, old: Callable[..., Any]) -> Any:
    """``old`` with version 2's order of arguments; a class becomes a class below it."""
    name = path.rpartition(".")[2]
    order, num_required = _ORDERS[path]
    defaults = v2_signatures.DEFAULTS.get(path, {})
    if isinstance(old, type):

        def make(self: Any, *args: Any, **kwargs: Any) -> None:
            old.__init__(self, **{**defaults, **_by_name(name, order, args, kwargs)})  # type: ignore[misc]

        return type(name, (old,), {"__init__": make, "__doc__": old.__doc__})

    def call(*args: Any, **kwargs: Any) -> Any:
        given = _by_name(name, order, args, kwargs)
        return old(**{**defaults, **given})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = old.__doc__
    call.__signature__ = _signature(old, order, num_required, defaults)  # type: ignore[attr-defined]
    return call


def _signature(
    old: Callable[..., Any],
    order: Mapping[str, str],
    num_required: int | None,
    defaults: Mapping[str, Any],
) -> inspect.Signature:
    empty = inspect.Parameter.empty
    there = inspect.signature(old).parameters
    parameters: list[inspect.Parameter] = []
    for place, (new, was) in enumerate(order.items()):
        default = there[was].default if was in there else None
        if num_required is not None:
            default = empty if place < num_required else (None if default is empty else default)
        default = defaults.get(was, default)
        if default is empty and parameters and parameters[-1].default is not empty:
            default = None
        parameters.append(
            inspect.Parameter(new, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
        )
    return inspect.Signature(parameters)


def _find(path: str) -> Any:
    """What ``tf.compat.v2.<path>`` is; raises `AttributeError`."""
    if path in v2_signatures.ABSENT:
        raise AttributeError(
            f"tf.compat.v2.{path} is not part of dataflow. Write it {v2_signatures.ABSENT[path]}.",
            name=path,
            obj=object(),
        )
    if path in v2_signatures.PLACES:
        return _at(v2_signatures.PLACES[path])
    old = _at(f"dataflow.{path}")
    if path in _ORDERS:
        return _reordered(path, old)
    return _Namespace(path, old) if path in _DIFFERING else old


def _at(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError):
        if module == "dataflow":
            raise
        return getattr(_at(module), name)


class _Namespace(ModuleType):
    """``tf.compat.v2.nn`` and the like: version 1's module, with what differs put in its place."""

    def __init__(self, path: str, old: ModuleType) -> None:
        super().__init__(f"{__name__}.{path}", old.__doc__)
        self.__dict__.update(_path=path, _old=old, __path__=[])
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return getattr(self.__dict__["_old"], name)
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = _find(f"{self.__dict__['_path']}.{name}")
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_old"])


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _find(name)
    return value


def __dir__() -> list[str]:
    own = {Variable.__name__, "name_scope", "initializers", "losses", "metrics", "optimizers"}
    return sorted({*own, *dir(importlib.import_module("dataflow"))} - set(v2_signatures.ABSENT))
