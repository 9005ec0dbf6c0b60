"""The nodes that stand for fused ops; only rewrites make it, in a plan's private graph."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import INDICES, NUMBERS, DType, float16, float32, float64
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.costs import steps
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims, Shape


@define_op(
    "_Fused",
    "inputs: list(Tin) -> output: T",
    own_memory=True,
    shares_work="large",
    cost=steps("program"),
)
def fused_op(inputs: list[Tensor], *, program: Any, T: DType, output_shape: Shape) -> Dims:
    """A chain of element-wise ops, perhaps with a sum or mean at its end, as one kernel.

    Shape: ``output_shape``, that of the chain's last op. Gradient: none; fusing happens after
    gradients are built.
    """
    return output_shape


not_differentiable(fused_op)


@define_op(
    "_FusedRegion",
    "inputs: list(Tin) -> outputs: N * T",
    T=[float32, float64],
    keeps_nothing=True,
    shares_work="large",
    cost=steps("region"),
)
def fused_region_op(
    inputs: list[Tensor],
    *,
    region: Any,
    T: DType,
    N: int,
    output_shape: Shape,
    joined: Any = (),
) -> list[Dims]:
    """Element-wise ops of one shape as one kernel, with values that others need.

    The last results are joined from others along the last axis: for each entry of ``joined``, those
    that it names.

    Shapes: ``output_shape`` for each result, with a longer last axis for those that are joined.
    Gradient: none; fusing happens after gradients are built.
    """
    assert output_shape is not None
    *before, last = output_shape
    found: list[Dims] = [output_shape] * (N - len(joined))
    for parts in joined:
        found.append((*before, None if last is None else last * len(parts)))
    return found


not_differentiable(fused_region_op)


@define_op(
    "_FusedRows",
    "inputs: list(Tin) -> outputs: N * T",
    T=[float32, float64],
    keeps_nothing=True,
    shares_work="large",
    cost=steps("region"),
)
def fused_rows_op(
    inputs: list[Tensor],
    *,
    region: Any,
    T: DType,
    N: int,
    full_shape: Shape,
    by_row: Any,
    without_axis: Any,
) -> list[Dims]:
    """Element-wise ops with sums along the last axis between them, as one kernel.

    Shapes: ``full_shape`` for each result, with a last axis of size 1 where ``by_row`` says so, and
    no such axis where ``without_axis`` does. Gradient: none; fusing happens after gradients are built.
    """
    assert full_shape is not None
    *before, last = full_shape
    return [
        tuple(before) if gone else (*before, 1 if one else last)
        for one, gone in zip(by_row, without_axis, strict=True)
    ]


not_differentiable(fused_rows_op)


@define_op("_MatMulSum", "a: N * T, b: N * T -> product: T", T=[float32, float64], own_memory=True)
def mat_mul_sum_op(
    a: list[Tensor], b: list[Tensor], *, transpose_a: bool = False, transpose_b: bool = False
) -> Dims:
    """The sum of the matrix products of a[i] and b[i], added up in one matrix.

    Shapes: those of ``MatMul`` for every pair; the result is [m, n]. Gradient: none; rewriting
    happens after gradients are built.
    """
    left, right = a[0].dims, b[0].dims
    return (
        None if left is None else left[1 if transpose_a else 0],
        None if right is None else right[0 if transpose_b else 1],
    )


not_differentiable(mat_mul_sum_op)


@define_op(
    "_SumOfSlices",
    "shape: Index, dy: N * T -> output: T",
    T=NUMBERS,
    Index=INDICES,
    own_memory=True,
)
def sum_of_slices_op(shape: Tensor, dy: list[Tensor], *, indices: Any, apart: bool) -> Dims:
    """Zeros of ``shape``, to which ``dy[i]`` is added where ``indices[i]`` picks.

    ``indices``: for each, the begin, end and strides of a ``StridedSlice``, as tuples, with its five masks;
    ``apart``: no two pick the same element. Gradient: none; rewriting happens after gradients are built.
    """
    return static_dims(shape)


not_differentiable(sum_of_slices_op)


@define_op(
    "_UpdateAll",
    "refs: Ref(R * T), grads: N * T, scalars: list(Tin), rows: list(Trows) -> out: Ref(T)",
    T=NUMBERS,
)
def update_all_op(
    refs: list[Tensor],
    grads: list[Tensor],
    scalars: list[Tensor],
    rows: list[Tensor],
    *,
    update: str,
    update_attrs: Any,
) -> Dims:
    """N updates by the rule of the op type ``update``: variables with their slots, and gradients.

    ``rows`` are the indices of the gradients' rows; there are none where the gradients are dense.

    Shape: the first variable's. Gradient: none; rewriting happens after gradients are built.
    """
    return refs[0].dims


not_differentiable(update_all_op)


@define_op("_SumRepeatedRows", "values: T, indices: Tindices -> sums: T, rows: Tindices", T=NUMBERS)
def sum_repeated_rows_op(values: Tensor, indices: Tensor, *, num_rows: int) -> list[Dims]:
    """The rows of ``values`` with the same index added up, and the index of each sum.

    On a CPU there is one sum for each different index. On a GPU, whose host does not wait to learn
    how many that are, there are as many as indices: those left over are zeros with the index -1, as
    are those of an index that is not below ``num_rows`` (0: not known).

    Shapes: [n, ...], with n not known, and [n]. Gradient: none; rewriting happens after gradients
    are built.
    """
    assert values.dims is not None
    return [(None, *values.dims[1:]), (None,)]


not_differentiable(sum_repeated_rows_op)


@define_op(
    "_SafeEmbeddingLookup",
    "params: T, indices: int64, ids: Tids, dense_shape: int64, default_id: Tids"
    " -> rows: T, empty: bool, filled: Tids, segments: int32, different: Tids, which: int32",
    T=[float16, float32, float64],
    Tids=INDICES,
)
def safe_embedding_lookup_op(
    params: Tensor,
    indices: Tensor,
    ids: Tensor,
    dense_shape: Tensor,
    default_id: Tensor,
    *,
    combiner: str,
    tells_different: bool = True,
) -> list[Dims]:
    """For each row of a sparse matrix of ids, the combined rows of a table; zeros where there is none.

    ``empty`` says where there is none; ``filled`` are the ids not below 0, with ``default_id`` for each
    empty row, and ``segments`` their rows; ``different`` are the different ones, in the order in which they
    first appear, and ``which`` says for each of ``filled`` which of them it is. Without ``tells_different`` these two need not be true.

    Shapes: [rows, columns of params], [rows], [k], [k], [d], [k]. Gradient: none; rewriting happens
    after gradients are built.
    """
    columns = None if params.dims is None else params.dims[1]
    return [(None, columns), (None,), (None,), (None,), (None,), (None,)]


not_differentiable(safe_embedding_lookup_op)


@define_op("_ZeroEmptyRows", "x: T, empty: bool -> rows: T")
def zero_empty_rows_op(x: Tensor, empty: Tensor) -> Dims:
    """x with zeros in the rows that are empty.

    Shape: that of x. Gradient: none; rewriting happens after gradients are built.
    """
    return x.dims


not_differentiable(zero_empty_rows_op)


@define_op("_PackedMatrix", "b: T -> packed: variant", T=[float32, float64])
def packed_matrix_op(b: Tensor, *, transpose_b: bool = False) -> Dims:
    """A right matrix as products read it, for many of them.

    Shape: scalar, of dtype variant. Gradient: none; rewriting happens after gradients are built.
    """
    return ()


not_differentiable(packed_matrix_op)


@define_op("_PackedProduct", "a: T, packed: variant -> product: T", T=[float32, float64])
def packed_product_op(a: Tensor, packed: Tensor, *, output_shape: Shape) -> Dims:
    """The matrix product of a and a `_PackedMatrix`.

    Shape: ``output_shape``, that of the ``MatMul``. Gradient: none; rewriting happens after gradients
    are built.
    """
    return output_shape


not_differentiable(packed_product_op)


@define_op("_RoundsSum", "initial: T -> sum: variant", T=[float32, float64])
def rounds_sum_op(initial: Tensor) -> Dims:
    """A sum over the rounds of a loop that is made when the loop is over: of terms yet to come.

    Shape: scalar, of dtype variant. Gradient: none; rewriting happens after gradients are built.
    """
    return ()


not_differentiable(rounds_sum_op)


@define_op("_AddProduct", "sum: variant, a: T, b: T -> added: variant", T=[float32, float64])
def add_product_op(
    sum: Tensor, a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False
) -> Dims:
    """The `_RoundsSum` with the matrix product of a and b as one more term.

    Shape: scalar, of dtype variant. Gradient: none; rewriting happens after gradients are built.
    """
    return ()


not_differentiable(add_product_op)


@define_op("_AddRows", "sum: variant, rows: T -> added: variant", T=[float32, float64])
def add_rows_op(sum: Tensor, rows: Tensor) -> Dims:
    """The `_RoundsSum` with the sum of ``rows`` over all axes but the last as one more term.

    Shape: scalar, of dtype variant. Gradient: none; rewriting happens after gradients are built.
    """
    return ()


not_differentiable(add_rows_op)


@define_op("_RoundsTotal", "sum: variant -> total: T", T=[float32, float64])
def rounds_total_op(sum: Tensor, *, T: DType, output_shape: Shape) -> Dims:
    """What a `_RoundsSum` comes to.

    Shape: ``output_shape``, that of its initial value. Gradient: none; rewriting happens after
    gradients are built.
    """
    return output_shape


not_differentiable(rounds_total_op)


@define_op(
    "_BiasReluMaxPool",
    "input: T, bias: T -> output: T",
    T=[float32, float64],
    own_memory=True,
)
def bias_relu_max_pool_op(
    input: Tensor, bias: Tensor, *, ksize: list[int], strides: list[int], output_shape: Shape
) -> Dims:
    """``max_pool(relu(input + bias))`` for windows that cover height and width without overlap.

    Shapes: input [batch, height, width, channels], bias [channels] or [1]; ``output_shape``. Gradient:
    none; rewriting happens after gradients are built.
    """
    return output_shape


not_differentiable(bias_relu_max_pool_op)


@define_op(
    "_BiasReluMaxPoolGrad",
    "orig_input: T, bias: T, orig_output: T, grad: T -> output: T",
    T=[float32, float64],
    shape_like=0,
    own_memory=True,
)
def bias_relu_max_pool_grad_op(
    orig_input: Tensor,
    bias: Tensor,
    orig_output: Tensor,
    grad: Tensor,
    *,
    ksize: list[int],
    strides: list[int],
) -> Dims:
    """``MaxPoolGrad`` of ``relu(orig_input + bias)``: what reaches the rectifier.

    Shape: that of orig_input. Gradient: none; rewriting happens after gradients are built.
    """
    return orig_input.dims


not_differentiable(bias_relu_max_pool_grad_op)
