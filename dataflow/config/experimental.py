"""`tf.config.experimental`: the machine's devices, how exactly GPUs multiply, the format of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dataflow.formats import checkpoint_writer
from dataflow.kernels.cuda.precision import enable_tf32, tf32_enabled
from dataflow.kernels.xp import gpus
from dataflow.namespaces import absent
from dataflow.placement.placer import local_devices
from dataflow.runtime import process_settings
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
    process_settings.begin()
    task = "/job:localhost/task:0"
    devices = []
    for name in local_devices(process_settings.new_config(), num_visible_gpus(), task):
        kind = name.rpartition("/device:")[2].partition(":")[0]
        devices.append(LogicalDevice(name, kind))
    return [d for d in devices if device_type in (None, d.device_type)]


class VirtualDeviceConfiguration(NamedTuple):
    """A part of a device: the memory that it may take, in MB; None: no limit."""

    memory_limit: float | None = None


def set_virtual_device_configuration(
    device: PhysicalDevice, virtual_devices: Sequence[VirtualDeviceConfiguration]
) -> None:
    """Shows the CPU as several devices, or limits the memory of a GPU, in sessions without a `ConfigProto`.

    The CPUs ``/cpu:0``, ``/cpu:1``, ... are one processor under several names, as with
    ``tf.ConfigProto(device_count={"CPU": 2})``. A GPU stays one device; the limit holds for each GPU.

    Raises `ValueError` for a device that is not there, a limit of a CPU's memory and several devices on a GPU,
    and `RuntimeError` when an eager operation has run or `list_logical_devices` has told the devices.
    """
    there = _physical_devices()
    if device not in there:
        raise ValueError(f"Unrecognized device: {device!r}; the devices here are {there}")
    parts = [VirtualDeviceConfiguration(*part) for part in virtual_devices]
    limits = [part.memory_limit for part in parts]
    if device.device_type == "CPU":
        if any(limit is not None for limit in limits):
            raise ValueError(
                "Setting memory limit on CPU virtual devices is currently not supported"
            )
        process_settings.set_parts(device.name, parts, num_cpus=max(1, len(parts)))
    elif len(parts) > 1:
        raise ValueError(
            f"{device.name} cannot be shown as {len(parts)} devices: a GPU is one device here. Pass one "
            "VirtualDeviceConfiguration(memory_limit=...), or try several devices on the CPU."
        )
    else:
        num_bytes = gpus()[int(device.name.rpartition(":")[2])][1]
        limit = limits[0] if limits else None
        # A pretend GPU does not say how much memory it has.
        fraction = (limit or 0) * 2**20 / num_bytes if num_bytes else 0.0
        process_settings.set_parts(device.name, parts, gpu_fraction=fraction)


def get_virtual_device_configuration(
    device: PhysicalDevice,
) -> list[VirtualDeviceConfiguration] | None:
    """What `set_virtual_device_configuration` was given for the device; None: nothing."""
    found: list[VirtualDeviceConfiguration] | None = process_settings.parts_of(device.name)
    return found


_POLICIES = ("silent", "warn", "explicit", "silent_for_int32")


def set_device_policy(device_policy: str | None) -> None:
    """Says what happens when an op's input is on another device, for this thread.

    One of ``"silent"``, ``"warn"``, ``"explicit"`` and ``"silent_for_int32"``, or None for the first of them. It is
    told back by `get_device_policy`; inputs are always copied silently. Raises `ValueError` for another.
    """
    if device_policy is not None and device_policy not in _POLICIES:
        raise ValueError(f"Not a valid device policy: {device_policy!r}; needed one of {_POLICIES}")
    process_settings.set_device_policy(device_policy or "silent")


def get_device_policy() -> str:
    """The policy of this thread."""
    return process_settings.device_policy()


def set_synchronous_execution(enable: bool | None) -> None:
    """Says whether eager operations of this thread end before the next begins; they do in either case."""
    process_settings.set_synchronous(enable is None or bool(enable))


def get_synchronous_execution() -> bool:
    """What `set_synchronous_execution` was given; True unless it was called."""
    return process_settings.is_synchronous()


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Nothing to do: memory of a GPU is taken as it is needed."""


def get_memory_growth(device: PhysicalDevice) -> bool:
    """True: memory of a GPU is taken as it is needed."""
    return True


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
