"""``tf.contrib.constrained_optimization``; the numbers are those of TensorFlow 1.15.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

C = tf.contrib.constrained_optimization

pytestmark = pytest.mark.usefixtures("graph")


class Problem(C.ConstrainedMinimizationProblem):  # type: ignore[misc, name-defined]
    def __init__(self, w: Any, with_proxies: bool = False, before: Any = None) -> None:
        self.w, self.with_proxies, self.before = w, with_proxies, before

    @property
    def objective(self) -> Any:
        return tf.reduce_sum(tf.square(self.w - [2.0, 1.0]))

    @property
    def constraints(self) -> Any:
        return tf.stack([self.w[0] + self.w[1] - 1.0, -self.w[0], self.w[1] - 0.1])

    @property
    def proxy_constraints(self) -> Any:
        return 2 * self.constraints if self.with_proxies else None

    @property
    def pre_train_ops(self) -> Any:
        return self.before


def trained(
    kind: Callable[..., Any],
    steps: int = 6,
    two: bool = False,
    settings: dict[str, Any] | None = None,
    **how: Any,
) -> tuple[Any, Any]:
    """The variables after some steps, and the state of the game."""
    w, step = tf.Variable([0.5, 0.5]), tf.train.get_or_create_global_step()
    other = tf.train.GradientDescentOptimizer(1.0) if two else None
    made = kind(tf.train.GradientDescentOptimizer(0.3), other, **(settings or {}))
    train = made.minimize(Problem(w, two), global_step=step, **how)
    (state,) = (v for v in tf.global_variables() if "regret_optimizer_state" in v.name)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            sess.run(train)
        assert sess.run(step) == steps
        return sess.run([w, state])  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("how", "variables", "multipliers"),
    [
        ({}, [1.29108, -0.09165], [1.8477, 0.0, 0.8911]),
        ({"two": True}, [1.1385, -0.32435], [0.0, 0.1538, 0.0]),
        ({"settings": {"maximum_multiplier_radius": 0.4}}, [1.80522, 0.80215], [0.4, 0.0, 0.0]),
        ({"unconstrained_steps": 3}, [1.58259, 0.39747], [1.6156, 0.0, 0.721]),
    ],
)
def test_lagrange_multipliers(how: dict[str, Any], variables: Any, multipliers: Any) -> None:
    found = trained(C.AdditiveExternalRegretOptimizer, **how)
    np.testing.assert_allclose(found[0], variables, atol=2e-5)
    np.testing.assert_allclose(found[1], multipliers, atol=2e-4)


def test_matrices_that_are_moved_along() -> None:
    w, state = trained(C.AdditiveSwapRegretOptimizer)
    np.testing.assert_allclose(w, [1.71173, 0.70404], atol=2e-5)
    np.testing.assert_allclose(state[:, 0], [0.1315, 0.8238, 0.0, 0.0447], atol=2e-4)
    np.testing.assert_allclose(state.sum(0), np.ones(4), rtol=1e-5)


def test_matrices_that_are_moved_apart_and_two_optimizers() -> None:
    w, state = trained(C.AdditiveSwapRegretOptimizer, two=True)
    np.testing.assert_allclose(w, [0.7386, -0.3051], atol=2e-4)
    np.testing.assert_allclose(state[0], [0.0, 0.1118, 1.0, 0.7438], atol=2e-3)


def test_matrices_by_their_logarithms() -> None:
    w, state = trained(C.MultiplicativeSwapRegretOptimizer)
    np.testing.assert_allclose(w, [1.99318, 0.99688], atol=2e-5)
    np.testing.assert_allclose(state[:, 0], [-0.0045, -5.6994, -8.294, -6.9296], atol=2e-4)


def test_matrices_by_their_logarithms_with_bounds() -> None:
    bounds = {"minimum_multiplier_radius": 0.01, "initial_multiplier_radius": 0.5}
    w, state = trained(C.MultiplicativeSwapRegretOptimizer, 12, True, bounds)
    np.testing.assert_allclose(w, [0.8791, -0.4602], atol=2e-4)
    np.testing.assert_allclose(state[0], [-1.4307, -0.5697, -0.4768, -0.568], atol=2e-3)


def test_what_runs_before_a_step() -> None:
    seen = tf.Variable(0)
    problem = Problem(tf.Variable([0.5, 0.5]), before=[tf.assign_add(seen, 1)])
    made = C.AdditiveExternalRegretOptimizer(tf.train.GradientDescentOptimizer(0.1))
    both = [made.minimize(problem), made.minimize_unconstrained(problem)]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for train in both:
            sess.run(train)
        assert sess.run(seen) == 2


def test_what_is_refused() -> None:
    problem = Problem(tf.Variable([0.5, 0.5]))
    assert problem.num_constraints == 3
    made = C.AdditiveExternalRegretOptimizer(tf.train.GradientDescentOptimizer(0.1))
    with pytest.raises(ValueError, match="global_step"):
        made.minimize(problem, unconstrained_steps=3)
    with pytest.raises(ValueError, match="radius"):
        C.AdditiveExternalRegretOptimizer(made.optimizer, None, -1.0)
    for radii in ((1.0,), (0.0,), (0.1, 0.01)):
        with pytest.raises(ValueError, match="radius"):
            C.MultiplicativeSwapRegretOptimizer(made.optimizer, None, *radii)

    class Unknown(Problem):
        constraints = property(lambda self: tf.placeholder(tf.float32, [None]))

    class Other(Problem):
        proxy_constraints = property(lambda self: tf.zeros([2]))

    class Doubles(Problem):
        constraints = property(lambda self: tf.zeros([3], tf.float64))

    for kind, text in ((Unknown, "fully-known"), (Other, "same shape"), (Doubles, "same dtype")):
        with pytest.raises(ValueError, match=text):
            made.minimize(kind(problem.w))


def test_candidates() -> None:
    objectives, limits = np.array([1.0, 2.0, 0.5]), np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    assert C.find_best_candidate_index(objectives, limits) == 1
    assert C.find_best_candidate_index(objectives, limits, rank_objectives=True) == 0
    assert C.find_best_candidate_index(np.ones(2), np.zeros((1, 2))) == 1  # the last of equals
    best = C.find_best_candidate_distribution(objectives, np.array([[1.0, -1, 2], [0, 0, 1]]))
    np.testing.assert_allclose(best, [0.5, 0.5, 0.0], atol=1e-6)
    nearest = C.find_best_candidate_distribution(
        objectives, np.array([[1.0, 1.5, 2.0], [3.0, 0.2, 1.0]]), 1e-6
    )
    np.testing.assert_allclose(nearest, [0.3939, 0.6061, 0.0], atol=1e-4)
    for function in (C.find_best_candidate_distribution, C.find_best_candidate_index):
        with pytest.raises(ValueError, match="shape"):
            function(np.ones(3), np.ones((2, 4)))
    with pytest.raises(ValueError, match="epsilon"):
        C.find_best_candidate_distribution(np.ones(2), np.ones((1, 2)), -1.0)
