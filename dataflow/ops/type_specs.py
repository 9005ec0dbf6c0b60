"""What a value is without the value: shapes and dtypes of tensors, sparse tensors and slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.type_spec_bases import (
    BatchableTypeSpec as BatchableTypeSpec,
    CompositeTensor as CompositeTensor,
    TypeSpec as TypeSpec,
    own_spec,
)
from dataflow.providers import provided
from dataflow.shapes import TensorShape, as_dims, broadcast_static_shape


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
    _composite_parts: Any = None  # it is of one tensor

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
        return Tensor

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or tensor has this dtype, and a shape that may be this one."""
        other = (
            spec_or_value if hasattr(spec_or_value, "shape") else convert_to_tensor(spec_or_value)
        )
        same = as_dtype(other.dtype).base_dtype is self._dtype.base_dtype
        return same and self._shape.is_compatible_with(other.shape)

    def most_specific_compatible_type(self, other: TypeSpec) -> Any:
        """The narrowest spec that both fit; it has no name. Raises `ValueError` where there is none."""
        if not isinstance(other, TensorSpec) or other.dtype is not self.dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        return TensorSpec(self.shape.most_specific_compatible_shape(other.shape), self.dtype)

    @property
    def _component_specs(self) -> Any:
        return self

    def _to_components(self, value: Any) -> Any:
        return value

    def _from_components(self, components: Any) -> Any:
        return components


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
        if type(self) is not type(other) or self._plain() != other._plain():
            return False
        pairs = ((self._minimum, other._minimum), (self._maximum, other._maximum))
        return all(np.allclose(*pair) for pair in pairs)

    def __hash__(self) -> int:
        return hash((type(self), self._plain()))

    def _plain(self) -> tuple[Any, ...]:
        """The parts without the bounds."""
        return as_dims(self.shape), self.dtype, self.name

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

    @property
    def _component_specs(self) -> list[Any]:
        rank = self._shape.ndims
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def _to_components(self, value: Any) -> list[Any]:
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: Any) -> Any:
        return SparseTensor(*components)


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

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        rows = self._indices_shape.as_list() if self._indices_shape.ndims else [None]
        known = None if self._shape.ndims is None else [*rows, *self._shape.as_list()[1:]]
        rest = TensorShape(known)
        found = [TensorSpec(rest, self._dtype), TensorSpec(rows, self._indices_dtype)]
        if self._dense_shape_dtype is not None:
            found.append(TensorSpec([self._shape.ndims], self._dense_shape_dtype))
        return tuple(found)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        parts = (value.values, value.indices, value.dense_shape)
        return parts[: 2 if self._dense_shape_dtype is None else 3]

    def _from_components(self, components: Any) -> Any:
        return IndexedSlices(*components)


#: The functions that give the specs of values of programs' own classes: (class, function, subclasses, too).
_CONVERTERS: list[tuple[type, Callable[[Any], Any], bool]] = []


def register_type_spec_from_value_converter(
    type_object: type, converter_fn: Callable[[Any], Any], allow_subclass: bool = False
) -> None:
    """Has `type_spec_from_value` call ``converter_fn`` of values of a class; what is registered last comes first."""
    _CONVERTERS.insert(0, (type_object, converter_fn, allow_subclass))


def type_spec_from_value(value: Any) -> Any:
    """The spec of a value: of a tensor, of what is made of several, and of what can become a tensor.

    Raises `TypeError` for anything else.
    """
    spec = _spec_of(value)
    if spec is None:
        try:
            spec = _spec_of(convert_to_tensor(value))
        except (ValueError, TypeError):
            raise TypeError(
                f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}"
            ) from None
    return spec


def _spec_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(value, IndexedSlices):
        dense = value.dense_shape
        return IndexedSlicesSpec(
            None,
            value.dtype.base_dtype,
            value.indices.dtype,
            None if dense is None else dense.dtype,
            value.indices.shape,
        )
    if isinstance(value, RaggedTensor):
        return provided("ragged_tensor_spec").from_value(value)
    if isinstance(value, TypeSpec):
        return None
    if (known := own_spec(value)) is not None:
        return known
    for kind, converter, subclasses in _CONVERTERS:
        if type(value) is kind or (subclasses and isinstance(value, kind)):
            return converter(value)
    return None
