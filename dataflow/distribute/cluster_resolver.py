"""``tf.distribute.cluster_resolver``: where the tasks of a cluster are said to be."""

from __future__ import annotations

import json
import os
from typing import Any

from dataflow.cluster_spec import ClusterSpec
from dataflow.namespaces import explain_absent

__getattr__ = explain_absent(__name__)


class ClusterResolver:
    """The base: `cluster_spec`, `master` and what this task is."""

    task_type: Any = None
    task_id: Any = None
    rpc_layer: Any = None
    environment: Any = ""

    def cluster_spec(self) -> ClusterSpec:
        """The `tf.train.ClusterSpec`; for subclasses."""
        raise NotImplementedError()

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        """The address of a task (of this one by default), with its protocol; "" where there is none."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        address = self.cluster_spec().task_address(task_type, task_id)
        layer = self.rpc_layer if rpc_layer is None else rpc_layer
        return f"{layer}://{address}" if layer else address

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many GPUs this machine has, by kind of device."""
        from dataflow.distribute.strategy import local_devices

        count = sum("GPU" in name for name in local_devices())
        return {"GPU": count} if count else {}


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is given. Raises `TypeError` for what is no `tf.train.ClusterSpec`."""

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: Any = None,
        task_id: Any = None,
        environment: str = "",
        num_accelerators: Any = None,
        rpc_layer: Any = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec must be a ClusterSpec, got {cluster_spec!r}.")
        self._spec, self._master, self._accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id = task_type, task_id
        self.environment, self.rpc_layer = environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """What was given."""
        return self._spec

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        """The address of a task; without one, the ``master`` that was given."""
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer)
        layer = self.rpc_layer if rpc_layer is None else rpc_layer
        return f"{layer}://{self._master}" if layer and self._master else self._master

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """What was given, or what this machine has."""
        if self._accelerators is None:
            return super().num_accelerators(task_type, task_id, config_proto)
        return dict(self._accelerators)


class TFConfigClusterResolver(ClusterResolver):
    """The cluster of the environment variable TF_CONFIG."""

    def __init__(
        self,
        task_type: Any = None,
        task_id: Any = None,
        rpc_layer: Any = None,
        environment: Any = None,
    ) -> None:
        given = json.loads(os.environ.get("TF_CONFIG", "{}"))
        task = given.get("task", {})
        self._given = given
        self.task_type = task.get("type") if task_type is None else task_type
        number = task.get("index") if task_id is None else task_id
        self.task_id = None if number is None else int(number)
        self.rpc_layer = rpc_layer or given.get("rpc_layer") or "grpc"
        self.environment = environment or given.get("environment", "")

    def cluster_spec(self) -> ClusterSpec:
        """The cluster; empty where TF_CONFIG has none."""
        return ClusterSpec(self._given.get("cluster", {}))


class UnionResolver(ClusterResolver):
    """Several resolvers as one: jobs of one name have the tasks of all, in order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not args:
            raise ValueError("At least one ClusterResolver must be specified during construction.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(
                    f"All arguments must be a sub-class of `ClusterResolver`: {resolver!r}"
                )
        self._resolvers = args
        self.rpc_layer = kwargs.pop("rpc_layer", args[0].rpc_layer)
        self.task_type = kwargs.pop("task_type", args[0].task_type)
        self.task_id = kwargs.pop("task_id", args[0].task_id)
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")

    def cluster_spec(self) -> ClusterSpec:
        """The jobs of all. Raises `KeyError` where two have one task at two addresses."""
        jobs: dict[str, dict[int, str]] = {}
        for resolver in self._resolvers:
            spec = resolver.cluster_spec()
            for job in spec.jobs:
                tasks = jobs.setdefault(job, {})
                for i in spec.task_indices(job):
                    address = spec.task_address(job, i)
                    if tasks.get(i, address) != address:
                        raise KeyError(
                            f"Duplicate key: task {i} of job {job!r} is {tasks[i]} and {address}."
                        )
                    tasks[i] = address
        return ClusterSpec(jobs)
