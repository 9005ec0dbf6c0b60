"""The devices of this process: one CPU, and the GPUs that CuPy finds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from dataflow.kernels.xp import gpus
from dataflow.placement.placer import local_devices

if TYPE_CHECKING:
    from dataflow.runtime.config import ConfigProto
    from dataflow.runtime.session import BaseSession


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


class _Visible:
    """How many GPUs sessions may use; None: all."""

    num_gpus: int | None = None


def num_visible_gpus() -> int:
    """How many GPUs the sessions of this process use, as `show_gpus` has it."""
    most = len(gpus())
    return most if _Visible.num_gpus is None else min(most, _Visible.num_gpus)


def show_gpus(count: int | None) -> int | None:
    """Sessions made from now on use the first ``count`` GPUs; None: all. Returns what held before."""
    before, _Visible.num_gpus = _Visible.num_gpus, count
    return before


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def list_local_devices(session_config: ConfigProto | None = None) -> list[DeviceAttributes]:
    """The devices that ops can be pinned to here, as ``session_config.device_count`` has it."""
    return _described(local_devices(session_config, num_gpus=num_visible_gpus(), task=""))


def session_devices(session: BaseSession) -> list[DeviceAttributes]:
    """The devices of a session: those of its cluster, or of this process."""
    if session.remote is not None:
        return session.remote.list_devices()  # type: ignore[no-any-return]
    return _described(session.local_devices)


def _described(names: list[str]) -> list[DeviceAttributes]:
    described = []
    for name in names:
        kind, number = name.rpartition("/device:")[2].split(":")
        if kind == "GPU":
            text, size = gpus()[int(number)]
            found = DeviceAttributes(name, kind, size, f"device: {number}, name: {text}")
        else:
            found = DeviceAttributes(name, kind, _memory_bytes())
        described.append(found)
    return described
