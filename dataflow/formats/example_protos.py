"""``tf.train.Example`` and its parts as protobuf messages, wire compatible with TensorFlow's.

The messages are described here rather than compiled, in a descriptor pool of their own, so that
they do not clash with TensorFlow's where both are loaded. The protobuf package is imported when the
first of these names is used: ``Example``, ``Features``, ``Feature``, ``BytesList``, ``FloatList``,
``Int64List``, ``SequenceExample``, ``FeatureLists``, ``FeatureList``.
"""

from __future__ import annotations

from typing import Any

NAMES = (
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
)

# message -> (field, number, type, repeated); a type in capitals is a scalar, "map:X" a map from
# string to X. Numbers and names are those of tensorflow/core/example/{feature,example}.proto.
_MESSAGES: dict[str, tuple[tuple[str, int, str, bool], ...]] = {
    "BytesList": (("value", 1, "BYTES", True),),
    "FloatList": (("value", 1, "FLOAT", True),),
    "Int64List": (("value", 1, "INT64", True),),
    "Feature": (
        ("bytes_list", 1, "BytesList", False),
        ("float_list", 2, "FloatList", False),
        ("int64_list", 3, "Int64List", False),
    ),
    "Features": (("feature", 1, "map:Feature", True),),
    "FeatureList": (("feature", 1, "Feature", True),),
    "FeatureLists": (("feature_list", 1, "map:FeatureList", True),),
    "Example": (("features", 1, "Features", False),),
    "SequenceExample": (
        ("context", 1, "Features", False),
        ("feature_lists", 2, "FeatureLists", False),
    ),
}


def _build() -> dict[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="dataflow/train/example.proto", package="tensorflow", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind, repeated in fields:
            field = message.field.add(name=field_name, number=number)
            field.label = field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL
            if kind.isupper():
                field.type = getattr(field_type, f"TYPE_{kind}")
                continue
            field.type = field_type.TYPE_MESSAGE
            field.type_name = f".tensorflow.{kind}"
            if kind.startswith("map:"):
                entry_name = "".join(part.title() for part in field_name.split("_")) + "Entry"
                field.type_name = f".tensorflow.{name}.{entry_name}"
                entry = message.nested_type.add(name=entry_name)
                entry.options.map_entry = True
                entry.field.add(
                    name="key",
                    number=1,
                    type=field_type.TYPE_STRING,
                    label=field_type.LABEL_OPTIONAL,
                )
                entry.field.add(
                    name="value",
                    number=2,
                    type=field_type.TYPE_MESSAGE,
                    type_name=f".tensorflow.{kind[4:]}",
                    label=field_type.LABEL_OPTIONAL,
                )
        if name == "Feature":
            message.oneof_decl.add(name="kind")
            for field in message.field:
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{name}"))
        for name in _MESSAGES
    }


def __getattr__(name: str) -> Any:
    if name in NAMES:
        globals().update(_build())
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *NAMES])
