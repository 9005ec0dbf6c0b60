"""Mixtures of Gaussians: the algorithm's graph, and `tf.contrib.factorization.GMM`."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.factorization import GMM, GmmAlgorithm, gmm
from dataflow.contrib.learn.gaussian_mixtures import covariance

CENTERS = np.array([[0.0, 0.0], [6.0, 2.0]], np.float32)


def _points(count=400, seed=0):
    random = np.random.RandomState(seed)
    classes = random.randint(2, size=count)
    spread = np.array([[1.0, 0.3], [0.5, 1.5]])[classes]
    points = CENTERS[classes] + spread * random.randn(count, 2)
    return points.astype(np.float32), classes


def _em(points, means, covs, shares, steps):
    """The same in NumPy, with means, covariances [k, d, d] and shares."""
    floor = 1e-3 * np.eye(2)
    for _ in range(steps):
        density = []
        for mean, cov in zip(means, covs, strict=True):
            cov = cov + floor
            centered = points - mean
            distance = np.sum(centered @ np.linalg.inv(cov) * centered, axis=1)
            density.append(np.exp(-0.5 * distance) / (2 * np.pi * np.sqrt(np.linalg.det(cov))))
        w = shares * np.stack(density, 1)
        w /= w.sum(1, keepdims=True)
        counts = w.sum(0)
        shares = counts / counts.sum()
        means = (w.T @ points) / counts[:, None]
        squares = np.einsum("nk,ni,nj->kij", w, points, points) / counts[:, None, None]
        covs = squares - np.einsum("ki,kj->kij", means, means) + floor
    return means, covs, shares


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_steps_are_those_of_expectation_and_maximization(kind):
    points, _ = _points()
    start = np.array([[1.0, 1.0], [4.0, 1.0]], np.float32)
    cov = np.cov(points.T) + 1e-3 * np.eye(2)
    with tf.Graph().as_default(), tf.Session() as sess:
        made = GmmAlgorithm([points[:100], points[100:]], 2, start, covariance_type=kind)
        sess.run(tf.global_variables_initializer())
        sess.run(made.init_ops())
        assert sess.run(made.is_initialized())
        first = sess.run(made.covariances())
        expected = np.cov(points[:100].T) + 1e-3 * np.eye(2)  # of the first part of the data
        assert np.allclose(first[0], expected if kind == "full" else np.diag(expected), atol=1e-4)
        sess.run(
            made.covariances().assign(np.stack([cov] * 2) if kind == "full" else [np.diag(cov)] * 2)
        )
        sess.run(made.training_ops())
        found = sess.run([made.clusters(), made.covariances(), made.alphas()])
    if kind == "diag":
        cov = np.diag(np.diag(cov))
    means, covs, shares = _em(points.astype(np.float64), start, [cov] * 2, np.full(2, 0.5), 1)
    assert np.allclose(found[0][:, 0], means, atol=1e-3)
    assert np.allclose(found[2], shares, atol=1e-4)
    diagonals = np.array([np.diag(c) for c in covs])
    assert np.allclose(found[1], covs if kind == "full" else diagonals, atol=2e-3)


def test_params_say_what_is_learned():
    points, _ = _points()
    for params in ("w", "m", "c"):
        with tf.Graph().as_default(), tf.Session() as sess:
            made = GmmAlgorithm([points], 2, CENTERS + 1, params)
            sess.run(tf.global_variables_initializer())
            sess.run(made.init_ops())
            parts = [made.alphas(), made.clusters(), made.covariances()]
            before = sess.run(parts)
            sess.run(made.training_ops())
            after = sess.run(parts)
        moved = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
        assert moved == [params == each for each in "wmc"]


def test_the_graph_alone_tells_clusters_apart():
    points, classes = _points()
    with tf.Graph().as_default(), tf.Session() as sess:
        loss, scores, assigned, train, init, initialized = gmm(points, CENTERS, 2, 0)
        sess.run(tf.global_variables_initializer())
        assert not sess.run(initialized)
        sess.run(init)
        for _ in range(20):
            sess.run(train)
        assert np.mean(sess.run(assigned)[0][0] == classes) > 0.97
        each = sess.run(scores)
        assert each.shape == (400, 1)
        assert sess.run(loss) == pytest.approx(np.log(np.exp(each).sum()), rel=1e-4)


def test_the_estimator_finds_the_clusters():
    points, classes = _points()
    estimator = GMM(2, initial_clusters=CENTERS + 1, covariance_type="diag")
    estimator.fit(input_fn=lambda: (tf.constant(points), None), steps=0)
    assert estimator.get_variable_value("global_step") == 1
    estimator.fit(input_fn=lambda: ({"a": points[:, :1], "b": points[:, 1:]}, None), steps=25)
    assert np.allclose(estimator.clusters(), CENTERS, atol=0.3)
    assert estimator.weights().sum() == pytest.approx(1.0, abs=1e-5)
    assert estimator.covariances().shape == (2, 2)
    input_fn = lambda: (tf.constant(points), None)
    found = np.array(list(estimator.predict_assignments(input_fn=input_fn)))
    assert np.mean(found == classes) > 0.97
    found = estimator.evaluate(input_fn=input_fn, steps=1)
    assert found["scores"].shape == (400, 1)
    assert found["loss"] == pytest.approx(estimator.score(input_fn=input_fn, steps=1), abs=1e-3)


def test_examples_are_drawn_as_first_means_and_labels_refused():
    points, _ = _points()
    estimator = GMM(3, random_seed=4)
    estimator.fit(input_fn=lambda: (tf.constant(points), None), steps=3)
    assert not np.isnan(estimator.clusters()).any()
    with pytest.raises(ValueError, match="takes no labels"):
        estimator.fit(input_fn=lambda: (tf.constant(points), tf.constant([1])), steps=1)
    with pytest.raises(ValueError, match="'full' or 'diag'"):
        GmmAlgorithm([points], 2, covariance_type="round")


def test_covariances_are_numpys():
    points, _ = _points()
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(points)
        full, diag = sess.run([covariance(x, False), covariance(x, True)])
    assert np.allclose(full, np.cov(points.T), atol=1e-4)
    assert np.allclose(diag[0], np.diag(full), atol=1e-4)
