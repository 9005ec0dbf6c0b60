"""``from tensorflow.python.util import tf_inspect``: Python's `inspect`."""

import inspect as _inspect
from collections.abc import Callable
from inspect import *  # noqa: F403
from typing import Any

__all__ = ["getargspec", "getfullargspec"]


def getfullargspec(func: Callable[..., Any]) -> _inspect.FullArgSpec:  # type: ignore[no-redef]
    """As Python's; a function of this engine is what it decorates, and shows no annotations.

    Libraries compare the argument lists of TensorFlow's functions with those of their own.
    """
    module = getattr(func, "__module__", None) or type(func).__module__
    if module.partition(".")[0] != "dataflow" or isinstance(func, type):
        return _inspect.getfullargspec(func)
    plain = _inspect.signature(func)
    unannotated = [p.replace(annotation=p.empty) for p in plain.parameters.values()]

    def stand_in() -> None: ...

    stand_in.__signature__ = _inspect.Signature(unannotated)  # type: ignore[attr-defined]
    return _inspect.getfullargspec(stand_in)


getargspec = getfullargspec
