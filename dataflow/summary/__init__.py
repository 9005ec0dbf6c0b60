"""``tf.summary``: what TensorBoard shows."""

from __future__ import annotations

from typing import Any

from dataflow.ops.summary import (
    audio,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from dataflow.summary.file_writer import FileWriter, FileWriterCache
from dataflow.summary.recording import all_summary_ops as all_v2_summary_ops
from dataflow.summary.recording import initialize

__all__ = [
    "FileWriter",
    "FileWriterCache",
    "all_v2_summary_ops",
    "audio",
    "histogram",
    "image",
    "initialize",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]

_PROTOS = {
    "Event": ("event_pb2", "Event"),
    "SessionLog": ("event_pb2", "SessionLog"),
    "Summary": ("summary_pb2", "Summary"),
    "SummaryDescription": ("summary_pb2", "SummaryDescription"),
    "SummaryMetadata": ("summary_pb2", "SummaryMetadata"),
    "TaggedRunMetadata": ("event_pb2", "TaggedRunMetadata"),
}


def __getattr__(name: str) -> Any:
    if name in _PROTOS:
        import importlib

        module, message = _PROTOS[name]
        value = getattr(importlib.import_module(f"tensorboard.compat.proto.{module}"), message)
        globals()[name] = value
        return value
    from dataflow.namespaces import absent

    raise absent(__name__, name)
