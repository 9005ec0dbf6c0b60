"""`tf.config.experimental`: the machine's devices, how exactly GPUs multiply, the format of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dataflow.formats import checkpoint_writer
from dataflow.kernels.cuda.precision import enable_tf32, tf32_enabled
from dataflow.kernels.xp import gpus
from dataflow.namespaces import absent
from dataflow.runtime.devices import num_visible_gpus, show_gpus


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
    return [d for d in _physical_devices() if device_type in (None, d.device_type)]


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Sessions made from now on use these of `list_physical_devices`, of one type or of both.

    ``set_visible_devices([], "GPU")`` keeps graphs on the CPU. Raises `ValueError` for no CPU, for a
    device that is not there, and for GPUs that are not the first ones: they keep their numbers, and
    ``CUDA_VISIBLE_DEVICES``, in the environment before Python starts, numbers them anew.
    """
    chosen = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    there = _physical_devices()
    for device in chosen:
        if device not in there or device_type not in (None, device.device_type):
            kind = f" of type {device_type}" if device_type else ""
            raise ValueError(f"{device} is not among the devices{kind} of this machine: {there}")
    if device_type in (None, "CPU") and not any(d.device_type == "CPU" for d in chosen):
        raise ValueError("the CPU cannot be hidden: feeds and fetches are in its memory")
    if device_type in (None, "GPU"):
        wanted = sorted(d.name for d in chosen if d.device_type == "GPU")
        first = sorted(d.name for d in there if d.device_type == "GPU")[: len(wanted)]
        if wanted != first:
            raise ValueError(
                f"visible GPUs must be the first ones, got {wanted}, needed {first}; set "
                "CUDA_VISIBLE_DEVICES before Python starts to choose others"
            )
        show_gpus(len(wanted))


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that sessions made from now on use, of one type or of both."""
    count, found = num_visible_gpus(), []
    for device in _physical_devices():
        if device.device_type == "GPU" and int(device.name.rpartition(":")[2]) >= count:
            continue
        found.append(device)
    return [d for d in found if device_type in (None, d.device_type)]


def _physical_devices() -> list[PhysicalDevice]:
    gpu = [PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in range(len(gpus()))]
    return [PhysicalDevice("/physical_device:CPU:0", "CPU"), *gpu]


def set_checkpoint_format(name: str) -> None:
    """How this process writes checkpoints from now on: ``"safetensors"`` or ``"tensorflow"``.

    ``"safetensors"``, the default, is one file, ``model.ckpt-1.safetensors``, which Python without
    dataflow or TensorFlow reads, too. ``"tensorflow"`` is TensorFlow's format V2, ``model.ckpt-1.index`` and
    ``.data-00000-of-00001``, for whoever goes on with TensorFlow; programs that `dataflow run` or
    `as_tensorflow` runs get it without asking, as they look for these files. It holds for all that
    writes the variables of a graph: `tf.train.Saver`, hooks and supervised sessions, estimators,
    SavedModels. `tf.train.Checkpoint` always writes TensorFlow's format, a prefix that ends in
    ``.safetensors`` is always such a file, and both formats are read at any time. A task of a
    cluster that `tf.cluster.launch` starts writes as this process does at that time; others say it
    themselves, best at the top of the program that all of them run.

    Raises `ValueError` for another name.
    """
    checkpoint_writer.set_checkpoint_format(name)


def get_checkpoint_format() -> str:
    """``"safetensors"`` or ``"tensorflow"``; see `set_checkpoint_format`."""
    return checkpoint_writer.checkpoint_format()


class LogicalDevice(NamedTuple):
    """A processor as sessions name it, ``"/job:localhost/replica:0/task:0/device:CPU:0"``, and its type."""

    name: str
    device_type: str


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The visible devices, or those of one type ("CPU", "GPU"), under the names that `tf.device` takes."""
    prefix = "/job:localhost/replica:0/task:0/device:"
    return [
        LogicalDevice(prefix + device.name.removeprefix("/physical_device:"), device.device_type)
        for device in get_visible_devices(device_type)
    ]


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Nothing to do: memory of a GPU is taken as it is needed."""


def get_memory_growth(device: PhysicalDevice) -> bool:
    """True: memory of a GPU is taken as it is needed."""
    return True


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
