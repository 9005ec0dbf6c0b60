"""Reductions over segments: rows that carry the same id are summed, multiplied, compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import INDICES, NUMBERS, REAL_NUMBERS
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import div_no_nan_op, maximum_op, real_div_op
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal_op, greater_equal_op
from dataflow.ops.elementary import sqrt
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.seeds import count_left_out
from dataflow.ops.shape import need_rank
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, compatible, list_dims

# ---- unsorted: any order, the number of segments is given ----------------------------------------


def _unsorted_dims(data: Tensor, segment_ids: Tensor, num_segments: Tensor) -> Dims:
    need_rank(num_segments, 0, "num_segments")
    count = static_value(num_segments)
    if count is not None and count < 0:
        raise ValueError(f"num_segments must be 0 or more, got {int(count)}")
    if data.dims is None or segment_ids.dims is None:
        return None
    rank = len(segment_ids.dims)
    if not compatible(data.dims[:rank], segment_ids.dims):
        raise ValueError(
            f"data has shape {list_dims(data.dims)}, segment_ids {list_dims(segment_ids.dims)}\n"
            "The shape of data must start with that of segment_ids: one id for each row."
        )
    return (None if count is None else int(count), *data.dims[rank:])


def _unsorted(op_type: str, what: str, gradient: str, allowed: Any) -> OpDef:
    def rule(data: Tensor, segment_ids: Tensor, num_segments: Tensor) -> Dims:
        return _unsorted_dims(data, segment_ids, num_segments)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what} of the rows of each segment; rows with a negative id are left out.\n\n"
        "Shape: data [s..., d...], segment_ids [s...] give [num_segments, d...]. Dtype: kept.\n"
        f"Gradient: {gradient}\n"
    )
    return define_op(
        op_type,
        "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T",
        T=allowed,
        Tindices=INDICES | {dtypes.int16},
        Tnumsegments=INDICES,
    )(rule)


unsorted_segment_sum_op = _unsorted(
    "UnsortedSegmentSum", "The sum", "each row gets that of its segment.", NUMBERS
)
unsorted_segment_prod_op = _unsorted(
    "UnsortedSegmentProd", "The product", "dy times the product of the others.", NUMBERS
)
unsorted_segment_max_op = _unsorted(
    "UnsortedSegmentMax", "The largest", "to the largest; equal ones share it.", REAL_NUMBERS
)
unsorted_segment_min_op = _unsorted(
    "UnsortedSegmentMin", "The smallest", "to the smallest; equal ones share it.", REAL_NUMBERS
)


def _gather_or_zero(values: TensorLike, ids: Any) -> tuple[Any, Any, Any]:
    """The row of each id, zeros for negative ids; the ids made positive; and which were."""
    safe = maximum_op(ids, array_ops.zeros_like(ids))
    rows = array_ops.gather(values, safe)
    positive = greater_equal_op(ids, 0)
    if rows.dims is not None and ids.dims is not None:
        for _ in range(len(rows.dims) - len(ids.dims)):
            positive = array_ops.expand_dims(positive, -1)
    else:
        extra = array_ops.rank(rows) - array_ops.rank(positive)
        shape = array_ops.concat(
            [
                array_ops.shape(positive),
                array_ops.ones(array_ops.expand_dims(extra, 0), dtypes.int32),
            ],
            0,
        )
        positive = array_ops.reshape(positive, shape)
    rows = rows * cast(positive, rows.dtype.base_dtype)
    return rows, safe, positive


@unsorted_segment_sum_op.gradient
def unsorted_segment_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [_gather_or_zero(grad, op.inputs[1])[0], None, None]


def _unsorted_extreme_gradient(op: Operation, grad: Tensor) -> list[Any]:
    data, ids, num_segments = op.inputs
    found, _, positive = _gather_or_zero(op.outputs[0], ids)
    chosen = cast(equal_op(data, found), grad.dtype) * cast(positive, grad.dtype)
    count = unsorted_segment_sum_op(chosen, ids, num_segments)
    share, _, _ = _gather_or_zero(div_no_nan_op(grad, count), ids)
    return [chosen * share, None, None]


unsorted_segment_max_op.gradient(_unsorted_extreme_gradient)
unsorted_segment_min_op.gradient(_unsorted_extreme_gradient)


@unsorted_segment_prod_op.gradient
def unsorted_segment_prod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """dy * product / x; where x is 0, dy * the product of the others, if it is the only 0."""
    data, ids, num_segments = op.inputs
    is_zero = equal_op(data, array_ops.zeros_like(data))
    num_zeros = unsorted_segment_sum_op(cast(is_zero, dtypes.int32), ids, num_segments)
    grad = array_ops.where(num_zeros > 1, array_ops.zeros_like(grad), grad)
    nonzero = array_ops.where(is_zero, array_ops.ones_like(data), data)
    others = unsorted_segment_prod_op(nonzero, ids, num_segments)
    product, _, _ = _gather_or_zero(op.outputs[0], ids)
    others, _, _ = _gather_or_zero(others, ids)
    partial = array_ops.where(is_zero, others, real_div_op(product, nonzero))
    rows, _, _ = _gather_or_zero(grad, ids)
    return [rows * partial, None, None]


def _taking_ragged(op: OpDef, handler: str) -> Callable[..., Any]:
    def aggregate(
        data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
    ) -> Tensor:
        return op(data, segment_ids, num_segments, name=name)  # type: ignore[no-any-return]

    aggregate.__name__, aggregate.__doc__ = handler, op.__doc__
    return takes_ragged(handler)(aggregate)


unsorted_segment_sum = _taking_ragged(unsorted_segment_sum_op, "unsorted_segment_sum")
unsorted_segment_prod = _taking_ragged(unsorted_segment_prod_op, "unsorted_segment_prod")
unsorted_segment_max = _taking_ragged(unsorted_segment_max_op, "unsorted_segment_max")
unsorted_segment_min = _taking_ragged(unsorted_segment_min_op, "unsorted_segment_min")


def _segment_sizes(data: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """How many rows each segment has, at least 1, shaped to divide the sums."""
    count_left_out(-10 if isinstance(num_segments, Tensor) else -12)
    dtype = data.dtype.base_dtype
    ones = array_ops.ones(array_ops.shape(segment_ids), dtype=dtype)
    sizes = unsorted_segment_sum_op(ones, segment_ids, num_segments)
    extra = array_ops.rank(data) - array_ops.rank(segment_ids)
    shape: Any = array_ops.concat(
        [
            array_ops.reshape(cast(num_segments, dtypes.int32), [1]),
            array_ops.ones(array_ops.reshape(extra, [1]), dtypes.int32),
        ],
        0,
    )
    if data.dims is not None and segment_ids.dims is not None:
        shape = [-1] + [1] * (len(data.dims) - len(segment_ids.dims))
    return maximum_op(array_ops.reshape(sizes, shape), 1)  # type: ignore[no-any-return]


@takes_ragged("unsorted_segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The mean of the rows of each segment; 0 for empty ones."""
    with default_graph().name_scope(name or "UnsortedSegmentMean"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _segment_sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum_op(data, segment_ids, num_segments) / sizes  # type: ignore[no-any-return]


@takes_ragged("unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of the rows of each segment divided by the square root of their number."""
    with default_graph().name_scope(name or "UnsortedSegmentSqrtN"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _segment_sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum_op(data, segment_ids, num_segments) / sqrt(sizes)  # type: ignore[no-any-return]


# ---- sorted: ids do not decrease, the last one says how many -------------------------------------


def _segment_dims(data: Tensor, segment_ids: Tensor) -> Dims:
    if segment_ids.dims is not None and len(segment_ids.dims) != 1:
        raise ValueError(
            f"segment_ids must be a vector, got shape {list_dims(segment_ids.dims)}\n"
            "tf.unsorted_segment_* take ids of any shape."
        )
    if data.dims is None:
        return None
    if not data.dims:
        raise ValueError("data must have at least one axis, got a scalar")
    if segment_ids.dims is not None and not compatible(data.dims[:1], segment_ids.dims):
        raise ValueError(
            f"data has {data.dims[0]} rows, segment_ids has {segment_ids.dims[0]} ids\n"
            "Each row of data needs one id."
        )
    return (None, *data.dims[1:])


def _sorted(op_type: str, what: str, gradient: str, allowed: Any) -> OpDef:
    def rule(data: Tensor, segment_ids: Tensor) -> Dims:
        return _segment_dims(data, segment_ids)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what} of the rows of each segment; the ids must not decrease.\n\n"
        "Shape: data [n, d...], segment_ids [n] give [last id + 1, d...]. Dtype: kept.\n"
        f"Gradient: {gradient}\n"
    )
    return define_op(
        op_type, "data: T, segment_ids: Tindices -> output: T", T=allowed, Tindices=INDICES
    )(rule)


segment_sum_op = _sorted("SegmentSum", "The sum", "each row gets that of its segment.", NUMBERS)
segment_mean_op = _sorted("SegmentMean", "The mean", "that of the segment / its size.", NUMBERS)
segment_prod_op = _sorted("SegmentProd", "The product", "dy * the product of the others.", NUMBERS)
segment_max_op = _sorted(
    "SegmentMax", "The largest", "to the largest; equal ones share it.", REAL_NUMBERS
)
segment_min_op = _sorted(
    "SegmentMin", "The smallest", "to the smallest; equal ones share it.", REAL_NUMBERS
)


@segment_sum_op.gradient
def segment_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [array_ops.gather(grad, op.inputs[1]), None]


@segment_mean_op.gradient
def segment_mean_gradient(op: Operation, grad: Tensor) -> list[Any]:
    ids = op.inputs[1]
    extra = array_ops.expand_dims(array_ops.rank(op.inputs[0]) - 1, 0)
    ones_shape = array_ops.concat([array_ops.shape(ids), array_ops.ones(extra, dtypes.int32)], 0)
    ones = array_ops.ones(ones_shape, dtype=grad.dtype.base_dtype)
    scaled = real_div_op(grad, maximum_op(segment_sum_op(ones, ids), 1))
    return [array_ops.gather(scaled, ids), None]


def _sorted_extreme_gradient(op: Operation, grad: Tensor) -> list[Any]:
    data, ids = op.inputs
    chosen = cast(equal_op(data, array_ops.gather(op.outputs[0], ids)), grad.dtype)
    count = segment_sum_op(chosen, ids)
    return [chosen * array_ops.gather(div_no_nan_op(grad, count), ids), None]


segment_max_op.gradient(_sorted_extreme_gradient)
segment_min_op.gradient(_sorted_extreme_gradient)


@segment_prod_op.gradient
def segment_prod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    data, ids = op.inputs
    is_zero = equal_op(data, array_ops.zeros_like(data))
    num_zeros = segment_sum_op(cast(is_zero, dtypes.int32), ids)
    grad = array_ops.where(num_zeros > 1, array_ops.zeros_like(grad), grad)
    nonzero = array_ops.where(is_zero, array_ops.ones_like(data), data)
    others = array_ops.gather(segment_prod_op(nonzero, ids), ids)
    product = array_ops.gather(op.outputs[0], ids)
    partial = array_ops.where(is_zero, others, real_div_op(product, nonzero))
    return [array_ops.gather(grad, ids) * partial, None]


segment_sum = segment_sum_op
segment_mean = segment_mean_op
segment_prod = segment_prod_op
segment_max = segment_max_op
segment_min = segment_min_op
