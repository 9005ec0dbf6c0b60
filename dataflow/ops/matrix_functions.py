"""Functions of whole matrices: the exponential, the logarithm, the square root, the rank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import COMPLEX
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import maximum
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater, less
from dataflow.ops.costs import cubic
from dataflow.ops.decompositions import INEXACT, square_dims, stack_shape, svd
from dataflow.ops.elementary import abs_, floor, log
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import adjoint, eye, matrix_transpose
from dataflow.ops.reduce import reduce_max, reduce_sum
from dataflow.ops.solvers import largest_side, matrix_solve
from dataflow.shapes import Dims

# Higham: The scaling and squaring method for the matrix exponential revisited (2005): the
# numerator of the diagonal Pade approximant of order 13, and the norm up to which it is exact.
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_EXACT_NORM = 5.371920351148152
_MOST_SQUARINGS = 16


def matrix_exponential(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponential of square matrices: [..., n, n]; kept. For norms up to about 350000.

    By scaling and squaring; differentiable. Larger matrices give nan.
    """
    with default_graph().name_scope(name or "matrix_exponential"):
        a = convert_to_tensor(input, name="input")
        if a.dims is None or a.dims[-1] is None:
            raise ValueError("expm needs a matrix size known at build time")
        real = a.dtype.base_dtype.real_dtype
        size = reduce_max(reduce_sum(abs_(a), -2), -1)
        safe = maximum(size / _EXACT_NORM, array_ops.ones_like(size))
        count = floor(log(safe) / math.log(2.0)) + cast(greater(size, _EXACT_NORM), real)
        count = array_ops.stop_gradient(array_ops.reshape(count, [*_ones(a), 1, 1]))
        too_large = greater(count, float(_MOST_SQUARINGS))
        scale = cast(2.0**-count, a.dtype.base_dtype)
        scaled = a * scale
        b = _PADE
        identity = eye(a.dims[-1], batch_shape=stack_shape(a), dtype=a.dtype)
        a2 = matmul(scaled, scaled)
        a4 = matmul(a2, a2)
        a6 = matmul(a4, a2)
        odd = matmul(a6, b[13] * a6 + b[11] * a4 + b[9] * a2)
        odd = matmul(scaled, odd + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * identity)
        even = matmul(a6, b[12] * a6 + b[10] * a4 + b[8] * a2)
        even = even + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * identity
        result = matrix_solve(even - odd, even + odd)
        for i in range(_MOST_SQUARINGS):
            wanted = less(float(i) * array_ops.ones_like(count), count)
            # What is not wanted is squared as the identity, so that nothing overflows there.
            base = array_ops.where_v2(wanted, result, identity)
            result = array_ops.where_v2(wanted, matmul(base, base), result)
        nan = cast(array_ops.ones_like(count) * float("nan"), a.dtype.base_dtype)
        return array_ops.where_v2(too_large, nan, result)


def _ones(a: Tensor) -> list[Any]:
    """The shape of the stack, for a reshape: unknown sizes are left to it."""
    assert a.dims is not None
    if sum(d is None for d in a.dims[:-2]) > 1:
        raise ValueError("expm takes stacks of which at most one size is unknown")
    return [-1 if d is None else d for d in a.dims[:-2]]


@define_op("MatrixLogarithm", "input: T -> output: T", T=COMPLEX, cost=cubic(25.0))
def matrix_logarithm(input: Tensor) -> Dims:
    """The principal logarithm of square matrices: `matrix_exponential` of it is the input.

    Shape: [..., n, n]; kept. Dtype: complex. A singular matrix has none. Not differentiable.
    """
    return square_dims(input)


refuse_gradient(matrix_logarithm)


@define_op("MatrixSquareRoot", "input: T -> output: T", T=INEXACT, cost=cubic(25.0))
def matrix_square_root(input: Tensor) -> Dims:
    """The principal square root of square matrices: its product with itself is the input.

    Shape: [..., n, n]; kept. A real matrix with negative eigenvalues has a complex root: cast it to
    a complex dtype first. Gradient: the solution x of Sylvester's equation ``y^H x + x y^H = dy``.
    """
    return square_dims(input)


@matrix_square_root.gradient
def matrix_square_root_gradient(op: Operation, grad: Tensor) -> list[Any]:
    # vec(y^H x + x y^H) = (y^H (+) conj(y)) vec(x), with rows one after the other: a system of n^2.
    root = op.outputs[0]
    size: Any = root.dims[-1] if root.dims is not None else None
    if size is None:
        raise NotImplementedError("the gradient of sqrtm needs a matrix size known at build time")
    stack = stack_shape(root)
    identity = eye(size, batch_shape=stack, dtype=root.dtype.base_dtype)
    flipped = adjoint(root)
    whole = array_ops.concat([stack, [size * size, size * size]], 0)
    column = array_ops.concat([stack, [size * size, 1]], 0)
    system = _kronecker(flipped, identity) + _kronecker(identity, matrix_transpose(flipped))
    found = matrix_solve(array_ops.reshape(system, whole), array_ops.reshape(grad, column))
    return [array_ops.reshape(found, array_ops.shape(root))]


def _kronecker(a: TensorLike, b: TensorLike) -> Any:
    """``out[..., i, k, j, l] = a[..., i, j] * b[..., k, l]``."""
    a = array_ops.expand_dims(array_ops.expand_dims(a, -2), -1)
    return a * array_ops.expand_dims(array_ops.expand_dims(b, -2), -4)


def matrix_rank(
    a: TensorLike, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The number of singular values above ``tol`` (by default eps * size * the largest)."""
    with default_graph().name_scope(name or "matrix_rank"):
        a = convert_to_tensor(a, dtype_hint=dtypes.float32, name="a")
        values = svd(a, compute_uv=False)
        if tol is None:
            eps = float(np.finfo(a.dtype.base_dtype.as_numpy_dtype).eps)
            tol = eps * largest_side(a) * reduce_max(values, axis=-1, keepdims=True)
        return reduce_sum(cast(greater(values, tol), dtypes.int32), axis=-1)
