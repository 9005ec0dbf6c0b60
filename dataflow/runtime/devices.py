"""The devices of this process: one CPU, and the GPUs that CuPy finds."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from dataflow.kernels.xp import gpus


class DeviceAttributes(NamedTuple):
    """One device, as `list_local_devices` gives it."""

    name: str
    device_type: str
    memory_limit: int  # bytes
    physical_device_desc: str = ""

    @property
    def memory_limit_bytes(self) -> int:
        """The same as ``memory_limit``."""
        return self.memory_limit


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """The devices that ops can be pinned to here."""
    devices = [DeviceAttributes("/device:CPU:0", "CPU", _memory_bytes())]
    for i, (text, size) in enumerate(gpus()):
        devices.append(
            DeviceAttributes(f"/device:GPU:{i}", "GPU", size, f"device: {i}, name: {text}")
        )
    return devices


def session_devices(session: Any) -> list[DeviceAttributes]:
    """The devices of a session: those of its cluster, or of this process."""
    if session._remote is not None:
        return session._remote.list_devices()  # type: ignore[no-any-return]
    prefix = "/job:localhost/replica:0/task:0"
    return [d._replace(name=prefix + d.name) for d in list_local_devices()]
