"""``QueueRunnerDef``: a queue runner in a MetaGraph, wire compatible with TensorFlow's.

The tensorboard package does not ship this message, so it is described here, in a descriptor pool of
its own. Numbers and names are those of tensorflow/core/protobuf/queue_runner.proto.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def queue_runner_def_class() -> Any:
    """The message class."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="dataflow/train/queue_runner.proto", package="tensorflow", syntax="proto3"
    )
    message = file.message_type.add(name="QueueRunnerDef")
    # Error codes are an enum there; on the wire that is the same as int32.
    for name, number, kind, repeated in (
        ("queue_name", 1, field_type.TYPE_STRING, False),
        ("enqueue_op_name", 2, field_type.TYPE_STRING, True),
        ("close_op_name", 3, field_type.TYPE_STRING, False),
        ("cancel_op_name", 4, field_type.TYPE_STRING, False),
        ("queue_closed_exception_types", 5, field_type.TYPE_INT32, True),
    ):
        label = field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL
        message.field.add(name=name, number=number, type=kind, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.QueueRunnerDef"))


def __getattr__(name: str) -> Any:
    if name == "QueueRunnerDef":
        return queue_runner_def_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
