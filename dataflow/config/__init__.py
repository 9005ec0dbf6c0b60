"""`tf.config`: settings of this process, which sessions without a `ConfigProto` and eager code take."""

from __future__ import annotations

from dataflow.config import (
    experimental as experimental,
    optimizer as optimizer,
    threading as threading,
)
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
from dataflow.runtime import process_settings


def get_soft_device_placement() -> bool:
    """Whether an op that its device has no kernel for may run on the CPU."""
    return process_settings.soft_placement()


def set_soft_device_placement(enabled: bool) -> None:
    """Sets ``allow_soft_placement`` for sessions made from now on without a `ConfigProto`."""
    process_settings.set_soft_placement(enabled)


def experimental_list_devices() -> list[str]:
    """The names of the devices, as ``tf.device`` takes them."""
    return [device.name for device in experimental.list_logical_devices()]


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
