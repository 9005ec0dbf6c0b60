"""Small parts of `tf.contrib`: sparsemax, resampler, nn, stateless, eager, signal, tfprof."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


def test_sparsemax_projects_on_probabilities() -> None:
    rows = np.array([[3.0, 1.0, 0.2], [1.0, 0.8, 0.1], [0.5, 0.5, 0.5]], np.float32)
    found = run_initialized(tf.contrib.sparsemax.sparsemax(rows))
    np.testing.assert_allclose(found, [[1, 0, 0], [0.6, 0.4, 0], [1 / 3] * 3], atol=1e-6)


def test_sparsemax_is_the_nearest_point() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4, 5)).astype(np.float32)
    found = run_initialized(tf.contrib.sparsemax.sparsemax(rows))
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    distances = ((found - rows) ** 2).sum(1)
    for other in rng.dirichlet(np.ones(5), size=2000):
        assert np.all(distances <= ((other - rows) ** 2).sum(1) + 1e-5)


def test_sparsemax_loss_has_the_difference_as_its_gradient() -> None:
    logits = tf.placeholder(tf.float32, [None, 3])
    labels = np.array([[0, 1, 0], [1, 0, 0]], np.float32)
    p = tf.contrib.sparsemax.sparsemax(logits)
    loss = tf.contrib.sparsemax.sparsemax_loss(logits, p, labels)
    feeds = {logits: [[1.0, 0.8, 0.1], [4.0, 1.0, 1.0]]}
    losses, (gradient,), p_value = run_initialized([loss, tf.gradients(loss, [logits]), p], feeds)
    np.testing.assert_allclose(gradient, p_value - labels, atol=1e-6)
    assert losses[0] > 0.1 and losses[1] == pytest.approx(0.0, abs=1e-6)


def test_resampler_reads_between_pixels_and_zeros_outside() -> None:
    image = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    points = np.array([[[2, 1], [0.5, 0], [0, 0.5], [1.25, 1.5], [-0.5, 0], [9, 9]]], np.float32)
    found = run_initialized(tf.contrib.resampler.resampler(image, points))
    assert found.shape == (1, 6, 1)
    np.testing.assert_allclose(found.ravel(), [6, 0.5, 2, 7.25, 0, 0], atol=1e-6)


def test_resampler_has_gradients_by_image_and_points() -> None:
    rng = np.random.default_rng(1)
    image = tf.constant(rng.normal(size=(2, 4, 5, 3)), tf.float32)
    inside = rng.integers(0, 3, size=(2, 2, 3, 2)) + rng.uniform(0.2, 0.8, size=(2, 2, 3, 2))
    points = tf.constant(inside, tf.float32)  # at pixels the slope has a corner
    result = tf.contrib.resampler.resampler(image, points)
    assert result.shape.as_list() == [2, 2, 3, 3]
    with tf.Session() as session:
        for source in (image, points):
            error = tf.test.compute_gradient_error(
                source, source.shape, result, result.shape, session.run(source), delta=1e-2
            )
            assert error < 1e-2
    with pytest.raises(ValueError, match=r"warp must be \[batch"):
        tf.contrib.resampler.resampler(image, tf.zeros([2, 3]))
    with pytest.raises(ValueError, match="data must be"):
        tf.contrib.resampler.resampler(tf.zeros([4, 5]), points)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = tf.random_normal([200_000], seed=3)
    kept = tf.contrib.nn.alpha_dropout(x, 0.8, seed=4)
    before, after = run_initialized([x, kept])
    assert abs(after.mean() - before.mean()) < 0.01 and abs(after.var() - before.var()) < 0.02
    _, counts = np.unique(after, return_counts=True)
    assert counts.max() / after.size == pytest.approx(0.2, abs=0.01)
    assert tf.contrib.nn.alpha_dropout(x, 1.0) is x
    with pytest.raises(ValueError, match="keep_prob"):
        tf.contrib.nn.alpha_dropout(x, 0.0)


def test_scaled_softplus() -> None:
    x = np.array([-1.0, 0.0, 2.0], np.float32)
    softplus = lambda v: np.log1p(np.exp(v))
    plain, clipped = run_initialized(
        [tf.contrib.nn.scaled_softplus(x, 0.5), tf.contrib.nn.scaled_softplus(x, 0.5, clip=1.0)]
    )
    np.testing.assert_allclose(plain, 0.5 * softplus(x / 0.5), rtol=1e-5)
    np.testing.assert_allclose(clipped, np.minimum(plain, 1.0), rtol=1e-6)


def test_stateless_names() -> None:
    a = tf.contrib.stateless.stateless_random_uniform([3], seed=[1, 2])
    b = tf.random.stateless_uniform([3], seed=[1, 2])
    first, second = run_initialized([a, b])
    np.testing.assert_array_equal(first, second)


def test_signal_is_tf_signal() -> None:
    import dataflow.contrib

    assert dataflow.contrib.signal.stft is tf.signal.stft


def test_eager_in_graph_mode() -> None:
    tfe = tf.contrib.eager
    assert not tfe.executing_eagerly() and tfe.in_graph_mode()
    value, (of_x, of_y) = tfe.value_and_gradients_function(lambda x, y: x * x * y)(3.0, 2.0)
    (only,) = tfe.gradients_function(lambda x, y: x * x * y, params=[1])(3.0, 2.0)
    assert run_initialized([value, of_x, of_y, only]) == [18.0, 12.0, 9.0, 9.0]
    assert run_initialized(tfe.defun(lambda x: x + 1)(tf.constant(1))) == 2
    assert run_initialized(tfe.defun(input_signature=None)(lambda x: x + 1)(tf.constant(1))) == 2
    assert isinstance(tfe.Variable(1.0), tf.Variable)
    with pytest.raises(RuntimeError, match="tf.enable_eager_execution"):
        tfe.Iterator(tf.data.Dataset.range(2))
    with pytest.raises(AttributeError, match="contrib.eager.async_clear_error"):
        tfe.async_clear_error


def test_tfprof_counts_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    tf.get_variable("w", [3, 4])
    analyzer = tf.contrib.tfprof.model_analyzer
    options = {**analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS, "viz": False, "dump_to_file": ""}
    found = analyzer.print_model_analysis(tf.get_default_graph(), tfprof_options=options)
    assert found.total_parameters == 12 and "w" in capsys.readouterr().out
