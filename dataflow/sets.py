"""`tf.sets`: set operations over the last axis of tensors."""

from __future__ import annotations

from dataflow.ops.sets import set_difference, set_intersection, set_size, set_union

difference = set_difference
intersection = set_intersection
size = set_size
union = set_union

__all__ = [
    *("difference", "intersection", "set_difference", "set_intersection"),
    *("set_size", "set_union", "size", "union"),
]
