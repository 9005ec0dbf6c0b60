from dataflow.linear_operators import experimental as experimental
from dataflow.linear_operators.block_diag import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from dataflow.linear_operators.circulant import (
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
)
from dataflow.linear_operators.composition import (
    LinearOperatorComposition as LinearOperatorComposition,
)
from dataflow.linear_operators.dense import (
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorHouseholder as LinearOperatorHouseholder,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
    LinearOperatorToeplitz as LinearOperatorToeplitz,
)
from dataflow.linear_operators.diagonal import (
    LinearOperatorDiag as LinearOperatorDiag,
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
    LinearOperatorZeros as LinearOperatorZeros,
)
from dataflow.linear_operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker
from dataflow.linear_operators.linear_operator import LinearOperator as LinearOperator
from dataflow.linear_operators.low_rank_update import (
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
)
from dataflow.linear_operators.views import (
    LinearOperatorAdjoint as LinearOperatorAdjoint,
    LinearOperatorInversion as LinearOperatorInversion,
)
from dataflow.ops.decompositions import (
    cholesky as cholesky,
    self_adjoint_eig as eigh,
    self_adjoint_eigvals as eigvalsh,
    qr as qr,
    svd as svd,
)
from dataflow.ops.lu import (
    lu as lu,
    lu_matrix_inverse as lu_matrix_inverse,
    lu_reconstruct as lu_reconstruct,
    lu_solve as lu_solve,
)
from dataflow.ops.matmul import matmul as matmul, matvec as matvec
from dataflow.ops.matrix_diag import (
    adjoint as adjoint,
    matrix_band_part as band_part,
    matrix_diag as diag,
    matrix_diag_part as diag_part,
    eye as eye,
    matrix_transpose as matrix_transpose,
    matrix_set_diag as set_diag,
    diag as tensor_diag,
    diag_part as tensor_diag_part,
    trace as trace,
    matrix_transpose as transpose,
)
from dataflow.ops.matrix_functions import (
    matrix_exponential as expm,
    matrix_logarithm as logm,
    matrix_rank as matrix_rank,
    matrix_square_root as sqrtm,
)
from dataflow.ops.moments import l2_normalize as l2_normalize
from dataflow.ops.solvers import (
    cholesky_solve as cholesky_solve,
    matrix_determinant as det,
    matrix_inverse as inv,
    logdet as logdet,
    matrix_solve_ls as lstsq,
    pinv as pinv,
    slogdet as slogdet,
    matrix_solve as solve,
    matrix_triangular_solve as triangular_solve,
)
from dataflow.ops.tensor_products import cross as cross, einsum as einsum, tensordot as tensordot
from dataflow.ops.norms import global_norm as global_norm, norm as norm, normalize as normalize
from dataflow.ops.tridiagonal import (
    tridiagonal_matmul as tridiagonal_matmul,
    tridiagonal_solve as tridiagonal_solve,
)
