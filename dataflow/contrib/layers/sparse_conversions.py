"""``tf.contrib.layers.python.ops.sparse_ops``: dense tensors as sparse ones, and the lengths of their rows."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal, not_equal
from dataflow.ops.gather_scatter import gather_nd
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import cumsum, reduce_max
from dataflow.ops.segment import unsorted_segment_max_op
from dataflow.ops.sparse_tensor import SparseTensor

__all__ = ["dense_to_sparse_tensor", "indicators_to_sparse_ids", "sparse_row_envelope"]


def _ignored(tensor: Tensor, ignore_value: Any) -> Tensor:
    """The value that is left out: by default an empty string, 0 or False."""
    dtype = tensor.dtype.base_dtype
    if ignore_value is None:
        ignore_value = "" if dtype == dtypes.string else dtype.as_numpy_dtype()
    if isinstance(ignore_value, Tensor):
        return cast(ignore_value, dtype)  # type: ignore[no-any-return]
    return convert_to_tensor(ignore_value, dtype=dtype)


def dense_to_sparse_tensor(dense_tensor: TensorLike, ignore_value: Any = None) -> SparseTensor:
    """The elements other than ``ignore_value`` (by default "", 0 or False), in the same shape."""
    with name_scope("DenseToSparseTensor"):
        dense_tensor = convert_to_tensor(dense_tensor)
        indices = array.where(not_equal(dense_tensor, _ignored(dense_tensor, ignore_value)))
        values = gather_nd(dense_tensor, indices, name="values")
        shape = array.shape(dense_tensor, out_type=dtypes.int64, name="dense_shape")
        return SparseTensor(indices, values, shape)


def indicators_to_sparse_ids(
    indicators: TensorLike, ignore_value: Any = None, dtype: Any = dtypes.int64
) -> SparseTensor:
    """The numbers of the classes that rows of indicators mark: [0, 0, 1, 1] becomes [2, 3].

    ``indicators``: [..., number of classes]; ``ignore_value`` marks nothing. The result has as many columns
    as the longest row. Raises `ValueError` for a ``dtype`` that is no integer.
    """
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_integer:
        raise ValueError(f"Invalid dtype {dtype} not integer.")
    with name_scope(None, "indicators_to_sparse_ids", [indicators, ignore_value]):
        indicators = convert_to_tensor(indicators, name="indicators")
        missing = equal(indicators, _ignored(indicators, ignore_value))
        marks = cast(~missing, dtypes.int64)
        # The n-th mark of a row stands in column n - 1 of the result.
        columns = dense_to_sparse_tensor(cumsum(marks, axis=-1) * marks, ignore_value=0)
        longest = array.reshape(reduce_max(columns.values), [1])
        column = array.reshape(columns.values - 1, [-1, 1])
        return SparseTensor(
            array.concat([columns.indices[:, :-1], column], 1),
            cast(columns.indices[:, -1], dtype),
            array.concat([columns.dense_shape[:-1], longest], 0),
        )


def sparse_row_envelope(
    sparse_input: SparseTensor, row_axis: int = 0, col_axis: int = 1, name: str | None = None
) -> Tensor:
    """The length of each row: one more than its last column that has an element; 0 for an empty one."""
    with name_scope(name, "sparse_row_envelope", [sparse_input]):
        rows = cast(sparse_input.indices[:, row_axis], dtypes.int32)
        ends = cast(sparse_input.indices[:, col_axis], dtypes.int32) + 1
        count = cast(sparse_input.dense_shape[row_axis], dtypes.int32)
        # The least int32 is the maximum of nothing.
        longest = unsorted_segment_max_op(ends, rows, count, name="envelope")
        return array.where(longest > 0, longest, array.zeros_like(longest))
