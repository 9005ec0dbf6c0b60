"""`tf.config`: settings of this process; all of them are under ``tf.config.experimental``."""

from __future__ import annotations

from dataflow.config import experimental as experimental
from dataflow.config.experimental import (
    LogicalDevice as LogicalDevice,
    PhysicalDevice as PhysicalDevice,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_visible_devices as set_visible_devices,
)
from dataflow.functions.run_eagerly import (
    experimental_run_functions_eagerly as experimental_run_functions_eagerly,
    functions_run_eagerly as functions_run_eagerly,
)
from dataflow.namespaces import absent


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
