"""Jacobians of a graph, from `tf.gradients` and by central differences, to be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor


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
    from dataflow.graph.default_stacks import default_session

    session = default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: use `with tf.Session():`.")
    if init_targets is not None:
        targets = init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]
        for target in targets:
            session.run(target)
    if x_init_value is None:
        x_init_value = np.random.uniform(size=x_shape)
    grad, seed = gradient_and_seed(x, y, y_shape)
    theoretical = theoretical_jacobian(
        x, x_shape, x_init_value, seed, y_shape, grad, extra_feed_dict
    )
    numeric = numeric_jacobian(x, x_shape, x_init_value, y, y_shape, delta, extra_feed_dict)
    return theoretical, numeric


def gradient_and_seed(x: Any, y: Any, y_shape: Any) -> tuple[Any, Any]:
    """(dx, dy): the gradient of ``y``, of shape ``y_shape``, by ``x``, or None; and what it is a gradient of, to feed."""
    from dataflow.autodiff.gradients import gradients
    from dataflow.ops.sources import placeholder

    with x.graph.as_default():
        seed = placeholder(y.dtype.base_dtype, y_shape)
        (grad,) = gradients(y, x, seed)
        # rows alone count as a whole
        return None if grad is None else convert_to_tensor(grad), seed


def theoretical_jacobian(
    x: Any, x_shape: Any, x_data: Any, dy: Any, dy_shape: Any, dx: Any, extra_feed_dict: Any = None
) -> Any:
    """The Jacobian [elements of x, elements of y] at ``x_data``, a column for each direction fed to ``dy``.

    ``dx``, the gradient, may be None, or rows (`IndexedSlices`). Runs in the default session.
    """
    start = _start(x, x_shape, x_data)
    direction = np.zeros(dy_shape, np.dtype(dy.dtype.base_dtype.as_numpy_dtype))
    if dx is None:
        return by_gradient(None, start, direction)
    with x.graph.as_default():
        dx = convert_to_tensor(dx)
    feeds = dict(extra_feed_dict or {})
    return by_gradient(lambda at, along: _run(dx, {**feeds, x: at, dy: along}), start, direction)


def numeric_jacobian(
    x: Any, x_shape: Any, x_data: Any, y: Any, y_shape: Any, delta: Any, extra_feed_dict: Any = None
) -> Any:
    """The Jacobian [elements of x, elements of y] at ``x_data`` by central differences of ``delta`` to both sides.

    Runs in the default session.
    """
    start = _start(x, x_shape, x_data)
    result = np.zeros(y_shape, np.dtype(y.dtype.base_dtype.as_numpy_dtype))
    feeds = dict(extra_feed_dict or {})
    return by_differences(lambda at: _run(y, {**feeds, x: at}), start, result, delta)


def by_gradient(slope: Callable[[Any, Any], Any] | None, start: Any, direction: Any) -> Any:
    """The Jacobian [elements of x, elements of y] of a function of arrays at ``start``, in order in memory.

    ``slope(x, dy)`` is the gradient, of x's shape, for an array ``dy`` like ``direction``; None: zeros.
    """
    direction = np.zeros_like(direction)
    directions, rows = _as_reals(direction), _as_reals(start)
    jacobian = np.zeros((rows.size, directions.size), rows.dtype)
    for column in range(directions.size if slope is not None else 0):
        directions[:] = 0
        directions[column] = 1
        value = slope(start, direction)  # type: ignore[misc]
        jacobian[:, column] = _as_reals(np.asarray(value, start.dtype))
    return jacobian


def by_differences(value: Callable[[Any], Any], start: Any, result: Any, delta: Any) -> Any:
    """As `by_gradient`, from ``value(x)``, an array like ``result``, at both sides of each element of ``start``."""
    moved_x = _as_reals(start)
    jacobian = np.zeros((moved_x.size, _as_reals(result).size), moved_x.dtype)
    for row in range(moved_x.size):
        moved = []
        before = moved_x[row]
        for sign in (1, -1):
            moved_x[row] = before + sign * delta
            moved.append(_as_reals(np.asarray(value(start.copy()), result.dtype)))
        moved_x[row] = before
        jacobian[row] = (moved[0] - moved[1]) / (2 * delta)
    return jacobian


def _run(fetch: Any, feeds: Any) -> Any:
    from dataflow.graph.default_stacks import default_session

    return default_session().run(fetch, feeds)


def _start(x: Any, x_shape: Any, x_data: Any) -> Any:
    """A copy of ``x_data``, laid out in order: `_as_reals` is a view."""
    return np.array(x_data, x.dtype.base_dtype.as_numpy_dtype, order="C").reshape(x_shape)


def _as_reals(array: Any) -> Any:
    """The elements as a vector, a view; complex ones as two each."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def compute_gradient_error(*args: Any, **kwargs: Any) -> Any:
    """The largest difference between the two Jacobians of `compute_gradient`, a number of NumPy's."""
    result = compute_gradient(*args, **kwargs)
    pairs = result if isinstance(result, list) else [result]
    return max(np.abs(a - b).max() if a.size else np.float64(0.0) for a, b in pairs)
