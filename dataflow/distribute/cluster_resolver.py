"""``tf.distribute.cluster_resolver``: where the tasks of a cluster are said to be."""

from __future__ import annotations

import collections
import json
import os
from typing import Any

from dataflow.cluster_spec import ClusterSpec
from dataflow.namespaces import explain_absent

__getattr__ = explain_absent(__name__)


def format_master_url(master: str, rpc_layer: str | None = None) -> str:
    """``rpc_layer://master``, or ``master`` alone without a protocol."""
    return f"{rpc_layer}://{master}" if rpc_layer else master


def get_accelerator_devices(master: str, config_proto: Any = None) -> list[Any]:
    """The devices that a session on ``master`` sees; in eager code those of this process but CPUs."""
    from dataflow.graph.default_stacks import default_graph
    from dataflow.graph.graph import Graph
    from dataflow.runtime.session import Session

    eagerly = default_graph().executes_eagerly
    with Graph().as_default(), Session("" if eagerly else master, config=config_proto) as session:
        devices = list(session.list_devices())
    return [d for d in devices if d.device_type != "CPU"] if eagerly else devices


class ClusterResolver:
    """The base: `cluster_spec`, `master` and what this task is."""

    task_type: Any = None
    task_id: Any = None
    rpc_layer: Any = None

    def cluster_spec(self) -> ClusterSpec:
        """The `tf.train.ClusterSpec`; for subclasses."""
        raise NotImplementedError()

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        """The address of a task, or of this one, with its protocol; for subclasses."""
        raise NotImplementedError()

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many devices of each kind a task has, or all tasks have that a session on `master` sees."""
        counts: dict[str, int] = collections.defaultdict(int)
        for device in get_accelerator_devices(self.master(task_type, task_id), config_proto):
            if (
                task_type is None
                or task_id is None
                or (f"/job:{task_type}" in device.name and f"/task:{task_id}" in device.name)
            ):
                counts[device.device_type] += 1
        return counts

    @property
    def environment(self) -> str:
        """Where this runs, in words of the resolver's own; "" for none."""
        return ""


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is given. Raises `TypeError` for what is no `tf.train.ClusterSpec` or no ``master``."""

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
        if not isinstance(master, str):
            raise TypeError(f"master must be a string, got {master!r}.")
        self._spec, self._master, self._accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id = task_type, task_id
        self._environment, self.rpc_layer = environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """What was given."""
        return self._spec

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        """The address of a task; without one, the ``master`` that was given."""
        found = self._master
        if task_type is not None and task_id is not None:
            found = self._spec.task_address(task_type, task_id)
        return format_master_url(found, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """What was given, by kind of device; none where nothing was."""
        return {} if self._accelerators is None else self._accelerators

    @property
    def environment(self) -> str:
        """What was given."""
        return self._environment


class TFConfigClusterResolver(ClusterResolver):
    """The cluster of the environment variable TF_CONFIG, which is read anew each time."""

    def __init__(
        self,
        task_type: Any = None,
        task_id: Any = None,
        rpc_layer: Any = None,
        environment: Any = None,
    ) -> None:
        self._task_type, self._task_id = task_type, task_id
        self._rpc_layer, self._environment = rpc_layer, environment

    @property
    def task_type(self) -> str | None:
        """The job of this task; what was given or set, or what TF_CONFIG says."""
        found = _tf_config("task", {}).get("type") if self._task_type is None else self._task_type
        return None if found is None else str(found)

    @task_type.setter
    def task_type(self, value: Any) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        """The number of this task; what was given or set, or what TF_CONFIG says."""
        found = _tf_config("task", {}).get("index") if self._task_id is None else self._task_id
        return None if found is None else int(found)

    @task_id.setter
    def task_id(self, value: Any) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> Any:
        """The protocol, ``None`` where none is said."""
        return _tf_config("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, value: Any) -> None:
        self._rpc_layer = value

    @property
    def environment(self) -> Any:
        """What was given."""
        return self._environment

    def cluster_spec(self) -> ClusterSpec:
        """The cluster; empty where TF_CONFIG has none."""
        return ClusterSpec(_tf_config("cluster", {}))

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        """The address of a task, or of this one; TF_CONFIG's ``session_master`` comes first.

        A cluster of one task has none (""): a session runs in this process.
        """
        given = _tf_config("session_master")
        if given is not None:
            return str(given)
        spec = self.cluster_spec()
        if sum(spec.num_tasks(job) for job in spec.jobs) <= 1:
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return format_master_url(spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many devices of each kind a task, or this one, has."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return super().num_accelerators(task_type, task_id, config_proto)


def _tf_config(key: str, default: Any = None) -> Any:
    return json.loads(os.environ.get("TF_CONFIG", "{}")).get(key, default)


class UnionResolver(ClusterResolver):
    """Several resolvers as one: lists of tasks of one job follow each other, numbered tasks keep their numbers.

    Raises `ValueError` for no resolver or an unknown argument, `TypeError` for what is no resolver.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._rpc_layer = kwargs.pop("rpc_layer", None)
        self._task_type = kwargs.pop("task_type", None)
        self._task_id = kwargs.pop("task_id", None)
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        if not args:
            raise ValueError("At least one ClusterResolver must be specified during construction.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(
                    f"All arguments must be a sub-class of `ClusterResolver`: {resolver!r}"
                )
        self._resolvers = args

    def cluster_spec(self) -> ClusterSpec:
        """The jobs of all. Raises `KeyError` where two number a task of one job alike."""
        parts: dict[str, list[Any]] = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                parts.setdefault(job, []).append(tasks)
        return ClusterSpec({job: _merged(job, tasks) for job, tasks in parts.items()})

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        """The address of a task; without one, the first resolver's."""
        if task_type is not None and task_id is not None:
            address = self.cluster_spec().task_address(task_type, task_id)
            return format_master_url(address, rpc_layer or self._rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)  # type: ignore[no-any-return]

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """What the first resolver counts."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)  # type: ignore[no-any-return]

    @property
    def task_type(self) -> Any:
        """What was given or set, or the first resolver's."""
        return self._task_type or self._resolvers[0].task_type

    @task_type.setter
    def task_type(self, value: Any) -> None:
        self._task_type = value

    @property
    def task_id(self) -> Any:
        """What was given or set, or the first resolver's."""
        return self._task_id or self._resolvers[0].task_id

    @task_id.setter
    def task_id(self, value: Any) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> Any:
        """What was given or set, or the first resolver's."""
        return self._rpc_layer or self._resolvers[0].rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, value: Any) -> None:
        self._rpc_layer = value

    @property
    def environment(self) -> Any:
        """The first resolver's."""
        return self._resolvers[0].environment


def _merged(job: str, parts: list[Any]) -> Any:
    """The tasks of one job in several clusters: lists one after the other, numbered ones side by side."""
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part]
    tasks: dict[int, str] = {}
    for part in parts:
        numbered = dict(enumerate(part)) if isinstance(part, list) else part
        twice = sorted(set(tasks) & set(numbered))
        if twice:
            raise KeyError(f"Duplicate keys: job {job!r} has tasks {twice} in two clusters.")
        tasks.update(numbered)
    return tasks


#: Its name in TensorFlow's module.
UnionClusterResolver = UnionResolver
