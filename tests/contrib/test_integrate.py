"""``tf.contrib.integrate``: equations whose solutions are known."""

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

pytestmark = pytest.mark.usefixtures("fresh_graph")
odes = tf.contrib.integrate
TIMES = np.linspace(0.0, 2.0, 7)


def test_growth_decay_and_a_time_dependent_slope():
    solution = odes.odeint(lambda y, t: y, tf.constant(1.0, tf.float64), TIMES)
    assert solution.shape == (7,)
    np.testing.assert_allclose(run(solution), np.exp(TIMES), rtol=1e-5)
    both = odes.odeint(lambda y, t: y * [-1.0, 2.0], tf.constant([1.0, 3.0], tf.float64), TIMES)
    np.testing.assert_allclose(
        run(both), np.stack([np.exp(-TIMES), 3 * np.exp(2 * TIMES)], 1), rtol=1e-5
    )
    slope = odes.odeint(lambda y, t: 3 * t**2, tf.constant(0.0, tf.float64), TIMES)
    np.testing.assert_allclose(run(slope), TIMES**3, atol=1e-6)


def test_complex_rotation():
    turning = odes.odeint(lambda y, t: 1j * y, tf.constant(1 + 0j, tf.complex128), TIMES)
    np.testing.assert_allclose(run(turning), np.exp(1j * TIMES), rtol=1e-5)


def test_the_report_and_the_options():
    solution, info = odes.odeint(
        lambda y, t: -y,
        tf.constant(1.0, tf.float64),
        TIMES,
        method="dopri5",
        options={"first_step": 0.1},
        full_output=True,
    )
    _, found = run([solution, info])
    steps = found["integrate_points"]
    assert steps[-1] >= TIMES[-1] and steps[0] == 0.1
    assert found["num_func_evals"] == 1 + 6 * len(steps) and len(found["error_ratio"]) == len(steps)


def test_runs_that_cannot_go_on():
    one = tf.constant(1.0, tf.float64)
    falling = odes.odeint(lambda y, t: y, one, [1.0, 0.5])
    with pytest.raises(tf.errors.InvalidArgumentError, match="monotonic increasing"):
        run(falling)
    few = odes.odeint(lambda y, t: y, one, TIMES, method="dopri5", options={"max_num_steps": 1})
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_num_steps"):
        run(few)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"options": {"safety": 1.0}}, ValueError),
        ({"method": "euler"}, ValueError),
        ({"method": "dopri5", "options": {"speed": 1}}, ValueError),
        ({"t": 1.0}, ValueError),
        ({"y0": 1}, TypeError),
    ],
)
def test_arguments_are_checked(arguments, error):
    with pytest.raises(error):
        odes.odeint(**{"func": lambda y, t: y, "y0": 1.0, "t": [0.0, 1.0], **arguments})


@pytest.mark.parametrize(("method", "order"), [("midpoint", 2), ("rk4", 4)])
def test_fixed_steps_have_their_order(method, order):
    errors = []
    for steps in (10, 20):
        times = np.linspace(0.0, 1.0, steps + 1)
        solution = odes.odeint_fixed(
            lambda y, t: y, tf.constant(1.0, tf.float64), times, method=method
        )
        errors.append(abs(run(solution)[-1] - np.e))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize(
    ("dt", "grid"),
    [
        (0.3, [0.1, 0.4, 0.7, 1.0, 1.25, 1.5]),  # 0.1 + 3 * 0.3 is below 1
        ([0.45, 0.5], [0.1, 0.55, 1.0, 1.5]),
        (None, [0.1, 1.0, 1.5]),
    ],
)
def test_each_interval_is_divided_into_equal_fixed_steps(dt, grid):
    def solve(times, dt=None):
        one = tf.constant(1.0, tf.float64)
        return run(odes.odeint_fixed(lambda y, t: -y * tf.cast(t, y.dtype), one, times, dt))

    at = [grid.index(1.0), -1]
    np.testing.assert_allclose(solve([0.1, 1.0, 1.5], dt)[1:], solve(grid)[at], rtol=1e-12)


def test_a_fixed_step_is_not_bound_to_the_times():
    solution = odes.odeint_fixed(lambda y, t: y, tf.constant(1.0, tf.float64), TIMES, dt=0.01)
    np.testing.assert_allclose(run(solution), np.exp(TIMES), rtol=1e-4)
    with pytest.raises(ValueError, match="method"):
        odes.odeint_fixed(lambda y, t: y, 1.0, TIMES, method="euler")
    with pytest.raises(ValueError, match="scalar"):
        odes.odeint_fixed(lambda y, t: y, 1.0, TIMES, dt=[0.1])
