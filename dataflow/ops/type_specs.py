"""What a value is without the value: shapes and dtypes of tensors, sparse tensors and slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape, broadcast_static_shape


class TypeSpec:
    """The base: specs are equal when their classes and all their parts are."""

    #: The attributes that make up the spec, as the constructor takes them.
    _parts: tuple[str, ...] = ()

    def _key(self) -> tuple[Any, ...]:
        # Shapes as tuples: an unknown size equals an unknown size here.
        return tuple(
            (None if value.ndims is None else tuple(value.as_list()))
            if isinstance(value, TensorShape)
            else value
            for value in (getattr(self, f"_{part}") for part in self._parts)
        )

    def _serialize(self) -> tuple[Any, ...]:
        """The parts, as the constructor takes them: shapes, dtypes, numbers, other specs."""
        return tuple(getattr(self, f"_{part}") for part in self._parts)

    @classmethod
    def _deserialize(cls, serialization: Any) -> Any:
        """The spec of what `_serialize` gave."""
        return cls(*serialization)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __reduce__(self) -> Any:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        parts = []
        for part in self._parts:
            value = getattr(self, f"_{part}")
            text = str(value) if isinstance(value, TensorShape) else repr(value)
            parts.append(f"{part}={text}")
        return f"{type(self).__name__}({', '.join(parts)})"


class BatchableTypeSpec(TypeSpec):
    """The base of specs of what can be batched; programs derive theirs from it."""


class _OfShape(TypeSpec):
    """A spec of one shape and one dtype."""

    _shape: TensorShape
    _dtype: Any

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self._dtype


class TensorSpec(_OfShape):
    """The shape, dtype and name of a tensor."""

    _parts: tuple[str, ...] = ("shape", "dtype", "name")

    def __init__(
        self, shape: DynamicShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """The spec of what has a shape and a dtype, under another name where one is given."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor; its name is the op's where none is given."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @property
    def value_type(self) -> Any:
        """What has this spec."""
        from dataflow.graph.tensor import Tensor

        return Tensor

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or tensor has this dtype, and a shape that may be this one."""
        other = (
            spec_or_value if hasattr(spec_or_value, "shape") else convert_to_tensor(spec_or_value)
        )
        same = as_dtype(other.dtype).base_dtype is self._dtype.base_dtype
        return same and self._shape.is_compatible_with(other.shape)


class BoundedTensorSpec(TensorSpec):
    """A `TensorSpec` with bounds, both included: NumPy arrays of its dtype that broadcast to its shape.

    Raises `ValueError` where a bound is missing or does not broadcast.
    """

    _parts = ("shape", "dtype", "name", "minimum", "maximum")

    def __init__(
        self,
        shape: DynamicShapeLike,
        dtype: DTypeLike,
        minimum: Any,
        maximum: Any,
        name: str | None = None,
    ) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(
                f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'"
            )
        self._minimum = self._bound("minimum", minimum)
        self._maximum = self._bound("maximum", maximum)

    def _bound(self, which: str, value: Any) -> Any:
        bound = np.array(value, dtype=self._dtype.base_dtype.as_numpy_dtype)
        try:
            broadcast_static_shape(TensorShape(bound.shape), self._shape)
        except ValueError as error:
            raise ValueError(f"{which} is not compatible with shape. Message: {error!r}.") from None
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """The spec of what has a shape and a dtype; bounds it lacks are those of the dtype."""
        dtype = as_dtype(spec.dtype)
        minimum, maximum = getattr(spec, "minimum", dtype.min), getattr(spec, "maximum", dtype.max)
        return cls(spec.shape, dtype, minimum, maximum, name or getattr(spec, "name", None))

    @property
    def minimum(self) -> Any:
        """The least values, a read-only array."""
        return self._minimum

    @property
    def maximum(self) -> Any:
        """The greatest values, a read-only array."""
        return self._maximum

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or super()._key()[:3] != other._key()[:3]:
            return False
        pairs = ((self._minimum, other._minimum), (self._maximum, other._maximum))
        return all(np.allclose(*pair) for pair in pairs)

    def __hash__(self) -> int:
        return hash((type(self), self._key()[:3]))

    def __reduce__(self) -> Any:
        return type(self), (self._shape, self._dtype, self._minimum, self._maximum, self._name)


class SparseTensorSpec(_OfShape):
    """The dense shape and dtype of a `SparseTensor`."""

    _parts = ("shape", "dtype")

    def __init__(
        self, shape: DynamicShapeLike | None = None, dtype: DTypeLike = dtypes.float32
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)

    @property
    def value_type(self) -> Any:
        """What has this spec."""
        return SparseTensor

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or sparse tensor has this dtype, and a shape that may be this one."""
        if not isinstance(spec_or_value, (SparseTensor, SparseTensorSpec)):
            return False
        other = spec_or_value
        shape = other.shape if isinstance(other, SparseTensorSpec) else other.get_shape()
        return other.dtype is self._dtype and self._shape.is_compatible_with(shape)

    def _composite_parts(self) -> Any:
        """The specs of its three tensors; tensors in their place make a `SparseTensor`."""
        rank = self._shape.ndims
        specs = [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

        def rebuild(parts: list[Any]) -> Any:
            return self if isinstance(parts[0], TensorSpec) else SparseTensor(*parts)

        return specs, rebuild


class IndexedSlicesSpec(TypeSpec):
    """The shapes and dtypes of `IndexedSlices`."""

    _parts = ("shape", "dtype", "indices_dtype", "dense_shape_dtype", "indices_shape")

    def __init__(
        self,
        shape: DynamicShapeLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> Any:
        """What has this spec."""
        return IndexedSlices
