"""`contrib.solvers`: conjugate gradients, least squares and bidiagonalization against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import solvers

random = np.random.RandomState(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [None, "near"])
@pytest.mark.parametrize("conditioned", [False, True])
def test_conjugate_gradients(dtype, start, conditioned):
    a = random.normal(size=[6, 6])
    a = (a @ a.T + 6 * np.eye(6)).astype(dtype)
    solution = random.normal(size=6).astype(dtype)
    rhs = a @ solution
    with tf.Graph().as_default(), tf.Session() as sess:
        inverse = np.linalg.inv(a + 0.1 * np.eye(6, dtype=dtype)).astype(dtype)
        preconditioner = solvers.create_operator(tf.constant(inverse)) if conditioned else None
        x = None if start is None else tf.constant(solution + 0.1)
        operator = solvers.create_operator(tf.constant(a))
        state = sess.run(
            solvers.conjugate_gradient(operator, tf.constant(rhs), preconditioner, x, 1e-5)
        )
        np.testing.assert_allclose(state.x, solution, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(rhs - a @ state.x, state.r, atol=1e-3)
        assert 1 <= state.i <= (3 if conditioned else 7)


@pytest.mark.parametrize("shape", [(5, 5), (9, 4)])
def test_least_squares(shape):
    a, rhs = random.normal(size=shape), random.normal(size=shape[0])
    with tf.Graph().as_default(), tf.Session() as sess:
        operator = solvers.create_operator(tf.constant(a))
        state = sess.run(solvers.cgls(operator, tf.constant(rhs), tol=1e-8, max_iter=40))
    expected = np.linalg.lstsq(a, rhs, rcond=None)[0]
    np.testing.assert_allclose(state.x, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state.r, rhs - a @ state.x, atol=1e-8)


@pytest.mark.parametrize("orthogonalize", [True, False])
@pytest.mark.parametrize("shape", [(5, 4), (4, 4)])
def test_bidiagonalization(shape, orthogonalize):
    a = random.normal(size=shape)
    steps = 3
    with tf.Graph().as_default(), tf.Session() as sess:
        operator = solvers.create_operator(tf.constant(a))
        found = solvers.lanczos_bidiag(operator, steps, orthogonalize)
        products = [
            solvers.bidiag_matmul(found.u, found.alpha, found.beta),
            solvers.bidiag_matmul(found.v, found.alpha, found.beta, adjoint_b=True),
        ]
        (u, v, alpha, beta), (ub, vb) = sess.run([found, products])
    b = np.zeros([steps + 1, steps])
    b[np.arange(steps), np.arange(steps)], b[np.arange(steps) + 1, np.arange(steps)] = alpha, beta
    np.testing.assert_allclose(u.T @ u, np.eye(steps + 1), atol=1e-9)
    np.testing.assert_allclose(v.T @ v, np.eye(steps), atol=1e-9)
    np.testing.assert_allclose(a @ v, u @ b, atol=1e-9)
    np.testing.assert_allclose(ub, u @ b, atol=1e-9)
    np.testing.assert_allclose(vb, v @ b.T[:, :steps], atol=1e-9)
    np.testing.assert_allclose(a.T @ u[:, :steps], vb, atol=1e-9)


def test_operators_and_norms():
    with tf.Graph().as_default(), tf.Session() as sess:
        matrix = tf.placeholder(tf.float64, [None, 2])
        same = solvers.identity_operator(matrix)
        assert same.apply(matrix) is matrix and same.dtype == tf.float64
        assert sess.run(same.shape, {matrix: np.ones([3, 2])}).tolist() == [3, 2]
        unit, length = solvers.l2normalize(tf.constant([[3.0], [4.0]]))
        np.testing.assert_allclose(sess.run(unit), [[0.6], [0.8]])
        assert sess.run(length) == 5.0
        complex_ = tf.constant([1j, 2.0], tf.complex64)
        assert sess.run(solvers.dot(complex_, complex_)) == 5
