"""The shapes to which `Dataset.padded_batch` pads elements, and the values it pads with."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.data.arguments import int64_tensor
from dataflow.data.structure import Structure, dims_like, flatten
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.ops.type_specs import TensorSpec


def padded_shapes_of(ours: Structure, padded_shapes: Any) -> tuple[Any, Any]:
    """The shapes as given (an empty list if none are), and what is known of them statically.

    Raises `TypeError` for sparse components, `ValueError` for shapes that elements do not fit into.
    """
    if any(not isinstance(spec, TensorSpec) for spec in ours.specs):
        raise TypeError(
            "Batching of padded sparse tensors is not currently supported: padded_batch takes "
            "components that are dense tensors. Use batch, which pads sparse tensors by itself."
        )
    padded = (
        dims_like(ours.nesting, padded_shapes, padded_dims) if padded_shapes is not None else []
    )
    wanted = [static_padding(p) for p in padded] if padded else ours.dims
    if any(d is None for d in wanted):
        raise ValueError("padded_batch needs padded_shapes of known rank for every component")
    for dims, given in zip(ours.dims, wanted, strict=True):
        if dims is not None and not can_be_padded(dims, given or ()):
            raise ValueError(
                f"The padded shape {shapes.format_dims(given)} is not compatible with the "
                f"corresponding input component shape {shapes.format_dims(dims)}."
            )
    return padded, wanted


def fillers_of(ours: Structure, padding_values: Any) -> list[Any]:
    """The padding value of each component: zero or the empty string by default. Raises `TypeError` for other dtypes."""
    if padding_values is None:
        fillers: list[Any] = [b"" if t.kind == "S" else 0 for t in ours.dtypes]
    else:
        fillers = flatten(padding_values)
        if len(fillers) == 1:
            fillers *= len(ours.dtypes)
        for value, dtype in zip(fillers, ours.dtypes, strict=False):
            is_text = convert_to_tensor(value).dtype.kind == "S"
            if is_text != (dtype.kind == "S"):
                raise TypeError(
                    f"Invalid `padding_values`: {value!r} does not match type {dtype.name} of "
                    "the corresponding input component."
                )
    return fillers


def padded_dims(padded_shape: Any) -> Any:
    """A shape of `padded_batch`: a vector that is a tensor stays one."""
    if isinstance(padded_shape, Tensor):
        if not padded_shape.dtype.base_dtype.is_integer:
            raise TypeError(
                f"Padded shape {padded_shape} must be a 1-D tensor of tf.int64 values, but its "
                f"element type was {padded_shape.dtype.base_dtype.name}."
            )
        return int64_tensor(padded_shape)
    if isinstance(padded_shape, (list, tuple)):
        if np.ndim(padded_shape) > 1:
            raise ValueError(
                f"Padded shape {padded_shape} must be a 1-D tensor of tf.int64 values, but its shape "
                f"was {np.shape(padded_shape)}."
            )
        padded_shape = [None if d == -1 else d for d in padded_shape]  # -1 is "unknown" here
    return shapes.as_dims(padded_shape)


def static_padding(padded: Any) -> Any:
    """The static dims of a padded shape, ``None`` for an unknown size or rank."""
    if not isinstance(padded, Tensor):
        return padded
    sizes = static_value(padded)
    if sizes is not None:
        return tuple(None if s < 0 else int(s) for s in sizes)
    return None if padded.dims is None or padded.dims[0] is None else (None,) * padded.dims[0]


def padding_vector(padded: Any) -> Tensor:
    """A padded shape as a vector, -1 for the longest of the batch."""
    if isinstance(padded, Tensor):
        return padded
    return constant([-1 if s is None else s for s in padded or ()], dtypes.int64)


def filler(value: Any, dtype: DType) -> Tensor:
    """A padding value as a tensor."""
    return value if isinstance(value, Tensor) else constant(value, dtype)


def can_be_padded(dims: Any, padded: Any) -> bool:
    """Whether elements of shape ``dims`` fit into the shape ``padded``, as far as both are known."""
    return len(dims) == len(padded) and all(
        d is None or p is None or d <= p for d, p in zip(dims, padded, strict=True)
    )
