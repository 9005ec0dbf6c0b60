"""Matrix ops: mistakes found when the graph is built, unknown shapes, singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from tests.gradient_check import assert_gradients


def test_inner_dimensions_differ() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        w = tf.placeholder(tf.float32, [785, 10], name="w")
        with pytest.raises(ValueError, match=r"(?s)\[\?, 784\] x \[785, 10\].*\[784, 10\]"):
            tf.matmul(x, w)


def test_vectors_are_not_matrices() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="expand_dims"):
        tf.matmul(tf.zeros([2, 3]), tf.zeros([3]))


def test_one_flag_for_each_input() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="transpose_a"):
        tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2]), transpose_a=True, adjoint_a=True)


def test_unknown_ranks_are_stacks() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        product = tf.matmul(a, b)
        assert product.op.type == "BatchMatMulV2"
        assert session.run(product, {a: np.eye(2), b: np.ones((2, 1))}).tolist() == [[1], [1]]


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(0, 3)] * 3),
    batch=st.lists(st.integers(1, 2), max_size=2),
    cut=st.integers(0, 2),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_products_of_stacks(
    sizes: tuple[int, int, int], batch: list[int], cut: int, flags: tuple[bool, bool]
) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(0)
    a = rng.random((*batch, *((k, m) if flags[0] else (m, k))))
    b = rng.random((*batch[cut:], *((n, k) if flags[1] else (k, n))))
    assert_gradients(
        tf,
        lambda _, x, y: tf.matmul(x, y, transpose_a=flags[0], transpose_b=flags[1]),
        [a, b],
    )


def test_a_matrix_that_is_not_positive_definite() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="positive definite"):
            session.run(tf.cholesky([[1.0, 2.0], [2.0, 1.0]]))


def test_singular_matrices() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        singular = tf.zeros([2, 2])
        for bad in (tf.matrix_inverse(singular), tf.matrix_solve(singular, tf.ones([2, 1]))):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
                session.run(bad)


def test_squares_are_needed() -> None:
    with tf.Graph().as_default():
        for function in (tf.cholesky, tf.matrix_inverse, tf.matrix_determinant):
            with pytest.raises(ValueError, match="square"):
                function(tf.zeros([2, 3]))


@settings(max_examples=20, deadline=None)
@given(
    rows=st.integers(1, 4),
    columns=st.integers(1, 4),
    ends=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
    align=st.sampled_from(["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]),
)
def test_bands_come_back(rows: int, columns: int, ends: tuple[int, int], align: str) -> None:
    """Taking a band out and putting it back changes nothing; and it is zero outside."""
    low, high = sorted(ends)
    low, high = max(low, 1 - rows), min(high, columns - 1)
    if low > high:
        return
    x = np.random.default_rng(0).random((2, rows, columns)) + 1
    with tf.Graph().as_default(), tf.Session() as session:
        band = tf.matrix_diag_part(x, k=(low, high), align=align)
        again = tf.matrix_set_diag(tf.constant(x), band, k=(low, high), align=align)
        alone = tf.matrix_set_diag(tf.zeros_like(x), band, k=(low, high), align=align)
        again_value, alone_value = session.run([again, alone])
    np.testing.assert_array_equal(again_value, x)
    inside = np.triu(np.tril(np.ones((rows, columns)), high), low)
    np.testing.assert_array_equal(alone_value, x * inside)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "bij,bjk->bik", "ij,ij->", "i,j->ij", "ijk->kj"])
def test_einsum_gradients(equation: str) -> None:
    sizes = {"i": 2, "j": 3, "k": 2, "b": 2}
    rng = np.random.default_rng(0)
    inputs = [rng.random([sizes[c] for c in p]) for p in equation.split("->")[0].split(",")]
    assert_gradients(tf, lambda _, *x: tf.einsum(equation, *x), inputs)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("ij,jk->iz", "z"),
        ("ij->ij", "arguments"),
        ("ij,jk,kl->il", "arguments"),
        ("i1,jk->i", "char"),
    ],
)
def test_einsum_mistakes(equation: str, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.einsum(equation, tf.zeros([2, 3]), tf.zeros([3, 4]))


def test_tensordot_with_unknown_sizes() -> None:
    a, b = np.random.rand(2, 3, 4), np.random.rand(4, 3, 5)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float64, [None, 3, None]), tf.placeholder(tf.float64, [4, None, 5])
        result = tf.tensordot(x, y, [[1, 2], [1, 0]])
        assert result.shape.as_list() == [None, 5]
        np.testing.assert_allclose(
            session.run(result, {x: a, y: b}), np.tensordot(a, b, [[1, 2], [1, 0]])
        )


def test_eye_of_a_batch_known_when_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        stacked = tf.eye(2, batch_shape=[n])
        assert stacked.shape.as_list() == [None, 2, 2]
        assert session.run(stacked, {n: 3}).tolist() == [[[1, 0], [0, 1]]] * 3


def test_eye_of_a_size_known_when_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        value = session.run(tf.eye(n, batch_shape=[2]), {n: 3})
        np.testing.assert_array_equal(value, np.broadcast_to(np.eye(3), (2, 3, 3)))


def test_half_precision_is_summed_in_single() -> None:
    """4096 ones: half precision alone would stop at 2048."""
    with tf.Graph().as_default(), tf.Session() as session:
        row = tf.ones([1, 4096], tf.float16)
        assert session.run(tf.matmul(row, row, transpose_b=True)).tolist() == [[4096.0]]
        assert session.run(tf.reduce_sum(row)) == 4096


@pytest.mark.parametrize("axes", [1, [[1, 2], [1, 0]], [[-1], [0]], [2, 0]])
def test_tensordot_of_ranks_known_at_run_time(axes: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (tf.placeholder(tf.float64) for _ in range(2))
        given = {a: np.arange(24.0).reshape(2, 3, 4), b: np.arange(12.0).reshape(4, 3)}
        product = tf.tensordot(a, b, axes)
        np.testing.assert_allclose(session.run(product, given), np.tensordot(*given.values(), axes))
        if np.ndim(axes) == 2:  # TensorFlow refuses a fed pair of numbers
            fed = tf.placeholder(tf.int32)
            product = tf.tensordot(a, b, fed)
            got = session.run(product, {**given, fed: axes})
            np.testing.assert_allclose(got, np.tensordot(*given.values(), axes))


def test_least_squares_of_complex_numbers_with_a_regularizer(session: tf.Session) -> None:
    matrix = np.array([[1 + 1j, 2], [3, 4 - 1j], [5j, 6]], np.complex64)
    rhs = np.array([[1.0], [1j], [2.0]], np.complex64)
    adjoint = matrix.conj().T
    expected = np.linalg.solve(adjoint @ matrix + 0.5 * np.eye(2), adjoint @ rhs)
    got = session.run(tf.matrix_solve_ls(matrix, rhs, l2_regularizer=0.5))
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_matrices_of_sizes_known_at_run_time() -> None:
    matrix = np.arange(6.0).reshape(3, 2) + np.eye(3, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (tf.placeholder(tf.float64) for _ in range(2))
        np.testing.assert_allclose(
            session.run(tf.linalg.pinv(a), {a: matrix}), np.linalg.pinv(matrix), atol=1e-12
        )
        assert session.run(tf.linalg.matrix_rank(a), {a: matrix}) == 2
        norm = tf.norm(a, ord=2, axis=[0, 1])
        np.testing.assert_allclose(session.run(norm, {a: matrix}), np.linalg.norm(matrix, 2))
        for fast in (True, False):
            for value in (matrix, matrix.T):
                ones = np.ones([len(value), 1])
                got = session.run(tf.matrix_solve_ls(a, b, fast=fast), {a: value, b: ones})
                np.testing.assert_allclose(got, np.linalg.lstsq(value, ones, rcond=None)[0])


def test_lu_of_a_stack_whose_rows_are_exchanged() -> None:
    rng = np.random.default_rng(3)
    a = rng.standard_normal((3, 40, 40))  # more than one block of columns
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.linalg.lu(a, output_idx_type=tf.int64))
    assert found.p.dtype == np.int64
    lower = np.tril(found.lu, -1) + np.eye(40)
    assert np.abs(lower).max() == 1  # the pivots are the largest of their columns
    np.testing.assert_allclose(
        np.take_along_axis(a, found.p[..., None], 1), lower @ np.triu(found.lu), atol=1e-12
    )


def test_what_lu_is_given_is_checked_when_asked_for() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        perm = tf.placeholder(tf.int32, [2])
        rhs = tf.placeholder(tf.float32)
        x = tf.linalg.lu_solve(tf.eye(2), perm, tf.reshape(rhs, [2, 1]), validate_args=True)
        assert session.run(x, {perm: [1, 0], rhs: [3, 4]}).tolist() == [[4], [3]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="numbers of rows"):
            session.run(x, {perm: [0, 2], rhs: [3, 4]})
        with pytest.raises(ValueError, match="square"):
            tf.linalg.lu_solve(tf.zeros([2, 3]), perm, rhs)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            session.run(tf.linalg.lu(tf.zeros([2, 2])))


def test_square_root_of_a_matrix_without_a_basis_of_eigenvectors() -> None:
    a = np.array([[4.0, 1, 0], [0, 4, 1], [0, 0, 4]])
    with tf.Graph().as_default(), tf.Session() as session:
        root = session.run(tf.linalg.sqrtm(a))
        logarithm = session.run(tf.linalg.logm(a.astype(complex)))
        again = session.run(tf.linalg.expm(logarithm))
    np.testing.assert_allclose(root @ root, a, atol=1e-12)
    np.testing.assert_allclose(again, a, atol=1e-12)


def test_diagonals_are_refused_in_an_unknown_format() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="'compact', got 'rows'"):
            tf.linalg.tridiagonal_solve(tf.zeros([3, 2]), tf.zeros([2]), diagonals_format="rows")
        with pytest.raises(ValueError, match="three tensors, got 2"):
            tf.linalg.tridiagonal_matmul([[1.0], [1.0]], tf.zeros([1, 1]), "sequence")


def test_the_euclidean_norm_of_complex_numbers_is_complex() -> None:
    """As in TensorFlow; other norms are real."""
    x = tf.constant([3 + 4j, 0])
    with tf.Session() as session:
        euclidean, one = session.run([tf.norm(x), tf.norm(x, ord=1)])
    assert euclidean.dtype == np.complex128 and euclidean == 5
    assert one.dtype == np.float64 and one == 5


def test_axes_that_are_fed_must_fit() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        axes = tf.placeholder(tf.int32)
        product = tf.tensordot(a, b, axes)
        value = np.array([[1.0, 2.0], [3.0, 4.0]])
        for given in ([[1], [0]], [[-1], [-2]]):
            got = session.run(product, {a: value, b: value, axes: given})
            np.testing.assert_array_equal(got, value @ value)
        for given in (1, [1], [0, 1], [[1]], [[0], [7]]):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(product, {a: value, b: value, axes: given})


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 0)])
def test_exponentials_of_no_matrices_and_of_empty_ones(shape: tuple[int, ...]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.linalg.expm(tf.zeros(shape))).shape == shape


def test_what_is_about_equal_has_one_shape() -> None:
    from dataflow.python.ops import math_ops

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(math_ops.approximate_equal([1.0, 2.0], [1.0, 3.0])).tolist() == [
            True,
            False,
        ]
        with pytest.raises(ValueError, match="same shape"):
            math_ops.approximate_equal([1.0, 2.0], [[1.0, 2.0]])
