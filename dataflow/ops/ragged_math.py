"""Functions of tensors for ragged ones, by the names under which `ragged_dispatch` looks for them."""

from __future__ import annotations

from dataflow.ops import ragged_segments as _segments
from dataflow.ops.ragged_indexing import (
    boolean_mask as boolean_mask,
    gather as gather,
    lookup as lookup,
)
from dataflow.ops.ragged_joining import concat as concat, stack as stack, tile as tile
from dataflow.ops.ragged_reductions import (
    all_ as all_,
    any_ as any_,
    max_ as max_,
    mean as mean,
    min_ as min_,
    prod as prod,
    reduce_join as reduce_join,
    sum_ as sum_,
)
from dataflow.ops.ragged_shape import (
    expand_dims as expand_dims,
    identity as identity,
    map_flat_values as map_flat_values,
    ones_like as ones_like,
    ragged_cast as ragged_cast,
    rank as rank,
    size as size,
    zeros_like as zeros_like,
)

unsorted_segment_max = _segments.segment_max
unsorted_segment_mean = _segments.segment_mean
unsorted_segment_min = _segments.segment_min
unsorted_segment_prod = _segments.segment_prod
unsorted_segment_sqrt_n = _segments.segment_sqrt_n
unsorted_segment_sum = _segments.segment_sum
