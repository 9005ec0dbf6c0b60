"""The message of a SavedModel: as bytes, and readable by programs and as text."""

from __future__ import annotations

import functools
from typing import Any

ASSETS_KEY = "saved_model_assets"


@functools.cache
def readable_class() -> Any:
    """The message ``SavedModel`` for text and for programs: with graphs that are messages too."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    field_type = descriptor_pb2.FieldDescriptorProto
    graph = MetaGraphDef.DESCRIPTOR
    file = descriptor_pb2.FileDescriptorProto(
        name="dataflow/train/saved_model_text.proto",
        package=graph.file.package,
        syntax="proto3",
        dependency=[graph.file.name],
    )
    message = file.message_type.add(name="SavedModel")
    message.field.add(
        name="saved_model_schema_version",
        number=1,
        type=field_type.TYPE_INT64,
        label=field_type.LABEL_OPTIONAL,
    )
    message.field.add(
        name="meta_graphs",
        number=2,
        type=field_type.TYPE_MESSAGE,
        type_name=f".{graph.full_name}",
        label=field_type.LABEL_REPEATED,
    )
    made = descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(made.message_types_by_name["SavedModel"])


@functools.cache
def saved_model_class() -> Any:
    """The message ``SavedModel``; graphs in it are kept serialized, which is the same on the wire."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="dataflow/train/saved_model.proto", package="tensorflow", syntax="proto3"
    )
    message = file.message_type.add(name="SavedModel")
    message.field.add(
        name="saved_model_schema_version",
        number=1,
        type=field_type.TYPE_INT64,
        label=field_type.LABEL_OPTIONAL,
    )
    message.field.add(
        name="meta_graphs",
        number=2,
        type=field_type.TYPE_BYTES,
        label=field_type.LABEL_REPEATED,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.SavedModel"))


#: Packages of message types in files, and in memory, where TensorBoard's classes stand for TensorFlow's.
TYPES_IN_FILES, TYPES_IN_MEMORY = (
    "type.googleapis.com/tensorflow.",
    "type.googleapis.com/tensorboard.",
)


def with_types(meta: Any, found: str, wanted: str) -> Any:
    """The graph, or a copy, with other names for the types of the assets in its collection."""
    if ASSETS_KEY not in meta.collection_def:
        return meta
    result = type(meta)()
    result.CopyFrom(meta)
    for packed in result.collection_def[ASSETS_KEY].any_list.value:
        packed.type_url = packed.type_url.replace(found, wanted)
    return result
