"""Products of matrices and of stacks of matrices."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import FLOATING, NUMBERS
from dataflow.graph.conversion import convert_to_tensor, internal_convert
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import conj_if_complex
from dataflow.ops.casts import cast
from dataflow.ops.costs import product
from dataflow.ops.gradient_counts import num_product_nodes
from dataflow.ops.reduce import sum_op
from dataflow.ops.seeds import counted_as
from dataflow.shapes import Dims, list_dims


def _product_dims(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Dims:
    a_dims, b_dims = a.dims, b.dims
    for name, dims in (("a", a_dims), ("b", b_dims)):
        if dims is not None and len(dims) != 2:
            raise ValueError(
                f"{name} must be a matrix, got shape {list_dims(dims)}\n"
                + (
                    f"tf.expand_dims({name}, 0) makes a row of a vector, "
                    f"tf.expand_dims({name}, 1) a column."
                    if len(dims) == 1
                    else "tf.matmul takes stacks of matrices when both have the same rank."
                )
            )
    a_dims = (None, None) if a_dims is None else a_dims
    b_dims = (None, None) if b_dims is None else b_dims
    rows, inner_a = a_dims[::-1] if transpose_a else a_dims
    inner_b, columns = b_dims[::-1] if transpose_b else b_dims
    if inner_a is not None and inner_b is not None and inner_a != inner_b:
        first = "first" if transpose_a else "last"
        second = "last" if transpose_b else "first"
        wanted = [columns, inner_a] if transpose_b else [inner_a, columns]
        raise ValueError(
            f"inner dimensions differ: {list_dims(a_dims)} x {list_dims(b_dims)}"
            f"{' (a transposed)' if transpose_a else ''}{' (b transposed)' if transpose_b else ''}\n"
            f"The {first} dimension of a must equal the {second} of b. "
            f"Did you mean b of shape {list_dims(tuple(wanted))}?"
        )
    return rows, columns


@define_op(
    "MatMul",
    "a: T, b: T -> product: T",
    T=NUMBERS,
    own_memory=True,
    calls_blas=True,
    cost=product,
    shares_work="product",
)
def mat_mul_op(
    a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False
) -> Dims:
    """The matrix product of a and b, each transposed first where asked for.

    Shape: [m, k] x [k, n] gives [m, n]. Dtype: the same for both; kept.
    Gradient: ``dy @ b^T`` to a, ``a^T @ dy`` to b.
    """
    return _product_dims(a, b, transpose_a, transpose_b)


@define_op(
    "SparseMatMul", "a: Ta, b: Tb -> product: float32", Ta=FLOATING, Tb=FLOATING, calls_blas=True
)
def sparse_matmul(
    a: Tensor,
    b: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
) -> Dims:
    """The product of float32 matrices that hold many zeros; here computed as any other.

    Shape: as MatMul. Dtype: float32. Gradient: as MatMul.
    """
    return _product_dims(a, b, transpose_a, transpose_b)


def _matrix_gradients(op: Operation, grad: Tensor, product: Any) -> list[Any]:
    a, b = (conj_if_complex(t) for t in op.inputs)
    ta, tb = op.attrs["transpose_a"], op.attrs["transpose_b"]
    if not ta and not tb:
        return [product(grad, b, transpose_b=True), product(a, grad, transpose_a=True)]
    if not ta:
        return [product(grad, b), product(grad, a, transpose_a=True)]
    if not tb:
        return [product(b, grad, transpose_b=True), product(a, grad)]
    return [
        product(b, grad, transpose_a=True, transpose_b=True),
        product(grad, a, transpose_a=True, transpose_b=True),
    ]


@mat_mul_op.gradient
def mat_mul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return _matrix_gradients(op, grad, mat_mul_op)


@sparse_matmul.gradient
def sparse_mat_mul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    grads = _matrix_gradients(op, grad, sparse_matmul)
    return [cast(g, t.dtype.base_dtype) for g, t in zip(grads, op.inputs, strict=True)]


def batch_product_dims(x: Tensor, y: Tensor, adj_x: bool, adj_y: bool, broadcasts: bool) -> Dims:
    """Shape rule of a product of stacks of matrices."""
    if broadcasts and (x.dims is None or y.dims is None):
        return None
    for name, tensor in (("x", x), ("y", y)):
        if tensor.dims is not None and len(tensor.dims) < 2:
            raise ValueError(
                f"{name} must have at least 2 axes, got shape {list_dims(tensor.dims)}\n"
                f"tf.expand_dims({name}, -1) makes a column of a vector."
            )
    if x.dims is None and y.dims is None:
        return None
    x_dims, y_dims = x.dims or (None, None), y.dims or (None, None)
    rows, inner_x = x_dims[-2:][::-1] if adj_x else x_dims[-2:]
    inner_y, columns = y_dims[-2:][::-1] if adj_y else y_dims[-2:]
    if inner_x is not None and inner_y is not None and inner_x != inner_y:
        raise ValueError(
            f"inner dimensions differ: {list_dims(x.dims)} x {list_dims(y.dims)}"
            f"{' (x adjoint)' if adj_x else ''}{' (y adjoint)' if adj_y else ''}\n"
            "The last dimension of x must equal the last but one of y."
        )
    try:
        combine = shapes.broadcast if broadcasts else shapes.merge
        batch = combine(x.dims and x.dims[:-2], y.dims and y.dims[:-2])
    except ValueError as e:
        raise ValueError(
            f"the stacks do not fit: {list_dims(x_dims[:-2])} and {list_dims(y_dims[:-2])}\n"
            "All axes before the last two must be equal or broadcast."
        ) from e
    return None if batch is None else (*batch, rows, columns)


@define_op(
    "BatchMatMul",
    "x: T, y: T -> output: T",
    T=NUMBERS,
    own_memory=True,
    calls_blas=True,
    cost=product,
    shares_work="product",
)
def batch_matmul(x: Tensor, y: Tensor, *, adj_x: bool = False, adj_y: bool = False) -> Dims:
    """The products of two stacks of matrices of equal size.

    Shape: [..., m, k] x [..., k, n] gives [..., m, n]. ``adj_x``, ``adj_y``: the conjugate
    transpose is taken first. Gradient: products with the adjoint of the other.
    """
    return batch_product_dims(x, y, adj_x, adj_y, False)


@define_op(
    "BatchMatMulV2",
    "x: T, y: T -> output: T",
    T=NUMBERS,
    own_memory=True,
    calls_blas=True,
    cost=product,
    shares_work="product",
)
def batch_mat_mul_v2_op(x: Tensor, y: Tensor, *, adj_x: bool = False, adj_y: bool = False) -> Dims:
    """The products of two stacks of matrices, whose leading axes broadcast.

    Shape: [..., m, k] x [..., k, n] gives [..., m, n]. Gradient: as BatchMatMul, summed to shape.
    """
    return batch_product_dims(x, y, adj_x, adj_y, True)


def _batch_gradients(op: Operation, grad: Tensor, product: Any) -> tuple[Any, Any]:
    x, y = op.inputs
    adj_x, adj_y = op.attrs["adj_x"], op.attrs["adj_y"]
    if not adj_x and not adj_y:
        return product(grad, y, adj_y=True), product(x, grad, adj_x=True)
    if not adj_x:
        return product(grad, y), product(grad, x, adj_x=True)
    if not adj_y:
        return product(y, grad, adj_y=True), product(x, grad)
    return product(y, grad, adj_x=True, adj_y=True), product(grad, x, adj_x=True, adj_y=True)


@batch_matmul.gradient
def batch_mat_mul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return list(_batch_gradients(op, grad, batch_matmul))


@batch_mat_mul_v2_op.gradient
def batch_mat_mul_v2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    with counted_as(num_product_nodes(op)):
        return _summed_batch_gradients(op, grad)


def _summed_batch_gradients(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    grads = _batch_gradients(op, grad, batch_mat_mul_v2_op)
    if (
        x.dims is not None
        and y.dims is not None
        and x.dims[:-2] == y.dims[:-2]
        and None not in x.dims[:-2]
    ):
        return list(grads)
    full = [array_ops.shape(x), array_ops.shape(y)]
    axes = array_ops.broadcast_gradient_args_op(full[0][:-2], full[1][:-2])
    return [array_ops.reshape(sum_op(g, r), s) for g, r, s in zip(grads, axes, full, strict=True)]


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Tensor:
    """The matrix product ``a @ b``; of stacks of matrices when they have more than 2 axes.

    ``transpose_*`` swaps the last two axes first, ``adjoint_*`` conjugates too. ``*_is_sparse``
    is a hint. Raises `ValueError` when the inner dimensions differ or both flags are given for
    one input, `TypeError` for different dtypes.
    """
    if transpose_a and adjoint_a:
        raise ValueError("Only one of `transpose_a` and `adjoint_a` can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of `transpose_b` and `adjoint_b` can be True.")
    plain = not (adjoint_a or adjoint_b or a_is_sparse or b_is_sparse or output_type)
    if plain and _is_matrix(a) and _is_matrix(b):  # by far the most frequent call
        return mat_mul_op(  # type: ignore[no-any-return]
            a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name
        )
    graph = next((t.graph for t in (a, b) if isinstance(t, Tensor)), None) or default_graph()
    with graph.name_scope(name or "MatMul") as scope:
        a = internal_convert(a, None, "a") if type(a) is not Tensor else a
        b = internal_convert(b, a.dtype.base_dtype, "b") if type(b) is not Tensor else b
        a_rank = None if a.dims is None else len(a.dims)
        b_rank = None if b.dims is None else len(b.dims)
        sparse = a_is_sparse or b_is_sparse
        is_stack = a_rank is None or a_rank > 2 or b_rank is None or b_rank > 2
        if is_stack and not sparse and a_rank != 1 and b_rank != 1:
            if transpose_a:
                a, adjoint_a = conj_if_complex(a), True
            if transpose_b:
                b, adjoint_b = conj_if_complex(b), True
            result = batch_mat_mul_v2_op(a, b, adj_x=adjoint_a, adj_y=adjoint_b, name=scope)
        else:
            if adjoint_a:
                a, transpose_a = conj_if_complex(a), True
            if adjoint_b:
                b, transpose_b = conj_if_complex(b), True
            flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
            if sparse and {a.dtype.base_dtype, b.dtype.base_dtype} <= {
                dtypes.float32,
                dtypes.bfloat16,
            }:
                result = sparse_matmul(
                    a, b, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse, name=scope, **flags
                )
            else:
                result = mat_mul_op(a, b, name=scope, **flags)
        return result if output_type is None else cast(result, output_type)  # type: ignore[no-any-return]


def _is_matrix(x: TensorLike) -> bool:
    return isinstance(x, Tensor) and x.dims is not None and len(x.dims) == 2


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of a matrix (or a stack of them) and a vector: [..., m, k] x [..., k]."""
    with default_graph().name_scope(name or "MatVec"):
        b = convert_to_tensor(b)
        column = array_ops.expand_dims(b, axis=-1)
        product = matmul(
            a,
            column,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return array_ops.squeeze(product, axis=[-1])
