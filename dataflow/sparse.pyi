from dataflow.ops.sparse_cross import sparse_cross as cross, sparse_cross_hashed as cross_hashed
from dataflow.ops.sparse import (
    sparse_add as add,
    sparse_concat as concat,
    deserialize_many_sparse as deserialize_many_sparse,
    sparse_expand_dims as expand_dims,
    sparse_eye as eye,
    sparse_fill_empty_rows as fill_empty_rows,
    from_dense as from_dense,
    sparse_mask as mask,
    sparse_tensor_dense_matmul as matmul,
    sparse_maximum as maximum,
    sparse_merge as merge,
    sparse_minimum as minimum,
    sparse_placeholder as placeholder,
    sparse_reduce_max as reduce_max,
    sparse_reduce_max_sparse as reduce_max_sparse,
    sparse_reduce_sum as reduce_sum,
    sparse_reduce_sum_sparse as reduce_sum_sparse,
    sparse_reorder as reorder,
    sparse_reset_shape as reset_shape,
    sparse_reshape as reshape,
    sparse_retain as retain,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
    sparse_slice as slice,
    sparse_softmax as softmax,
    sparse_tensor_dense_matmul as sparse_dense_matmul,
    sparse_split as split,
    sparse_tensor_to_dense as to_dense,
    sparse_to_indicator as to_indicator,
    sparse_transpose as transpose,
)
from dataflow.ops.sparse_segment import (
    sparse_segment_mean as segment_mean,
    sparse_segment_sqrt_n as segment_sqrt_n,
    sparse_segment_sum as segment_sum,
)
from dataflow.ops.sparse_tensor import SparseTensor as SparseTensor
from dataflow.ops.accumulator import (
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
