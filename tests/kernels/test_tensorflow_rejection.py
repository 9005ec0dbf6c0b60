"""Numbers that are drawn by rejection under a seed, beside those of TensorFlow 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow.kernels.tensorflow_random import TensorFlowStream
from dataflow.kernels.tensorflow_rejection import gamma, poisson

tf: Any = dataflow
pytestmark = pytest.mark.usefixtures("as_tensorflow")


DRAWN: dict[str, Any] = {
    "gamma": lambda: tf.random_gamma([3], [0.5, 1.0, 2.0, 7.0], seed=3),
    "gamma-double": lambda: tf.random_gamma([4], 0.3, beta=2.0, dtype=tf.float64, seed=4),
    "poisson": lambda: tf.random_poisson([0.5, 4.0, 30.0], [4], seed=3),
    "poisson-double": lambda: tf.random_poisson(12.0, [6], seed=3, dtype=tf.float64),
    "beta": lambda: tf.distributions.Beta(2.0, 3.0).sample(4, seed=3),
    "dirichlet": lambda: tf.distributions.Dirichlet([1.0, 2.0, 3.0]).sample(2, seed=3),
    "student": lambda: tf.distributions.StudentT(3.0, 0.0, 1.0).sample(4, seed=3),
    "counts": lambda: tf.distributions.DirichletMultinomial(5.0, [1.0, 2.0, 3.0]).sample(3, seed=3),
    "failures": lambda: tf.contrib.distributions.NegativeBinomial(3.0, probs=0.4).sample(4, seed=3),
}
NUMBERS = {
    "gamma": [
        0.00218825,
        2.44981,
        0.297204,
        5.64931,
        0.0351883,
        3.41612,
        0.755568,
        7.58887,
        0.0222735,
        1.02265,
        2.34771,
        8.2807,
        1.28284e-06,
        3.53677,
        3.95489,
        5.52274,
        0.09203,
        0.0372873,
        1.94267,
        7.90204,
        0.229219,
        0.799546,
        0.707029,
        1.87196,
    ],
    "gamma-double": [
        0.00955453,
        7.22196e-05,
        0.00699373,
        0.103639,
        1.00595,
        0.0125834,
        0.0551856,
        0.385009,
    ],
    "poisson": [
        1.0,
        5.0,
        32.0,
        1.0,
        3.0,
        26.0,
        0.0,
        2.0,
        24.0,
        1.0,
        5.0,
        24.0,
        0.0,
        3.0,
        30.0,
        1.0,
        3.0,
        32.0,
        0.0,
        7.0,
        23.0,
        1.0,
        7.0,
        31.0,
    ],
    "poisson-double": [16.0, 15.0, 8.0, 18.0, 22.0, 13.0, 12.0, 12.0, 13.0, 10.0, 8.0, 8.0],
    "beta": [0.50874, 0.516864, 0.800996, 0.305734, 0.768406, 0.508331, 0.178723, 0.264372],
    "dirichlet": [
        0.166939,
        0.264656,
        0.568405,
        0.20393,
        0.482803,
        0.313268,
        0.113599,
        0.370783,
        0.515618,
        0.112563,
        0.213936,
        0.673501,
    ],
    "student": [1.33231, -1.69561, 0.0652732, 0.299811, -0.161419, 0.91043, -0.750815, 1.91929],
    "counts": [
        0.0,
        5.0,
        0.0,
        2.0,
        3.0,
        0.0,
        1.0,
        1.0,
        3.0,
        0.0,
        0.0,
        5.0,
        1.0,
        0.0,
        4.0,
        1.0,
        2.0,
        2.0,
    ],
    "failures": [3.0, 0.0, 2.0, 4.0, 0.0, 1.0, 0.0, 0.0],
}


@pytest.mark.parametrize("name", DRAWN)
def test_two_runs_draw_what_tensorflow_draws(name: str) -> None:
    with tf.Graph().as_default():
        numbers = DRAWN[name]()
        with tf.Session() as session:
            drawn = [session.run(numbers).reshape(-1) for _ in range(2)]
    np.testing.assert_allclose(np.concatenate(drawn), NUMBERS[name], rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.4, 1.0, 3.0])
def test_gamma_numbers_have_their_moments(alpha: float) -> None:
    found = gamma(TensorFlowStream(1, 2), 20_000, [alpha])
    assert found.shape == (20_000, 1)
    np.testing.assert_allclose([found.mean(), found.var()], alpha, rtol=0.06)


@pytest.mark.parametrize("rate", [0.7, 9.0, 50.0])
def test_poisson_numbers_have_their_moments(rate: float) -> None:
    found = poisson(TensorFlowStream(1, 2), 20_000, [rate])
    np.testing.assert_allclose([found.mean(), found.var()], rate, rtol=0.06)


def test_parameters_that_mean_nothing_end() -> None:
    strange = [0.0, -1.0, np.nan, np.inf]
    np.testing.assert_array_equal(gamma(TensorFlowStream(1, 2), 1, strange), [[0, *[np.nan] * 3]])
    found = poisson(TensorFlowStream(1, 2), 1, strange)
    np.testing.assert_array_equal(found, [[0, 0, np.nan, np.inf]])
