"""Jacobians of a graph, from `tf.gradients` and by central differences, to be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian of ``y`` by ``x`` twice: from `tf.gradients`, and by central differences.

    Returns (theoretical, numeric), each of shape [elements of x, elements of y]; a list of pairs
    when ``x`` is a list. A complex number counts as two elements, its real and its imaginary part.
    """
    if isinstance(x, list):
        values = x_init_value or [None] * len(x)
        return [
            compute_gradient(xi, si, y, y_shape, vi, delta, init_targets, extra_feed_dict)
            for xi, si, vi in zip(x, x_shape, values, strict=True)
        ]
    from dataflow.autodiff.gradients import gradients
    from dataflow.graph.default_stacks import default_session
    from dataflow.ops.sources import placeholder

    session = default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: use `with tf.Session():`.")
    if init_targets is not None:
        targets = init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]
        for target in targets:
            session.run(target)
    if x_init_value is None:
        x_init_value = np.random.uniform(size=x_shape)
    numpy_type = x.dtype.base_dtype.as_numpy_dtype
    start = np.array(x_init_value, numpy_type, order="C").reshape(x_shape)  # `_as_reals` is a view
    feeds = dict(extra_feed_dict or {})
    with default_graph().as_default():
        seed = placeholder(y.dtype.base_dtype, y_shape)
        (grad,) = gradients(y, x, seed)
        grad = None if grad is None else convert_to_tensor(grad)  # rows alone count as a whole
    y_type = np.dtype(y.dtype.base_dtype.as_numpy_dtype)
    direction = np.zeros(y_shape, y_type)
    directions, moved_x = _as_reals(direction), _as_reals(start)
    real = moved_x.dtype
    theoretical = np.zeros((moved_x.size, directions.size), real)
    for column in range(directions.size):
        directions[:] = 0
        directions[column] = 1
        if grad is not None:
            value = session.run(grad, {**feeds, x: start, seed: direction})
            theoretical[:, column] = _as_reals(np.asarray(value, start.dtype))
    numeric = np.zeros_like(theoretical)
    for row in range(moved_x.size):
        moved = []
        before = moved_x[row]
        for sign in (1, -1):
            moved_x[row] = before + sign * delta
            moved.append(_as_reals(np.asarray(session.run(y, {**feeds, x: start.copy()}), y_type)))
        moved_x[row] = before
        numeric[row] = (moved[0] - moved[1]) / (2 * delta)
    return theoretical, numeric


def _as_reals(array: Any) -> Any:
    """The elements as a vector, a view; complex ones as two each."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def compute_gradient_error(*args: Any, **kwargs: Any) -> Any:
    """The largest difference between the two Jacobians of `compute_gradient`, a number of NumPy's."""
    result = compute_gradient(*args, **kwargs)
    pairs = result if isinstance(result, list) else [result]
    return max(np.abs(a - b).max() if a.size else np.float64(0.0) for a, b in pairs)
