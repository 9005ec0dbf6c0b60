"""The message ``HParamDef``: hyperparameters as TensorFlow keeps them in files."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

#: Kind of a value -> number of the single value's field, of the list's field, and protobuf's type.
_KINDS = {"int64": (1, 4), "float": (2, 5), "bytes": (3, 6), "bool": (7, 8)}


@functools.cache
def hparam_def_class() -> Any:
    """The class ``HParamDef``; raises `ImportError` without protobuf."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="dataflow/contrib/hparam.proto", package="tensorflow", syntax="proto3"
    )
    message = file.message_type.add(name="HParamDef")
    whole = ".tensorflow.HParamDef"
    value = message.nested_type.add(name="HParamType")
    value.oneof_decl.add(name="kind")
    for kind, (number, list_number) in _KINDS.items():
        numbers = message.nested_type.add(name=f"{kind.capitalize()}List")
        own = getattr(field, f"TYPE_{kind.upper()}")
        numbers.field.add(name="value", number=1, type=own, label=field.LABEL_REPEATED)
        one = {"label": field.LABEL_OPTIONAL, "oneof_index": 0}
        value.field.add(name=f"{kind}_value", number=number, type=own, **one)
        value.field.add(
            name=f"{kind}_list",
            number=list_number,
            type=field.TYPE_MESSAGE,
            type_name=f"{whole}.{numbers.name}",
            **one,
        )
    entry = message.nested_type.add(name="HparamEntry")
    entry.options.map_entry = True
    one = {"label": field.LABEL_OPTIONAL}
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, **one)
    held = {"type": field.TYPE_MESSAGE, "type_name": f"{whole}.HParamType"}
    entry.field.add(name="value", number=2, **held, **one)
    message.field.add(
        name="hparam",
        number=1,
        type=field.TYPE_MESSAGE,
        type_name=f"{whole}.HparamEntry",
        label=field.LABEL_REPEATED,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.HParamDef"))


def hparam_def(values: dict[str, Any], types: dict[str, tuple[type, bool]]) -> Any:
    """The message of hyperparameters; raises `ValueError` for a value of another type."""
    message = hparam_def_class()()
    for name, value in values.items():
        own, is_list = types[name]
        known = ((bool, "bool"), (int, "int64"), (float, "float"), ((str, bytes), "bytes"))
        kind = next((kind for base, kind in known if issubclass(own, base)), None)
        if kind is None:
            raise ValueError(f"Unsupported parameter type: {own}")
        stored = [v.encode() if isinstance(v, str) else v for v in (value if is_list else [value])]
        if is_list:
            getattr(message.hparam[name], f"{kind}_list").value.extend(stored)
        else:
            setattr(message.hparam[name], f"{kind}_value", stored[0])
    return message


def values_of(message: Any) -> Iterator[tuple[str, Any]]:
    """(name, value) of each hyperparameter; texts are str."""
    for name in sorted(message.hparam):
        held = message.hparam[name]
        kind = held.WhichOneof("kind")
        found = getattr(held, kind)
        items = list(found.value) if kind.endswith("_list") else [found]
        items = [item.decode() if isinstance(item, bytes) else item for item in items]
        yield name, items if kind.endswith("_list") else items[0]
