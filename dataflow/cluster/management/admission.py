"""The resources that tasks take, and whether their machines have room for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dataflow.errors import ResourceExhaustedError

#: The share of a CPU that Ray reserves for a task: a parameter server and many workers fit anywhere.
TASK_CPUS = 0.1
#: The memory of a task that holds no variables yet; measured 60 to 75 MB.
TASK_BYTES = 80_000_000


def resources_of(options: Mapping[str, Any]) -> dict[str, float]:
    """Return the resources of a task with these options of Ray, by Ray's names."""
    wanted = {"CPU": float(options.get("num_cpus", TASK_CPUS))}
    if options.get("num_gpus"):
        wanted["GPU"] = float(options["num_gpus"])
    for name, amount in (options.get("resources") or {}).items():
        wanted[name] = float(amount)
    return wanted


def bundle_of(options: Mapping[str, Any]) -> dict[str, float]:
    """Return the same for a placement group, which takes no zeros."""
    return {name: amount for name, amount in resources_of(options).items() if amount}


def check_resources(
    tasks: Iterable[Mapping[str, Any]], free: Mapping[str, float], total: Mapping[str, float]
) -> None:
    """Raise ResourceExhaustedError when tasks with these options ask for more than is free."""
    wanted: dict[str, float] = {}
    for options in tasks:
        for name, amount in resources_of(options).items():
            wanted[name] = wanted.get(name, 0.0) + amount
    for name, amount in wanted.items():
        if amount > free.get(name, 0.0) + 1e-6:
            raise ResourceExhaustedError(
                None,
                None,
                f"The cluster asks for {amount:g} {name}, and of {total.get(name, 0.0):g} there "
                f"are {free.get(name, 0.0):g} free. Start fewer tasks, ask for less in resources=, "
                "or stop another cluster.",
            )


def check_memory(num_tasks: int) -> None:
    """Raise ResourceExhaustedError when this machine's memory cannot hold that many tasks."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":") for line in file)
        available = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return
    if num_tasks * TASK_BYTES > available:
        raise ResourceExhaustedError(
            None,
            None,
            f"{num_tasks} tasks take about {num_tasks * TASK_BYTES >> 20} MB, and this machine has "
            f"{available >> 20} MB free. Start fewer tasks, or tf.cluster.simulate them.",
        )
