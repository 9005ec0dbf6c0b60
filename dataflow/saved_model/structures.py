"""Nested structures as ``StructuredValue`` messages: the signatures of functions in a SavedModel."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import numpy as np

from dataflow.data.ragged_elements import RaggedTensorSpec
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.tensor_proto import array_to_proto, proto_to_array, shape_to_proto
from dataflow.ops.type_specs import (
    BoundedTensorSpec,
    IndexedSlicesSpec,
    SparseTensorSpec,
    TensorSpec,
    TypeSpec,
)
from dataflow.shapes import TensorShape, as_dims

#: The specs of values made of several tensors, by their numbers in ``TypeSpecProto``.
_TYPE_SPECS: dict[int, Any] = {1: SparseTensorSpec, 2: IndexedSlicesSpec, 3: RaggedTensorSpec}


class NotEncodableError(Exception):
    """What no message stands for: an object of a program's own class, say."""


class StructureCoder:
    """Structures to ``StructuredValue`` and back.

    They are lists, tuples, named tuples and dictionaries with names for keys, and in them None, numbers, text,
    shapes, dtypes and specs.
    """

    def can_encode(self, nested_structure: Any) -> bool:
        """Whether `encode_structure` takes it."""
        try:
            self.encode_structure(nested_structure)
        except NotEncodableError:
            return False
        return True

    def encode_structure(self, nested_structure: Any) -> Any:
        """The message; raises `NotEncodableError`."""
        from tensorboard.compat.proto.struct_pb2 import StructuredValue

        result = StructuredValue()
        _write(result, nested_structure)
        return result

    def decode_proto(self, proto: Any) -> Any:
        """The structure. Raises `ValueError` for a message of another kind."""
        return _read(proto)


def _write(proto: Any, value: Any) -> None:
    if isinstance(value, (list, tuple, Mapping)):
        _write_container(proto, value)
    elif value is None:
        proto.none_value.SetInParent()
    elif isinstance(value, bool):
        proto.bool_value = value
    elif isinstance(value, int):
        proto.int64_value = value
    elif isinstance(value, float):
        proto.float64_value = value
    elif isinstance(value, str):
        proto.string_value = value
    elif isinstance(value, TensorShape):
        proto.tensor_shape_value.CopyFrom(shape_to_proto(as_dims(value)))
    elif isinstance(value, DType):
        proto.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, TypeSpec):
        _write_spec(proto, value)
    else:
        raise NotEncodableError(f"No encoder for object [{value}] of type [{type(value)}].")


def _write_container(proto: Any, value: Any) -> None:
    if hasattr(value, "_fields"):
        proto.named_tuple_value.name = type(value).__name__
        for name, item in zip(value._fields, value, strict=True):
            _write(proto.named_tuple_value.values.add(key=name).value, item)
    elif isinstance(value, Mapping):
        proto.dict_value.SetInParent()
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotEncodableError(f"No encoder for the key [{key!r}] of a dictionary.")
            _write(proto.dict_value.fields[key], item)
    else:
        items = proto.tuple_value if isinstance(value, tuple) else proto.list_value
        items.SetInParent()
        for item in value:
            _write(items.values.add(), item)


def _write_spec(proto: Any, spec: Any) -> None:
    if type(spec) in (TensorSpec, BoundedTensorSpec):
        bounded = type(spec) is BoundedTensorSpec
        found = proto.bounded_tensor_spec_value if bounded else proto.tensor_spec_value
        found.name = spec.name or ""
        found.shape.CopyFrom(shape_to_proto(as_dims(spec.shape)))
        found.dtype = spec.dtype.as_datatype_enum
        if bounded:
            found.minimum.CopyFrom(array_to_proto(np.asarray(spec.minimum)))
            found.maximum.CopyFrom(array_to_proto(np.asarray(spec.maximum)))
        return
    number = next((n for n, kind in _TYPE_SPECS.items() if type(spec) is kind), None)
    if number is None:
        raise NotEncodableError(f"No encoder for object [{spec}] of type [{type(spec)}].")
    proto.type_spec_value.type_spec_class = number
    proto.type_spec_value.type_spec_class_name = type(spec).__name__
    _write(proto.type_spec_value.type_state, spec.__reduce__()[1])


def _read(proto: Any) -> Any:
    kind = proto.WhichOneof("kind")
    if kind in ("bool_value", "int64_value", "float64_value", "string_value"):
        return getattr(proto, kind)
    reader = _READERS.get(kind)
    if reader is None:
        raise ValueError(f"No decoder for proto [{proto}].")
    return reader(getattr(proto, kind))


def _read_named_tuple(proto: Any) -> Any:
    made = collections.namedtuple(proto.name, [pair.key for pair in proto.values])  # type: ignore[misc]
    return made(*[_read(pair.value) for pair in proto.values])


def _read_type_spec(proto: Any) -> Any:
    kind = _TYPE_SPECS.get(proto.type_spec_class)
    if kind is None:
        raise ValueError(
            f"The type {proto.type_spec_class_name or proto.type_spec_class!r} has not been registered: of values "
            "made of several tensors a SavedModel's signatures hold sparse and ragged tensors, and slices."
        )
    return kind(*_read(proto.type_state))


_READERS: dict[Any, Any] = {
    "none_value": lambda proto: None,
    "list_value": lambda proto: [_read(item) for item in proto.values],
    "tuple_value": lambda proto: tuple([_read(item) for item in proto.values]),
    "dict_value": lambda proto: {key: _read(proto.fields[key]) for key in sorted(proto.fields)},
    "named_tuple_value": _read_named_tuple,
    "tensor_shape_value": lambda proto: TensorShape(as_dims(proto)),
    "tensor_dtype_value": as_dtype,
    "tensor_spec_value": lambda proto: TensorSpec(
        TensorShape(as_dims(proto.shape)), as_dtype(proto.dtype), proto.name or None
    ),
    "bounded_tensor_spec_value": lambda proto: BoundedTensorSpec(
        TensorShape(as_dims(proto.shape)),
        as_dtype(proto.dtype),
        proto_to_array(proto.minimum),
        proto_to_array(proto.maximum),
        proto.name or None,
    ),
    "type_spec_value": _read_type_spec,
    "tensor_value": proto_to_array,
    "numpy_value": proto_to_array,
}
