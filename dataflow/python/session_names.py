"""Of ``tensorflow.python.client.session``: the base of sessions, and the devices that they list."""

from __future__ import annotations

from dataflow.runtime.base_session import BaseSession as BaseSession
from dataflow.runtime.devices import DeviceAttributes

__all__ = ["BaseSession", "_DeviceAttributes"]


def _DeviceAttributes(
    name: str, device_type: str, memory_limit_bytes: int, incarnation: int
) -> DeviceAttributes:
    """A device as `Session.list_devices` gives it; the ``incarnation`` follows from its name."""
    return DeviceAttributes(name, device_type, memory_limit_bytes)
