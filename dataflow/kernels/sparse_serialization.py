"""Kernels of sparse tensors as strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

_REASON = "coordinates are sorted and matched on the host"


def _one_serialized(at: Any, values: Any, shape: Any, out_type: Any) -> Any:
    """Three strings; as variants, the three arrays themselves."""
    from dataflow.kernels.tensor_messages import tensor_bytes

    out = np.empty(3, object)
    for i, part in enumerate((at, values, shape)):
        out[i] = tensor_bytes(part) if out_type.kind == "S" else part
    return out


@kernel("SerializeSparse", cpu_only=_REASON)
def serialize_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, *, out_type: Any
) -> Any:
    return _one_serialized(at, values, shape, out_type)


@kernel("SerializeManySparse", cpu_only=_REASON)
def serialize_many_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, *, out_type: Any
) -> Any:
    rows = int(shape[0])
    out = np.empty((rows, 3), object)
    order = np.argsort(at[:, 0], kind="stable")
    ends = np.searchsorted(at[order, 0], np.arange(rows + 1))
    for i in range(rows):
        inside = order[ends[i] : ends[i + 1]]
        out[i] = _one_serialized(at[inside][:, 1:], values[inside], shape[1:], out_type)
    return out


@kernel("DeserializeManySparse", cpu_only=_REASON)
def deserialize_many_sparse_kernel(xp: Module, serialized: Array, *, dtype: Any) -> Any:
    return deserialize_sparse_kernel(xp, serialized.reshape(-1, 3), dtype=dtype)


@kernel("DeserializeSparse", cpu_only=_REASON)
def deserialize_sparse_kernel(xp: Module, serialized: Array, *, dtype: Any) -> Any:
    from dataflow.kernels.tensor_messages import tensor_from_bytes

    if not serialized.ndim or serialized.shape[-1] != 3:
        raise ValueError(f"the last axis must hold 3 values, got shape {serialized.shape}")
    if not serialized.size:
        raise ValueError("there is nothing to deserialize")
    batch = serialized.shape[:-1]
    indices, values, shapes = [], [], []
    for place in np.ndindex(batch):
        at, part, shape = (
            tensor_from_bytes(text) if isinstance(text, bytes) else text
            for text in serialized[place]
        )
        if part.dtype != dtype.numpy:
            raise ValueError(f"row {place} holds {part.dtype}, {dtype.name} was asked for")
        front = np.broadcast_to(np.array(place, np.int64), (len(at), len(place)))
        indices.append(np.concatenate([front, at], 1))
        values.append(part)
        shapes.append(shape)
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError("sparse tensors of different ranks cannot be batched")
    whole = np.concatenate([batch, np.max(shapes, 0)]).astype(np.int64)
    return np.concatenate(indices), np.concatenate(values), whole
