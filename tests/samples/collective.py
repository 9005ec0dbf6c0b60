"""Samples of collective ops, whose two members are nodes of one session."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.samples.base import Sample

X = np.array([[1, 2], [3, 4]], np.float32)
Y = np.array([[5, -1], [0, 8]], np.float32)
NEEDS_DEVICES = "TensorFlow needs a device for each member, and NCCL a GPU"

_instances = itertools.count()


def ops(tf: Any) -> Any:
    from dataflow.ops import collective

    return collective


def both(function: str, *arguments: Any) -> Any:
    """Build the op for both inputs; the values of both."""

    def build(tf: Any, *tensors: Any) -> Any:
        instance = next(_instances)
        return [
            getattr(ops(tf), function)(t, len(tensors), 1, instance, *arguments) for t in tensors
        ]

    return build


def broadcast(tf: Any, x: Any) -> Any:
    instance = next(_instances)
    sent = ops(tf).broadcast_send(x, x.shape, x.dtype, 2, 1, instance)
    return [sent, ops(tf).broadcast_recv(x.shape, x.dtype, 2, 1, instance)]


def nccl(function: str) -> Any:
    def build(tf: Any, *tensors: Any) -> Any:
        with tf.device("/cpu:0"):
            here = [tf.identity(t) for t in tensors]
        with tf.device("/cpu:0"):
            return getattr(tf.contrib.nccl, function)(here[0] if function == "broadcast" else here)

    return build


def sample(op: str, build: Any, inputs: Any, expected: Any, **more: Any) -> Sample:
    return Sample(op, build, inputs, expected, oracle=False, **{"note": NEEDS_DEVICES, **more})


SAMPLES = [
    sample(
        "CollectiveReduce",
        both("all_reduce", "Add", "Div"),
        (X, Y),
        lambda x, y: [(x + y) / 2] * 2,
        gradient=(),
    ),
    sample(
        "CollectiveReduceScatter",
        both("reduce_scatter", "Max"),
        (X, Y),
        lambda x, y: [np.maximum(x, y)[:1], np.maximum(x, y)[1:]],
        gradient=(),
    ),
    sample(
        "CollectiveGather",
        both("all_gather"),
        (X, Y),
        lambda x, y: [np.concatenate([x, y])] * 2,
        gradient=(),
    ),
    sample("CollectiveBcastSend", broadcast, (X,), lambda x: [x, x], gradient=()),
    sample("CollectiveBcastRecv", broadcast, (X,), lambda x: [x, x], gradient=()),
    sample("NcclAllReduce", nccl("all_sum"), (X, Y), lambda x, y: [x + y] * 2),
    sample("NcclReduce", nccl("reduce_sum"), (X, Y), lambda x, y: x + y),
    sample("NcclBroadcast", nccl("broadcast"), (X,), lambda x: x),
]
