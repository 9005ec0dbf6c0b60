"""`launch`: a cluster from a notebook cell, in one line and gone with the next."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from dataflow.cluster import registry
from dataflow.cluster.channel import LinkPool, connect
from dataflow.cluster.handshake import new_key
from dataflow.cluster.master import call
from dataflow.cluster.messages import Kind
from dataflow.cluster.spec import ClusterSpec
from dataflow.errors import InvalidArgumentError, OpError, UnavailableError

_clusters: weakref.WeakSet[Cluster] = weakref.WeakSet()


def launch(
    ps: int = 1,
    workers: int = 2,
    *,
    jobs: dict[str, int] | None = None,
    resources: dict[str, Any] | None = None,
    address: str | None = None,
    placement: str | None = None,
    restart: bool = True,
    logs: bool = True,
    object_store_bytes: int | None = None,
    timeout_seconds: float = 60.0,
) -> Cluster:
    """Start a cluster of ``ps`` parameter servers and ``workers`` workers, each a Ray actor.

    Parameters
    ----------
    jobs: further jobs, or other names: ``{"evaluator": 1}``. A count of 0 leaves a job out.
    resources: what each task of a job may take, as Ray's options:
        ``{"worker": {"num_cpus": 1, "num_gpus": 1}, "ps": {"resources": {"big": 1}}}``; ``env`` is
        a dict of environment variables, ``node`` a Ray node's id.
    address: a running Ray (``"auto"``, ``"host:port"``); else ``RAY_ADDRESS``, else one that is
        started here, on loopback and small.
    placement: ``"PACK"``, ``"SPREAD"``, ``"STRICT_PACK"``, ``"STRICT_SPREAD"``: Ray's placement
        groups.
    restart: start a task that died again, at its old address and without its variables.
    logs: print what the tasks print, each line with the task's name before it.
    object_store_bytes: of the Ray that is started; 80 MB unless given, at most 300 MB.
    timeout_seconds: for all tasks to listen.

    Raises ResourceExhaustedError at once for more than the machines have, ValueError for counts
    that make no cluster, UnavailableError when a task does not start (nothing is left running).
    """
    counts = {"ps": ps, "worker": workers, **(jobs or {})}
    for job, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"launch: the number of tasks of {job!r} must be >= 0, got {count!r}.")
    if not any(counts.values()):
        raise ValueError("launch: no task was asked for; give ps= and workers=.")
    for job in resources or {}:
        if job not in counts:
            raise ValueError(f"launch: resources= names {job!r}; the jobs are {sorted(counts)}.")

    from dataflow.cluster import ray_backend

    started = time.monotonic()
    options: dict[str, Any] = (
        {} if object_store_bytes is None else {"object_store_bytes": object_store_bytes}
    )
    backend = ray_backend.RayBackend(address, **options)
    try:
        tasks = [
            ray_backend.ActorTask(job, index, dict((resources or {}).get(job, {})))
            for job, count in counts.items()
            for index in range(count)
        ]
        backend.check_room(tasks)
        key = new_key()
        backend.start(tasks, key, placement, timeout_seconds)
        return Cluster(backend, key, restart, logs, time.monotonic() - started)
    except BaseException:
        backend.stop()
        raise


class Cluster:
    """A running cluster. Stop it with `stop`, or use it in a ``with`` block.

    ``spec`` its `ClusterSpec`; ``target`` what `tf.Session` takes (worker 0, or the first task);
    ``targets`` of all tasks by name.
    """

    def __init__(
        self, backend: Any, key: str, restart: bool, logs: bool, launch_seconds: float
    ) -> None:
        self.spec = ClusterSpec(backend.jobs())
        self.launch_seconds = launch_seconds
        self.deaths: list[tuple[str, str]] = []  # task, why
        self._backend = backend
        self._key = key
        self._restart = restart
        self._show_logs = logs
        self._stopped = False
        self._lock = threading.Lock()
        self._pool = LinkPool(key, "the cluster's owner")
        self._seen: dict[str, tuple[float, int]] = {}
        registry.add_keys(list(self.spec.addresses().values()), key)
        backend.on_death = self._on_death
        for task in backend.tasks:
            self._follow(task)
        _clusters.add(self)

    @property
    def targets(self) -> dict[str, str]:
        """What `tf.Session` takes, by task: ``{"/job:worker/task:0": "grpc://..."}``."""
        return {task: f"grpc://{address}" for task, address in self.spec.addresses().items()}

    @property
    def target(self) -> str:
        """The target of worker 0, or of the first task where there is no worker."""
        targets = self.targets
        first = next(iter(targets))
        return targets.get("/job:worker/task:0", targets.get("/job:chief/task:0", targets[first]))

    @property
    def key(self) -> str:
        """The key that other processes need (``DATAFLOW_CLUSTER_KEY``) to talk to the tasks."""
        return self._key

    # Running functions in the tasks

    def submit(self, task: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """Begin to run ``function(server, *args, **kwargs)`` in a task's process.

        The function has a default graph of its own; ``server.target`` is its session's target, so
        that a worker's steps never pass through this process.
        """
        found = self._task(task)
        return Call(
            self._backend, found.name, self._backend.submit(found, function, *args, **kwargs)
        )

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        job: str = "worker",
        timeout_seconds: float | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """Run ``function(server, *args)`` on all tasks of a job at once; return the results."""
        if job not in self.spec.jobs:
            raise ValueError(f"There is no job {job!r}; the jobs are {self.spec.jobs}.")
        names = [f"/job:{job}/task:{index}" for index in self.spec.task_indices(job)]
        calls = [self.submit(name, function, *args, **kwargs) for name in names]
        return [one.result(timeout_seconds) for one in calls]

    # Looking

    def status(self) -> Status:
        """Return a row per task: state, process, steps per second, bytes, variables, memory."""
        rows = []
        for task in self._backend.tasks:
            row: dict[str, Any] = {
                "task": task.name,
                "state": task.state,
                "address": task.address,
                "pid": task.pid,
                "restarts": task.restarts,
                "steps": None,
                "steps_per_second": None,
                "received_bytes": None,
                "sent_bytes": None,
                "variables": None,
                "variable_bytes": None,
                "memory_bytes": _memory_bytes(task.pid) if task.state == "running" else None,
            }
            if task.state == "running":
                with contextlib.suppress(OpError):
                    figures = self._ask(task, "status")
                    row.update({key: figures[key] for key in row if key in figures})
                    row["task"] = task.name
                    now = time.monotonic()
                    since, steps = self._seen.get(task.name, (now - figures["seconds"], 0))
                    row["steps_per_second"] = max(0, figures["steps"] - steps) / max(
                        now - since, 1e-9
                    )
                    self._seen[task.name] = (now, figures["steps"])
            rows.append(row)
        return Status(rows)

    def _ask(self, task: Any, method: str, head: dict[str, Any] | None = None) -> dict[str, Any]:
        link = self._pool.take(task.address, task.name, timeout_seconds=1.0)
        link.sock.settimeout(2.0)  # one that is stopped must not stop the table
        reply = call(link, method, head)
        link.sock.settimeout(None)
        self._pool.give(link)
        return reply.head or {}

    def _task(self, name: str) -> Any:
        for task in self._backend.tasks:
            if name in (task.name, f"{task.job}:{task.index}"):
                return task
        raise InvalidArgumentError(
            None,
            None,
            f"The cluster has no task {name!r}; it has {', '.join(self.spec.device_names())}.",
        )

    def pid(self, task: str) -> int:
        """Return the process number of a task."""
        return int(self._task(task).pid)

    def _follow(self, task: Any) -> None:
        if not self._show_logs:
            return
        threading.Thread(
            target=self._print_lines, args=(task,), name=f"log {task.name}", daemon=True
        ).start()

    def _print_lines(self, task: Any) -> None:
        try:
            link = connect(task.address, self._key, "the cluster's owner", task.name, 2.0)
            reply = call(link, "logs.follow")
            message = reply
            while True:
                for line in (message.head or {}).get("lines", ()):
                    print(f"({task.name}) {line}")
                message = link.receive()
                if message.kind != Kind.LOG:
                    return
        except OpError:
            return  # the task has ended; the watcher says why

    # Life and death

    def _on_death(self, task: Any, why: str) -> None:
        self.deaths.append((task.name, why))
        if self._stopped or not self._restart:
            return
        if len(self.deaths) > 20 + 5 * len(self._backend.tasks):
            print(f"{task.name} dies again and again; it is not restarted.", file=sys.stderr)
            return

        def again() -> None:
            for _ in range(5):
                if self._stopped:
                    return
                try:
                    self._backend.restart(task, self._key)
                    self._follow(task)
                    return
                except UnavailableError:
                    time.sleep(0.2)  # the port may still be held for a moment
            task.state = "dead"

        threading.Thread(target=again, name=f"restart {task.name}", daemon=True).start()

    def kill(self, task: str) -> None:
        """Kill a task's process, as a fault would: nothing is said to anybody."""
        import os
        import signal

        found = self._task(task)
        if found.host == os.uname().nodename:
            os.kill(found.pid, signal.SIGKILL)
        else:
            with contextlib.suppress(OpError):
                self._ask(found, "kill")

    def stop(self) -> None:
        """Stop all tasks, and Ray if `launch` started it and no other cluster uses it."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        registry.forget_keys(list(self.spec.addresses().values()))
        for task in self._backend.tasks:
            if task.state == "running":
                with contextlib.suppress(OpError):
                    self._ask(task, "shutdown")
        self._pool.close()
        self._backend.stop()
        _clusters.discard(self)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        jobs = ", ".join(f"{self.spec.num_tasks(job)} {job}" for job in self.spec.jobs)
        return f"<tf.cluster.Cluster of {jobs}: {'stopped' if self._stopped else self.target}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/plain": repr(self)}
        if not self._stopped:
            status = self.status()
            bundle["text/plain"] += f"\n{status!r}"
            bundle["text/html"] = status._repr_html_()
        return bundle


class Call:
    """A function that runs in a task's process."""

    def __init__(self, backend: Any, task: str, reference: Any) -> None:
        self.task = task
        self._backend = backend
        self._reference = reference

    def result(self, timeout_seconds: float | None = None) -> Any:
        """Wait and return what the function returned; raises what it raised."""
        return self._backend.result(self._reference, timeout_seconds)


class Status(list[dict[str, Any]]):
    """Rows of a table, one per task; ``pandas.DataFrame(status)`` takes them as they are."""

    _COLUMNS = (
        "task",
        "state",
        "pid",
        "steps",
        "steps_per_second",
        "received_bytes",
        "sent_bytes",
        "variables",
        "variable_bytes",
        "memory_bytes",
    )

    def _cells(self) -> list[list[str]]:
        return [[_cell(name, row.get(name)) for name in self._COLUMNS] for row in self]

    def __repr__(self) -> str:
        titles = [name.replace("_bytes", "").replace("_", " ") for name in self._COLUMNS]
        table = [titles, *self._cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(titles))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        )

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(
            f"<th>{escape(name.replace('_bytes', '').replace('_', ' '))}</th>"
            for name in self._COLUMNS
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("_bytes"):
        for unit in ("B", "KB", "MB"):
            if value < 1000:
                return f"{value:.3g} {unit}"
            value /= 1000
        return f"{value:.3g} GB"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _memory_bytes(pid: int) -> int | None:
    """Return the proportional memory of a process of this machine."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def find() -> list[Cluster]:
    """Return the clusters that this process launched and has not stopped."""
    return sorted(_clusters, key=lambda cluster: cluster.target)


def shutdown(target_or_spec: Any = None) -> None:
    """Stop servers: those at a target or of a `ClusterSpec`, or all clusters launched from here.

    Their ``server.join()`` returns. One that is gone already is passed over.
    """
    if target_or_spec is None:
        for cluster in find():
            cluster.stop()
        return
    if isinstance(target_or_spec, str):
        addresses = [target_or_spec.removeprefix("grpc://")]
    else:
        addresses = list(ClusterSpec(target_or_spec).addresses().values())
    for address in addresses:
        with contextlib.suppress(OpError):
            link = connect(address, registry.key_for(address), "a client", timeout_seconds=0.5)
            call(link, "shutdown")
            link.close()


atexit.register(shutdown)
