"""`replica_device_setter`: variables to the parameter servers, the rest to the worker."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

from dataflow.cluster_spec import ClusterSpec
from dataflow.device_spec import DeviceSpec
from dataflow.graph.operation import Operation

#: What lives on parameter servers.
STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
)


class RoundRobinStrategy:
    """Parameter servers in turn, in the order in which variables are made."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next_task = 0

    def __call__(self, op: Any) -> int:
        task = self._next_task
        self._next_task = (self._next_task + 1) % self._num_tasks
        return task


class RandomStrategy:
    """One of ``num_ps_tasks`` parameter servers, by a hash of the node's name and ``seed``."""

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Any) -> int:
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False)
        return int(digest.hexdigest(), 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """The parameter server with the least load so far; ``load_fn(op)`` says what a node adds."""

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._ps_loads = [0.0] * num_tasks

    def __call__(self, op: Any) -> int:
        task = min(range(len(self._ps_loads)), key=self._ps_loads.__getitem__)
        self._ps_loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Any) -> int:
    """The size of a node's only output in bytes.

    Raises `ValueError` for several outputs and for a shape that is not known.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    dims = output.dims
    if dims is None or None in dims:
        raise ValueError(f"Op {op} must have a fully-defined output shape")
    return int(math.prod(dims) * output.dtype.base_dtype.size)


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Any = None,
    ps_strategy: Any = None,
) -> Callable[[Any], str] | None:
    """A function for `tf.device` that puts variables on parameter servers, in turn.

    Args:
        ps_tasks: how many parameter servers there are; 0 gives ``None``.
        ps_device: their job.
        worker_device: where everything else goes.
        merge_devices: keep what inner `tf.device` blocks say (False: they replace it all).
        cluster: a `ClusterSpec` or dict that tells the number of parameter servers.
        ps_ops: the ops for parameter servers, by default variables and tables.
        ps_strategy: ``ps_strategy(op)`` chooses the task.

    Raises `TypeError` for a ``cluster`` or ``ps_strategy`` of the wrong kind.
    """
    if cluster is not None:
        spec = ClusterSpec(cluster).as_dict()
        tasks = spec.get(DeviceSpec.from_string(ps_device).job or "")
        if tasks is None:
            return None
        ps_tasks = len(tasks)
    if ps_tasks == 0:
        return None
    names = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    strategy = RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")

    def choose(op: Operation) -> str:
        if not merge_devices and op.device:
            return str(op.device)
        current = DeviceSpec.from_string(op.device or "")
        if ps_device and op.type in names:
            chosen = DeviceSpec.from_string(ps_device)
            if chosen.job and (not current.job or current.job == chosen.job):
                chosen = chosen.replace(task=strategy(op))
        else:
            chosen = DeviceSpec.from_string(worker_device or "")
        return str(chosen.make_merged_spec(current).to_string())

    return choose
