"""`tf.raw_ops`: a node of any op type, by TensorFlow's names of its inputs and attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def __getattr__(name: str) -> Callable[..., Any]:
    from dataflow.graph.registry import all_ops
    from dataflow.namespaces import absent

    if name.startswith("_"):
        raise AttributeError(name)
    op = all_ops().get(name)
    if op is None:
        raise absent(__name__, name, all_ops())

    @functools.wraps(op, updated=())
    def raw(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"tf.raw_ops.{name} takes keyword arguments only, got {len(args)} without a name."
            )
        return op(**kwargs)

    raw.__name__ = raw.__qualname__ = name
    return raw


def __dir__() -> list[str]:
    from dataflow.graph.registry import all_ops

    return sorted(all_ops())
