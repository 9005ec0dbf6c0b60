"""``tensorflow.python.framework.device`` and ``device_spec``: names of devices, and functions that merge them."""

from __future__ import annotations

from typing import Any

from dataflow.device_spec import DeviceSpec, merge_names

__all__ = [
    *("DeviceSpec", "DeviceSpecV1", "DeviceSpecV2", "MergeDevice", "canonical_name"),
    *("check_valid", "is_device_spec", "merge_device"),
]


#: The classes of TensorFlow 1 and 2: one here.
DeviceSpecV1 = DeviceSpecV2 = DeviceSpec


def check_valid(spec: str) -> None:
    """Raises `ValueError` if ``spec`` is not a device name."""
    DeviceSpec.from_string(spec)


def is_device_spec(obj: Any) -> bool:
    """Whether this is a `tf.DeviceSpec`."""
    return isinstance(obj, DeviceSpec)


def canonical_name(device: DeviceSpec | str | None) -> str:
    """The canonical text of a device name: ``/device:CPU:0`` of ``/cpu:0``, "" of None."""
    if device is None:
        return ""
    return (
        device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device)
    ).to_string()


class MergeDevice:
    """A device function: ``spec``, and over it what the node has been given already."""

    def __init__(self, spec: DeviceSpec | str) -> None:
        self._name = canonical_name(spec)

    def __call__(self, node_def: Any) -> DeviceSpec:
        return DeviceSpec.from_string(self.shortcut_string_merge(node_def))

    def shortcut_string_merge(self, node_def: Any) -> str:
        """The device of ``node_def``, a node or a `NodeDef`, as a text."""
        return merge_names(self._name, node_def.device or "")


def merge_device(spec: DeviceSpec | str | MergeDevice) -> MergeDevice:
    """A device function for `tf.device`: ``spec`` fills in what inner devices leave open.

    Raises `ValueError` if ``spec`` is not a device name.
    """
    return spec if isinstance(spec, MergeDevice) else MergeDevice(spec)
