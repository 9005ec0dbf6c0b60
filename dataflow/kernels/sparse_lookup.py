"""Kernels of the lookups of sparse ids that `rewrites.sparse_lookups` puts in place of many nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.gather_scatter import check_indices
from dataflow.kernels.index_arrays import all_below, is_counting
from dataflow.kernels.jit.distinct import look_up
from dataflow.kernels.registry import kernel
from dataflow.kernels.segment import reduce_sparse_segments
from dataflow.kernels.sequences import first_appearances
from dataflow.kernels.sparse_reshape import sparse_fill_empty_rows_kernel

_REASON = "it takes the place of nodes that work on the host"


@kernel("_SafeEmbeddingLookup", cpu_only=_REASON)
def safe_embedding_lookup_kernel(
    xp: Module,
    params: Array,
    indices: Array,
    ids: Array,
    dense_shape: Array,
    default_id: Array,
    *,
    combiner: str,
    tells_different: bool,
) -> tuple[Any, ...]:
    num_rows = int(dense_shape[0])
    if len(ids) == num_rows:
        found = look_up(params, indices, ids)
        if found is not None:
            rows, segments, different, which = found
            return rows, np.zeros(num_rows, bool), ids, segments, different, which
        row_of = indices[:, 0]
        if all_below(ids, params.shape[0]) and is_counting(row_of):
            # One id in each row, and none is to be dropped.
            rows, empty, segments = params.take(ids, axis=0), np.zeros(num_rows, bool), row_of
            asked = ids if tells_different else ids[:0]
            different, which = first_appearances(asked, np.int32)
            return rows, empty, ids, segments.astype(np.int32), different, which
    valid = ids >= 0
    if not valid.all():
        indices, ids = indices[valid], ids[valid]
    indices, ids, empty, _ = sparse_fill_empty_rows_kernel(
        xp, indices, ids, dense_shape, default_id
    )
    different, which = first_appearances(ids, np.int32)
    check_indices(different, params.shape[0])
    segments = indices[:, 0].astype(np.int32)
    rows = reduce_sparse_segments(
        xp, _KINDS[combiner], params.take(different, axis=0), which, segments
    )
    return zero_empty_rows_kernel(xp, rows, empty), empty, ids, segments, different, which


#: By combiner, the kind of `SparseSegmentSum` and its like.
_KINDS = {"sum": "Sum", "mean": "Mean", "sqrtn": "SqrtN"}


@kernel("_ZeroEmptyRows", cpu_only=_REASON)
def zero_empty_rows_kernel(xp: Module, x: Array, empty: Array) -> Any:
    if len(empty) != len(x):
        raise ValueError(f"there are {len(x)} rows, and truths for {len(empty)}")
    return np.where(empty[:, None], x.dtype.type(0), x) if np.count_nonzero(empty) else x
