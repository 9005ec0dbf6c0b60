"""The devices of this process: one CPU, and the GPUs that CuPy finds."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from dataflow.kernels.xp import gpus
from dataflow.placement.placer import local_devices
from dataflow.runtime.config import Options

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession
    from dataflow.runtime.config import ConfigProto


class DeviceLocality(Options):
    """Where a device stands in its machine; the engine does not ask, so these are TensorFlow's defaults."""

    _defaults = {"bus_id": 0, "numa_node": 0}


class _Attributes(NamedTuple):
    name: str
    device_type: str
    memory_limit: int  # bytes
    physical_device_desc: str = ""


class DeviceAttributes(_Attributes):
    """One device, as `Session.list_devices` gives it."""

    __slots__ = ()

    @property
    def memory_limit_bytes(self) -> int:
        """The same as ``memory_limit``."""
        return self.memory_limit

    @property
    def incarnation(self) -> int:
        """A number of 64 bits for this device: another one in each process, as in TensorFlow."""
        return int.from_bytes(
            hashlib.blake2b(self.name.encode(), digest_size=8, key=_PROCESS).digest(), "big"
        )

    @property
    def locality(self) -> DeviceLocality:
        """TensorFlow's defaults: the engine does not ask where a device stands."""
        return DeviceLocality()

    def __repr__(self) -> str:
        values = (self.name, self.device_type, self.memory_limit, self.incarnation)
        return f"_DeviceAttributes({', '.join(map(str, values))})"


class LocalDevice(DeviceAttributes):
    """One device, as `list_local_devices` gives it: a message, that prints line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [
            f'name: "{self.name}"',
            f'device_type: "{self.device_type}"',
            f"memory_limit: {self.memory_limit}",
            "locality {\n}",
            f"incarnation: {self.incarnation}",
        ]
        if self.physical_device_desc:
            lines.append(f'physical_device_desc: "{self.physical_device_desc}"')
        return "\n".join(lines) + "\n"


#: What makes incarnations those of this process.
_PROCESS = os.urandom(16)


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


def list_local_devices(session_config: ConfigProto | None = None) -> list[LocalDevice]:
    """The devices that ops can be pinned to here, as ``session_config.device_count`` has it."""
    names = local_devices(session_config, num_gpus=num_visible_gpus(), task="")
    return [LocalDevice(*device) for device in _described(names)]


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
