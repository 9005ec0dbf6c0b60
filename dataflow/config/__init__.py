"""`tf.config`: settings of this process; all of them are under ``tf.config.experimental``."""

from __future__ import annotations

from dataflow.config import experimental as experimental
from dataflow.config.experimental import (
    PhysicalDevice as PhysicalDevice,
    list_physical_devices as list_physical_devices,
)
from dataflow.namespaces import absent


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
