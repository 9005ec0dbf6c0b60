"""Functions of tensors for ragged ones, by the names under which `ragged_dispatch` looks for them."""

from __future__ import annotations

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
