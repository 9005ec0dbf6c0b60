"""``from tensorflow.python.client import device_lib``: the devices of this machine."""

from dataflow.runtime.devices import list_local_devices

__all__ = ["list_local_devices"]
