"""``tensorflow.python.data.util.structure``: specs of elements, and questions about them."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.data.ragged_elements import RaggedTensorSpec
from dataflow.data.structure import (
    Structure,
    TensorArraySpec,
    flatten,
    pack,
    to_tensors,
)
from dataflow.dtypes import DType
from dataflow.graph.tensor import Tensor
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.type_specs import SparseTensorSpec, TensorSpec, TypeSpec
from dataflow.shapes import TensorShape

__all__ = [
    "are_compatible",
    "convert_legacy_structure",
    "from_compatible_tensor_list",
    "from_tensor_list",
    "get_flat_tensor_shapes",
    "get_flat_tensor_specs",
    "get_flat_tensor_types",
    "normalize_element",
    "to_tensor_list",
    "type_spec_from_value",
]


def normalize_element(element: Any) -> Any:
    """The element with a tensor (sparse tensor, dataset) for each of its components."""
    return to_tensors(element)


def type_spec_from_value(element: Any, use_fallback: bool = True) -> Any:
    """The specs of an element's components, in its nesting; `TypeError` for what no tensor can be."""
    try:
        return Structure.of(to_tensors(element)).nested_specs
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Could not build a TypeSpec for {element!r} with type {type(element).__name__}"
        ) from error


def _spec_is_compatible(one: Any, other: Any) -> bool:
    if isinstance(one, (TensorSpec, SparseTensorSpec, RaggedTensorSpec)):
        return type(one) is type(other) and one.is_compatible_with(other)
    if isinstance(one, TensorArraySpec):
        return (
            isinstance(other, TensorArraySpec)
            and one.dtype is other.dtype
            and one.shape.is_compatible_with(other.shape)
        )
    return bool(one == other)


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Whether two nestings of specs are alike, and their specs may be those of one element."""
    if _skeleton(spec1) != _skeleton(spec2):
        return False
    return all(
        _spec_is_compatible(one, other)
        for one, other in zip(flatten(spec1), flatten(spec2), strict=True)
    )


def _skeleton(specs: Any) -> Any:
    """The nesting alone, as what can be compared."""
    return repr(pack(specs, ["."] * len(flatten(specs))))


def get_flat_tensor_specs(element_spec: Any) -> list[TensorSpec]:
    """The specs of the tensors that an element's components travel as, one for each."""
    ours = Structure.of_specs(element_spec)
    pairs = zip(ours.dims, ours.dtypes, strict=True)
    return [TensorSpec(TensorShape(dims), kind) for dims, kind in pairs]


def get_flat_tensor_shapes(element_spec: Any) -> list[TensorShape]:
    """The shapes of these tensors; of a component that is a dataset or optional a scalar's."""
    return [spec.shape for spec in get_flat_tensor_specs(element_spec)]


def get_flat_tensor_types(element_spec: Any) -> list[DType]:
    """The dtypes of these tensors: variant of components that are no tensors."""
    return [spec.dtype for spec in get_flat_tensor_specs(element_spec)]


def to_tensor_list(element_spec: Any, element: Any) -> list[Tensor]:
    """The tensors that an element travels as."""
    return Structure.of_specs(element_spec).encode(to_tensors(element))


def from_tensor_list(element_spec: Any, tensor_list: Any) -> Any:
    """The element that these tensors stand for; `ValueError` where they are not as many as its components."""
    ours = Structure.of_specs(element_spec)
    if len(tensor_list) != len(ours.specs):
        raise ValueError(f"Expected {len(ours.specs)} tensors but got {len(tensor_list)}.")
    return ours.decode(list(tensor_list))


from_compatible_tensor_list = from_tensor_list


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """The specs, in the nesting of the classes, that a dataset's old three properties say."""
    found: list[TypeSpec] = []
    for kind, shape, owner in zip(
        flatten(output_types), flatten(output_shapes), flatten(output_classes), strict=True
    ):
        if isinstance(owner, TypeSpec):
            found.append(owner)
        elif isinstance(owner, type) and issubclass(owner, SparseTensor):
            found.append(SparseTensorSpec(shape, dtypes.as_dtype(kind)))
        elif isinstance(owner, type) and issubclass(owner, Tensor):
            found.append(TensorSpec(TensorShape(shape), kind))
        elif isinstance(owner, type) and issubclass(owner, TensorArray):
            found.append(TensorArraySpec(shape, kind))
        else:
            raise TypeError(f"Could not build a structure for output class {owner!r}")
    return pack(output_classes, found)
