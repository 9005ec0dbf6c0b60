"""The array family in one place: what other modules import when they shape and cut tensors.

The ops themselves live in `shape`, `reshape`, `identity`, `concat_split`, `tile`,
`slicing`, `pad`, `permute`, `gather_scatter` and `sequences`.
"""

from __future__ import annotations

from dataflow.ops.broadcasting import (
    broadcast_dynamic_shape,
    broadcast_gradient_args_op,
    broadcast_to,
)
from dataflow.ops.concat_split import concat, parallel_stack, split, stack, stack_op, unstack
from dataflow.ops.fills import fill, fill_op, ones, ones_like, zeros, zeros_like
from dataflow.ops.gather_scatter import (
    batch_gather,
    gather,
    gather_nd,
    one_hot,
    scatter_nd,
    tensor_scatter_add,
    tensor_scatter_max,
    tensor_scatter_min,
    tensor_scatter_sub,
    tensor_scatter_update,
)
from dataflow.ops.identity import ensure_shape, guarantee_const, identity, identity_n, stop_gradient
from dataflow.ops.pad import pad
from dataflow.ops.partition_stitch import dynamic_partition, dynamic_stitch, parallel_dynamic_stitch
from dataflow.ops.patches import extract_image_patches
from dataflow.ops.permute import reverse, reverse_sequence, roll, transpose
from dataflow.ops.reshape import bitcast, expand_dims, reshape, squeeze
from dataflow.ops.selection import boolean_mask, sequence_mask, where, where_v2
from dataflow.ops.sequences import (
    argsort,
    in_top_k,
    invert_permutation,
    listdiff,
    meshgrid,
    nth_element,
    range_,
    searchsorted,
    setdiff1d,
    sort,
    top_k,
    unique,
    unique_with_counts,
    unravel_index,
)
from dataflow.ops.shape import rank, shape, shape_n, size
from dataflow.ops.slicing import newaxis, slice_, strided_slice
from dataflow.ops.space_batch_depth import (
    batch_to_space,
    batch_to_space_nd,
    depth_to_space,
    required_space_to_batch_paddings,
    space_to_batch,
    space_to_batch_nd,
    space_to_depth,
)
from dataflow.ops.tile import repeat, tile

__all__ = [
    "argsort",
    "batch_gather",
    "batch_to_space",
    "batch_to_space_nd",
    "bitcast",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_gradient_args_op",
    "broadcast_to",
    "concat",
    "depth_to_space",
    "dynamic_partition",
    "dynamic_stitch",
    "ensure_shape",
    "expand_dims",
    "extract_image_patches",
    "fill",
    "fill_op",
    "gather",
    "gather_nd",
    "guarantee_const",
    "identity",
    "identity_n",
    "in_top_k",
    "invert_permutation",
    "listdiff",
    "meshgrid",
    "newaxis",
    "nth_element",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "parallel_dynamic_stitch",
    "parallel_stack",
    "range_",
    "rank",
    "repeat",
    "required_space_to_batch_paddings",
    "reshape",
    "reverse",
    "reverse_sequence",
    "roll",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "setdiff1d",
    "shape",
    "shape_n",
    "size",
    "slice_",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
    "split",
    "squeeze",
    "stack",
    "stack_op",
    "stop_gradient",
    "strided_slice",
    "tensor_scatter_add",
    "tensor_scatter_max",
    "tensor_scatter_min",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tile",
    "top_k",
    "transpose",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "where",
    "where_v2",
    "zeros",
    "zeros_like",
]
