"""`tf.contrib.distributions` against scipy.stats: densities, distribution functions, moments, samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import dataflow as tf

ds = tf.contrib.distributions
UNIT = np.array([0.05, 0.3, 0.7, 0.95], np.float32)
REAL = np.array([-30.0, -1.5, 0.2, 3.0], np.float32)
ABOVE = np.array([0.1, 0.7, 1.5, 6.0], np.float32)
COUNTS = np.array([0.0, 1.0, 3.0, 7.0], np.float32)

CASES: dict[str, tuple[Any, Any, np.ndarray]] = {
    "Logistic": (lambda: ds.Logistic(0.5, 2.0), stats.logistic(0.5, 2.0), REAL),
    "Gumbel": (lambda: ds.Gumbel(0.5, 2.0), stats.gumbel_r(0.5, 2.0), REAL[1:]),
    "Cauchy": (lambda: ds.Cauchy(0.5, 2.0), stats.cauchy(0.5, 2.0), REAL),
    "HalfNormal": (lambda: ds.HalfNormal(2.0), stats.halfnorm(scale=2.0), ABOVE),
    "Laplace": (lambda: ds.Laplace(0.5, 2.0), stats.laplace(0.5, 2.0), REAL),
    "Normal": (lambda: ds.Normal(0.5, 2.0), stats.norm(0.5, 2.0), REAL),
    "NormalWithSoftplusScale": (
        lambda: ds.NormalWithSoftplusScale(0.5, 2.0),
        stats.norm(0.5, np.log1p(np.exp(2.0))),
        REAL,
    ),
    "Chi2": (lambda: ds.Chi2(3.0), stats.chi2(3.0), ABOVE),
    "ExponentialWithSoftplusRate": (
        lambda: ds.ExponentialWithSoftplusRate(2.0),
        stats.expon(scale=1 / np.log1p(np.exp(2.0))),
        ABOVE,
    ),
    "InverseGamma": (lambda: ds.InverseGamma(4.0, 2.0), stats.invgamma(4.0, scale=2.0), ABOVE),
    "Beta": (lambda: ds.Beta(2.0, 3.0), stats.beta(2.0, 3.0), UNIT),
    "Poisson": (lambda: ds.Poisson(2.5), stats.poisson(2.5), COUNTS),
    "Geometric": (lambda: ds.Geometric(probs=0.3), stats.geom(0.3, loc=-1), COUNTS),
    "NegativeBinomial": (
        lambda: ds.NegativeBinomial(3.0, probs=0.4),
        stats.nbinom(3.0, 0.6),
        COUNTS,
    ),
    "Binomial": (lambda: ds.Binomial(7.0, probs=0.4), stats.binom(7, 0.4), COUNTS),
    "StudentT": (lambda: ds.StudentT(5.0, 0.5, 2.0), stats.t(5.0, 0.5, 2.0), REAL),
}


def log_density(peer: Any, x: np.ndarray) -> Any:
    return peer.logpmf(x) if hasattr(peer, "pmf") and not hasattr(peer, "pdf") else peer.logpdf(x)


def run(*tensors: Any) -> Any:
    with tf.Session() as sess:
        values = sess.run(list(tensors))
    return values if len(tensors) > 1 else values[0]


@pytest.mark.parametrize("name", CASES)
def test_densities_and_moments(name: str) -> None:
    make, peer, x = CASES[name]
    with tf.Graph().as_default():
        dist = make()
        log_prob, cdf = run(dist.log_prob(x), dist.cdf(x))
        discrete = not hasattr(peer.dist, "pdf")
        expected = peer.logpmf(x) if discrete else peer.logpdf(x)
        np.testing.assert_allclose(log_prob, expected, rtol=2e-4, atol=1e-5)
        np.testing.assert_allclose(cdf, peer.cdf(x), rtol=2e-4, atol=1e-6)
        if name != "Cauchy":
            mean, variance = run(dist.mean(), dist.variance())
            np.testing.assert_allclose(mean, peer.mean(), rtol=1e-4)
            np.testing.assert_allclose(variance, peer.var(), rtol=1e-4)
        if name not in ("Poisson", "NegativeBinomial", "Binomial"):
            np.testing.assert_allclose(run(dist.entropy()), peer.entropy(), rtol=1e-3)


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("Binomial", "Cauchy")])
def test_samples_have_the_moments(name: str) -> None:
    make, peer, _ = CASES[name]
    with tf.Graph().as_default():
        dist = make()
        drawn = run(dist.sample(40000, seed=4))
        assert drawn.shape == (40000,)
        assert abs(drawn.mean() - peer.mean()) < 0.04 * peer.std()
        assert abs(drawn.std() / peer.std() - 1) < 0.1


def test_functions_of_the_normal_distribution() -> None:
    x = np.array([-50.0, -11.0, -10.0, -3.0, 0.0, 4.0, 6.0, 20.0], np.float32)
    with tf.Graph().as_default():
        t = tf.constant(x)
        y = ds.log_ndtr(t)
        logs, gradient, inverse, back = run(
            y,
            tf.gradients(y, t)[0],
            ds.ndtri([0.1, 0.975]),
            ds.softplus_inverse([0.001, 1.0, 40.0]),
        )
    np.testing.assert_allclose(logs, special.log_ndtr(x.astype(float)), rtol=2e-5, atol=1e-7)
    slopes = np.exp(stats.norm.logpdf(x.astype(float)) - special.log_ndtr(x.astype(float)))
    np.testing.assert_allclose(gradient, slopes, rtol=1e-3, atol=1e-30)
    np.testing.assert_allclose(inverse, stats.norm.ppf([0.1, 0.975]), rtol=1e-5)
    np.testing.assert_allclose(back, np.log(np.expm1([0.001, 1.0, 40.0])), rtol=1e-5)


def _percentile(x, q, method, **kwargs):
    """NumPy's; of two nearest ones the one that TensorFlow 1.15 takes, which counts from the largest."""
    if method == "nearest":
        return -np.percentile(-x, 100 - q, method=method, **kwargs)
    return np.percentile(x, q, method=method, **kwargs)


@pytest.mark.parametrize("interpolation", ["nearest", "lower", "higher"])
def test_percentiles(interpolation: str) -> None:
    x = np.random.RandomState(0).randn(5, 4, 7).astype(np.float32)
    with tf.Graph().as_default():
        for q in (0, 13, 50, 77.5, 100):
            whole, columns, kept = run(
                ds.percentile(x, q, interpolation=interpolation),
                ds.percentile(x, q, axis=[0, 2], interpolation=interpolation),
                ds.percentile(x, q, axis=1, interpolation=interpolation, keep_dims=True),
            )
            np.testing.assert_array_equal(whole, _percentile(x, q, method=interpolation))
            expected = _percentile(x, q, axis=(0, 2), method=interpolation)
            np.testing.assert_array_equal(columns, expected)
            expected = _percentile(x, q, axis=1, method=interpolation, keepdims=True)
            np.testing.assert_array_equal(kept, expected)
        with pytest.raises(ValueError, match="interpolation must be"):
            ds.percentile(x, 50, interpolation="linear")


def test_multivariate_normals() -> None:
    loc = np.array([0.5, -1.0, 2.0], np.float32)
    tril = np.array([[1.0, 0, 0], [0.5, 2.0, 0], [-0.3, 0.7, 0.5]], np.float32)
    covariance = tril @ tril.T
    x = np.random.RandomState(1).randn(4, 3).astype(np.float32)
    peer = stats.multivariate_normal(loc, covariance)
    diagonal = stats.multivariate_normal(loc, np.diag([1.0, 4.0, 0.25]))
    with tf.Graph().as_default():
        full = ds.MultivariateNormalFullCovariance(loc, covariance)
        lower = ds.MultivariateNormalTriL(loc, tril)
        diag = ds.MultivariateNormalDiag(loc, [1.0, 2.0, 0.5])
        for dist, p in ((full, peer), (lower, peer), (diag, diagonal)):
            log_prob, entropy, mean, cov, variance, drawn = run(
                dist.log_prob(x),
                dist.entropy(),
                dist.mean(),
                dist.covariance(),
                dist.variance(),
                dist.sample(40000, seed=2),
            )
            np.testing.assert_allclose(log_prob, p.logpdf(x), rtol=1e-4)
            np.testing.assert_allclose(entropy, p.entropy(), rtol=1e-5)
            np.testing.assert_allclose(mean, loc)
            np.testing.assert_allclose(cov, p.cov, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(variance, np.diag(p.cov), rtol=1e-5)
            np.testing.assert_allclose(np.cov(drawn.T), p.cov, atol=0.12)
        difference = loc - 0.0
        kl = 0.5 * (
            np.trace(covariance) + difference @ difference - 3 - np.linalg.slogdet(covariance)[1]
        )
        standard = ds.MultivariateNormalDiag(tf.zeros(3))
        got = run(ds.kl_divergence(lower, standard), ds.kl_divergence(full, full))
        np.testing.assert_allclose(got, [kl, 0.0], rtol=1e-5, atol=1e-5)
        # Batches of means against one matrix, and of matrices against one mean.
        many = ds.MultivariateNormalTriL(tf.zeros([5, 3]), tril)
        assert many.batch_shape.as_list() == [5] and many.event_shape.as_list() == [3]
        assert many.sample([2]).shape.as_list() == [2, 5, 3]
        stacked = ds.MultivariateNormalTriL(loc, np.stack([tril, 2 * tril]))
        expected = np.stack(
            [p.logpdf(x) for p in (peer, stats.multivariate_normal(loc, 4 * covariance))], 1
        )
        np.testing.assert_allclose(run(stacked.log_prob(x[:, None])), expected, rtol=1e-4)
        kls = run(ds.kl_divergence(stacked, ds.MultivariateNormalTriL(tf.zeros([5, 1, 3]), tril)))
        assert kls.shape == (5, 2)
        # The means' batch does not count in what the scale alone says, as in TensorFlow.
        means = tf.zeros([5, 3])
        for dist in (many, ds.MultivariateNormalDiag(means), ds.VectorLaplaceDiag(means)):
            assert (
                dist.covariance().shape.as_list()
                == [3, 3]
                == run(tf.shape(dist.covariance())).tolist()
            )
            assert dist.stddev().shape.as_list() == dist.variance().shape.as_list() == [3]
            assert dist.mean().shape.as_list() == [5, 3] and dist.batch_shape.as_list() == [5]
        with pytest.raises(ValueError, match="size of a vector"):
            ds.MultivariateNormalDiag()
        with pytest.raises(ValueError):
            ds.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0, 3.0])


def test_mixtures() -> None:
    x = np.array([-2.0, 0.1, 3.0], np.float32)
    weights, means, scales = [0.3, 0.7], [-1.0, 2.0], [0.5, 1.5]
    density = sum(
        w * stats.norm(m, s).pdf(x) for w, m, s in zip(weights, means, scales, strict=True)
    )
    mean = np.dot(weights, means)
    variance = np.dot(weights, np.square(scales) + np.square(means)) - mean**2
    with tf.Graph().as_default():
        cat = ds.Categorical(probs=weights)
        same = ds.MixtureSameFamily(cat, ds.Normal(means, scales))
        mixed = ds.Mixture(cat, [ds.Normal(m, s) for m, s in zip(means, scales, strict=True)])
        for dist in (same, mixed):
            got = run(dist.log_prob(x), dist.mean(), dist.variance(), dist.sample(40000, seed=5))
            np.testing.assert_allclose(got[0], np.log(density), rtol=1e-4)
            np.testing.assert_allclose(got[1:3], [mean, variance], rtol=1e-5)
            assert abs(got[3].mean() - mean) < 0.05 and abs(got[3].var() - variance) < 0.15
        # A mixture density network: a mixture of vectors for each row of a batch.
        logits = tf.placeholder(tf.float32, [None, 2])
        vectors = ds.MultivariateNormalDiag(tf.zeros([4, 2, 3]), tf.ones([4, 2, 3]))
        rows = ds.MixtureSameFamily(ds.Categorical(logits=logits), vectors)
        assert rows.batch_shape.as_list() == [4] and rows.event_shape.as_list() == [3]
        with tf.Session() as sess:
            values = sess.run(rows.log_prob(tf.zeros([4, 3])), {logits: np.eye(4, 2)})
            drawn = sess.run(rows.sample(6), {logits: np.eye(4, 2)})
        np.testing.assert_allclose(values, np.full(4, -1.5 * np.log(2 * np.pi)), rtol=1e-5)
        assert drawn.shape == (6, 4, 3)
        with pytest.raises(ValueError, match="components"):
            ds.MixtureSameFamily(ds.Categorical(probs=[0.2, 0.3, 0.5]), ds.Normal(means, scales))


def test_a_total_for_all_classes(graph: tf.Graph) -> None:
    """A last axis of 1 in ``total_count`` stands for the classes: moments broadcast, as in TensorFlow."""
    concentration = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 1.0]], np.float32)
    column, row = (
        tf.distributions.DirichletMultinomial(n, concentration)
        for n in ([[2.0], [5.0]], [2.0, 5.0])
    )
    assert column.total_count.shape.as_list() == [2, 1]
    assert column.batch_shape.as_list() == [2]
    counts = [[1.0, 1.0, 0.0], [3.0, 1.0, 1.0]]
    for one, other in zip(
        run(column.mean(), column.variance(), column.covariance(), column.log_prob(counts)),
        run(row.mean(), row.variance(), row.covariance(), row.log_prob(counts)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(run(column.sample(9, seed=1)).sum(-1), [[2.0, 5.0]] * 9)


def test_limits_of_a_quantized_distribution(graph: tf.Graph) -> None:
    low = tf.placeholder(tf.float32)
    held = ds.QuantizedDistribution(ds.Normal(0.0, 1.0), low, 10.0, validate_args=True)
    drawn = held.sample(5, seed=1)
    with tf.Session() as sess:
        assert (sess.run(drawn, {low: 1.0}) >= 1.0).all()
        with pytest.raises(tf.errors.InvalidArgumentError, match="`low` has non-integer"):
            sess.run(drawn, {low: 1.5})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be less than `high`"):
            sess.run(drawn, {low: 10.0})


def test_shapes_of_parameters_are_those_of_the_constructor() -> None:
    for kind in (ds.Chi2, ds.Exponential, ds.Gamma, ds.InverseGamma, ds.StudentT, ds.Uniform):
        with tf.Graph().as_default():
            shapes = kind.param_shapes([3])
            made = kind(
                **{name: tf.ones(shape) + i for i, (name, shape) in enumerate(shapes.items())}
            )
            assert made.batch_shape.as_list() == [3]


def test_a_sample_shape_of_unknown_rank(graph: tf.Graph) -> None:
    n = tf.placeholder(tf.int32)
    drawn = tf.distributions.Bernoulli(probs=[0.2, 0.6]).sample(n, seed=42)
    with tf.Session() as sess:
        assert sess.run(drawn, {n: 7}).shape == (7, 2)
        assert sess.run(drawn, {n: [2, 3]}).shape == (2, 3, 2)
        assert sess.run(drawn, {n: []}).shape == (2,)


def test_a_mixture_draws_each_component_for_its_own_samples_alone(graph: tf.Graph) -> None:
    """Those of a component that was not chosen never take part, be they infinite."""
    cat = ds.Categorical(probs=[[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])
    means = [[[1.0, 2.0]] * 2, [[-3.0, 4.0]] * 2, [[float("inf")] * 2] * 2]
    mixed = ds.Mixture(cat, [ds.MultivariateNormalDiag(m, [[1e-3] * 2] * 2) for m in means])
    n = tf.placeholder_with_default(2000, [])
    drawn = mixed.sample(n, seed=3)
    assert drawn.shape.as_list() == [None, 2, 2]
    values, classes = run(drawn, mixed.cat.sample(2000, seed=3))
    np.testing.assert_allclose(values, np.array(means)[classes, 0], atol=0.01)
    assert mixed.sample([5, 1]).shape.as_list() == [5, 1, 2, 2]
    assert run(mixed.sample(0)).shape == (0, 2, 2)
    assert run(mixed.sample()).shape == (2, 2)


def test_a_mixture_of_batches_that_differ_in_a_run(graph: tf.Graph) -> None:
    fed = [tf.placeholder(tf.float32), tf.placeholder(tf.float32)]
    cat = ds.Categorical(probs=[[0.5, 0.5], [0.5, 0.5]])
    for checks in (True, False):
        mixed = ds.Mixture(cat, [ds.Normal(f, f) for f in fed], validate_args=checks)
        drawn = mixed.sample(20, seed=1)
        with tf.Session() as sess:
            assert sess.run(drawn, {fed[0]: [2.0, 3.0], fed[1]: [1.0, 4.0]}).shape == (20, 2)
            for wrong in ([1.0], 1.0):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    sess.run(drawn, {fed[0]: [2.0, 3.0], fed[1]: wrong})


def test_the_covariance_of_a_mixture_of_vectors(graph: tf.Graph) -> None:
    """Against the one of a large sample, and refused for numbers, which have none."""
    means = np.array([[0.0, 1.0], [3.0, -2.0], [1.0, 1.0]], np.float32)
    weights = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], np.float32)
    cat = ds.Categorical(probs=weights)
    parts = ds.MultivariateNormalDiag(np.stack([means, means]), np.full([2, 3, 2], 0.5, "f"))
    mixture = ds.MixtureSameFamily(cat, parts)
    exact, variance, drawn = run(
        mixture.covariance(), mixture.variance(), mixture.sample(20000, seed=4)
    )
    assert exact.shape == (2, 2, 2)
    np.testing.assert_allclose(np.diagonal(exact, axis1=1, axis2=2), variance, rtol=1e-5)
    for row in range(2):
        np.testing.assert_allclose(exact[row], np.cov(drawn[:, row].T), atol=0.1)
    numbers = ds.MixtureSameFamily(ds.Categorical(probs=weights[0]), ds.Normal(means[:, 0], 1.0))
    with pytest.raises(NotImplementedError, match="use variance"):
        numbers.covariance()


def test_a_relaxed_class_takes_its_temperature_as_a_column_too() -> None:
    logits = np.log(np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], np.float32))
    temperatures = np.array([0.5, 1.0, 2.0], np.float32)
    shares = np.array([[0.3, 0.7], [0.6, 0.4], [0.8, 0.2]], np.float32)
    with tf.Graph().as_default():
        flat = ds.RelaxedOneHotCategorical(temperatures, logits=logits)
        fed = tf.placeholder_with_default(temperatures[:, None], [None, 1])  # as Keras gives it
        column = ds.RelaxedOneHotCategorical(fed, logits=logits)
        pairs = run(
            flat.sample(seed=3), column.sample(seed=3), flat.prob(shares), column.prob(shares)
        )
    np.testing.assert_array_equal(pairs[0], pairs[1])
    np.testing.assert_allclose(pairs[2], pairs[3], rtol=1e-6)


def test_one_hot_and_relaxed_classes() -> None:
    probs = np.array([0.2, 0.5, 0.3], np.float32)
    with tf.Graph().as_default():
        hot = ds.OneHotCategorical(probs=probs, dtype=tf.float32)
        logits = tf.constant(np.log(probs))
        relaxed = ds.RelaxedOneHotCategorical(0.5, logits=logits)
        drawn = relaxed.sample(20000, seed=1)
        gradient = tf.gradients(drawn[:, 0], logits)[0]
        bernoulli = ds.RelaxedBernoulli(0.3, probs=0.8)
        log_prob, ones, shares, slope, chances = run(
            hot.log_prob(np.eye(3, dtype=np.float32)),
            hot.sample(20000, seed=1),
            drawn,
            gradient,
            bernoulli.sample(20000, seed=2),
        )
        np.testing.assert_allclose(log_prob, np.log(probs), rtol=1e-5)
        np.testing.assert_allclose(ones.mean(0), probs, atol=0.02)
        np.testing.assert_allclose(shares.sum(1), 1.0, rtol=1e-4)
        # The largest share is the class with the classes' own probabilities (the Gumbel trick).
        np.testing.assert_allclose(np.bincount(shares.argmax(1)) / 20000, probs, atol=0.02)
        assert slope.shape == (3,) and slope[0] > 0 > slope[1]
        assert abs((chances > 0.5).mean() - 0.8) < 0.02
        # The density integrates to 1 over the simplex of two shares.
        grid = np.linspace(0.0005, 0.9995, 1000, dtype=np.float32)
        pair = ds.RelaxedOneHotCategorical(0.7, probs=[0.4, 0.6])
        single = ds.RelaxedBernoulli(0.7, probs=0.4)
        density, same = run(pair.prob(np.stack([grid, 1 - grid], 1)), single.prob(grid))
        np.testing.assert_allclose(density.mean(), 1.0, atol=0.02)
        np.testing.assert_allclose(density, same, rtol=2e-3)


def test_independent_and_deterministic() -> None:
    with tf.Graph().as_default():
        inner = ds.Normal(tf.zeros([4, 3, 2]), tf.ones([3, 2]))
        outer = ds.Independent(inner, 2)
        assert outer.batch_shape.as_list() == [4] and outer.event_shape.as_list() == [3, 2]
        x = np.random.RandomState(0).randn(4, 3, 2).astype(np.float32)
        log_prob, entropy, kl = run(
            outer.log_prob(x),
            outer.entropy(),
            ds.kl_divergence(outer, ds.Independent(ds.Normal(tf.ones([4, 3, 2]), 1.0), 2)),
        )
        np.testing.assert_allclose(log_prob, stats.norm.logpdf(x).sum((1, 2)), rtol=1e-5)
        np.testing.assert_allclose(entropy, [6 * stats.norm.entropy()] * 4, rtol=1e-5)
        np.testing.assert_allclose(kl, [3.0] * 4, rtol=1e-5)
        with pytest.raises(ValueError, match="cannot exceed"):
            ds.Independent(inner, 4)
        point, vector = ds.Deterministic([1.0, 2.0]), ds.VectorDeterministic([1.0, 2.0])
        np.testing.assert_array_equal(run(point.prob([1.0, 1.0])), [1.0, 0.0])
        assert run(vector.prob([1.0, 1.0])) == 0.0 and run(vector.prob([1.0, 2.0])) == 1.0
        np.testing.assert_array_equal(run(vector.sample(2)), [[1, 2], [1, 2]])


def test_transformed_distributions() -> None:
    b = ds.bijectors
    x = np.array([0.3, 1.0, 4.0], np.float32)
    with tf.Graph().as_default():
        log_normal = ds.TransformedDistribution(ds.Normal(0.5, 0.8), b.Exp())
        np.testing.assert_allclose(
            run(log_normal.log_prob(x)), stats.lognorm(0.8, scale=np.exp(0.5)).logpdf(x), rtol=1e-5
        )
        np.testing.assert_allclose(
            run(log_normal.cdf(x)), stats.lognorm(0.8, scale=np.exp(0.5)).cdf(x), rtol=1e-5
        )
        tril = np.array([[1.0, 0.0], [0.5, 2.0]], np.float32)
        made = ds.TransformedDistribution(
            ds.Normal(0.0, 1.0), b.Affine(shift=[1.0, -1.0], scale_tril=tril), event_shape=[2]
        )
        assert made.event_shape.as_list() == [2]
        peer = stats.multivariate_normal([1.0, -1.0], tril @ tril.T)
        points = np.array([[0.0, 0.0], [2.0, 1.0]], np.float32)
        got = run(made.log_prob(points), made.mean(), made.entropy(), made.sample(20000, seed=3))
        np.testing.assert_allclose(got[0], peer.logpdf(points), rtol=1e-5)
        np.testing.assert_allclose(got[1], [1.0, -1.0])
        np.testing.assert_allclose(got[2], peer.entropy(), rtol=1e-5)
        np.testing.assert_allclose(np.cov(got[3].T), tril @ tril.T, atol=0.15)
        flow = ds.TransformedDistribution(
            ds.MultivariateNormalDiag(tf.zeros(3)),
            b.Chain([b.RealNVP(1, b.real_nvp_default_template([8])), b.Permute([2, 0, 1])]),
        )
        drawn = flow.sample(5, seed=1)
        log_prob = flow.log_prob(drawn)
        loss = -tf.reduce_mean(flow.log_prob(tf.ones([4, 3])))
        gradients = tf.gradients(loss, tf.trainable_variables())
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            samples, known = sess.run([drawn, log_prob])
            given = sess.run(flow.log_prob(samples))
            assert len(gradients) == 4 and all(np.isfinite(g).all() for g in sess.run(gradients))
        np.testing.assert_allclose(known, given, rtol=1e-4)


ONE_NUMBER = ["Exp", "Sigmoid", "Softplus", "Softsign", "Tanh", "Square", "PowerTransform"]


@pytest.mark.parametrize("name", [*ONE_NUMBER, "AffineScalar", "Invert", "Chain", "Inline"])
def test_a_bijector_inverts_and_knows_its_slope(name: str) -> None:
    b = ds.bijectors
    special_cases = {
        "PowerTransform": lambda: b.PowerTransform(0.4),
        "AffineScalar": lambda: b.AffineScalar(2.0, -3.0),
        "Invert": lambda: b.Invert(b.Exp()),
        "Chain": lambda: b.Chain([b.AffineScalar(scale=3.0), b.Sigmoid()]),
        "Inline": lambda: b.Inline(
            tf.exp,
            tf.log,
            inverse_log_det_jacobian_fn=lambda y: -tf.log(y),
            forward_min_event_ndims=0,
        ),
    }
    x = np.array([[0.3, 0.8, 1.9]], np.float32)
    with tf.Graph().as_default():
        bijector = special_cases.get(name, getattr(b, name))()
        t = tf.constant(x)
        y = bijector.forward(t)
        slope = tf.log(tf.abs(tf.gradients(y, t)[0]))
        with tf.Session() as sess:
            values, expected, forward = sess.run(
                [y, slope, bijector.forward_log_det_jacobian(t, 0) + tf.zeros_like(t)]
            )
            back = sess.run(bijector.inverse(tf.constant(values)))
            inverse = sess.run(bijector.inverse_log_det_jacobian(tf.constant(values), 1))
        np.testing.assert_allclose(back, x, rtol=1e-4)
        np.testing.assert_allclose(forward, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(inverse, -expected.sum(-1), rtol=1e-3, atol=1e-5)
        assert bijector.inverse(y) is t
        with pytest.raises(ValueError, match="must be larger than"):
            b.Affine().forward_log_det_jacobian(t, 0)


def test_the_softmax_bijector_makes_shares() -> None:
    with tf.Graph().as_default():
        bijector = ds.bijectors.SoftmaxCentered()
        x = tf.constant([[0.5, -0.2]])
        y = bijector.forward(x)
        shares, back = run(y, bijector.inverse(tf.identity(y)))
        np.testing.assert_allclose(shares.sum(), 1.0, rtol=1e-6)
        np.testing.assert_allclose(back, [[0.5, -0.2]], rtol=1e-5)
        assert bijector.forward_event_shape([2]).as_list() == [3]


def test_a_policy_learns_from_its_log_probabilities() -> None:
    """What actor-critic programs do: actions drawn, a ratio of probabilities, an entropy bonus."""
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        mean = tf.get_variable("mean", [1, 1], initializer=tf.zeros_initializer())
        old = tf.get_variable("old", [1, 1], initializer=tf.zeros_initializer(), trainable=False)
        policy, before = tf.distributions.Normal(mean, 0.5), tf.distributions.Normal(old, 0.5)
        action = tf.placeholder(tf.float32, [None, 1])
        advantage = tf.placeholder(tf.float32, [None, 1])
        ratio = policy.prob(action) / before.prob(action)
        clipped = tf.clip_by_value(ratio, 0.8, 1.2)
        objective = tf.reduce_mean(tf.minimum(ratio * advantage, clipped * advantage))
        loss = -objective - 0.01 * tf.reduce_mean(policy.entropy())
        train = tf.train.AdamOptimizer(0.05).minimize(loss)
        divergence = tf.reduce_mean(tf.distributions.kl_divergence(before, policy))
        drawn = tf.squeeze(before.sample(64, seed=3), axis=2)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(40):
                a = sess.run(drawn)
                feed = {action: a, advantage: 1.0 - (a - 2.0) ** 2}
                for _ in range(3):
                    sess.run(train, feed)
                assert sess.run(divergence) >= 0
                sess.run(old.assign(mean))
            assert 1.4 < sess.run(mean)[0, 0] < 2.6


def test_divergences_that_are_not_numbers_say_whose() -> None:
    class Odd(ds.Normal):  # type: ignore[misc, name-defined]
        """A distribution whose divergence is NaN."""

    ds.RegisterKL(Odd, Odd)(lambda a, b, name=None: tf.constant([np.nan]))
    odd = Odd(0.0, 1.0)
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"KL calculation between .*Odd|Normal"
        ):
            session.run(ds.kl_divergence(odd, odd, allow_nan_stats=False))


def test_the_far_tail_of_waiting_times() -> None:
    with tf.Session() as session:
        tail = ds.Exponential(2.0).log_survival_function([1.0, 10.0, 100.0])
        np.testing.assert_allclose(session.run(tail), [-2.0, -20.0, -200.0], rtol=1e-6)


@pytest.mark.parametrize("x", [[-1.0, 1.5, 0.5], [0.0, 0.1, 0.9], [0.1, 0.2, 0.8]])
def test_shares_are_validated(x: list[float]) -> None:
    shares = ds.Dirichlet([1.0, 2.0, 3.0], validate_args=True)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="samples must|must sum to"):
            session.run(shares.prob(x))


class _HalfKnown(ds.bijectors.Bijector):
    """Doubles; ``gone`` methods raise."""

    def __init__(self, gone: str = "", constant: bool = False) -> None:
        super().__init__(forward_min_event_ndims=0, is_constant_jacobian=constant)
        self.gone = gone

    def _forward(self, x: Any) -> Any:
        assert self.gone != "forward"
        return 2 * x

    def _inverse(self, y: Any) -> Any:
        assert self.gone != "inverse"
        return y / 2

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        assert self.gone != "forward"
        return tf.log(2.0)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        assert self.gone != "inverse"
        return -tf.log(2.0)


def test_what_a_bijector_computed_is_kept_for_both_ends() -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.5)
        bijector = _HalfKnown("inverse")
        y = bijector.forward(x)
        log_det = bijector.forward_log_det_jacobian(x, 0)
        assert bijector.inverse(y) is x
        assert bijector.forward(x) is y
        back = bijector.inverse_log_det_jacobian(y, 0)
        bijector = _HalfKnown("forward")
        x2 = bijector.inverse(y)
        bijector.inverse_log_det_jacobian(y, 0)
        bijector.forward_log_det_jacobian(x2, 0)
        assert bijector.forward(x2) is y
        with tf.Session() as session:
            assert np.allclose(session.run([log_det, back]), [np.log(2), -np.log(2)])


def test_a_constant_slope_counts_once_for_each_part_of_an_event() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = np.ones([1, 2, 3], np.float32)
        bijector = _HalfKnown(constant=True)
        for ndims, parts in ((0, 1), (1, 3), (2, 6)):
            got = session.run(bijector.forward_log_det_jacobian(x, ndims))
            np.testing.assert_allclose(got, parts * np.log(2), rtol=1e-6)
            assert got.shape == ()


def test_axes_of_events_that_are_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
        ndims = tf.placeholder(tf.int32)
        log_det = ds.bijectors.Exp(validate_args=True).forward_log_det_jacobian(x, ndims)
        for given, axes in ((0, ()), (1, -1), (2, (-2, -1))):
            got = session.run(log_det, {ndims: given})
            np.testing.assert_allclose(got, x.sum(axes), rtol=1e-6)
        with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
            session.run(log_det, {ndims: [1, 2]})
        for wrong, text in ((1.5, "integer"), ((1, 2), "scalar")):
            with pytest.raises(ValueError, match=f"Expected {text}"):
                ds.bijectors.Exp().forward_log_det_jacobian(x, wrong)


def test_a_bijector_of_ones_own_by_its_class() -> None:
    class _BareBones(ds.bijectors.Bijector):
        def __init__(self) -> None:
            super().__init__(forward_min_event_ndims=0)

    with tf.Graph().as_default():
        bijector = _BareBones()
        assert (bijector.name, bijector.graph_parents) == ("bare_bones", [])
        for method in ("forward", "inverse"):
            with pytest.raises(NotImplementedError, match=f"{method} not implemented"):
                getattr(bijector, method)(0.0)
            with pytest.raises(NotImplementedError, match=f"{method}_log_det_jacobian not impl"):
                getattr(bijector, f"{method}_log_det_jacobian")(0.0, 0)


def test_a_diagonal_that_is_a_number() -> None:
    for kind in (ds.MultivariateNormalDiag, ds.VectorLaplaceDiag, ds.VectorExponentialDiag):
        with pytest.raises(ValueError, match="at least 1 dimension"):
            kind(-1.0, -5.0)
