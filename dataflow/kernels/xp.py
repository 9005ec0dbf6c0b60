"""Array modules: NumPy for the host, CuPy for a GPU, and a pretend GPU for machines without one.

The rest of the engine reaches CuPy through this module and `kernels.cuda` only. A *device* here is
``"cpu"``, ``"gpu:0"``, ``"gpu:1"``, ...
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dataflow.extras import install
from dataflow.kernels.cuda.precision import keep_precise
from dataflow.kernels.fake_cupy import PretendModule
from dataflow.kernels.fake_gpu import PretendArray, PretendMemory, memories

#: How many pretend GPUs a process has from its start; `pretend_gpus` changes it.
PRETEND_VARIABLE = "DATAFLOW_PRETEND_GPUS"


#: Brings CuPy, and CUDA's libraries.
INSTALL_CUPY = f"{install('gpu')} (CUDA 12) or {install('gpu13')} (CUDA 13)"


def reason_of(error: BaseException) -> str:
    """The first line of what CuPy says, whose messages can be long; or the error's name."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class GPU(NamedTuple):
    """A GPU of this process: its name, and its memory in bytes (0 for a pretend one)."""

    description: str
    memory_bytes: int


class _Pretend:
    count: int | None = None


_pretend = _Pretend()


def num_pretend_gpus() -> int:
    """How many pretend GPUs there are: set by `pretend_gpus`, else by the environment."""
    if _pretend.count is not None:
        return _pretend.count
    text = os.environ.get(PRETEND_VARIABLE, "")
    return int(text) if text.isdigit() else 0


class pretend_gpus:  # noqa: N801  a context manager, used like a function
    """Pretends that this process has ``count`` GPUs, for sessions that are made and used from now on.

    A pretend GPU computes with NumPy, and refuses what a GPU refuses: to mix its arrays with the
    host's. Placement, copies and what a graph costs in copies can be seen with it; speed can not.
    Used as a function it holds until it is called again (0: no more); as a context manager, inside
    the block, where its sessions have to be used as well. `DATAFLOW_PRETEND_GPUS=1` in the
    environment does the same for all of a process. Real GPUs are hidden in the meantime.
    ``memory_bytes``: how much memory each has, to see what happens when there is no more; 0 for no
    limit.
    """

    def __init__(self, count: int = 1, memory_bytes: int = 0) -> None:
        if count < 0:
            raise ValueError(f"the number of pretend GPUs must not be negative, got {count}")
        if memory_bytes < 0:
            raise ValueError(f"memory_bytes must not be negative, got {memory_bytes}")
        self._before = (_pretend.count, dict(memories))
        _pretend.count = count
        for index in range(count):
            memories[index] = PretendMemory(memory_bytes)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _pretend.count = self._before[0]
        memories.clear()
        memories.update(self._before[1])


@functools.cache
def _real_gpus() -> tuple[GPU, ...]:
    """The GPUs that CuPy finds; empty where anything is missing. Never raises."""
    if importlib.util.find_spec("cupy") is None:
        return ()
    try:
        cupy = importlib.import_module("cupy")
        found = []
        for i in range(cupy.cuda.runtime.getDeviceCount()):
            properties = cupy.cuda.runtime.getDeviceProperties(i)
            name = properties["name"]
            text = name.decode() if isinstance(name, bytes) else str(name)
            found.append(GPU(text, int(properties["totalGlobalMem"])))
    except Exception:  # no driver, no device, a broken install: all mean no GPU
        return ()
    # CuPy's wheels hold no CUDA libraries, and nothing runs without the compiler among them.
    try:
        if found:
            cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        warnings.warn(
            f"{found[0].description} is not used: CuPy does not find CUDA's compiler, NVRTC "
            f"({reason_of(error)}). {INSTALL_CUPY} brings CUDA's libraries; until then everything "
            "runs on the CPU.",
            RuntimeWarning,
            stacklevel=2,
        )
        return ()
    return tuple(found)


def gpus() -> tuple[GPU, ...]:
    """The GPUs of this process, pretend ones where there are any."""
    count = num_pretend_gpus()
    if not count:
        return _real_gpus()
    limits = [memories[i].limit_bytes if i in memories else 0 for i in range(count)]
    return tuple(GPU("pretend GPU on NumPy", limit) for limit in limits)


def array_module(device: str) -> Any:
    """``xp`` for a device. Raises `ImportError` for a GPU where CuPy is not installed."""
    if device == "cpu":
        return np
    if num_pretend_gpus():
        return pretend_module(int(device.partition(":")[2] or 0))
    cupy = importlib.import_module("cupy")
    keep_precise(cupy)
    return cupy


@functools.cache
def pretend_module(index: int) -> PretendModule:
    """The array module of one pretend GPU."""
    return PretendModule(index)


def on_device(device: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with CuPy's current device set; unchanged where there is only one GPU."""
    if device == "cpu" or num_pretend_gpus() or len(_real_gpus()) < 2:
        return function
    cupy = importlib.import_module("cupy")
    where = cupy.cuda.Device(int(device.partition(":")[2] or 0))

    def call(*args: Any) -> Any:
        with where:
            return function(*args)

    return call


def is_device_array(value: Any) -> bool:
    """Whether ``value`` is an array in a GPU's memory (a real one's or a pretend one's)."""
    return type(value) is PretendArray or type(value).__module__.startswith("cupy")


def to_host(value: Any) -> Any:
    """A device's array as a NumPy array, copied; anything else as it is."""
    return value.get() if is_device_array(value) else value


def device_of(array: Any) -> str:
    """Which GPU's memory a device's array is in: ``"gpu:0"``."""
    return str(array.device) if type(array) is PretendArray else f"gpu:{array.device.id}"


def beside(array: Any, value: Any) -> Any:
    """``value``, an array of the host, in the memory where ``array`` is."""
    if not is_device_array(array):
        return value
    device = device_of(array)
    return on_device(device, array_module(device).asarray)(value)


def address_of(array: Any) -> int:
    """Where a device's array begins in memory."""
    if type(array) is PretendArray:
        return int(array.host_array.ctypes.data)
    return int(array.data.ptr)
