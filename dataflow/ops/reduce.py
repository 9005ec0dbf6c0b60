"""Reductions: sums, means, extremes and logic along axes, and where the extremes are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import INDICES, NUMBERS, REAL_NUMBERS, DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import add, conj_if_complex, maximum_op, real_div_op, sub_op
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal_op, is_finite_op, not_equal_op
from dataflow.ops.complex_numbers import conj, real
from dataflow.ops.cumulative import cumprod
from dataflow.ops.elementary import exp_op, log_op, sqrt_op, square_op
from dataflow.ops.gradient_counts import num_mean_nodes, num_sum_nodes
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.seeds import counted_as
from dataflow.ops.segment import unsorted_segment_sum_op
from dataflow.ops.sequences import all_axes
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, list_dims, normalize_axis, num_elements


def static_axes(axes: Tensor, rank: int | None) -> list[int] | None:
    """The axes that a tensor holds, sorted, from 0 to rank - 1; ``None`` where not known yet."""
    value = static_value(axes)
    if value is None or rank is None:
        return None
    return sorted({normalize_axis(int(a), rank) for a in np.asarray(value).reshape(-1)})


def reduced_dims(x: Tensor, reduction_indices: Tensor, keep_dims: bool) -> Dims:
    """Shape rule of a reduction; raises `ValueError` for an axis that x has not."""
    if reduction_indices.dims is not None and len(reduction_indices.dims) > 1:
        raise ValueError(
            "the axes must be one number or a vector, got shape "
            f"{list_dims(reduction_indices.dims)}"
        )
    if x.dims is None:
        return None
    axes = static_axes(reduction_indices, len(x.dims))
    if axes is None:
        return (None,) * len(x.dims) if keep_dims else None
    if keep_dims:
        return tuple(1 if i in axes else d for i, d in enumerate(x.dims))
    return tuple(d for i, d in enumerate(x.dims) if i not in axes)


def _reduction(op_type: str, what: str, gradient: str, allowed: Any = NUMBERS) -> OpDef:
    def rule(input: Tensor, reduction_indices: Tensor, *, keep_dims: bool = False) -> Dims:
        return reduced_dims(input, reduction_indices, keep_dims)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what} along the axes ``reduction_indices``.\n\n"
        "Shape: that of the input without these axes; with ``keep_dims`` they stay, of size 1. "
        f"Dtype: kept.\nGradient: {gradient}\n"
    )
    kind = "T" if allowed is not None else "bool"
    groups = {"T": allowed} if allowed is not None else {}
    return define_op(
        op_type,
        f"input: {kind}, reduction_indices: Tidx -> output: {kind}",
        Tidx=INDICES,
        keeps_nothing=_reduces_an_axis,
        is_reduction=True,
        **groups,
    )(rule)


def _reduces_an_axis(op: Operation) -> bool:
    """Without an axis to reduce the kernel returns its input."""
    before, after = op.inputs[0].dims, op.outputs[0].dims
    return before is not None and after is not None and before != after


sum_op = _reduction("Sum", "The sum", "dy to every element that was summed.")
mean_op = _reduction("Mean", "The mean", "dy / n to every element, n of them to a mean.")
prod_op = _reduction("Prod", "The product", "dy times the product of all others.")
max_op = _reduction(
    "Max", "The largest element", "dy to the largest; equal ones share it.", REAL_NUMBERS
)
min_op = _reduction(
    "Min", "The smallest element", "dy to the smallest; equal ones share it.", REAL_NUMBERS
)
euclidean_norm_op = _reduction(
    "EuclideanNorm", "The square root of the sum of squares", "dy * x / y."
)
all_op = _reduction("All", "Whether every element is true", "none.", None)
any_op = _reduction("Any", "Whether some element is true", "none.", None)
not_differentiable(all_op, any_op)


def shape_with_ones(x: Tensor, axes: Tensor) -> Any:
    """The shape of x with size 1 at ``axes``, as a tensor, for axes that are not known yet."""
    shape = array_ops.shape(x)
    axes = cast(axes, dtypes.int32)
    rank = array_ops.size(shape)
    flat = array_ops.reshape((axes + rank) % rank, [-1])
    hit = unsorted_segment_sum_op(array_ops.ones_like(flat), flat, rank)
    return shape * (1 - hit) + hit


def _static_shape(x: Tensor) -> Any:
    """The shape as a list where it is known, else as a tensor."""
    assert x.dims is None or isinstance(x.dims, tuple)
    return array_ops.shape(x) if x.dims is None or None in x.dims else list(x.dims)


def keep_reduced_axes(op: Operation, value: TensorLike) -> Any:
    """``value``, of the shape of a reduction's result, with the reduced axes put back as size 1."""
    x, axes = op.inputs
    if op.attrs["keep_dims"]:
        return value
    rank = None if x.dims is None else len(x.dims)
    known = static_axes(axes, rank)
    if known is None:
        return array_ops.reshape(value, shape_with_ones(x, axes))
    if len(known) == rank:
        return array_ops.reshape(value, [1] * rank)
    if x.dims is not None and None not in x.dims:
        return array_ops.reshape(value, [1 if i in known else d for i, d in enumerate(x.dims)])
    for axis in known:
        value = array_ops.expand_dims(value, axis)
    return value


@sum_op.gradient
def sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    with counted_as(_num_sum_nodes(op)):
        kept = keep_reduced_axes(op, grad)
        return [array_ops.broadcast_to(kept, _static_shape(op.inputs[0])), None]


def _num_sum_nodes(op: Operation) -> int:
    x, axes = op.inputs
    return num_sum_nodes(op, static_axes(axes, None if x.dims is None else len(x.dims)))


@mean_op.gradient
def mean_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs[0], op.outputs[0]
    total, _ = sum_gradient(op, grad)
    with counted_as(num_mean_nodes(op)):
        num_in, num_out = num_elements(x.dims), num_elements(y.dims)
        if num_in is not None and num_out is not None:
            factor = constant(max(num_in // max(num_out, 1), 0), dtype=grad.dtype)
        else:
            sizes = [array_ops.size(t) for t in (x, y)]
            factor = cast(sizes[0] // maximum_op(sizes[1], 1), grad.dtype)
        return [real_div_op(total, factor), None]


def _extreme_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x = op.inputs[0]
    with counted_as(19):
        y = keep_reduced_axes(op, op.outputs[0])
        chosen = cast(equal_op(y, x), grad.dtype)
        num_chosen = sum_op(chosen, op.inputs[1], keep_dims=True)
        return [real_div_op(chosen, num_chosen) * keep_reduced_axes(op, grad), None]


max_op.gradient(_extreme_gradient)
min_op.gradient(_extreme_gradient)


@euclidean_norm_op.gradient
def euclidean_norm_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y = keep_reduced_axes(op, op.outputs[0])
    return [real_div_op(op.inputs[0], y) * keep_reduced_axes(op, grad), None]


@prod_op.gradient
def prod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Products of what stands before and after each element: exact where elements are 0."""
    x, axes = op.inputs
    kept = keep_reduced_axes(op, grad)
    rank = None if x.dims is None else len(x.dims)
    known = static_axes(axes, rank)
    if known is not None and len(known) == 1:
        before = cumprod(x, known[0], exclusive=True)
        after = cumprod(x, known[0], exclusive=True, reverse=True)
        return [kept * conj_if_complex(before * after), None]
    if known is not None:
        assert rank is not None
        order: Any = known + [i for i in range(rank) if i not in known]
        inverse: Any = [int(i) for i in np.argsort(order)]
        num_axes: Any = len(known)
    else:
        rank_tensor = array_ops.rank(x)
        flat = array_ops.reshape((cast(axes, dtypes.int32) + rank_tensor) % rank_tensor, [-1])
        rest, _ = array_ops.setdiff1d(array_ops.range_(rank_tensor), flat)
        order = array_ops.concat([flat, rest], 0)
        inverse = array_ops.invert_permutation(order)
        num_axes = array_ops.size(flat)
    moved = array_ops.transpose(x, order)
    shape = array_ops.shape(moved)
    rows = prod_op(shape[:num_axes], [0])
    flat_x = array_ops.reshape(moved, array_ops.stack([rows, prod_op(shape[num_axes:], [0])]))
    before = cumprod(flat_x, 0, exclusive=True)
    after = cumprod(flat_x, 0, exclusive=True, reverse=True)
    others = array_ops.reshape(before * after, shape)
    return [kept * conj_if_complex(array_ops.transpose(others, inverse)), None]


# ---- where the extremes are --------------------------------------------------------------------


def _arg_dims(x: Tensor, dimension: Tensor) -> Dims:
    if x.dims is None:
        return None
    axis = static_value(dimension)
    if axis is None:
        return (None,) * (len(x.dims) - 1)
    if not x.dims:
        raise ValueError("a scalar has no axis to search\nReshape it to a vector first.")
    axis = normalize_axis(int(axis), len(x.dims))
    return x.dims[:axis] + x.dims[axis + 1 :]


@define_op(
    "ArgMax",
    "input: T, dimension: Tidx -> output: output_type",
    T=REAL_NUMBERS | {dtypes.bool_},
    Tidx=INDICES | {dtypes.int16},
    keeps_nothing=True,
)
def arg_max(input: Tensor, dimension: Tensor, *, output_type: DType = dtypes.int64) -> Dims:
    """The position of the largest element along an axis; the first of equal ones.

    Shape: that of the input without the axis. Dtype: ``output_type``. Gradient: none.
    """
    return _arg_dims(input, dimension)


@define_op(
    "ArgMin",
    "input: T, dimension: Tidx -> output: output_type",
    T=REAL_NUMBERS | {dtypes.bool_},
    Tidx=INDICES,
    keeps_nothing=True,
)
def arg_min(input: Tensor, dimension: Tensor, *, output_type: DType = dtypes.int64) -> Dims:
    """The position of the smallest element along an axis; the first of equal ones.

    Shape: that of the input without the axis. Dtype: ``output_type``. Gradient: none.
    """
    return _arg_dims(input, dimension)


not_differentiable(arg_max, arg_min)

# ---- public functions --------------------------------------------------------------------------


def reduction_axes(x: Tensor, axis: AxisLike | None) -> Any:
    """``axis``, or all axes of x, as a tensor or a list."""
    return all_axes(x) if axis is None else axis


def _is_array(value: Any) -> bool:
    """True for arrays, and for lists of nothing, which have no dtype of their own."""
    return isinstance(value, np.ndarray) or (isinstance(value, (list, tuple)) and not value)


def _reduce_function(op: OpDef, what: str) -> Callable[..., Tensor]:
    flags = op.type in ("All", "Any")

    def reduce(
        input_tensor: TensorLike,
        axis: AxisLike | None = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Tensor:
        axis = renamed("axis", axis, "reduction_indices", reduction_indices)
        keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
        if type(input_tensor) is not Tensor:
            # Arrays of numbers are true where they are not 0, as an op of booleans takes them in TensorFlow.
            truth = dtypes.bool_ if flags and _is_array(input_tensor) else None
            input_tensor = convert_to_tensor(input_tensor, truth, name="input_tensor")
        axes = reduction_axes(input_tensor, axis)
        result: Tensor = op(input_tensor, axes, keep_dims=bool(keepdims), name=name)
        if axis is None and not keepdims and result.dims is None:
            result.set_shape(())  # of an x of unknown rank
        return result

    reduce.__name__ = reduce.__qualname__ = f"reduce_{op.__name__}"
    reduce.__doc__ = (
        f"{what} of the elements along ``axis`` (a number or a list; all axes when not given).\n\n"
        "``keepdims=True`` leaves the axes in the shape, with size 1. ``reduction_indices`` and\n"
        "``keep_dims`` are older spellings. Raises `ValueError` for an axis that is not there.\n"
    )
    return takes_ragged(f"{op.type.lower()}{'' if op.type in ('Mean', 'Prod') else '_'}")(reduce)


reduce_sum = _reduce_function(sum_op, "The sum")
reduce_mean = _reduce_function(mean_op, "The mean")
reduce_prod = _reduce_function(prod_op, "The product")
reduce_max = _reduce_function(max_op, "The largest")
reduce_min = _reduce_function(min_op, "The smallest")
reduce_all = _reduce_function(all_op, "The logical and")
reduce_any = _reduce_function(any_op, "The logical or")


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares along ``axis``."""
    x = convert_to_tensor(input_tensor, name="input_tensor")
    return euclidean_norm_op(x, reduction_axes(x, axis), keep_dims=bool(keepdims), name=name)  # type: ignore[no-any-return]


def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: Any = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """``log(sum(exp(x)))`` along ``axis``, exact where exp(x) would overflow."""
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with default_graph().name_scope(name or "ReduceLogSumExp"):
        x = convert_to_tensor(input_tensor, name="input_tensor")
        largest = reduce_max(x, axis=axis, keepdims=True)
        finite = array_ops.where(is_finite_op(largest), largest, array_ops.zeros_like(largest))
        finite = array_ops.stop_gradient(finite)
        total = reduce_sum(exp_op(sub_op(x, finite)), axis=axis, keepdims=keepdims)
        result = log_op(total)
        if not keepdims:
            finite = array_ops.reshape(finite, array_ops.shape(result))
        return add(result, finite, name="Add")


def reduce_variance(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The mean squared distance from the mean (biased: divided by n) along ``axis``."""
    with default_graph().name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        if x.dtype.is_integer:
            raise TypeError(f"Input must be floating, got {x.dtype.name}: convert it with tf.cast.")
        centered = x - reduce_mean(x, axis=axis, keepdims=True)
        if centered.dtype.is_complex:
            return reduce_mean(real(centered * conj(centered)), axis=axis, keepdims=keepdims)
        return reduce_mean(square_op(centered), axis=axis, keepdims=keepdims)


def reduce_std(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The standard deviation (biased: divided by n) along ``axis``."""
    with default_graph().name_scope(name or "reduce_std"):
        return sqrt_op(reduce_variance(input_tensor, axis=axis, keepdims=keepdims))  # type: ignore[no-any-return]


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: AxisLike | None = None,
    keepdims: Any = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The number of elements along ``axis`` that are not 0 (strings: not empty)."""
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    x = renamed("input_tensor", input_tensor, "input", input)
    with default_graph().name_scope(name or "count_nonzero"):
        x = convert_to_tensor(x, name="input")
        zero = array_ops.zeros([], dtype=x.dtype.base_dtype)
        hits = cast(not_equal_op(x, zero), dtypes.int64)
        return cast(reduce_sum(hits, axis=axis, keepdims=keepdims), dtype)  # type: ignore[no-any-return]


def argmax(
    input: TensorLike,
    axis: AxisLike | None = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """The position of the largest element along ``axis`` (0 when not given)."""
    axis = renamed("axis", axis, "dimension", dimension)
    return arg_max(input, 0 if axis is None else axis, output_type=output_type, name=name)  # type: ignore[no-any-return]


def argmin(
    input: TensorLike,
    axis: AxisLike | None = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """The position of the smallest element along ``axis`` (0 when not given)."""
    axis = renamed("axis", axis, "dimension", dimension)
    return arg_min(input, 0 if axis is None else axis, output_type=output_type, name=name)  # type: ignore[no-any-return]
