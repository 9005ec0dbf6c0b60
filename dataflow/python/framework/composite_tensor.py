"""``tensorflow.python.framework.composite_tensor``: what is made of several tensors."""

from __future__ import annotations

import abc
from typing import Any

from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.sparse_tensor import SparseTensor

__all__ = ["CompositeTensor", "is_composite_or_composite_value"]


class CompositeTensor(metaclass=abc.ABCMeta):  # noqa: B024  (programs derive from it; see `_type_spec`)
    """The base of sparse and ragged tensors and of `IndexedSlices`, and of classes of programs like them."""

    @property
    def _type_spec(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._type_spec")

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")


for _one in (SparseTensor, RaggedTensor, IndexedSlices):
    CompositeTensor.register(_one)


def is_composite_or_composite_value(tensor: Any) -> bool:
    """Whether ``tensor`` is a `CompositeTensor`."""
    return isinstance(tensor, CompositeTensor)
