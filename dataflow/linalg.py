"""`tf.linalg`: products, decompositions and systems of linear equations."""

from __future__ import annotations

from dataflow.ops.decompositions import (
    cholesky,
    qr,
    self_adjoint_eig as eigh,
    self_adjoint_eigvals as eigvalsh,
    svd,
)
from dataflow.ops.matmul import (
    matmul,
    matvec,
)
from dataflow.ops.matrix_diag import (
    adjoint,
    diag as tensor_diag,
    diag_part as tensor_diag_part,
    eye,
    matrix_band_part as band_part,
    matrix_diag as diag,
    matrix_diag_part as diag_part,
    matrix_set_diag as set_diag,
    matrix_transpose,
    matrix_transpose as transpose,
    trace,
)
from dataflow.ops.matrix_functions import (
    matrix_exponential as expm,
    matrix_rank,
)
from dataflow.ops.normalization import (
    l2_normalize,
)
from dataflow.ops.solvers import (
    cholesky_solve,
    logdet,
    matrix_determinant as det,
    matrix_inverse as inv,
    matrix_solve as solve,
    matrix_solve_ls as lstsq,
    matrix_triangular_solve as triangular_solve,
    pinv,
    slogdet,
)
from dataflow.ops.tensor_products import (
    cross,
    einsum,
    global_norm,
    norm,
    normalize,
    tensordot,
)

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "lstsq",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
]
