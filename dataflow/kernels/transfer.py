"""Kernels of the copies between the host's memory and a GPU's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.copies import PINNED_BYTES, HostToDevice
from dataflow.kernels.registry import kernel
from dataflow.kernels.xp import device_of, is_device_array, to_host


@kernel("_CopyToDevice", stateful=True, factory=True)
def copy_to_device_kernel(context: Any) -> Callable[[Any], Any]:
    xp = context.xp
    if xp is np:
        return to_host
    if getattr(xp, "__name__", "") != "cupy":
        here = device_of(xp.empty(0, np.float32))
        return lambda x: (
            x.copy() if is_device_array(x) and device_of(x) == here else xp.asarray(to_host(x))
        )
    # A session's plans share the buffers of one node: as it was built, rewritten, traced.
    pinned: dict[int, HostToDevice] = context.state

    def copy(x: Array) -> Any:
        if is_device_array(x):  # of another GPU, or fed from this one
            return xp.array(x)
        if x.nbytes < PINNED_BYTES:
            return xp.asarray(x)
        index = xp.cuda.Device().id
        if index not in pinned:
            pinned[index] = HostToDevice(index)
        return pinned[index](x)

    return copy


@kernel("_CopyToHost")
def copy_to_host_kernel(xp: Module, x: Array) -> Any:
    host = to_host(x)
    return host if host.shape else host[()]
