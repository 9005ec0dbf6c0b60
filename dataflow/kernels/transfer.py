"""Kernels of the copies between the host's memory and a GPU's."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.registry import kernel
from dataflow.kernels.xp import is_device_array, to_host


@kernel("_CopyToDevice")
def copy_to_device_kernel(xp: Any, x: Any) -> Any:
    if xp is np:
        return to_host(x)
    return xp.asarray(to_host(x) if is_device_array(x) else x)


@kernel("_CopyToHost")
def copy_to_host_kernel(xp: Any, x: Any) -> Any:
    host = to_host(x)
    return host if host.shape else host[()]
