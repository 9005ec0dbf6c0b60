"""``bijector_test_util``: checks that a bijector's functions and log-determinants belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.distributions.bijector import Bijector
from dataflow.distributions.bounded import Uniform
from dataflow.graph.default_stacks import default_session
from dataflow.ops.math import exp, reduce_mean

__all__ = ["assert_bijective_and_finite", "assert_finite", "assert_scalar_congruency"]


def assert_finite(array: Any) -> None:
    """Raises `AssertionError` where an element is infinite or NaN."""
    if not np.isfinite(array).all():
        raise AssertionError(f"array was not all finite. {array[:15]}")


def assert_strictly_increasing(array: Any) -> None:
    """Each element is above the one before."""
    np.testing.assert_array_less(0.0, np.diff(array))


def assert_strictly_decreasing(array: Any) -> None:
    """Each element is below the one before."""
    np.testing.assert_array_less(np.diff(array), 0.0)


def assert_strictly_monotonic(array: Any) -> None:
    """The elements rise or fall, from the first to the last."""
    if array[0] < array[-1]:
        assert_strictly_increasing(array)
    else:
        assert_strictly_decreasing(array)


def assert_scalar_congruency(
    bijector: Bijector,
    lower_x: float,
    upper_x: float,
    n: int = 10000,
    rtol: float = 0.01,
    sess: Any = None,
) -> None:
    """A bijector of numbers is monotonic between the bounds, and its parts belong together.

    Both functions are inverse to each other at ``n`` random points, both log-determinants too, and the mean
    slope of the inverse, times the interval of y, is the interval of x, up to ``rtol``.
    """
    sess = sess or default_session()
    dtype = np.float32 if bijector.dtype is None else bijector.dtype.as_numpy_dtype
    points = bijector.forward(np.linspace(lower_x, upper_x, num=10).astype(dtype))
    bounds = sess.run([bijector.forward(lower_x), bijector.forward(upper_x)])
    lower_y, upper_y = sorted(bounds)
    x = Uniform(low=lower_x, high=upper_x).sample(n, seed=0)
    y = Uniform(low=lower_y, high=upper_y).sample(n, seed=1)
    slope = exp(bijector.inverse_log_det_jacobian(y, event_ndims=0))
    back = exp(bijector.forward_log_det_jacobian(bijector.inverse(y), event_ndims=0))
    found = sess.run(
        {
            "points": points,
            "x": x,
            "y": y,
            "x again": bijector.inverse(bijector.forward(x)),
            "y again": bijector.forward(bijector.inverse(y)),
            "width": (upper_y - lower_y) * reduce_mean(slope),
            "slope": slope,
            "back": back,
        }
    )
    assert_strictly_monotonic(found["points"])
    close = np.testing.assert_allclose
    close(found["x again"], found["x"], atol=1e-5, rtol=1e-3)
    close(found["y again"], found["y"], atol=1e-5, rtol=1e-3)
    close(upper_x - lower_x, found["width"], atol=0, rtol=rtol)
    close(found["slope"], 1.0 / found["back"], atol=1e-5, rtol=1e-3)


def assert_bijective_and_finite(
    bijector: Bijector,
    x: Any,
    y: Any,
    event_ndims: int,
    atol: float = 0,
    rtol: float = 1e-5,
    sess: Any = None,
) -> None:
    """At ``x`` and at ``y`` the functions and their log-determinants are inverse to each other, and finite."""
    sess = sess or default_session()
    assert_finite(x)
    assert_finite(y)
    to, back = bijector.forward(x), bijector.inverse(y)
    forward, inverse = bijector.forward_log_det_jacobian, bijector.inverse_log_det_jacobian
    found = sess.run(
        [
            bijector.inverse(to),
            bijector.forward(back),
            inverse(to, event_ndims=event_ndims),
            forward(x, event_ndims=event_ndims),
            inverse(y, event_ndims=event_ndims),
            forward(back, event_ndims=event_ndims),
            to,
            back,
        ]
    )
    for value in found:
        assert_finite(value)
    x_again, y_again, down, up, down_y, up_y = found[:6]
    for wanted, value in ((x, x_again), (y, y_again), (up, -down), (up_y, -down_y)):
        np.testing.assert_allclose(value, wanted, atol=atol, rtol=rtol)
