"""Operators of placeholders without a shape, and right-hand sides that broadcast with them."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

la = tf.linalg
RNG = np.random.default_rng(11)


def _matrix(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape) + 3 * np.eye(shape[-1])


def _hidden(value: np.ndarray) -> tf.Tensor:
    """The value, whose shape the graph does not know."""
    return tf.placeholder_with_default(value, None)


A, B, X = _matrix(2, 2, 2), _matrix(3, 3), RNG.standard_normal((1, 5, 4))
K = RNG.standard_normal((1, 6, 4))
SPECTRUM = RNG.standard_normal((2, 4)) + 1j * RNG.standard_normal((2, 4)) + 3


def _cases() -> dict[str, tuple[object, np.ndarray, np.ndarray]]:
    full = [la.LinearOperatorFullMatrix(_hidden(m), is_square=True) for m in (A, B)]
    zeros = np.zeros((2, 2, 3))
    block = np.concatenate(
        [
            np.concatenate([A, zeros], -1),
            np.concatenate([zeros.swapaxes(1, 2), np.broadcast_to(B, (2, 3, 3))], -1),
        ],
        1,
    )
    kernel = np.fft.ifft(SPECTRUM)
    places = (np.arange(4)[:, None] - np.arange(4)) % 4
    circulant = la.LinearOperatorCirculant(_hidden(SPECTRUM), input_output_dtype=tf.complex128)
    return {
        "block": (la.LinearOperatorBlockDiag(full), block, X),
        "kronecker": (la.LinearOperatorKronecker(full), np.stack([np.kron(a, B) for a in A]), K),
        "circulant": (circulant, kernel[:, places], X[:, :4].astype(complex)),
    }


@pytest.mark.parametrize("name", ["block", "kronecker", "circulant"])
def test_an_operator_of_unknown_shape_is_its_matrix(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator, matrix, x = _cases()[name]
        assert operator.shape.ndims is None
        dense, product, solved, flipped, diagonal = session.run(
            [
                operator.to_dense(),
                operator.matmul(x),
                operator.solve(x),
                operator.matmul(x, adjoint=True),
                operator.diag_part(),
            ]
        )
    np.testing.assert_allclose(dense, matrix, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(product, matrix @ x, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(flipped, matrix.conj().swapaxes(-1, -2) @ x, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(matrix @ solved, np.broadcast_to(x, product.shape), atol=1e-8)
    np.testing.assert_allclose(diagonal, np.diagonal(matrix, axis1=-2, axis2=-1), atol=1e-8)


def test_a_solve_of_unknown_rank_broadcasts() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = la.LinearOperatorFullMatrix(_hidden(A))
        rhs = RNG.standard_normal((2, 3))
        found = session.run(operator.solve(tf.constant(rhs)))
    np.testing.assert_allclose(A @ found, np.broadcast_to(rhs, (2, 2, 3)), atol=1e-9)
