"""The ops of ``tf.contrib.nccl`` that exchange nothing; NcclAllReduce is in `collective`."""

from __future__ import annotations

import functools
from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.collective import MERGE_OF
from dataflow.kernels.collective_ring import MERGES
from dataflow.kernels.registry import kernel


@kernel("NcclReduce")
def nccl_reduce_kernel(xp: Module, input: list[Any], *, reduction: str) -> Any:
    return functools.reduce(MERGES[MERGE_OF[reduction]], input)


@kernel("NcclBroadcast")
def nccl_broadcast_kernel(xp: Module, input: Array) -> Any:
    return input
