"""`import tensorflow_probability`: the values of TensorFlow Probability 0.8 beside TensorFlow 1.15.5."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.shim import probability as tfp
from tests.shim.test_programs import run, write

pytestmark = pytest.mark.usefixtures("graph")

tfd, tfb = tfp.distributions, tfp.bijectors
INF, NAN = math.inf, math.nan


def _assert_values(tensors: list[Any], expected: list[Any]) -> None:
    with tf.Session() as session:
        values = session.run(tensors)
    for got, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


PROGRAM = """
import tensorflow as tf
import tensorflow_probability as tfp
from tensorflow_probability import bijectors as tfb
import tensorflow_probability
tfd = tfp.distributions
flow = tfd.TransformedDistribution(
    distribution=tfd.Normal(0., 1.), bijector=tfb.Chain([tfb.AffineScalar(scale=2.), tfb.Exp()]))
vectors = tfd.Independent(tfd.Normal(tf.zeros([2]), 1.), reinterpreted_batch_ndims=1)
with tf.Session() as sess:
    print(tfp.__version__, [round(float(v), 4) for v in sess.run(flow.log_prob([1., 2.]))])
    print(round(float(sess.run(vectors.log_prob([1., 1.]))), 4))
tensorflow_probability.mcmc
"""


def test_a_program_takes_distributions_and_bijectors_and_is_told_what_is_absent(
    tmp_path: Path,
) -> None:
    write(tmp_path, flow=PROGRAM)
    done = run(tmp_path, "run", "flow.py")
    assert done.stdout.splitlines() == ["0.8.0 [-1.1592, -1.6121]", "-2.8379"]
    assert (
        "line 13: tensorflow_probability.mcmc is not part of dataflow: there are no samplers"
        in done.stderr
    )
    assert done.returncode == 1


@pytest.mark.parametrize(
    "make,at,expected",
    [
        (
            lambda: tfd.LogNormal(0.5, 0.7),
            [0.5, 2.0],
            [[-1.32177, -1.29348], [0.04414, 0.6087], 1.01005, 2.10644, 2.80565, 1.56226],
        ),
        (
            lambda: tfd.TruncatedNormal([0.0, 1.0], [1.0, 2.0], -1.0, 1.5),
            [0.5, 2.0],
            [
                [-0.78845, -INF],
                [0.6879, 1.0],
                [0.0, 1.0],
                [0.14519, 0.34236],
                [0.41569, 0.48934],
                [0.88183, 0.90645],
            ],
        ),
        (
            lambda: tfd.HalfCauchy(1.0, 2.0),
            [0.5, 2.0],
            [[-INF, -1.36787], [0.0, 0.29517], 1.0, NAN, NAN, 2.53102],
        ),
        (
            lambda: tfd.Pareto(3.0, 2.0),
            [1.0, 4.0],
            [[-INF, -2.36712], [0.0, 0.875], 2.0, 3.0, 3.0, 1.0 + 1.0 / 3 + math.log(2.0 / 3)],
        ),
    ],
    ids=["LogNormal", "TruncatedNormal", "HalfCauchy", "Pareto"],
)
def test_what_a_later_distribution_tells(make: Any, at: list[float], expected: list[Any]) -> None:
    d = make()
    tensors = [d.log_prob(at), d.cdf(at), d.mode(), d.mean(), d.variance(), d.entropy()]
    _assert_values(tensors, expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tfd.LogNormal(0.5, 0.7),
        lambda: tfd.TruncatedNormal(0.5, 2.0, -1.0, 1.5),
        lambda: tfd.HalfCauchy(1.0, 2.0),
        lambda: tfd.Pareto(3.0, 2.0),
    ],
    ids=["LogNormal", "TruncatedNormal", "HalfCauchy", "Pareto"],
)
def test_samples_have_the_cdf_and_gradients(make: Any) -> None:
    d = make()
    samples = d.sample(20_000, seed=3)
    assert samples.shape == [20_000]
    assert {"name", "scale"} <= set(d.parameters)
    with tf.Session() as session:
        ranks = np.sort(session.run(d.cdf(samples)))
    assert np.abs(ranks - np.linspace(0, 1, ranks.size)).max() < 0.02, (
        "Kolmogorov and Smirnov's distance"
    )
    scale = tf.constant(2.0)
    (gradient,) = tf.gradients(tfd.Pareto(3.0, scale).sample(5, seed=1), scale)
    assert gradient is not None


def test_a_half_cauchy_without_nan_statistics_refuses_its_mean() -> None:
    with pytest.raises(ValueError, match="`mean` is undefined for HalfCauchy"):
        tfd.HalfCauchy(0.0, 1.0, allow_nan_stats=False).mean()


def test_divergences_and_matrices() -> None:
    same = tfd.kl_divergence(tfd.LogNormal(0.0, 1.0), tfd.LogNormal(1.0, 2.0))
    normals = tfd.kl_divergence(tfd.Normal(0.0, 1.0), tfd.Normal(1.0, 2.0))
    eye = np.eye(2, dtype=np.float32)
    by_scale = tfd.Wishart(5.0, scale=eye).log_prob(eye)
    by_triangle = tfd.Wishart(5.0, scale_tril=eye).log_prob(eye)
    _assert_values([same - normals, by_scale, by_triangle], [0.0, -5.32278, -5.32278])
    with pytest.raises(ValueError, match="scale or scale_tril"):
        tfd.Wishart(5.0)


@pytest.mark.parametrize(
    "name,expected",
    [
        ("Expm1", [[0.64872, 3.48169], [0.18232, 0.64185], [0.5, 1.5], [-0.18232, -0.64185]]),
        ("Reciprocal", [[2.0, 0.66667], [5.0, 1.11111], [1.38629, -0.81093], [3.21888, 0.21072]]),
        (
            "NormalCDF",
            [[0.69146, 0.93319], [-0.84162, 1.28155], [-1.04394, -2.04394], [1.2731, 1.74013]],
        ),
    ],
)
def test_later_bijectors(name: str, expected: list[Any]) -> None:
    b = getattr(tfb, name)()
    tensors = [
        b.forward([0.5, 1.5]),
        b.inverse([0.2, 0.9]),
        b.forward_log_det_jacobian([0.5, 1.5], event_ndims=0),
        b.inverse_log_det_jacobian([0.2, 0.9], event_ndims=0),
    ]
    _assert_values(tensors, expected)


def test_math_and_statistics() -> None:
    x = tf.constant([[1.0, 5.0], [2.0, -3.0]])
    clipped = tfp.math.clip_by_value_preserve_gradient(x, 0.0, 2.0)
    value, gradient = tfp.math.value_and_gradient(lambda t: t**2, x)
    _, (first, second) = tfp.math.value_and_gradient(lambda a, b: a * b, [x, 3.0 * tf.ones([2, 2])])
    tensors = [
        clipped,
        tf.gradients(clipped, x)[0],
        tfp.math.log_add_exp(x, 1.0),
        tfp.math.reduce_logmeanexp(x, axis=0),
        tfp.math.soft_threshold(x, 1.5),
        tfp.stats.variance(x),
        tfp.stats.stddev(x, sample_axis=1),
        tfp.stats.percentile(x, 50.0),
        value,
        gradient,
        first,
        second,
    ]
    expected = [
        [[1.0, 2.0], [2.0, 0.0]],
        np.ones([2, 2]),
        [[1.69315, 5.01815], [2.31326, 1.01815]],
        [1.62011, 4.30719],
        [[0.0, 3.5], [0.5, -1.5]],
        [0.25, 16.0],
        [2.0, 2.5],
        1.0,
        [[1.0, 25.0], [4.0, 9.0]],
        [[2.0, 10.0], [4.0, -6.0]],
        3 * np.ones([2, 2]),
        [[1.0, 5.0], [2.0, -3.0]],
    ]
    _assert_values(tensors, expected)


def test_absent_names_say_what_is_here() -> None:
    with pytest.raises(AttributeError, match="VonMises is not part of dataflow. Here are those of"):
        _ = tfd.VonMises
    with pytest.raises(AttributeError, match=r"bijectors.Cumsum is not part .*Expm1, NormalCDF"):
        _ = tfb.Cumsum
    with pytest.raises(AttributeError, match="'tensorflow_probability' has no attribute 'nothing'"):
        _ = tfp.nothing
    assert "LogNormal" in dir(tfd)
    assert {"Expm1", "Chain"} <= set(dir(tfb))


PROGRAM_OF_PATHS = """
import tensorflow as tf
import tensorflow_probability.python.bijectors as tfb
from tensorflow_probability.python import distributions as tfd
from tensorflow_probability.python.bijectors import bijector
from tensorflow_probability.python.distributions import kullback_leibler, onehot_categorical
import tensorflow_probability.python.distributions.normal as normal
print(issubclass(tfb.Tanh, bijector.Bijector), normal.Normal is tfd.Normal)
print(onehot_categorical.OneHotCategorical.__name__, kullback_leibler.RegisterKL.__name__)
for name in ("distributions.nomral", "mcmc.hmc", "distributions.Normal"):
    try:
        __import__("tensorflow_probability.python." + name)
    except ImportError as error:
        print("absent:", name)
"""


def test_a_program_takes_classes_from_the_files_of_tensorflow_probability(tmp_path: Path) -> None:
    write(tmp_path, paths=PROGRAM_OF_PATHS)
    done = run(tmp_path, "run", "paths.py")
    assert done.stdout.splitlines() == [
        "True True",
        "OneHotCategorical RegisterKL",
        "absent: distributions.nomral",
        "absent: mcmc.hmc",
        "absent: distributions.Normal",
    ], done.stderr
