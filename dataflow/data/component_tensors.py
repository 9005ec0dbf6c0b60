"""The tensors that components of elements travel as within datasets, and leave them as."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.data.component_specs import ComponentSpec
from dataflow.data.ragged_elements import RaggedTensorSpec
from dataflow.graph.tensor import Tensor
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.sparse_serialization import deserialize_sparse, serialize_sparse
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.type_specs import SparseTensorSpec
from dataflow.shapes import Dims, as_dims


def encode_component(spec: Any, value: Any) -> Tensor:
    """The tensor that a component travels as."""
    if isinstance(spec, SparseTensorSpec):
        return serialize_sparse(value, out_type=dtypes.variant)
    if isinstance(spec, ComponentSpec):
        return spec.encode(value)
    return value  # type: ignore[no-any-return]


def decode_component(spec: Any, tensor: Tensor) -> Any:
    """The component that such a tensor stands for."""
    if isinstance(spec, SparseTensorSpec):
        sparse = deserialize_sparse(tensor, spec.dtype, spec.shape.ndims)
        sparse.static_dims = spec_dims(spec)
        return sparse
    if isinstance(spec, ComponentSpec):
        return spec.decode(tensor)
    return tensor


def taken_apart(spec: Any, tensor: Tensor) -> list[Tensor]:
    """The tensors in which a component can leave its graph, from the one that it travels as."""
    if isinstance(spec, SparseTensorSpec):
        sparse = decode_component(spec, tensor)
        return [sparse.indices, sparse.values, sparse.dense_shape]
    if isinstance(spec, RaggedTensorSpec):
        ragged = spec.decode(tensor)
        return [ragged.flat_values, *ragged.nested_row_splits]
    return [tensor]


def put_together(spec: Any, parts: list[Any]) -> Any:
    """The component that `taken_apart` took apart."""
    if isinstance(spec, SparseTensorSpec):
        sparse = SparseTensor(*parts)
        sparse.static_dims = spec_dims(spec)
        return sparse
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensor.from_nested_row_splits(parts[0], parts[1:])
    return decode_component(spec, parts[0])


def spec_dims(spec: Any) -> Dims:
    """The shape of a component."""
    return as_dims(spec.shape)


def encoded_dims(spec: Any) -> Dims:
    """The shape of the tensor that a component travels as."""
    if isinstance(spec, SparseTensorSpec):
        return None
    return () if isinstance(spec, RaggedTensorSpec) else spec_dims(spec)
