"""Linear operators do what their matrices do, and keep the promises of their hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

la = tf.linalg
RNG = np.random.default_rng(5)


def _array(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def _spd(size: int) -> Any:
    square = _array(size, size)
    return square @ square.T + np.eye(size)


FULL, SPD, U, V, D = _array(2, 3, 3), _spd(3), _array(3, 2), _array(3, 2), np.exp(_array(3))
COLUMN, ROW = _array(4), _array(4)
HINTS = {"is_self_adjoint": True, "is_positive_definite": True}


def _block(*matrices: Any) -> Any:
    size = sum(len(m) for m in matrices)
    out, start = np.zeros((size, size)), 0
    for m in matrices:
        out[start : start + len(m), start : start + len(m)] = m
        start += len(m)
    return out


def _circulant(column: Any) -> Any:
    return np.stack([np.roll(column, k) for k in range(len(column))], 1)


#: Name -> the operator, and the matrix that it stands for.
OPERATORS: dict[str, tuple[Callable[[], Any], Any]] = {
    "full": (lambda: la.LinearOperatorFullMatrix(FULL), FULL),
    "spd": (lambda: la.LinearOperatorFullMatrix(SPD, **HINTS), SPD),
    "tril": (lambda: la.LinearOperatorLowerTriangular(FULL), np.tril(FULL)),
    "diag": (lambda: la.LinearOperatorDiag(D, is_positive_definite=True), np.diag(D)),
    "scaled": (lambda: la.LinearOperatorScaledIdentity(3, [2.0, -3.0]), None),
    "composition": (
        lambda: la.LinearOperatorComposition(
            [la.LinearOperatorFullMatrix(FULL), la.LinearOperatorDiag(D)]
        ),
        FULL @ np.diag(D),
    ),
    "block": (
        lambda: la.LinearOperatorBlockDiag(
            [la.LinearOperatorFullMatrix(SPD, **HINTS), la.LinearOperatorDiag(D[:2])]
        ),
        _block(SPD, np.diag(D[:2])),
    ),
    "kronecker": (
        lambda: la.LinearOperatorKronecker(
            [la.LinearOperatorFullMatrix(SPD, **HINTS), la.LinearOperatorDiag(D[:2])]
        ),
        np.kron(SPD, np.diag(D[:2])),
    ),
    "low_rank": (
        lambda: la.LinearOperatorLowRankUpdate(
            la.LinearOperatorDiag(D, is_positive_definite=True), U, D[:2], V
        ),
        np.diag(D) + U @ np.diag(D[:2]) @ V.T,
    ),
    "circulant": (
        lambda: la.LinearOperatorCirculant(np.fft.fft(COLUMN), tf.float64),
        _circulant(COLUMN),
    ),
    "toeplitz": (
        lambda: la.LinearOperatorToeplitz(COLUMN, ROW),
        np.array([[COLUMN[i - j] if i >= j else ROW[j - i] for j in range(4)] for i in range(4)]),
    ),
    "householder": (
        lambda: la.LinearOperatorHouseholder(D),
        np.eye(3) - 2 * np.outer(D, D) / (D @ D),
    ),
    "adjoint": (
        lambda: la.LinearOperatorFullMatrix(FULL).adjoint(),
        np.swapaxes(FULL, -1, -2),
    ),
    "inverse": (lambda: la.LinearOperatorFullMatrix(FULL).inverse(), np.linalg.inv(FULL)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_does_what_its_matrix_does(name: str) -> None:
    make, matrix = OPERATORS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        operator = make()
        if matrix is None:
            matrix = np.array([2.0, -3.0])[:, None, None] * np.eye(3)
            operator = la.LinearOperatorScaledIdentity(3, np.array([2.0, -3.0]))
        size = matrix.shape[-1]
        x = _array(2, size, 2)
        flipped = np.swapaxes(matrix, -1, -2)
        expected = {
            "dense": matrix,
            "product": matrix @ x,
            "adjoint": flipped @ x,
            "solution": np.linalg.solve(matrix, np.broadcast_to(x, (2, size, 2))),
            "adjoint solution": np.linalg.solve(flipped, np.broadcast_to(x, (2, size, 2))),
            "vector": matrix @ x[0, :, 0],
            "determinant": np.linalg.det(matrix),
            "logarithm": np.linalg.slogdet(matrix)[1],
            "diagonal": np.diagonal(matrix, axis1=-2, axis2=-1),
            "trace": np.trace(matrix, axis1=-2, axis2=-1),
            "sum": matrix + 1,
            "inverse": np.linalg.inv(matrix),
            "of adjoint": flipped,
            "condition": np.linalg.cond(matrix),
        }
        found = {
            "dense": operator.to_dense(),
            "product": operator.matmul(x),
            "adjoint": operator.matmul(x, adjoint=True),
            "solution": operator.solve(x),
            "adjoint solution": operator.solve(x, adjoint=True),
            "vector": operator.matvec(x[0, :, 0]),
            "determinant": operator.determinant(),
            "logarithm": operator.log_abs_determinant(),
            "diagonal": operator.diag_part(),
            "trace": operator.trace(),
            "sum": operator.add_to_tensor(np.ones(matrix.shape)),
            "inverse": operator.inverse().to_dense(),
            "of adjoint": operator.H.to_dense(),
            "condition": operator.cond(),
        }
        assert operator.shape == list(matrix.shape)
        assert session.run(operator.shape_tensor()).tolist() == list(matrix.shape)
        for key, value in session.run(found).items():
            np.testing.assert_allclose(value, expected[key], rtol=1e-6, atol=1e-8, err_msg=key)


@pytest.mark.parametrize("name", ["spd", "diag", "block", "kronecker"])
def test_cholesky_is_an_operator(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = OPERATORS[name][0]()
        if name in ("block", "kronecker"):
            spd, diag = operator.operators
            diag = la.LinearOperatorDiag(diag.diag, is_positive_definite=True)
            operator = type(operator)([spd, diag])
        lower = session.run(operator.cholesky().to_dense())
    np.testing.assert_allclose(lower @ lower.T, OPERATORS[name][1], rtol=1e-9, atol=1e-9)


def test_hints_follow_and_contradictions_are_refused() -> None:
    with tf.Graph().as_default():
        spd = la.LinearOperatorFullMatrix(SPD, **HINTS)
        assert spd.is_non_singular and spd.is_square and spd.adjoint() is spd
        assert la.LinearOperatorComposition([spd, spd]).is_non_singular is True
        assert la.LinearOperatorComposition([spd, spd]).is_self_adjoint is None
        assert la.LinearOperatorKronecker([spd, spd]).is_positive_definite is True
        full = la.LinearOperatorFullMatrix(FULL)
        assert full.is_non_singular is None and full.is_square is True
        assert full.matmul(full.adjoint()).is_self_adjoint is True
        for wrong in (
            lambda: la.LinearOperatorDiag(D, is_self_adjoint=False),
            lambda: la.LinearOperatorFullMatrix(SPD, is_non_singular=True, is_square=False),
            lambda: la.LinearOperatorIdentity(3, is_non_singular=False),
            lambda: la.LinearOperatorKronecker([spd], is_non_singular=False),
            lambda: full.cholesky(),
            lambda: la.LinearOperatorFullMatrix(D),
        ):
            with pytest.raises(ValueError):
                wrong()


def test_what_does_not_fit_is_refused_when_the_graph_is_built() -> None:
    with tf.Graph().as_default():
        wide = la.LinearOperatorFullMatrix(_array(2, 3))
        with pytest.raises(ValueError, match=r"incompatible.*needs 3 rows"):
            wide.matmul(_array(2, 1))
        with pytest.raises(TypeError, match="float64, got float32"):
            wide.matmul(tf.zeros([3, 1]))
        with pytest.raises(ValueError, match="incompatible"):
            wide.matmul(wide)
        for row, col in ((1.0, 1.0), ([1.0], 1.0), (1.0, [1.0])):
            with pytest.raises(ValueError, match="must have at least 1 dimension"):
                la.LinearOperatorToeplitz(row, col)
        for refused in (wide.determinant, lambda: wide.solve(_array(2, 1)), wide.eigvals):
            with pytest.raises(NotImplementedError):
                refused()
        with pytest.raises(ValueError, match="non square"):
            wide.inverse()
        with pytest.raises(TypeError, match="the same dtype"):
            la.LinearOperatorBlockDiag([wide, la.LinearOperatorIdentity(2)])


def test_promises_are_checked_when_asked_for() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        full = la.LinearOperatorFullMatrix([[1.0, 2.0], [2.0, 1.0]])
        session.run([full.assert_non_singular(), full.assert_self_adjoint()])
        singular = la.LinearOperatorFullMatrix(np.ones((2, 2)))
        for check in (  # constants are looked at when the graph is built
            full.assert_positive_definite,
            singular.assert_non_singular,
            la.LinearOperatorLowerTriangular([[0.0]]).assert_non_singular,
            la.LinearOperatorDiag([1.0, -1.0]).assert_positive_definite,
            la.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]).assert_self_adjoint,
            la.LinearOperatorCirculant([1.0, 0.0]).assert_non_singular,
        ):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(check())


def test_sizes_known_at_run_time() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float64, [None, None])
        unknown = la.LinearOperatorFullMatrix(given)
        operators = [unknown, la.LinearOperatorDiag(D)]
        block, kron = la.LinearOperatorBlockDiag(operators), la.LinearOperatorKronecker(operators)
        assert block.shape.as_list() == [None, None] and unknown.is_square is None
        size = tf.placeholder(tf.int32, [])
        identity = la.LinearOperatorIdentity(size, dtype=tf.float64)
        found = session.run(
            [block.to_dense(), kron.matvec(tf.ones([6], tf.float64)), identity.to_dense()],
            {given: [[1, 2], [3, 4]], size: 2},
        )
        matrix = np.array([[1.0, 2], [3, 4]])
        np.testing.assert_allclose(found[0], _block(matrix, np.diag(D)))
        np.testing.assert_allclose(found[1], np.kron(matrix, np.diag(D)) @ np.ones(6))
        np.testing.assert_allclose(found[2], np.eye(2))


def test_training_through_an_operator() -> None:
    """The likelihood of a Gaussian process, as such programs write it."""
    with tf.Graph().as_default(), tf.Session() as session:
        noise = tf.get_variable("noise", initializer=np.float64(0.0))
        covariance = la.LinearOperatorLowRankUpdate(
            la.LinearOperatorScaledIdentity(3, tf.exp(noise), is_positive_definite=True), U
        )
        y = tf.constant(D)
        loss = tf.reduce_sum(y * covariance.solvevec(y)) + covariance.log_abs_determinant()
        slope = tf.gradients(loss, noise)[0]
        session.run(tf.global_variables_initializer())
        step = 1e-6
        here, up, down = (
            session.run([loss, slope], {noise: value}) for value in (0.0, step, -step)
        )
    assert here[1] == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-6)


@pytest.mark.parametrize(
    ("rows", "batch", "error", "text"),
    [
        ([2], None, ValueError, "num_rows must be a 0-D"),
        (2.0, None, TypeError, "num_rows must be integer"),
        (-2, None, ValueError, "num_rows must be non-negative"),
        (2, 2, ValueError, "batch_shape must be a 1-D"),
        (2, [2.0], TypeError, "batch_shape must be integer"),
        (2, [-2], ValueError, "batch_shape must be non-negative"),
    ],
)
def test_sizes_that_cannot_be(rows: Any, batch: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        tf.linalg.LinearOperatorIdentity(rows, batch_shape=batch)


@pytest.mark.parametrize(
    ("rows", "batch", "text"),
    [([2], [1], "0-D"), (-2, [1], "non-negative"), (2, 2, "1-D"), (2, [-2], "non-negative")],
)
def test_sizes_are_checked_when_they_are_known(rows: Any, batch: Any, text: str) -> None:
    given = [tf.placeholder(tf.int32) for _ in range(2)]
    operator = tf.linalg.LinearOperatorIdentity(
        given[0], batch_shape=given[1], assert_proper_shapes=True
    )
    dense = operator.to_dense()
    with tf.Session() as session:
        values = session.run(dense, dict(zip(given, (2, [3]), strict=True)))
        np.testing.assert_array_equal(values, np.stack([np.eye(2)] * 3))
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(dense, dict(zip(given, (rows, batch), strict=True)))


def test_an_identity_of_a_batch_that_is_fed_broadcasts() -> None:
    x, rows, batch = (tf.placeholder(t) for t in (tf.float32, tf.int32, tf.int32))
    product = tf.linalg.LinearOperatorIdentity(rows, batch_shape=batch).matmul(x)
    with tf.Session() as session:
        value = np.random.RandomState(0).rand(1, 2, 3, 4).astype(np.float32)
        got = session.run(product, {x: value, rows: 3, batch: [2, 1]})
    np.testing.assert_array_equal(got, np.concatenate([value, value]))


def test_an_identity_is_never_anything_else() -> None:
    for hint in ("is_self_adjoint", "is_non_singular", "is_positive_definite", "is_square"):
        with pytest.raises(ValueError, match="is always"):
            tf.linalg.LinearOperatorIdentity(2, **{hint: None})


def test_a_scaled_identity_says_what_it_is_not() -> None:
    make = tf.linalg.LinearOperatorScaledIdentity
    with tf.Session() as session:
        for assertion, text in (
            (make(2, [1.0, 0.0]).assert_non_singular, "was singular"),
            (make(2, -1.0).assert_positive_definite, "not positive definite"),
            (make(2, [1.0 + 1j]).assert_self_adjoint, "not self-adjoint"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run(assertion())


def test_hints_of_an_inverse_name_what_they_contradict() -> None:
    whole = tf.linalg.LinearOperatorFullMatrix
    matrix = [[1.0, 0.0], [1.0, 1.0]]
    found = whole(matrix, is_non_singular=True, name="mine").inverse()
    assert found.name == "mine_inv"
    inversion = type(found)
    with pytest.raises(ValueError, match="is_positive_definite=True .* positive-definite"):
        inversion(whole(matrix, is_positive_definite=False), is_positive_definite=True)
    with pytest.raises(ValueError, match="`is_non_singular`"):
        inversion(whole(matrix, is_non_singular=False))
    with pytest.raises(ValueError, match="`is_square`"):
        inversion(whole(matrix), is_square=False)
