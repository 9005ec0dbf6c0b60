"""Samples of matrix products, diagonals, decompositions and systems of equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(14)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


A, B = _array(2, 3), _array(3, 4)
SQUARE = (_array(3, 3) + 3 * np.eye(3)).astype(np.float32)
STACK = (_array(2, 3, 3) + 3 * np.eye(3)).astype(np.float32)
TALL, WIDE = _array(4, 3), _array(3, 4)
V, W = _array(2, 3), _array(2, 3)
INTEGERS = np.arange(6, dtype=np.int32).reshape(2, 3)
SPD = (SQUARE @ SQUARE.T).astype(np.float32)


def _symmetric(tf: Any, x: Any) -> Any:
    """Positive definite, so that moving x keeps it symmetric."""
    return tf.matmul(x, x, transpose_b=True) + tf.eye(3, dtype=x.dtype)


PRODUCTS = [
    Sample("MatMul", lambda tf, a, b: tf.matmul(a, b), (A, B), np.matmul),
    Sample("MatMul", lambda tf, a, b: a @ b, (A, B), np.matmul, note="operator"),
    Sample(
        "MatMul",
        lambda tf, a, b: tf.matmul(a, b, transpose_a=True),
        (A.T.copy(), B),
        A @ B,
        note="transpose_a",
    ),
    Sample(
        "MatMul",
        lambda tf, a, b: tf.matmul(a, b, transpose_b=True),
        (A, B.T.copy()),
        A @ B,
        note="transpose_b",
    ),
    Sample(
        "MatMul",
        lambda tf, a, b: tf.matmul(a, b, True, True),
        (A.T.copy(), B.T.copy()),
        A @ B,
        note="both",
    ),
    Sample(
        "MatMul",
        lambda tf, a: tf.matmul(a, a, transpose_b=True),
        (INTEGERS,),
        lambda a: a @ a.T,
        note="integers",
    ),
    Sample(
        "MatMul",
        lambda tf, a, b: tf.matmul(a, b),
        (np.zeros((0, 3), np.float32), B),
        np.matmul,
        note="empty",
    ),
    Sample(
        "SparseMatMul",
        lambda tf, a, b: tf.matmul(a, b, a_is_sparse=True),
        (A, B),
        np.matmul,
        gradient=(),
        note="hint",
    ),
    Sample("SparseMatMul", lambda tf, a, b: tf.sparse_matmul(a, b), (A, B), np.matmul, gradient=()),
    Sample("BatchMatMulV2", lambda tf, a, b: tf.matmul(a, b), (STACK, _array(2, 3, 2)), np.matmul),
    Sample(
        "BatchMatMulV2",
        lambda tf, a, b: tf.matmul(a, b),
        (STACK, _array(3, 2)),
        np.matmul,
        note="broadcast",
    ),
    Sample(
        "BatchMatMulV2",
        lambda tf, a, b: tf.matmul(a, b, adjoint_a=True, transpose_b=True),
        (STACK, _array(2, 2, 3)),
        lambda a, b: np.swapaxes(a, 1, 2) @ np.swapaxes(b, 1, 2),
        note="adjoint",
    ),
    Sample(
        "BatchMatMul",
        lambda tf, x, y: raw(tf, "BatchMatMul", x=x, y=y, adj_x=True),
        (STACK, STACK),
        lambda x, y: np.swapaxes(x, 1, 2) @ y,
    ),
    Sample(
        "Squeeze",
        lambda tf, a, b: tf.linalg.matvec(a, b),
        (A, B[:, 0].copy()),
        np.matmul,
        note="matvec",
    ),
    Sample("Einsum", lambda tf, a, b: tf.einsum("ij,jk->ik", a, b), (A, B), np.matmul),
    Sample("Einsum", lambda tf, a: tf.einsum("ij->ji", a), (A,), np.transpose, note="transpose"),
    Sample(
        "Einsum",
        lambda tf, a, b: tf.einsum("ij,kl->i", a, b),
        (A, B),
        lambda a, b: a.sum(1) * b.sum(),
        note="sums",
    ),
    Sample(
        "Einsum",
        lambda tf, a, b: tf.einsum("...ij,jk->...ik", a, b),
        (STACK, _array(3, 2)),
        np.matmul,
        note="ellipsis",
    ),
    Sample("Einsum", lambda tf, a, b: tf.einsum("ij,jk", a, b), (A, B), np.matmul, note="implicit"),
    Sample("Einsum", lambda tf, a: tf.einsum("ii->", a), (SQUARE,), np.trace, (), note="trace"),
    Sample("MatMul", lambda tf, a, b: tf.tensordot(a, b, 1), (A, B), np.matmul, note="tensordot"),
    Sample(
        "Reshape",
        lambda tf, a, b: tf.tensordot(a, b, [[0, 2], [0, 1]]),
        (_array(2, 4, 3), _array(2, 3, 5)),
        lambda a, b: np.tensordot(a, b, [[0, 2], [0, 1]]),
        note="tensordot axes",
    ),
    Sample(
        "Reshape",
        lambda tf, a, b: tf.tensordot(a, b, 0),
        (V, W),
        lambda a, b: np.tensordot(a, b, 0),
        note="outer",
    ),
    Sample("Cross", lambda tf, a, b: tf.cross(a, b), (V, W), np.cross),
]

DIAGONALS = [
    Sample("Diag", lambda tf, x: tf.diag(x), (A[0],), np.diag),
    Sample(
        "Diag",
        lambda tf, x: tf.diag(x),
        (A,),
        lambda x: np.diag(x.ravel()).reshape(2, 3, 2, 3),
        note="matrix",
    ),
    Sample("DiagPart", lambda tf, x: tf.diag_part(x), (SQUARE,), np.diag),
    Sample(
        "MatrixDiag",
        lambda tf, x: raw(tf, "MatrixDiag", diagonal=x),
        (A,),
        lambda x: np.stack([np.diag(r) for r in x]),
    ),
    Sample(
        "MatrixDiagV3",
        lambda tf, x: tf.matrix_diag(x),
        (A,),
        lambda x: np.stack([np.diag(r) for r in x]),
    ),
    Sample(
        "MatrixDiagV3",
        lambda tf, x: tf.matrix_diag(x, k=1, padding_value=9.0),
        (A[0],),
        lambda x: np.diag(x, 1) + 9.0 * (1 - np.eye(4, k=1)),
        note="k",
        gradient=(0,),
    ),
    Sample(
        "MatrixDiagV3",
        lambda tf, x: tf.matrix_diag(x, k=(-1, 1)),
        (_array(3, 3),),
        None,
        note="band",
    ),
    Sample(
        "MatrixDiagPart",
        lambda tf, x: raw(tf, "MatrixDiagPart", input=x),
        (STACK,),
        lambda x: np.diagonal(x, axis1=1, axis2=2),
    ),
    Sample("MatrixDiagPartV3", lambda tf, x: tf.matrix_diag_part(x), (TALL,), np.diagonal),
    *(
        Sample(
            "MatrixDiagPartV3",
            lambda tf, x, a=align: tf.matrix_diag_part(x, k=(-2, 1), align=a),
            (TALL,),
            None,
            note=f"band {align}",
        )
        for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
    ),
    Sample(
        "MatrixSetDiag",
        lambda tf, x, d: raw(tf, "MatrixSetDiag", input=x, diagonal=d),
        (TALL, _array(3)),
        None,
    ),
    Sample(
        "MatrixSetDiagV3",
        lambda tf, x, d: tf.matrix_set_diag(x, d),
        (STACK, A),
        lambda x, d: x * (1 - np.eye(3)) + np.stack([np.diag(r) for r in d]),
    ),
    Sample(
        "MatrixSetDiagV3",
        lambda tf, x, d: tf.matrix_set_diag(x, d, k=(-1, 0)),
        (SQUARE, _array(2, 3)),
        None,
        note="band",
    ),
    Sample("MatrixBandPart", lambda tf, x: tf.matrix_band_part(x, -1, 0), (SQUARE,), np.tril),
    Sample(
        "MatrixBandPart",
        lambda tf, x: tf.matrix_band_part(x, 0, -1),
        (STACK,),
        np.triu,
        note="upper",
    ),
    Sample(
        "MatrixBandPart",
        lambda tf, x: tf.matrix_band_part(x, 1, 0),
        (TALL,),
        lambda x: np.tril(x) - np.tril(x, -2),
        note="band",
    ),
    Sample("MatrixDiagV3", lambda tf: tf.eye(3), (), np.eye(3, dtype=np.float32), note="eye"),
    Sample(
        "MatrixSetDiagV3",
        lambda tf: tf.eye(2, 3, batch_shape=[2], dtype=tf.float64),
        (),
        np.broadcast_to(np.eye(2, 3), (2, 2, 3)),
        note="eye",
    ),
    Sample(
        "Transpose",
        lambda tf, x: tf.matrix_transpose(x),
        (STACK,),
        lambda x: np.swapaxes(x, 1, 2),
        note="matrix_transpose",
    ),
    Sample(
        "Sum",
        lambda tf, x: tf.trace(x),
        (STACK,),
        lambda x: np.trace(x, axis1=1, axis2=2),
        note="trace",
    ),
    Sample(
        "LinSpace",
        lambda tf: raw(tf, "LinSpace", start=1.0, stop=2.0, num=5),
        (),
        np.linspace(1, 2, 5, dtype=np.float32),
    ),
    Sample(
        "LinSpace",
        lambda tf: tf.linspace(1.0, 2.0, 5),
        (),
        np.linspace(1, 2, 5, dtype=np.float32),
        oracle=False,
        note="TensorFlow 2.15 builds it from many nodes",
    ),
]

_SYMMETRIC = (_array(3, 3) / 2,)
DECOMPOSITIONS = [
    Sample(
        "Cholesky",
        lambda tf, x: tf.cholesky(_symmetric(tf, x)),
        _SYMMETRIC,
        lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample("Qr", lambda tf, x: list(tf.qr(x)), (TALL,), None),
    Sample("Qr", lambda tf, x: list(tf.qr(x)), (WIDE,), None, note="wide"),
    Sample("Qr", lambda tf, x: list(tf.qr(x, full_matrices=True)), (TALL,), None, (), note="full"),
    Sample(
        "Svd",
        lambda tf, x: tf.svd(x, compute_uv=False),
        (TALL,),
        lambda x: np.linalg.svd(x, compute_uv=False),
        note="values",
    ),
    *(
        Sample(
            "Svd",
            lambda tf, x: [
                tf.svd(x)[0],
                tf.abs(tf.svd(x)[1]),
                tf.matmul(tf.svd(x)[1] * 2.0, tf.svd(x)[2], transpose_b=True),
            ],
            (x,),
            None,
            note=note,
            rtol=1e-4,
        )
        for note, x in (("tall", TALL), ("wide", WIDE), ("square", SQUARE))
    ),
    Sample(
        "SelfAdjointEigV2",
        lambda tf, x: tf.self_adjoint_eigvals(_symmetric(tf, x)),
        _SYMMETRIC,
        lambda x: np.linalg.eigvalsh(x @ x.T + np.eye(3)),
        note="values",
        rtol=1e-4,
    ),
    Sample(
        "SelfAdjointEigV2",
        lambda tf, x: [
            tf.self_adjoint_eig(_symmetric(tf, x))[0],
            tf.square(tf.self_adjoint_eig(_symmetric(tf, x))[1]),
        ],
        _SYMMETRIC,
        None,
        rtol=1e-4,
    ),
]

SOLVERS = [
    Sample(
        "MatrixInverse",
        lambda tf, x: tf.matrix_inverse(x),
        (STACK,),
        np.linalg.inv,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "MatrixInverse",
        lambda tf, x: tf.matrix_inverse(x, adjoint=True),
        (SQUARE,),
        lambda x: np.linalg.inv(x.T),
        note="adjoint",
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "MatrixDeterminant",
        lambda tf, x: tf.matrix_determinant(x),
        (STACK,),
        np.linalg.det,
        rtol=1e-4,
    ),
    Sample(
        "LogMatrixDeterminant",
        lambda tf, x: list(tf.linalg.slogdet(x)),
        (STACK,),
        lambda x: list(np.linalg.slogdet(x)),
        rtol=1e-4,
    ),
    Sample(
        "MatrixSolve",
        lambda tf, a, b: tf.matrix_solve(a, b),
        (SQUARE, WIDE),
        np.linalg.solve,
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "MatrixSolve",
        lambda tf, a, b: tf.matrix_solve(a, b, adjoint=True),
        (SQUARE, WIDE),
        lambda a, b: np.linalg.solve(a.T, b),
        note="adjoint",
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "MatrixTriangularSolve",
        lambda tf, a, b: tf.matrix_triangular_solve(a, b),
        (SQUARE, WIDE),
        lambda a, b: np.linalg.solve(np.tril(a), b),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "MatrixTriangularSolve",
        lambda tf, a, b: tf.matrix_triangular_solve(a, b, lower=False, adjoint=True),
        (SQUARE, WIDE),
        lambda a, b: np.linalg.solve(np.triu(a).T, b),
        note="upper adjoint",
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "MatrixTriangularSolve",
        lambda tf, a, b: tf.cholesky_solve(a, b),
        (SQUARE, WIDE),
        None,
        note="cholesky_solve",
        rtol=1e-4,
        atol=1e-4,
    ),
    Sample(
        "MatrixTriangularSolve",
        lambda tf, a, b: tf.matrix_solve_ls(a, b),
        (TALL, _array(4, 2)),
        lambda a, b: np.linalg.lstsq(a, b)[0],
        note="least squares",
        rtol=1e-3,
        atol=1e-4,
    ),
    Sample(
        "MatMul",
        lambda tf, a, b: tf.matrix_solve_ls(a, b),
        (WIDE, _array(3, 2)),
        lambda a, b: np.linalg.lstsq(a, b)[0],
        note="smallest",
        rtol=1e-3,
        atol=1e-4,
    ),
    Sample(
        "MatrixTriangularSolve",
        lambda tf, a, b: tf.matrix_solve_ls(a, b, l2_regularizer=0.1),
        (TALL, _array(4, 2)),
        lambda a, b: np.linalg.solve(a.T @ a + 0.1 * np.eye(3), a.T @ b),
        note="ridge",
        rtol=1e-3,
        atol=1e-4,
    ),
    Sample(
        "MatrixTriangularSolve",
        lambda tf, a, b: tf.matrix_solve_ls(a, b, fast=False),
        (TALL, _array(4, 2)),
        lambda a, b: np.linalg.lstsq(a, b)[0],
        note="by QR",
        rtol=1e-3,
        atol=1e-4,
        oracle=False,
    ),
    Sample(
        "Mul",
        lambda tf, x: tf.linalg.logdet(_symmetric(tf, x)),
        _SYMMETRIC,
        lambda x: np.log(np.linalg.det(x @ x.T + np.eye(3))),
        note="logdet",
        rtol=1e-4,
    ),
    Sample(
        "MatMul",
        lambda tf, x: tf.linalg.pinv(x),
        (TALL,),
        np.linalg.pinv,
        note="pinv",
        rtol=1e-3,
        atol=1e-4,
        oracle=False,
    ),
]

NORMS = [
    Sample("Squeeze", lambda tf, x: tf.norm(x), (A,), np.linalg.norm, note="norm"),
    *(
        Sample(
            "Squeeze",
            lambda tf, x, o=o: tf.norm(x, o, axis=1),
            (A,),
            lambda x, o=o: np.linalg.norm(x, o, axis=1),
            note=f"vector norm {o}",
        )
        for o in (1, 2, 3, np.inf)
    ),
    *(
        Sample(
            "Squeeze",
            lambda tf, x, o=o: tf.norm(x, o, axis=[0, 1]),
            (A,),
            lambda x, o=o: np.linalg.norm(x, o),
            note=f"matrix norm {o}",
            rtol=1e-4,
            oracle=o != 2,
        )
        for o in ("fro", 1, 2, np.inf)
    ),
    Sample(
        "Sqrt",
        lambda tf, x: tf.norm(x, axis=0, keepdims=True),
        (A,),
        lambda x: np.linalg.norm(x, axis=0, keepdims=True),
        note="keep",
    ),
    Sample(
        "RealDiv", lambda tf, x: list(tf.linalg.normalize(x, axis=1)), (A,), None, note="normalize"
    ),
]


def _exponential(x: Any) -> Any:
    """The power series, of small steps."""
    step, result = x.astype(np.float64) / 1024, np.eye(x.shape[-1])
    for k in range(12, 0, -1):
        result = np.eye(x.shape[-1]) + step @ result / k
    return np.linalg.matrix_power(result, 1024)


FUNCTIONS = [
    *(
        Sample(
            "MatrixSolve",
            lambda tf, x: tf.linalg.expm(x),
            (x,),
            _exponential,
            note=f"expm {note}",
            rtol=1e-3,
            atol=1e-4,
            oracle=False,  # TensorFlow's nodes are others
        )
        for note, x in (
            ("small", _array(3, 3) / 4),
            ("large", _array(3, 3) * 3),
            ("stack", _array(2, 2, 2)),
        )
    ),
    Sample(
        "Sum",
        lambda tf, x: tf.linalg.matrix_rank(x),
        (np.stack([SQUARE, np.outer(SQUARE[0], SQUARE[1])]),),
        np.array([3, 1], np.int32),
        (),
        note="rank",
    ),
]

BAND = _array(2, 3, 4)
COLUMNS = _array(2, 4, 2)
_PARTS = tuple(BAND[:, i : i + 1].copy() for i in range(3))


def _whole(band: Any) -> Any:
    """The matrices whose diagonals above, on and below the main one are given."""
    return np.stack([np.diag(m) + np.diag(a[:-1], 1) + np.diag(b[1:], -1) for a, m, b in band])


FACTORS = [
    Sample("Lu", lambda tf, x: list(tf.linalg.lu(x)), (STACK,), None, rtol=1e-4, atol=1e-5),
    Sample(
        "Lu",
        lambda tf, x: tf.linalg.lu_reconstruct(*tf.linalg.lu(x)),
        (STACK,),
        lambda x: x,
        note="product",
        rtol=1e-4,
    ),
    Sample(
        "Lu",
        lambda tf, x, b: tf.linalg.lu_solve(*tf.linalg.lu(x), b),
        (SQUARE, WIDE),
        np.linalg.solve,
        note="solve",
        rtol=1e-3,
        atol=1e-4,
        oracle=False,  # TensorFlow's nodes are others
    ),
    Sample(
        "MatrixSquareRoot",
        lambda tf, x: tf.linalg.sqrtm(tf.matmul(x, x)),
        ((_array(2, 3, 3) / 4 + 2 * np.eye(3)).astype(np.float32),),
        lambda x: x,
        rtol=1e-3,
        atol=1e-4,
    ),
    Sample(
        "MatrixLogarithm",
        lambda tf, x: tf.linalg.logm(x),
        (np.array([[[1, 1], [0, 1]], [[0, -1], [1, 0]]], np.complex64),),
        np.array([[[0, 1], [0, 0]], [[0, -np.pi / 2], [np.pi / 2, 0]]], np.complex64),
        rtol=1e-4,
        gradient=(),
    ),
    Sample(
        "TridiagonalMatMul",
        lambda tf, a, m, b, x: raw(
            tf, "TridiagonalMatMul", superdiag=a, maindiag=m, subdiag=b, rhs=x
        ),
        (*_PARTS, COLUMNS),
        lambda a, m, b, x: _whole(np.concatenate([a, m, b], 1)) @ x,
    ),
    Sample(
        "TridiagonalSolve",
        lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x),
        (BAND, COLUMNS),
        lambda d, x: np.linalg.solve(_whole(d), x),
        rtol=1e-3,
        atol=1e-4,
        gradient_tolerance=1e-4,
        oracle=False,  # TensorFlow's nodes are others
    ),
]

SAMPLES = [*PRODUCTS, *DIAGONALS, *DECOMPOSITIONS, *SOLVERS, *NORMS, *FUNCTIONS, *FACTORS]
