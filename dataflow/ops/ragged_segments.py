"""`tf.math.unsorted_segment_sum` and its kin for ragged tensors: rows of one id, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.errors import InvalidArgumentError
from dataflow.graph.name_scopes import op_scope
from dataflow.ops import array
from dataflow.ops.arithmetic import truediv
from dataflow.ops.assertions import assert_equal
from dataflow.ops.elementary import sqrt
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.ragged_reductions import aggregated
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.segment import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)
from dataflow.ops.static_value import static_value

_PREFIX = "segment_ids.shape must be a prefix of data.shape"


def _of_same_rows(data: Any, segment_ids: Any) -> tuple[Any, Any]:
    """The values of both, at the first depth at which ``segment_ids`` is not ragged.

    Raises `ValueError` where ``data`` is not ragged there, `InvalidArgumentError` for other row lengths, now where they
    are known and else in the run.
    """
    while isinstance(segment_ids, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise ValueError(f"{_PREFIX}, but segment_ids is ragged and data is not.")
        mine, its = static_value(data.row_splits), static_value(segment_ids.row_splits)
        values = segment_ids.values
        if mine is None or its is None:
            check = assert_equal(data.row_splits, segment_ids.row_splits, message=f"{_PREFIX}.")
            with control_dependencies([check]):
                values = array.identity(values) if not isinstance(values, RaggedTensor) else values
        elif mine.tolist() != its.tolist():
            raise InvalidArgumentError(
                None,
                None,
                f"{_PREFIX}: data has the row splits {mine.tolist()}, segment_ids {its.tolist()}.",
            )
        data, segment_ids = data.values, values
    return data, segment_ids


def _segments(name: str, combine: Callable[..., Any]) -> Callable[..., Any]:
    def aggregate(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        with op_scope(name, label, []):
            ids = convert_to_ragged(segment_ids)
            return combine(*_of_same_rows(convert_to_ragged(data), ids), num_segments)

    label = f"RaggedSegment{name}"
    aggregate.__doc__ = f"`tf.math.unsorted_segment_{name.lower()}` of a ragged tensor."
    return aggregate


def _aggregation(segments: Callable[..., Any]) -> Callable[..., Any]:
    return lambda data, ids, count: aggregated(segments, data, ids, count)


def _counts(data: Any, ids: Any, count: Any) -> Any:
    """How many elements there are in each place, in the dtype of ``data``."""
    if isinstance(data, RaggedTensor):
        ones = data.with_flat_values(array.ones_like(data.flat_values))
        return aggregated(unsorted_segment_sum, ones, ids, count)
    return aggregated(unsorted_segment_sum, array.ones_like(data), ids, count)


def _divided(total: Any, by: Any) -> Any:
    if not isinstance(total, RaggedTensor):
        return truediv(total, by)
    return total.with_flat_values(truediv(total.flat_values, by.flat_values))


def _mean(data: Any, ids: Any, count: Any) -> Any:
    total = aggregated(unsorted_segment_sum, data, ids, count)
    return _divided(total, _counts(data, ids, count))


def _sqrt_n(data: Any, ids: Any, count: Any) -> Any:
    total, counts = aggregated(unsorted_segment_sum, data, ids, count), _counts(data, ids, count)
    if not isinstance(counts, RaggedTensor):
        return _divided(total, sqrt(counts))
    return _divided(total, counts.with_flat_values(sqrt(counts.flat_values)))


segment_sum = _segments("Sum", _aggregation(unsorted_segment_sum))
segment_prod = _segments("Prod", _aggregation(unsorted_segment_prod))
segment_min = _segments("Min", _aggregation(unsorted_segment_min))
segment_max = _segments("Max", _aggregation(unsorted_segment_max))
segment_mean = _segments("Mean", _mean)
segment_sqrt_n = _segments("SqrtN", _sqrt_n)
