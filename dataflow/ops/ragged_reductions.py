"""Sums, means and extremes of ragged tensors, along rows or over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops import array, string
from dataflow.ops.arithmetic import maximum_op
from dataflow.ops.casts import cast
from dataflow.ops.cumulative import cumsum
from dataflow.ops.ragged_ranges import ragged_range
from dataflow.ops.ragged_shape import checked_axis, ones_like
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.reduce import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from dataflow.ops.segment import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)


def aggregated(segments: Callable[..., Any], data: Any, ids: TensorLike, count: Any) -> Any:
    """What ``segments`` makes of the elements of ``data`` with one id; of rows, element by element."""
    if not isinstance(data, RaggedTensor):
        return segments(data, ids, count)
    lengths = data.row_lengths()
    widths = unsorted_segment_max(lengths, ids, count)
    widths = maximum_op(widths, array.zeros_like(widths))
    splits = array.concat([array.zeros([1], widths.dtype), cumsum(widths)], 0)
    starts = array.gather(splits, ids)
    places = ragged_range(starts, starts + lengths, 1, lengths.dtype).values
    values = aggregated(segments, data.values, places, splits[-1])
    return RaggedTensor(values, splits)


def _reduced(whole: Any, segments: Any, rt: Any, axis: Any, name: str) -> Any:
    if not isinstance(rt, RaggedTensor):
        return whole(rt, axis)
    if axis is None:
        return whole(rt.flat_values, None)
    if isinstance(axis, (list, tuple)):
        for one in sorted((checked_axis(a, rt.shape.ndims) for a in axis), reverse=True):
            rt = _reduced(whole, segments, rt, one, name)
        return rt
    axis = checked_axis(int(axis), rt.shape.ndims)
    if axis == 0:
        lengths = rt.row_lengths()
        zero = array.zeros([1], lengths.dtype)
        count = reduce_max(array.concat([lengths, zero], 0))
        return aggregated(
            segments, rt.values, ragged_range(lengths, dtype=lengths.dtype).values, count
        )
    if axis == 1:
        return aggregated(segments, rt.values, rt.value_rowids(), rt.nrows())
    return rt.with_values(_reduced(whole, segments, rt.values, axis - 1, name))


def _reduction(name: str, whole: Any, segments: Any) -> Callable[..., Any]:
    def reduce(
        input_tensor: TensorLike,
        axis: AxisLike | None = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        if keepdims or keep_dims:
            raise ValueError(
                "reductions of a RaggedTensor do not support keepdims: use tf.expand_dims"
            )
        axis = reduction_indices if axis is None else axis
        with op_scope(name, label, []):
            return _reduced(whole, segments, convert_to_ragged(input_tensor), axis, label)

    label = f"Ragged{name}"
    reduce.__doc__ = f"`tf.reduce_{name.lower()}` of a ragged tensor."
    return reduce


def _logic(segments: Any) -> Any:
    return lambda data, ids, count: cast(
        segments(cast(data, dtypes.int32), ids, count) > 0, dtypes.bool_
    )


sum_ = _reduction("Sum", reduce_sum, unsorted_segment_sum)


prod = _reduction("Prod", reduce_prod, unsorted_segment_prod)


max_ = _reduction("Max", reduce_max, unsorted_segment_max)


min_ = _reduction("Min", reduce_min, unsorted_segment_min)


all_ = _reduction("All", reduce_all, _logic(unsorted_segment_prod))


any_ = _reduction("Any", reduce_any, _logic(unsorted_segment_max))


def reduce_join(
    inputs: Any,
    axis: AxisLike | None = None,
    keep_dims: Any = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: Any = None,
) -> Any:
    """`tf.strings.reduce_join` of a ragged tensor."""

    def whole(texts: Any, axis: Any) -> Any:
        return string.reduce_join(texts, axis, separator=separator)

    def segments(texts: Any, ids: Any, count: Any) -> Any:
        return string.unsorted_segment_join(texts, ids, count, separator=separator)

    return _reduction("Join", whole, segments)(
        inputs, axis, keepdims, name, reduction_indices, keep_dims
    )


def mean(
    input_tensor: Any,
    axis: AxisLike | None = None,
    keepdims: Any = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Any:
    """`tf.reduce_mean` of a ragged tensor: the sum over the number of elements, not the mean of means."""
    ragged = convert_to_ragged(input_tensor)
    axis = reduction_indices if axis is None else axis
    if axis is None:
        return reduce_mean(ragged.flat_values)
    total = sum_(ragged, axis, keepdims, name, None, keep_dims)
    return total / sum_(ones_like(ragged), axis)
