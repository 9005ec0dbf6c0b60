"""The message of a ``saved_model.pb``, which the ``tensorboard`` package does not ship."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.compat.proto import meta_graph_pb2

__all__ = ["SavedModel"]


def _declared() -> descriptor_pb2.FileDescriptorProto:
    meta_graph = meta_graph_pb2.MetaGraphDef.DESCRIPTOR
    file = descriptor_pb2.FileDescriptorProto(
        name="dataflow/saved_model.proto",
        package=meta_graph.file.package,
        syntax="proto3",
        dependency=[meta_graph.file.name],
    )
    message = file.message_type.add(name="SavedModel")
    number = descriptor_pb2.FieldDescriptorProto
    message.field.add(
        name="saved_model_schema_version",
        number=1,
        type=number.TYPE_INT64,
        label=number.LABEL_OPTIONAL,
    )
    message.field.add(
        name="meta_graphs",
        number=2,
        type=number.TYPE_MESSAGE,
        type_name=f".{meta_graph.full_name}",
        label=number.LABEL_REPEATED,
    )
    return file


DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(_declared().SerializeToString())
SavedModel = message_factory.GetMessageClass(DESCRIPTOR.message_types_by_name["SavedModel"])
