"""``from tensorflow.python.framework import smart_cond``: conditions decided while the graph is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph.tensor import Tensor
from dataflow.layers.base import smart_cond as _smart_cond
from dataflow.ops.conditionals import case
from dataflow.ops.tensor_values import constant_value


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """`tf.cond`, or one of the functions at once where ``pred`` is known.

    Raises `TypeError` where one is not callable.
    """
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("smart_cond: `true_fn` and `false_fn` must be callable.")
    return _smart_cond(pred, true_fn, false_fn, name)


def smart_constant_value(pred: Any) -> bool | None:
    """The predicate where it is known before the graph runs, else None.

    Raises `TypeError` for what is no bool, no 0 or 1 and no tensor.
    """
    if isinstance(pred, (bool, np.bool_)) or (isinstance(pred, int) and pred in (0, 1)):
        return bool(pred)
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    raise TypeError(
        f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred!r}"
    )


def smart_case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """`tf.case`, decided at once where the predicates up to the first true one are known."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    left = []
    for pred, function in pairs:
        value = smart_constant_value(pred)
        if value is None:
            left.append((pred, function))
        elif value and not exclusive:
            if not left:
                return function()
            default = function  # nothing behind it is reached
            break
        elif value:
            left.append((pred, function))
    if not left and default is not None:
        return default()
    return case(left, default=default, exclusive=exclusive, name=name)
