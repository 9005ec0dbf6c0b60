"""``tensorflow.python.framework.composite_tensor``: what is made of several tensors."""

from __future__ import annotations

from typing import Any

from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.type_specs import CompositeTensor

__all__ = ["CompositeTensor", "is_composite_or_composite_value"]


for _one in (SparseTensor, RaggedTensor, IndexedSlices):
    CompositeTensor.register(_one)


def is_composite_or_composite_value(tensor: Any) -> bool:
    """Whether ``tensor`` is a `CompositeTensor`."""
    return isinstance(tensor, CompositeTensor)
