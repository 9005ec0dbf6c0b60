"""The protocol buffers that the ``tensorboard`` package ships, each loaded when first named."""

from __future__ import annotations

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import protocol_buffers, submodule

    if name in ("config_pb2", "saved_model_pb2"):
        return submodule(__name__, name)
    return protocol_buffers(__name__, name)
