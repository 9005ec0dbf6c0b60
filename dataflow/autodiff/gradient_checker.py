"""Jacobians of a graph, from `tf.gradients` and by central differences, to be compared."""

from __future__ import annotations

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
    directions, rows = _as_reals(direction), _as_reals(start)
    jacobian = np.zeros((rows.size, directions.size), rows.dtype)
    if dx is None:
        return jacobian
    with x.graph.as_default():
        dx = convert_to_tensor(dx)
    for column in range(directions.size):
        directions[:] = 0
        directions[column] = 1
        value = _run(dx, {**(extra_feed_dict or {}), x: start, dy: direction})
        jacobian[:, column] = _as_reals(np.asarray(value, start.dtype))
    return jacobian


def numeric_jacobian(
    x: Any, x_shape: Any, x_data: Any, y: Any, y_shape: Any, delta: Any, extra_feed_dict: Any = None
) -> Any:
    """The Jacobian [elements of x, elements of y] at ``x_data`` by central differences of ``delta`` to both sides.

    Runs in the default session.
    """
    start = _start(x, x_shape, x_data)
    y_type = np.dtype(y.dtype.base_dtype.as_numpy_dtype)
    moved_x = _as_reals(start)
    size = _as_reals(np.zeros(y_shape, y_type)).size
    jacobian = np.zeros((moved_x.size, size), moved_x.dtype)
    for row in range(moved_x.size):
        moved = []
        before = moved_x[row]
        for sign in (1, -1):
            moved_x[row] = before + sign * delta
            value = _run(y, {**(extra_feed_dict or {}), x: start.copy()})
            moved.append(_as_reals(np.asarray(value, y_type)))
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
