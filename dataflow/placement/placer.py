"""The placer of a local session: a device for every node.

In the order of their strength: nodes that share a variable or another resource stay together, where
that is, and so do nodes that ask for it (``colocate_with``); a pin decides; what is left open goes
to the first GPU when its op has a kernel there, else to the CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from dataflow.capabilities import MACHINE_CODE, why_not
from dataflow.device_spec import DeviceSpec
from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.registry import cpu_only_reason
from dataflow.placement.groups import Groups, join_colocated, reference_inputs

if TYPE_CHECKING:
    from dataflow.runtime.config import ConfigProto


_THIS_TASK = "/job:localhost/task:0"
#: Whether every local session logs its placement, not only those whose `ConfigProto` asks for it.
_logs_placement = False
#: The types of variables that a GPU holds, as in TensorFlow.
_VARIABLE_TYPES = frozenset({"float16", "float32", "float64", "complex64", "complex128", "int64"})


def local_devices(config: ConfigProto | None, num_gpus: int, task: str = _THIS_TASK) -> list[str]:
    """The devices of this process by full name; ``device_count`` says how many CPUs it shows."""
    counts = getattr(config, "device_count", None) or {}
    num_cpus = max(1, int(counts.get("CPU", 1)))
    num_gpus = min(num_gpus, int(counts.get("GPU", num_gpus)))
    prefix = task.replace("/task:", "/replica:0/task:")
    names = [f"{prefix}/device:CPU:{i}" for i in range(num_cpus)]
    return names + [f"{prefix}/device:GPU:{i}" for i in range(num_gpus)]


def place(
    ops: Iterable[Operation],
    devices: list[str],
    config: ConfigProto,
    pin_of: Callable[[Operation], str] = lambda op: op.device,
) -> dict[Operation, str]:
    """The device of every node. ``pin_of`` gives what a node asks for; ``""`` for nothing.

    With ``allow_soft_placement`` a device that is not there, or has no kernel for a node, gives
    way to the CPU; so does another task's, so that a graph written for a cluster can be tried in
    one process. Raises `InvalidArgumentError` for a pin that cannot be kept: what was asked, what
    there is, and which kernel is missing.
    """
    ops = list(ops)
    soft = bool(config.allow_soft_placement)
    result = dict.fromkeys(ops, devices[0])
    gpu = next((name for name in devices if "GPU" in name), None)
    if gpu is None:
        chosen: dict[str, str] = {}
        for op in ops:
            pin = pin_of(op)
            if pin:
                if pin not in chosen:
                    chosen[pin] = _choose(op, pin, devices, soft)
                result[op] = chosen[pin]
    else:
        pins = {op: pin for op in ops if (pin := pin_of(op))}
        _place_with_gpus(ops, devices, gpu, soft, pins, result)
    return result


def set_log_device_placement(enabled: bool) -> None:
    """Every session prints where its nodes are, as with ``ConfigProto(log_device_placement=True)``.

    Those of a cluster follow their `ConfigProto` alone. A graph that has run is not printed again.
    """
    global _logs_placement
    _logs_placement = bool(enabled)


def get_log_device_placement() -> bool:
    """Whether every session prints where its nodes are."""
    return _logs_placement


def log_placement(devices: dict[Operation, str]) -> None:
    """Prints where each node is, as ``log_device_placement`` asks for."""
    for op, device in devices.items():
        print(f"{op.name}: ({op.type}): {device}", file=sys.stderr)


def _place_with_gpus(
    ops: list[Operation],
    devices: list[str],
    gpu: str,
    soft: bool,
    pins: dict[Operation, str],
    result: dict[Operation, str],
) -> None:
    groups = Groups()
    join_colocated(ops, groups)
    members: dict[Operation, list[Operation]] = {}
    for op in ops:
        members.setdefault(groups.find(op), []).append(op)
    for group in members.values():
        blocking = next((op for op in _holders(group) if _missing_kernel(op) is not None), None)
        pinned = [op for op in group if op in pins]
        # State stays where it is pinned; an op that changes it comes to it.
        pinned.sort(key=lambda op: not op.op_def.is_variable)
        device = _choose(pinned[0], pins[pinned[0]], devices, soft) if pinned else gpu
        if pinned and "GPU" in device and not soft:
            blocking = blocking or next((op for op in pinned if _missing_kernel(op)), None)
            if blocking is not None:
                raise _no_kernel(pinned[0], blocking)
        if blocking is not None and "GPU" in device:  # a pin to another CPU is kept
            device = devices[0]
        for op in group:
            on_cpu = "GPU" in device and _missing_kernel(op) is not None
            result[op] = devices[0] if on_cpu else device


def _holders(group: list[Operation]) -> Iterable[Operation]:
    """The nodes that hold state or change it, of the whole graph and not of this run only.

    They share an array, so they need one memory; and it must be the same in every run.
    """
    if len(group) == 1 and not group[0].op_def.is_variable:
        return group
    found = dict.fromkeys(op for op in group if op.op_def.stateful or reference_inputs(op))
    waiting = [op for op in found if op.op_def.is_variable]
    while waiting:
        for tensor in waiting.pop().outputs:
            if tensor.dtype.is_ref:
                for op in tensor.uses:
                    if op not in found and tensor in reference_inputs(op):
                        found[op] = None
                        waiting.append(op)
    return found


def _missing_kernel(op: Operation) -> str | None:
    """Why a node cannot be placed on a GPU; ``None``: it can."""
    dtypes = {t.dtype.base_dtype for t in (*op.inputs, *op.outputs)}
    if op.op_def.is_variable:
        name = op.outputs[0].dtype.base_dtype.name
        if name not in _VARIABLE_TYPES:
            return f"a GPU holds no variables of {name}"
        return None
    for dtype in dtypes:
        if dtype.kind == "S":
            return "strings live in the host's memory"
        if dtype.kind == "q" or dtype.name == "bfloat16":
            return f"a GPU has no kernels for {dtype.name}"
    family = op.op_def.family
    if get_kernel(op.type, "gpu", family) is not None or get_kernel(op.type, "cpu", family) is None:
        return None  # without any kernel the code generator writes it, wherever its values are
    return cpu_only_reason(op.type) or "it has a kernel for the CPU only"


def _no_kernel(pinned: Operation, blocking: Operation) -> InvalidArgumentError:
    types = ", ".join(
        f"{a}={v.name}" for a, v in sorted(blocking.attrs.items()) if hasattr(v, "base_dtype")
    )
    other = ""
    if blocking is not pinned:
        other = (
            f" It stays with {blocking.name!r}, as they share a variable or resource, or ask for it "
            "with tf.colocate_with."
        )
    return InvalidArgumentError(
        pinned,
        pinned,
        f"Cannot assign a device for operation {pinned.name}: could not satisfy explicit device "
        f"specification {pinned.device!r} because no supported kernel for GPU devices is available: "
        f"{blocking.type}{f' with {types}' if types else ''} runs on the CPU only "
        f"({_missing_kernel(blocking)}).{other}\n  Pin it to /cpu:0, or let the session choose: "
        "tf.Session(config=tf.ConfigProto(allow_soft_placement=True)).\n"
        f"  built at {pinned.built_at}",
    )


def pin_within_task(op: Operation) -> str:
    """What a node asks for on the task that it runs on: its device without job and task."""
    if not op.device:
        return ""
    spec = DeviceSpec.from_string(op.device)
    if spec.device_type is None:
        return ""
    return f"/device:{spec.device_type}:{spec.device_index or 0}"


def _choose(op: Operation, wanted: str, devices: list[str], soft: bool) -> str:
    spec = DeviceSpec.from_string(wanted)
    here = (spec.job in (None, "localhost")) and not spec.replica and not spec.task
    if here:
        for device in devices:
            one = DeviceSpec.from_string(device)
            if spec.device_type in (None, one.device_type) and spec.device_index in (
                None,
                one.device_index,
            ):
                return device
    if soft:
        return devices[0]
    advice = (
        "Pin it to one of them, or let the session choose: "
        "tf.Session(config=tf.ConfigProto(allow_soft_placement=True))."
        if here
        else "A node of another task needs a session on a cluster: tf.Session(server.target)."
    )
    if not MACHINE_CODE and spec.device_type == "GPU":
        advice += f" As {why_not()}, there is no CuPy: GPUs need dataflow on a computer with one."
    raise InvalidArgumentError(
        op,
        op,
        f"Cannot assign a device for operation {op.name}: node {op.name} ({op.type}) was explicitly "
        f"assigned to {wanted} but available devices are [ {', '.join(devices)} ]. "
        f"Make sure the device specification refers to a valid device.\n  {advice}\n"
        f"  built at {op.built_at}",
    )
