"""``tensorflow.python.ops.gradient_checker_v2``: the Jacobians of a function, in the default session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.autodiff.gradient_checker import compute_gradient as compute_gradient_of_tensor
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_session
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import placeholder

__all__ = ["compute_gradient", "max_error"]


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float = 1e-3
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The Jacobians of ``f(*x)`` by each argument, from `tf.gradients` and by central differences.

    Returns (theoretical, numeric), each a tuple with an array of shape [elements of the result, elements of
    the argument] for each argument. A complex number counts as two elements.
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(
            f"compute_gradient: x must be a list, one value for each argument; got {type(x).__name__}."
        )
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
    return tuple(a.T for a, _ in pairs), tuple(b.T for _, b in pairs)


def max_error(grad1: Sequence[Any], grad2: Sequence[Any]) -> float:
    """The largest difference between two lists of Jacobians."""
    error = 0.0
    for a, b in zip(grad1, grad2, strict=True):
        if a.size or b.size:
            error = max(error, float(np.max(np.abs(a - b))))
    return error
