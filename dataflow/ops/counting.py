"""Counting: occurrences, histograms, confusion matrices."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import maximum_op, minimum_op
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_op
from dataflow.ops.reduce import reduce_max
from dataflow.ops.seeds import count_left_out
from dataflow.ops.shape import need_rank
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, compatible, list_dims

_COUNTED = frozenset({dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64})


@define_op(
    "Bincount", "arr: int32, size: int32, weights: T -> bins: T", T=_COUNTED, int32_on_device=True
)
def bincount_op(arr: Tensor, size: Tensor, weights: Tensor) -> Dims:
    """How often each of 0 .. size - 1 occurs in arr, or the sums of the weights of each.

    Shape: [size]. Values of size and above are left out; negative ones are an error; weights may
    be empty. Dtype: that of the weights. Gradient: none.
    """
    need_rank(size, 0, "size")
    count = static_value(size)
    if count is not None and count < 0:
        raise ValueError(f"size must be non-negative but is {int(count)}")
    return (None if count is None else int(count),)


@define_op(
    "DenseBincount",
    "input: Tidx, size: Tidx, weights: T -> output: T",
    T=_COUNTED,
    Tidx={dtypes.int32, dtypes.int64},
)
def dense_bincount_op(
    input: Tensor, size: Tensor, weights: Tensor, *, binary_output: bool = False
) -> Dims:
    """As Bincount, of a vector or of each row of a matrix.

    Shape: [n] gives [size], [rows, n] gives [rows, size]. With ``binary_output`` 1 for what occurs
    at all. Dtype: that of the weights. Gradient: none.
    """
    if input.dims is None:
        return None
    if len(input.dims) > 2:
        raise ValueError(f"input must be a vector or a matrix, got {list_dims(input.dims)}")
    count = static_value(size)
    return (*input.dims[:-1], None if count is None else int(count))


@define_op(
    "HistogramFixedWidth",
    "values: T, value_range: T, nbins: int32 -> out: dtype",
    T=_COUNTED,
    dtype={dtypes.int32, dtypes.int64},
)
def histogram_fixed_width_op(
    values: Tensor, value_range: Tensor, nbins: Tensor, *, dtype: DType = dtypes.int32
) -> Dims:
    """How many values fall into each of nbins equal parts of a range; outliers go to the ends.

    Shape: [nbins]. Dtype: ``dtype``. Gradient: none.
    """
    if value_range.dims is not None and value_range.dims not in ((2,), (None,)):
        raise ValueError(
            f"value_range must be [low, high], got shape {list_dims(value_range.dims)}"
        )
    count = static_value(nbins)
    return (None if count is None else int(count),)


@define_op("Bucketize", "input: T -> output: int32", T=_COUNTED, shape_like=0)
def bucketize_op(input: Tensor, *, boundaries: list[float]) -> Dims:
    """The number of the bucket that each element falls into; boundaries belong to the upper one.

    Shape: that of the input. Dtype: int32. Gradient: none.
    """
    return input.dims


not_differentiable(bincount_op, dense_bincount_op, histogram_fixed_width_op, bucketize_op)


def bincount(
    arr: Any,
    weights: TensorLike | None = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: DTypeLike = dtypes.int32,
) -> Tensor:
    """How often each integer occurs in ``arr``: [largest + 1], at least minlength, at most maxlength.

    ``weights`` are summed instead where given; the result has their dtype, else ``dtype``.
    """
    with default_graph().name_scope("bincount"):
        arr = cast(convert_to_tensor(arr, name="arr"), dtypes.int32)
        not_empty = cast(greater_op(array_ops.size(arr), 0), dtypes.int32)
        length = not_empty * (reduce_max(arr) + 1)
        if minlength is not None:
            length = maximum_op(convert_to_tensor(minlength, dtypes.int32), length)
        if maxlength is not None:
            length = minimum_op(convert_to_tensor(maxlength, dtypes.int32), length)
        if weights is None:
            weights = array_ops.zeros([0], dtype=as_dtype(dtype))
        return dense_bincount_op(array_ops.reshape(arr, [-1]), length, weights)  # type: ignore[no-any-return]


def histogram_fixed_width(
    values: TensorLike,
    value_range: Any,
    nbins: Any = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """How many values fall into each of ``nbins`` equal parts of ``value_range``."""
    with default_graph().name_scope(name or "histogram_fixed_width") as scope:
        values = convert_to_tensor(values)
        return histogram_fixed_width_op(  # type: ignore[no-any-return]
            values, value_range, nbins, dtype=as_dtype(dtype), name=scope
        )


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: Any,
    nbins: Any = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The number of the bin of ``nbins`` equal parts of ``value_range`` that each value falls in."""
    from dataflow.ops.clip import clip_by_value
    from dataflow.ops.elementary import floor

    with default_graph().name_scope(name or "histogram_fixed_width_bins"):
        values = convert_to_tensor(values, name="values")
        shape = array_ops.shape(values)
        values = array_ops.reshape(values, [-1])
        value_range = convert_to_tensor(value_range, values.dtype.base_dtype, name="value_range")
        scaled = (values - value_range[0]) / (value_range[1] - value_range[0])
        count = cast(convert_to_tensor(nbins), scaled.dtype)
        found = cast(clip_by_value(floor(count * scaled), 0, count - 1), dtype)
        return array_ops.reshape(found, shape)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """How often each class (row) was predicted as each class (column).

    ``labels`` and ``predictions`` are vectors of class numbers; ``weights`` are summed instead of
    counted. Raises `InvalidArgumentError` for numbers outside [0, num_classes).
    """
    from dataflow.ops.comparison import greater_equal_op, less_op
    from dataflow.ops.logging_ops import Assert
    from dataflow.ops.reduce import reduce_all

    graph = default_graph()
    count_left_out(
        11 if num_classes is None else 27
    )  # checks are functions with messages of several parts
    with graph.name_scope(name or "confusion_matrix"):
        labels = convert_to_tensor(labels, name="labels")
        predictions = convert_to_tensor(predictions, name="predictions")
        if not compatible(labels.dims, predictions.dims):
            labels, predictions = _squeezed(labels, predictions)
        labels, predictions = cast(labels, dtypes.int64), cast(predictions, dtypes.int64)
        if num_classes is None:
            num_classes = maximum_op(reduce_max(predictions), reduce_max(labels)) + 1
            checked = [(v, n, None) for v, n in ((labels, "labels"), (predictions, "predictions"))]
        else:
            num_classes = cast(convert_to_tensor(num_classes), dtypes.int64)
            checked = [
                (labels, "labels", num_classes),
                (predictions, "predictions", num_classes),
            ]
        checks = []
        for values, what, limit in checked:
            checks.append(
                Assert(
                    reduce_all(greater_equal_op(values, 0)),
                    [f"`{what}` contains negative values", values],
                )
            )
            if limit is not None:
                checks.append(
                    Assert(reduce_all(less_op(values, limit)), [f"`{what}` out of bound", values])
                )
        with graph.control_dependencies(checks):
            labels, predictions = array_ops.identity(labels), array_ops.identity(predictions)
        shape = array_ops.stack([num_classes, num_classes])
        indices = array_ops.stack([labels, predictions], axis=1)
        if weights is None:
            values = array_ops.ones(array_ops.shape(predictions), dtype=as_dtype(dtype))
        else:
            values = cast(convert_to_tensor(weights), dtype)
        return array_ops.scatter_nd(indices, values, shape)  # type: ignore[no-any-return]


def _squeezed(labels: Tensor, predictions: Tensor) -> tuple[Any, Any]:
    """An extra last axis of size 1 is dropped from either."""
    if labels.dims is not None and len(labels.dims) == 2 and labels.dims[-1] == 1:
        return array_ops.squeeze(labels, [-1]), predictions
    if predictions.dims is not None and len(predictions.dims) == 2 and predictions.dims[-1] == 1:
        return labels, array_ops.squeeze(predictions, [-1])
    raise ValueError(
        f"labels {list_dims(labels.dims)} and predictions {list_dims(predictions.dims)} "
        "must have the same shape"
    )
