"""``from tensorflow.core.protobuf import config_pb2``: the options of sessions, as ``tf`` has them."""

from __future__ import annotations

from typing import Any

from dataflow.runtime.config import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RPCOptions as RPCOptions,
    RunOptions as RunOptions,
    ThreadPoolOptionProto as ThreadPoolOptionProto,
)


def __getattr__(name: str) -> Any:
    from dataflow.namespaces import protocol_buffers

    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(protocol_buffers("dataflow.core.protobuf", "config_pb2"), name)
