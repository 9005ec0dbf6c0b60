"""Flows, bijectors of matrices and distributions made of others; values from TensorFlow 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

D = tf.contrib.distributions
B = D.bijectors
X = np.float32([[-1.0, 0.5, 2.0], [0.0, 1.0, 3.0]])
TRIL = np.float32([[1.0, 0.0], [0.5, 2.0]])


pytestmark = pytest.mark.usefixtures("graph")


def run(*fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def near(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("make", "x", "y", "log_det"),
    [
        (
            lambda: B.Gumbel(1.0, 2.0),
            X[0],
            [0.06598804, 0.27692032, 0.5452392],
            -5.9382793,
        ),
        (lambda: B.SinhArcsinh(0.3, 1.2), X[0], [-0.75563395, 1.0809246, 3.990322], None),
        (
            lambda: B.Kumaraswamy(2.0, 3.0),
            [0.1, 0.5, 0.9],
            [0.18577032, 0.45420203, 0.7320117],
            None,
        ),
        (lambda: B.Ordered(), X[0], [-1.0, 0.4054651, 0.4054651], -0.8109302),
        (lambda: B.FillTriangular(), X[0], [[2.0, 0.0], [0.5, -1.0]], 0.0),
        (lambda: B.CholeskyOuterProduct(), TRIL, [[1.0, 0.5], [0.5, 4.25]], 2.0794415),
        (lambda: B.MatrixInverseTriL(), TRIL, [[1.0, 0.0], [-0.25, 0.5]], -2.7725887),
        (lambda: B.TransformDiagonal(B.Exp()), TRIL, [[2.7182817, 0.0], [0.5, 7.389056]], 3.0),
        (lambda: B.ScaleTriL(), X[0], [[2.126938, 0.0], [0.5, 0.31327167]], -1.4401897),
        (
            lambda: B.AffineLinearOperator(
                np.float32([1, 2]), tf.linalg.LinearOperatorLowerTriangular(TRIL)
            ),
            np.float32([1, 2]),
            [2.0, 6.5],
            0.6931472,
        ),
    ],
)
def test_bijectors(make: Any, x: Any, y: Any, log_det: float | None) -> None:
    bijector = make()
    x = np.float32(x)
    ndims = max(1, bijector.forward_min_event_ndims)
    forward = bijector.forward(x)
    ends = max(ndims, bijector.inverse_min_event_ndims)
    there, back, first, second = run(
        forward,
        bijector.inverse(tf.identity(forward)),
        bijector.forward_log_det_jacobian(x, ndims),
        bijector.inverse_log_det_jacobian(tf.identity(forward), ends),
    )
    near(there, y)
    near(back, x)
    np.testing.assert_allclose(first, -second, rtol=1e-3, atol=1e-4)
    if log_det is None:  # against differences
        log_det = np.log(
            np.abs(np.diff(run(bijector.forward(np.stack([x, x + 1e-2]) - 5e-3))[0], axis=0) / 1e-2)
        ).sum()
        np.testing.assert_allclose(first, log_det, rtol=5e-3)
    else:
        near(first, log_det)


def test_shapes_of_events() -> None:
    fill = B.FillTriangular()
    assert fill.forward_event_shape([6]).as_list() == [3, 3]
    assert fill.inverse_event_shape([3, 3]).as_list() == [6]
    reshape = B.Reshape([2, -1], [4])
    assert reshape.forward_event_shape([4]).as_list() == [2, 2]
    values = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    there, back, shape = run(
        reshape.forward(values),
        reshape.inverse(values.reshape(2, 2, 2)),
        B.Exp().forward_event_shape_tensor([3]),
    )
    assert there.tolist() == values.reshape(2, 2, 2).tolist() and shape.tolist() == [3]
    assert back.tolist() == values.tolist()
    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match="Cannot reshape a tensor with 4 elements"),
    ):
        B.Reshape([2, 3], [4]).forward([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="triangular"):
        D.fill_triangular([1.0, 2.0])


def test_masked_autoregressive_flow() -> None:
    template = B.masked_autoregressive_default_template(
        [4, 4], kernel_initializer=tf.constant_initializer(0.3)
    )
    flow = B.MaskedAutoregressiveFlow(template)
    x = tf.constant(X)
    y = flow.forward(x)
    distribution = D.TransformedDistribution(D.MultivariateNormalDiag(tf.zeros([2, 3])), flow)
    back, found, y_value = run(flow.inverse(tf.identity(y)), distribution.log_prob(x), y)
    near(back, X)
    assert y_value[:, 0].tolist() == X[:, 0].tolist()  # nothing stands before the first element
    assert found.shape == (2,)
    assert [v.op.name for v in tf.trainable_variables()][0] == (
        "masked_autoregressive_default_template/dense/kernel"
    )
    jacobian = np.stack([run(tf.gradients(y[:, i], x)[0])[0][0] for i in range(3)])
    assert np.allclose(np.triu(jacobian, 1), 0) and (np.diag(jacobian) > 0).all()
    inclusive, exclusive = run(
        B.masked_dense(
            tf.constant([[1.0, 2.0, 3.0]]), 6, 3, kernel_initializer=tf.ones_initializer()
        ),
        B.masked_dense(
            tf.constant([[1.0, 2.0, 3.0]]), 6, 3, True, kernel_initializer=tf.ones_initializer()
        ),
    )
    assert inclusive.tolist() == [[1, 1, 3, 3, 6, 6]]
    assert exclusive.tolist() == [[0, 0, 1, 1, 3, 3]]


def test_batch_normalization_of_a_flow() -> None:
    bijector = B.BatchNormalization()
    x = tf.constant([[1.0, 2.0, 0.5], [0.3, -1.0, 0.2]])
    normal, log_det, undone = run(
        bijector.inverse(x), bijector.inverse_log_det_jacobian(x, 1), bijector.forward(x)
    )
    near(np.abs(normal), np.broadcast_to(np.abs(normal[0]), (2, 3)))
    variance = np.var([[1.0, 2.0, 0.5], [0.3, -1.0, 0.2]], axis=0)
    near(log_det, -0.5 * np.log(variance + 1e-3).sum())
    near(undone, np.sqrt(1.001) * np.float32([[1.0, 2.0, 0.5], [0.3, -1.0, 0.2]]))
    with pytest.raises(ValueError, match="instance of BatchNormalization"):
        B.BatchNormalization(tf.layers.Dense(2))


def test_wishart() -> None:
    full = np.float32([[2.0, 0.5], [0.5, 3.0]])
    for wishart, root, log_prob, of_entropy in (
        (D.WishartCholesky(4.0, TRIL), TRIL, -6.4971602, 8.3808286),
        (D.WishartFull(4.0, full), np.linalg.cholesky(full), -6.8479712, 8.9251869),
    ):
        value = np.float32([[2.0, 0.5], [0.5, 3.0]])
        mean, found, entropy, samples = run(
            wishart.mean(), wishart.log_prob(value), wishart.entropy(), wishart.sample(4000, seed=1)
        )
        near(mean, 4.0 * root @ root.T)
        near(found, log_prob)
        near(entropy, of_entropy)
        np.testing.assert_allclose(samples.mean(0), mean, atol=1.0)
    with pytest.raises(ValueError, match="cannot be less"):
        D.WishartCholesky(1.0, TRIL)


def test_distributions_made_of_others() -> None:
    pixels = D.QuantizedDistribution(
        D.Logistic(np.float32([0, 100]), np.float32([1, 20])), low=0.0, high=255.0
    )
    whole = np.arange(256, dtype=np.float32)[:, None]
    total, samples, cdf = run(
        tf.reduce_sum(pixels.prob(whole), 0), pixels.sample(50, seed=2), pixels.cdf([-1.0, 300.0])
    )
    near(total, [1.0, 1.0])
    assert (samples == np.round(samples)).all() and samples.min() >= 0
    assert cdf.tolist() == [0, 1]
    skew = D.SinhArcsinh(np.float32([0, 1]), np.float32([1, 2]), [0.1, -0.2], [1.2, 0.8])
    reshaped = D.BatchReshape(D.Normal(np.float32([0, 1, 2, 3]), 1.0), [2, -1])
    low_rank = D.MultivariateNormalDiagPlusLowRank(
        np.float32([1, 2, 3]), np.float32([1, 2, 1]), None, np.float32([[1], [0.5], [2]])
    )
    logs, means, one, covariance = run(
        skew.log_prob([0.3, 1.0]),
        reshaped.mean(),
        reshaped.log_prob(np.float32([[0, 1], [2, 4]])),
        low_rank.covariance(),
    )
    near(logs, [-0.86567952, -1.72528838])
    assert means.tolist() == [[0, 1], [2, 3]] and reshaped.batch_shape.as_list() == [2, 2]
    near(one, [[-0.9189385, -0.9189385], [-0.9189385, -1.4189385]])
    u = np.array([[1.0], [0.5], [2.0]])
    root = np.diag([1.0, 2.0, 1.0]) + u @ u.T
    near(covariance, root @ root.T)
    with pytest.raises(ValueError, match="as many distributions"):
        D.BatchReshape(D.Normal([0.0, 1.0], 1.0), [3])


def test_functions() -> None:
    prior = D.Normal(0.0, 1.0)
    posterior = D.normal_conjugates_known_scale_posterior(prior, 1.0, tf.constant(3.0), 2)
    predictive = D.normal_conjugates_known_scale_predictive(prior, 1.0, tf.constant(3.0), 2)
    sums, sign_of = D.reduce_weighted_logsumexp(
        [1.0, 2.0, 3.0], w=[1.0, -0.5, 1.0], return_sign=True
    )
    got = run(
        posterior.mean(), predictive.mean(), predictive.stddev(), sums, sign_of,
        D.tridiag(diag=[1.0, 2.0, 3.0], below=[4.0, 5.0], above=[6.0, 7.0]),
        D.matrix_diag_transform(TRIL, tf.exp),
        D.fill_triangular([1.0, 2, 3, 4, 5, 6]),
        D.fill_triangular([1.0, 2, 3, 4, 5, 6], upper=True),
        D.fill_triangular_inverse(np.float32([[4, 0, 0], [6, 5, 0], [3, 2, 1]])),
        D.percentile(np.arange(12.0, dtype=np.float32).reshape(3, 4), 50.0, axis=1),
        D.RelaxedBernoulli(0.5, logits=[-1.0, 0.0, 2.0]).cdf([0.1, 0.5, 0.8]),
    )  # fmt: skip
    near(got[:5], [1.0, 1.0, 1.1547005, 2.9501746, 1.0])
    assert got[5].tolist() == [[1, 6, 0], [4, 2, 7], [0, 5, 3]]
    near(got[6], [[2.7182817, 0.0], [0.5, 7.389056]])
    assert got[7].tolist() == [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
    assert got[8].tolist() == [[1, 2, 3], [0, 5, 6], [0, 0, 4]]
    assert got[9].tolist() == [1, 2, 3, 4, 5, 6] and got[10].tolist() == [1, 5, 9]
    near(got[11], [0.47536689, 0.5, 0.21301396])
    stream = D.SeedStream(5, "salt")
    assert str(stream())[:12] == "104723558369" and D.SeedStream(stream, "salt").original_seed == 5
    mean, variance = D.moving_mean_variance(tf.constant([1.0, 2.0]), 0.9)
    logs = tf.get_variable("logs", initializer=[0.0, 1.0])
    update = D.assign_log_moving_mean_exp(logs, tf.constant([1.0, 2.0]), 0.9)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([mean, variance])
        near(session.run([mean, variance]), [[0.19, 0.38], [0.1539, 0.6156]])
        near(session.run(update), np.log(0.9 * np.exp([0, 1]) + 0.1 * np.exp([1, 2])))
    assert [v.op.name for v in tf.global_variables()][:2] == [
        "moving_mean_variance/moving_variance", "moving_mean_variance/moving_mean",
    ]  # fmt: skip
