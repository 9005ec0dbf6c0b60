"""The placer of a local session: every pin must name a device that this process has."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from dataflow.device_spec import DeviceSpec
from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation

_PREFIX = "/job:localhost/replica:0/task:0"


def local_devices(config: Any, num_gpus: int) -> list[str]:
    """The devices of this process by full name; ``device_count`` says how many CPUs it shows."""
    counts = getattr(config, "device_count", None) or {}
    num_cpus = max(1, int(counts.get("CPU", 1)))
    num_gpus = min(num_gpus, int(counts.get("GPU", num_gpus)))
    names = [f"{_PREFIX}/device:CPU:{i}" for i in range(num_cpus)]
    return names + [f"{_PREFIX}/device:GPU:{i}" for i in range(num_gpus)]


def place(ops: Iterable[Operation], devices: list[str], config: Any) -> dict[str, str]:
    """The device of every pinned node, by node name.

    With ``allow_soft_placement`` a device that is not there gives way to the CPU; so does another
    task's, so that a graph written for a cluster can be tried in one process.
    Raises `InvalidArgumentError` for a pin that cannot be kept: what was asked, what there is.
    """
    soft = bool(getattr(config, "allow_soft_placement", False))
    log = bool(getattr(config, "log_device_placement", False))
    result: dict[str, str] = {}
    chosen: dict[str, str] = {}
    for op in ops:
        wanted = op.device
        if wanted:
            device = chosen.get(wanted)
            if device is None:
                device = chosen[wanted] = _choose(op, wanted, devices, soft)
            result[op.name] = device
        if log:
            print(f"{op.name}: ({op.type}): {result.get(op.name, devices[0])}", file=sys.stderr)
    return result


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
    raise InvalidArgumentError(
        op,
        op,
        f"Cannot assign a device for operation {op.name}: node {op.name} ({op.type}) was explicitly "
        f"assigned to {wanted} but available devices are [ {', '.join(devices)} ]. "
        f"Make sure the device specification refers to a valid device.\n  {advice}\n"
        f"  built at {op.built_at}",
    )
