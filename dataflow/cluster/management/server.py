"""`tf.train.Server`: one task of a cluster, with its master service and its worker service."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.addresses import split_address
from dataflow.capabilities import ELSEWHERE, SOCKETS, THREADS, refused
from dataflow.cluster.execution.calls import call
from dataflow.cluster.execution.collectives import Collectives
from dataflow.cluster.execution.master import MasterSession
from dataflow.cluster.execution.master_service import MasterService
from dataflow.cluster.execution.worker_service import WorkerService
from dataflow.cluster.management.own_task import group_leader, visible_tasks, which_task
from dataflow.cluster.transport import registry
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.handshake import KEY_VARIABLE, default_key
from dataflow.cluster.transport.in_process import InProcessListener, mail, wait_until
from dataflow.cluster.transport.link_faults import Fault
from dataflow.cluster.transport.listener import Listener
from dataflow.cluster.transport.method_table import answers
from dataflow.cluster_spec import ClusterSpec
from dataflow.errors import InvalidArgumentError, OpError
from dataflow.kernels.parallel import share_processors
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.devices import DeviceAttributes, list_local_devices
from dataflow.runtime.resources import ResourceManager

if TYPE_CHECKING:
    from dataflow.cluster.transport.connection import Connection
    from dataflow.runtime.config import ConfigProto


_LOOPBACK = ("localhost", "127.", "::1")
#: How long each task may take to answer when all of them are asked.
_ANSWER_SECONDS = 1.0
#: A task that listens and is busy must not keep its variables.
_RESET_SECONDS = 10.0
#: How many of a task's largest variables are reported by name.
_MOST_VARIABLES = 20


class ServerDef:
    """The configuration of a server: ``cluster`` (a ClusterDef), ``job_name``, ``task_index``, ..."""

    def __init__(
        self,
        cluster: Any = None,
        job_name: str = "",
        task_index: int = 0,
        protocol: str = "grpc",
        default_session_config: ConfigProto | None = None,
    ) -> None:
        self.cluster = cluster
        self.job_name = job_name
        self.task_index = task_index
        self.protocol = protocol
        self.default_session_config = default_session_config

    def __repr__(self) -> str:
        return (
            f"ServerDef(job_name={self.job_name!r}, task_index={self.task_index}, {self.cluster})"
        )


class Server:
    """One task of a cluster, listening at its address in the spec.

    ``server_or_cluster_def`` is what `ClusterSpec` takes, or a `ServerDef`. ``job_name`` and
    ``task_index`` may be left out where the cluster has only one. A port of 0 is replaced by a free
    one. ``key`` authenticates the tasks to each other: by default that of the cluster that was
    launched, ``DATAFLOW_CLUSTER_KEY``, or one that belongs to this user on this machine. ``services`` are
    objects whose marked methods (`cluster.transport.method_table`) answer calls beside the server's own.

    Raises ValueError or InvalidArgumentError for a job or task that is not in the spec,
    UnavailableError when the address is taken.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
        key: str | None = None,
        services: Sequence[object] = (),
    ) -> None:
        if protocol not in (None, "grpc"):
            raise ValueError(f"Server: protocol must be 'grpc' (or left out), got {protocol!r}.")
        if isinstance(server_or_cluster_def, ServerDef):
            given = server_or_cluster_def
            job_name = job_name if job_name is not None else given.job_name
            task_index = task_index if task_index is not None else given.task_index
            config = config or given.default_session_config
            server_or_cluster_def = given.cluster
        spec = ClusterSpec(server_or_cluster_def)
        self._job_name, self._task_index = which_task(spec, job_name, task_index)
        self._spec = spec
        self._config = config
        self._key = key
        self._services = services
        self._listener: Listener | InProcessListener | None = None
        self._stopped = threading.Event()
        self._sessions: set[MasterSession] = set()
        self._num_steps_led = 0  # by sessions that have ended
        self._lock = threading.Lock()
        self.task = f"/job:{self._job_name}/task:{self._task_index}"
        self.resources = ResourceManager()
        #: What the server's own functions tell of their progress, by lines.
        self.say: Callable[[str], None] = print
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """Return a server of a cluster with one task, at a free port of this machine."""
        return Server({"local": ["127.0.0.1:0"]}, "local", 0, config=config, start=start)

    def start(self) -> None:
        """Begin to listen. Does nothing when it does already."""
        if self._listener is not None:
            return
        if self._stopped.is_set():
            raise RuntimeError(f"The server of {self.task} was stopped; make a new one.")
        address = self._spec.task_address(self._job_name, self._task_index)
        key = self._key or registry.keys_by_address.get(address) or self._found_key(address)
        self._pool = ConnectionPool(key, self.task)
        self.master_service = MasterService(self)
        services = (self.master_service, self, *self._services)
        collectives = Collectives(self.task, self._pool, lambda: self._spec.addresses())
        self.service = WorkerService(self.task, self._pool, self.resources, services, collectives)
        self.service.on_connection_closed += [
            self.master_service.connection_closed,
            collectives.connection_closed,
        ]
        listener = Listener if SOCKETS else InProcessListener
        self._listener = listener(address, key, self.task, self.service, faults=self._pool.faults)
        self.address = self._listener.address
        collectives.incarnation = self._listener.incarnation
        if split_address(address)[1] == 0:
            jobs = {
                job: {i: self._spec.task_address(job, i) for i in self._spec.task_indices(job)}
                for job in self._spec.jobs
            }
            jobs[self._job_name][self._task_index] = self.address
            self._spec = ClusterSpec(jobs)
        registry.add_server(self.address, self)
        registry.add_keys([self.address], key)
        share_processors(registry.num_processes_here())

    def _found_key(self, address: str) -> str:
        host = split_address(address)[0]
        if not host.startswith(_LOOPBACK) and not os.environ.get(KEY_VARIABLE):
            raise InvalidArgumentError(
                None,
                None,
                f"{self.task} is to listen at {address}, which other machines can reach, without a "
                f"key that they share. Set {KEY_VARIABLE} to the same secret text for every task "
                "and client of this cluster.",
            )
        return default_key()

    @property
    def target(self) -> str:
        """What `tf.Session` takes: ``grpc://host:port``."""
        if self._listener is None and not self._stopped.is_set():
            return f"grpc://{self._spec.task_address(self._job_name, self._task_index)}"
        return f"grpc://{self.address}"

    @property
    def server_def(self) -> ServerDef:
        """The configuration of the server."""
        return ServerDef(
            self._spec.as_cluster_def(),
            self._job_name,
            self._task_index,
            "grpc",
            self._config,
        )

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The cluster that the server belongs to, with the port that it got."""
        return self._spec

    def set_cluster(self, spec: ClusterSpec, key: str | None = None) -> None:
        """Tell the server about its whole cluster; sessions made from now on see it.

        Raises ValueError for a spec in which this very task is missing or elsewhere.
        """
        spec = ClusterSpec(spec)
        address = spec.task_address(self._job_name, self._task_index)
        if address != self.address:
            raise ValueError(
                f"{self.task} listens at {self.address}, and the new spec has it at {address}."
            )
        self._spec = spec
        share_processors(registry.num_processes_here())
        if key is not None:
            registry.add_keys(list(self._spec.addresses().values()), key)

    def join(self) -> None:
        """Wait until the server is stopped, by `stop` or by the cluster's owner.

        Ctrl-C (an interrupted cell) ends the waiting.
        """
        if not THREADS:
            wait_until(f"the end of {self.task}", self._stopped.is_set)
        while not self._stopped.wait(3600):
            pass

    def stop(self) -> None:
        """Stop listening, give up running steps, drop the variables. Can be called twice."""
        with self._lock:
            listener, self._listener = self._listener, None
            sessions = list(self._sessions)
            self._sessions.clear()
        if listener is not None:
            registry.remove_server(self.address, self)
            registry.forget_keys([self.address])
            share_processors(registry.num_processes_here())
            self.service.cancel_all()
            if self.service.collectives is not None:
                self.service.collectives.close()
            listener.close()
            for session in sessions:
                session.addresses = {}
            self._pool.close()
            self.resources.clear()
        self._stopped.set()

    def status(self) -> dict[str, Any]:
        """Return statistics of this task: steps, bytes, variables, queues, staleness, refusals."""
        listener = self._listener
        # Received by this task, and requested from others: a worker only requests.
        connections = [
            *(listener.connections if listener is not None else []),
            *self._pool.connections,
        ]
        variables = self.resources.items("variable")
        accumulators = self.resources.items("accumulator")
        num_steps_led = self._num_steps_led + sum(s.num_steps for s in list(self._sessions))
        return {
            "task": self.task,
            "pid": os.getpid(),
            "host": os.uname().nodename,
            "device": ", ".join(d.name.removeprefix("/device:") for d in list_local_devices()),
            "address": getattr(self, "address", ""),
            "seconds": time.time() - self.service.started,
            "processor_seconds": time.process_time(),
            "steps": self.service.num_steps + num_steps_led,
            "received_bytes": sum(k.bytes_received + k.shared_bytes_received for k in connections),
            "sent_bytes": sum(k.bytes_sent + k.shared_bytes_sent for k in connections),
            "shared_received_bytes": sum(
                connection.shared_bytes_received for connection in connections
            ),
            "shared_sent_bytes": sum(connection.shared_bytes_sent for connection in connections),
            "connections": len(connections),
            "variables": len(variables),
            "variable_bytes": sum(_num_bytes(v) for _, v in variables),
            "variable_sizes": dict(
                sorted(
                    ((name, _num_bytes(v)) for name, v in variables),
                    key=lambda pair: (-pair[1], pair[0]),
                )[:_MOST_VARIABLES]
            ),
            "queues": {name: queue.size() for name, queue in self.resources.items("queue")}
            | {name: accumulator.count for name, accumulator in accumulators},
            # A worker pushes the gradients of all variables at once: they are late once.
            "dropped_gradients": max((a.dropped for _, a in accumulators), default=0),
            **self.service.load.describe(),
            "refused": listener.refusals.count if listener is not None else 0,
        }

    def _devices(self) -> list[DeviceAttributes]:
        prefix = self.task.replace("/task:", "/replica:0/task:")
        return [device._replace(name=prefix + device.name) for device in list_local_devices()]

    @answers("status")
    def _answer_status(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        return self.status()

    @answers("devices")
    def _answer_devices(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        return {"devices": self._devices()}

    @answers("slow_down")
    def _slow_down(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        self.service.load.delay_seconds = min(60.0, max(0.0, float(head["seconds"])))

    @answers("links")
    def _set_links(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        faults = {
            str(task): Fault(bool(cut), float(s)) for task, (cut, s) in head["faults"].items()
        }
        if faults and not THREADS:
            raise refused("Cutting or delaying a link", "threads", ELSEWHERE)
        self._pool.faults.replace(faults)

    @answers("shutdown")
    def _shutdown(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        if THREADS:
            threading.Thread(target=self.stop, name="dataflow stop", daemon=True).start()
        else:
            mail.later(self.stop)

    # Used by the master service and by clients in this process

    def new_master_session(
        self, config: ConfigProto | None = None, options: RewriteOptions | None = None
    ) -> MasterSession:
        """Return a session whose target is this server, with the rewrites that its client wants.

        Raises RuntimeError when the server is stopped.
        """
        if self._listener is None:
            raise RuntimeError(f"The server of {self.task} is not running.")
        config = config or self._config
        filters = list(getattr(config, "device_filters", ()) or ())
        name = f"{self.task}#{secrets.token_hex(6)}"
        timeouts = [getattr(c, "operation_timeout_in_ms", 0) or 0 for c in (config, self._config)]
        timeout = timeouts[0] or timeouts[1]
        session = MasterSession(
            self.task,
            visible_tasks(self._spec.addresses(), self.task, filters),
            self._pool,
            self.service.task_session(name),
            name,
            bool(getattr(config, "allow_soft_placement", False)),
            timeout / 1000 or None,
            options,
            group_leader(config),
        )
        with self._lock:
            self._sessions.add(session)
        return session

    def end_master_session(self, session: MasterSession) -> None:
        """Let all tasks drop what the session registered."""
        with self._lock:
            if session in self._sessions:
                self._sessions.remove(session)
                self._num_steps_led += session.num_steps
        session.close()
        self.service.close_session(None, {"session": session.name}, [])  # type: ignore[arg-type]

    def devices_of(self, session: MasterSession) -> list[Sequence[Any]]:
        """Return the fields of the devices of every task that a session sees, by task."""
        found: list[Sequence[Any]] = []
        for task, address in sorted(session.addresses.items()):
            if task == self.task:
                found += self._devices()
                continue
            try:
                connection = self._pool.take(address, task, timeout_seconds=_ANSWER_SECONDS)
                connection.deadline = time.monotonic() + _ANSWER_SECONDS
                found += (call(connection, "devices").head or {})["devices"]
                self._pool.give(connection)
            except OpError:
                name = f"{task.replace('/task:', '/replica:0/task:')}/device:CPU:0"
                found.append(DeviceAttributes(name, "CPU", 0, f"{task} does not answer"))
        return found

    def reset_cluster(self, containers: list[str], end_sessions: bool) -> None:
        """Clear variables on every task of the cluster that can be reached, and end this server's sessions."""
        with self._lock:
            sessions = list(self._sessions) if end_sessions else []
        for session in sessions:
            session.reset()
        self.resources.reset(containers or None)
        for task, address in self._spec.addresses().items():
            if task == self.task:
                continue
            with contextlib.suppress(OpError):
                connection = self._pool.take(address, task, timeout_seconds=_ANSWER_SECONDS)
                connection.deadline = time.monotonic() + _RESET_SECONDS
                call(connection, "reset", {"containers": containers})
                self._pool.give(connection)
        for session in sessions:
            self.end_master_session(session)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "stopped" if self._stopped.is_set() else self.target
        return f"<tf.train.Server {self.task}: {state}>"


def _num_bytes(variable: Any) -> int:
    return getattr(variable.array, "nbytes", 0) or 0
