"""Specs of components that are neither tensors nor sparse, and how one tensor stands for each."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.ops.type_specs import TypeSpec
from dataflow.shapes import TensorShape


class ComponentSpec(TypeSpec):
    """A component that is neither a tensor nor sparse, and how one tensor stands for it."""

    _composite_parts: Any = None  # it travels as one tensor

    def encode(self, value: Any) -> Tensor:
        """The tensor that stands for ``value``."""
        raise NotImplementedError

    def decode(self, tensor: Tensor) -> Any:
        """The value that ``tensor`` stands for."""
        raise NotImplementedError


class VariantSpec(ComponentSpec):
    """A component that travels as a scalar of dtype variant; it has no rows and no batches."""

    def __init__(self) -> None:
        self.shape = TensorShape([])
        self.dtype = dtypes.variant

    def encode(self, value: Any) -> Tensor:
        return value.as_variant_tensor()  # type: ignore[no-any-return]

    @property
    def value_type(self) -> Any:
        """The spec itself, as in TensorFlow: a class alone would not tell what is inside."""
        return self
