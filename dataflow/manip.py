"""`tf.manip`: ops that rearrange tensors."""

from __future__ import annotations

from dataflow.ops.array import (
    batch_to_space_nd,
    gather_nd,
    reshape,
    reverse,
    roll,
    scatter_nd,
    space_to_batch_nd,
    tile,
)

__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]
