"""The sparse family in one place; the ops live in the files named ``sparse_...``."""

from __future__ import annotations

from dataflow.ops.sparse_concat_split import sparse_concat, sparse_slice, sparse_split
from dataflow.ops.sparse_dense import (
    from_dense,
    sparse_dense_cwise,
    sparse_tensor_dense_matmul,
    sparse_tensor_to_dense,
    sparse_to_dense,
)
from dataflow.ops.sparse_reduce import (
    sparse_add,
    sparse_maximum,
    sparse_minimum,
    sparse_reduce_max,
    sparse_reduce_max_sparse,
    sparse_reduce_sum,
    sparse_reduce_sum_sparse,
    sparse_softmax,
)
from dataflow.ops.sparse_reshape import (
    sparse_expand_dims,
    sparse_eye,
    sparse_fill_empty_rows,
    sparse_mask,
    sparse_merge,
    sparse_reorder,
    sparse_reset_shape,
    sparse_reshape,
    sparse_retain,
    sparse_to_indicator,
    sparse_transpose,
)
from dataflow.ops.sparse_serialization import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from dataflow.ops.sparse_tensor import (
    convert_to_tensor_or_sparse_tensor,
    sparse_placeholder,
)

__all__ = [
    "convert_to_tensor_or_sparse_tensor",
    "deserialize_many_sparse",
    "from_dense",
    "serialize_many_sparse",
    "serialize_sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_dense_cwise",
    "sparse_expand_dims",
    "sparse_eye",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
]
