"""``tensorflow.python.ops.gradient_checker_v2``: the Jacobians of a function, in a session or in eager code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.autodiff.gradient_checker import (
    by_differences,
    by_gradient,
    compute_gradient as compute_gradient_of_tensor,
)
from dataflow.autodiff.gradient_tape import GradientTape
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph, default_session
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import placeholder

__all__ = ["compute_gradient", "max_error"]


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float = 1e-3
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The Jacobians of ``f(*x)`` by each argument, from `tf.gradients` and by central differences.

    Returns (theoretical, numeric), each a tuple with an array of shape [elements of the argument, elements
    of the result] for each argument (later releases turned it round). A complex number counts as two
    elements. In eager code ``f`` runs line by line; elsewhere a default session runs its graph, and without
    one it is a `ValueError`.
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(
            f"compute_gradient: x must be a list, one value for each argument; got {type(x).__name__}."
        )
    if default_graph().executes_eagerly:
        return _of_eager_code(f, [convert_to_tensor(each) for each in x], delta)
    session = default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: use `with tf.Session():`.")
    tensors = [convert_to_tensor(each) for each in x]
    values = [np.asarray(each) for each in session.run(tensors)]
    fed = [placeholder(t.dtype.base_dtype, v.shape) for t, v in zip(tensors, values, strict=True)]
    y = f(*fed)
    if not isinstance(y, Tensor):
        y = convert_to_tensor(y)
    feeds = dict(zip(fed, values, strict=True))
    y_shape = np.shape(session.run(y, feeds))
    pairs = [
        compute_gradient_of_tensor(each, v.shape, y, y_shape, v, delta, extra_feed_dict=feeds)
        for each, v in feeds.items()
    ]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _of_eager_code(
    f: Callable[..., Any], x: list[Any], delta: float
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """As `compute_gradient`, where ``f`` runs line by line."""
    values = [np.array(_array_of(each), order="C") for each in x]
    pairs = []
    for place, each in enumerate(values):

        def inputs(moved: Any, place: int = place) -> list[Any]:
            return [convert_to_tensor(moved if i == place else v) for i, v in enumerate(values)]

        def value(moved: Any, inputs: Any = inputs) -> Any:
            return _array_of(convert_to_tensor(f(*inputs(moved))))

        def slope(moved: Any, direction: Any, inputs: Any = inputs, place: int = place) -> Any:
            given = inputs(moved)
            with GradientTape() as tape:
                tape.watch(given[place])
                y = convert_to_tensor(f(*given))
            grad = tape.gradient(y, given[place], convert_to_tensor(direction))
            zero = np.zeros_like(values[place])
            return zero if grad is None else _array_of(convert_to_tensor(grad))

        result = value(each)
        pairs.append((by_gradient(slope, each, result), by_differences(value, each, result, delta)))
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _array_of(tensor: Any) -> Any:
    """The array that an eager tensor holds."""
    return tensor.numpy()


def max_error(grad1: Sequence[Any], grad2: Sequence[Any]) -> float:
    """The largest difference between two lists of Jacobians; NaN where one holds a NaN."""
    error = 0.0
    for a, b in zip(grad1, grad2, strict=True):
        if a.size or b.size:
            error = float(np.maximum(error, np.max(np.abs(a - b))))
    return error
