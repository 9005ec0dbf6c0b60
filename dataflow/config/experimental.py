"""`tf.config.experimental`: how exactly GPUs multiply."""

from __future__ import annotations

from typing import NamedTuple

from dataflow.kernels.cuda.precision import enable_tf32, tf32_enabled
from dataflow.namespaces import absent


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Lets GPUs of this process multiply ``float32`` matrices as TensorFloat-32, or forbids it.

    Products and convolutions then round their inputs from 23 bits after the point to 10, add up in
    single precision, and are several times faster on an A100 and everything later; older GPUs
    compute in full all the same, and so do products of many matrices at a time (rank 3 and more)
    and every other dtype but ``complex64``.

    Off by default, unlike in TensorFlow 2.4 and later: what is learned on a CPU holds on a GPU, to
    the last digits. CuPy's variable ``CUPY_TF32`` changes nothing. Choose before the first run:
    a CUDA graph that was captured goes on as it was. A pretend GPU rounds as a real one does.
    """
    enable_tf32(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """Whether TensorFloat-32 may be used; ``False`` unless it was enabled."""
    return tf32_enabled()


class PhysicalDevice(NamedTuple):
    """A processor of this machine: its name (``"/physical_device:GPU:0"``) and type."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The processors of this machine, or those of one type ("CPU", "GPU")."""
    from dataflow.runtime.devices import list_local_devices

    counts: dict[str, int] = {}
    found = []
    for device in list_local_devices():
        kind = device.device_type
        found.append(PhysicalDevice(f"/physical_device:{kind}:{counts.get(kind, 0)}", kind))
        counts[kind] = counts.get(kind, 0) + 1
    return [d for d in found if device_type in (None, d.device_type)]


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Nothing to do: memory of a GPU is taken as it is needed."""


def get_memory_growth(device: PhysicalDevice) -> bool:
    """True: memory of a GPU is taken as it is needed."""
    return True


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
