"""The backend on Ray, which starts tasks as actors, places them, and notices when they die.

This is the only module that imports Ray. Ray takes no part in a step: it passes on addresses
and keys, and the tasks communicate over `dataflow.cluster.transport.connection`.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from dataflow.cluster.management import kept_ray, launch_progress, private_ray
from dataflow.cluster.management.admission import (
    TASK_CPUS,
    bundle_of,
    check_memory,
    check_resources,
)
from dataflow.cluster.management.backend import TaskHandle
from dataflow.cluster.management.launch_progress import LaunchProgress
from dataflow.cluster.management.processes import ensure_ended, is_running
from dataflow.cluster.management.task_process import TaskProcess
from dataflow.cluster_spec import addresses_by_job
from dataflow.errors import ResourceExhaustedError, UnavailableError
from dataflow.extras import install
from dataflow.formats.checkpoint_writer import checkpoint_format

try:
    with private_ray.late_imports():
        import ray
        from ray.util.placement_group import placement_group, remove_placement_group
        from ray.util.scheduling_strategies import (
            NodeAffinitySchedulingStrategy,
            PlacementGroupSchedulingStrategy,
        )
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError(
        f"tf.cluster.launch needs Ray, which is not installed: {install('cluster')}."
    ) from error

log = logging.getLogger("dataflow.cluster")

OBJECT_STORE_BYTES = 80_000_000
MAX_OBJECT_STORE_BYTES = 300_000_000
#: How often Ray's head is checked, and after how many failures it counts as gone. Ray itself waits for a
#: minute and then ends every process that is connected to it, this one included.
_HEAD_SECONDS = 1.0
_HEAD_MISSES = 3
_HEAD_GONE = "Ray's head is gone"
#: How long a task that runs may take to hear of the others.
_TELL_SECONDS = 120.0
#: How often a wait for a launch looks whether it was canceled or interrupted.
_CHECK_SECONDS = 0.2

_lock = kept_ray.lock
#: The circumstances in which this process started the Ray that it is connected to, if it did.
_started_in: tuple[Any, ...] | None = None
_users = 0  # clusters of this process on it


class ActorTask(TaskHandle):
    """A task that runs in a Ray actor."""

    def __init__(self, job: str, index: int, options: dict[str, Any]) -> None:
        super().__init__(job, index)
        self.options = options
        self.actor: Any = None
        self.end: Any = None  # the call that lasts as long as the task
        self.number = 0  # of its bundle, where there is a placement group

    def running_actor(self) -> Any:
        """The actor. Raises UnavailableError for a task that was stopped."""
        actor = self.actor
        if actor is None:
            raise UnavailableError(None, None, f"{self.name} was stopped.")
        return actor

    def forget(self) -> None:
        """Drop Ray's handles. One that a thread drops while this process leaves Ray ends the process."""
        self.actor = self.end = None


class RayTask(TaskProcess):
    """A task in an actor. Without a host it listens at its own machine's address."""

    def __init__(
        self,
        job: str,
        index: int,
        host: str | None,
        port: int,
        key: str,
        environment: dict[str, str] | None = None,
        checkpoint_format: str | None = None,
    ) -> None:
        address: str = host or ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        super().__init__(job, index, address, port, key, environment, checkpoint_format)


@functools.cache
def _actor_class() -> Any:
    """Made once: Ray never frees the 20 kB of a class of actors."""
    return ray.remote(RayTask)


class RayBackend:
    """The actors of one cluster.

    ``address`` joins a running Ray; else ``RAY_ADDRESS`` does, or one that this process is already
    connected to, or a small one is started on loopback. ``on_death(task, why)`` is called from the
    watching thread. ``resources`` are a task's options by job, as `launch` takes them. ``progress``
    hears of each phase of a launch.
    """

    has_logs = True
    has_starter = True

    def __init__(
        self,
        address: str | None = None,
        object_store_bytes: int = OBJECT_STORE_BYTES,
        on_death: Callable[[ActorTask, str], None] | None = None,
        resources: dict[str, dict[str, Any]] | None = None,
        progress: LaunchProgress | None = None,
    ) -> None:
        global _users
        if object_store_bytes > MAX_OBJECT_STORE_BYTES:
            raise ValueError(
                f"The object store is not used for tensors: at most {MAX_OBJECT_STORE_BYTES} "
                f"bytes, got {object_store_bytes}."
            )
        self.tasks: list[ActorTask] = []
        self.on_death = on_death
        self.on_line: Callable[[ActorTask, str], None] | None = None  # tasks have logs of their own
        self._progress = progress or LaunchProgress()
        self._group: Any = None
        self._num_bundles = 0
        #: Whether Ray's head was lost, and the cluster with it.
        self.head_gone = False
        self._resources = resources or {}
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None
        self._released = False
        _leave_dead_head()
        with _lock:
            _connect(
                address or os.environ.get("RAY_ADDRESS"), object_store_bytes, self._progress.say
            )
            _users += 1
            #: Whether all of Ray's resources are free, even if it has not noticed yet that tasks ended.
            self._all_is_free = _started_in is not None and _users == 1
        # On a Ray of several machines each task listens at its own machine's address.
        self.host = "127.0.0.1" if _started_in is not None else None

    # Starting

    def need_starter(self, what: str) -> None:
        """Nothing: this backend can start tasks."""

    def make_task(self, job: str, index: int) -> ActorTask:
        """Return a task that has not been started."""
        return ActorTask(job, index, dict(self._resources.get(job, {})))

    def check_room(self, tasks: list[ActorTask]) -> None:
        """Raise ResourceExhaustedError at once when the machines cannot hold the tasks."""
        total = ray.cluster_resources()  # type: ignore[no-untyped-call]
        available = total if self._all_is_free else ray.available_resources()  # type: ignore[no-untyped-call]
        check_resources([task.options for task in tasks], available, total)
        if _started_in is not None:
            check_memory(len(tasks))

    def start(
        self, tasks: list[ActorTask], key: str, placement: str | None, timeout_seconds: float
    ) -> None:
        """Start the tasks, wait until they listen, and tell each of all."""
        self.tasks, self._all_is_free = tasks, False
        if placement is not None:
            bundles = [bundle_of(task.options) for task in tasks]
            self._group = placement_group(bundles, strategy=placement)
            self._num_bundles = len(bundles)
            if not self._group.wait(timeout_seconds):
                raise ResourceExhaustedError(
                    None, None, f"No machines for the placement {placement!r} of {bundles}."
                )
        self._progress.say(launch_progress.starting(len(tasks)))
        for number, task in enumerate(tasks):
            self._start_one(task, key, 0, number)
        self._await_all(tasks, time.monotonic() + timeout_seconds)
        self.tell_all(key)
        self._watcher = threading.Thread(target=self._watch, name="dataflow watch", daemon=True)
        self._watcher.start()

    def _start_one(self, task: ActorTask, key: str, port: int, number: int = 0) -> None:
        options = {
            "num_cpus": TASK_CPUS,
            "max_concurrency": 16,
            "max_restarts": 0,
            **{k: v for k, v in task.options.items() if k not in ("node", "env")},
        }
        if self._group is not None and number < self._num_bundles:
            options["scheduling_strategy"] = PlacementGroupSchedulingStrategy(self._group, number)
        elif "node" in task.options:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(
                task.options["node"], soft=False
            )
        task.actor = (
            _actor_class()
            .options(**options)
            .remote(
                task.job,
                task.index,
                self.host,
                port,
                key,
                task.options.get("env"),
                checkpoint_format(),
            )
        )
        task.end = None
        task.number = number

    def _await_all(self, tasks: list[ActorTask], deadline: float) -> None:
        """Wait until they listen, and tell of each as soon as it does."""
        waits = {task.actor.describe.remote(): task for task in tasks}
        while waits and time.monotonic() < deadline:
            ready, _ = ray.wait(list(waits), timeout=_CHECK_SECONDS)
            for reference in ready:
                task = waits.pop(reference)
                self._await(task, deadline, described=reference)
                num_ready = len(tasks) - len(waits)
                self._progress.say(launch_progress.ready(task.name, num_ready, len(tasks)))
            self._progress.check()
        for reference, task in waits.items():
            self._await(task, deadline, described=reference)  # raises, and says for whom

    def _await(
        self, task: ActorTask, deadline: float, state: str = "running", described: Any = None
    ) -> None:
        try:
            found = ray.get(
                described or task.running_actor().describe.remote(),
                timeout=max(0.1, deadline - time.monotonic()),
            )
        except ray.exceptions.GetTimeoutError:
            raise UnavailableError(
                None, None, f"{task.name} did not start in time; Ray has no free process for it."
            ) from None
        except ray.exceptions.RayError as error:
            raise UnavailableError(
                None, None, f"{task.name} could not be started: {_short(error)}"
            ) from None
        task.address, task.pid, task.host = found["address"], found["pid"], found["host"]
        task.state = state
        task.end = task.actor.wait.remote()

    def jobs(self) -> dict[str, dict[int, str]]:
        """Return the addresses by job and index."""
        return addresses_by_job(self.tasks)

    def tell_all(self, key: str) -> None:
        """Give every task the addresses of all.

        A task that is paused takes them when it goes on, and one that is restarting asks for them.
        """
        jobs = self.jobs()
        told = {task.running_actor().set_cluster.remote(jobs, key): task for task in self.tasks}
        deadline = time.monotonic() + _TELL_SECONDS
        while time.monotonic() < deadline:
            waits = [reference for reference, task in told.items() if task.state == "running"]
            if not waits:
                return
            # The watcher reports deaths.
            done, _ = ray.wait(waits, num_returns=len(waits), timeout=0.2)
            for reference in done:
                del told[reference]

    # Watching

    def _watch(self) -> None:
        head = ray.get_runtime_context().gcs_address
        asked, misses = time.monotonic(), 0
        while not self._stopping.is_set():
            if time.monotonic() - asked >= _HEAD_SECONDS:
                asked = time.monotonic()
                misses = 0 if private_ray.head_answers(head) else misses + 1
                if misses >= _HEAD_MISSES:
                    self._lose_head()
                    return
            ends = {task.end: task for task in self.tasks if task.end is not None}
            if not ends:
                self._stopping.wait(0.2)
                continue
            try:
                done, _ = ray.wait(list(ends), num_returns=1, timeout=_HEAD_SECONDS)
            except Exception:
                if not self._stopping.is_set():
                    self._lose_head()
                return
            for reference in done:
                if self._stopping.is_set():
                    return
                task = ends[reference]
                if task.end is not reference:
                    continue  # removed meanwhile
                task.end = None
                try:
                    ray.get(reference)
                    task.state = "stopped"
                    continue
                except Exception as error:
                    why = _short(error)
                self._died(task, why)

    def _lose_head(self) -> None:
        """End this cluster and leave Ray, before Ray ends this process."""
        self.head_gone = True
        print(
            f"{_HEAD_GONE}, and with it this cluster: its tasks were ended and their variables "
            "are lost. tf.cluster.launch starts a new one.",
            file=sys.stderr,
        )
        tasks = [task for task in self.tasks if task.state not in ("dead", "stopped")]
        self.stop()
        for task in tasks:
            self._died(task, _HEAD_GONE)

    def _died(self, task: ActorTask, why: str) -> None:
        task.state = "dead"
        log.warning("%s (process %d) died: %s", task.name, task.pid, why)
        if self.on_death is not None:
            self.on_death(task, why)

    def restart(self, task: ActorTask, key: str, timeout_seconds: float = 120.0) -> None:
        """Start a task again at its old address. Its variables are gone."""
        port = int(task.address.rpartition(":")[2])
        task.state = "restarting"
        self._start_one(task, key, port, task.number)
        self._await(task, time.monotonic() + timeout_seconds, state="restarting")
        told = task.running_actor().set_cluster.remote(self.jobs(), key)
        ray.get(told, timeout=timeout_seconds)
        task.restarts += 1
        task.state = "running"

    def add(
        self, jobs_and_indices: list[tuple[str, int]], key: str, timeout_seconds: float
    ) -> list[ActorTask]:
        """Start further tasks; `tell_all` tells the others of them."""
        added = [self.make_task(job, index) for job, index in jobs_and_indices]
        self.check_room(added)
        first = 1 + max((task.number for task in self.tasks), default=-1)
        deadline = time.monotonic() + timeout_seconds
        try:
            for number, task in enumerate(added, first):
                self._start_one(task, key, 0, number)
            for task in added:
                self._await(task, deadline)
        except BaseException:
            for task in added:
                self._end(task)
            raise
        self.tasks = [*self.tasks, *added]
        return added

    def remove(self, task: ActorTask) -> None:
        """Stop a task for good."""
        self.tasks = [other for other in self.tasks if other is not task]
        self._end(task)
        if task.host == os.uname().nodename:
            ensure_ended([task.pid])

    def _end(self, task: ActorTask) -> None:
        task.end = None  # the watcher takes no notice
        task.state = "stopped"
        if task.actor is not None:
            with contextlib.suppress(Exception):
                ray.kill(task.actor, no_restart=True)
        task.forget()

    def signal(self, task: ActorTask, number: int) -> None:
        """Send a signal to a task's process, on whatever machine it is."""
        if task.host == os.uname().nodename:
            os.kill(task.pid, number)
            return
        for node in self.nodes():
            if node["NodeManagerHostname"] == task.host:
                there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                send = ray.remote(os.kill).options(num_cpus=0, scheduling_strategy=there)
                ray.get(send.remote(task.pid, number), timeout=60)
                return
        raise UnavailableError(None, None, f"The machine of {task.name}, {task.host}, is gone.")

    # Working

    def submit(self, task: ActorTask, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Start a function in the task's process; `result` waits for its value."""
        return task.running_actor().call.remote(function, *args, **kw)

    def result(self, reference: Any, timeout_seconds: float | None = None) -> Any:
        """Return the result of `submit`; raises what the function raised."""
        try:
            return ray.get(reference, timeout=timeout_seconds)
        except ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None  # type: ignore[no-untyped-call]
        except ray.exceptions.ActorDiedError as error:
            raise UnavailableError(None, None, f"The task died: {_short(error)}") from None

    def nodes(self) -> list[dict[str, Any]]:
        """Return Ray's nodes."""
        return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]

    # Stopping

    def stop(self, timeout_seconds: float = 10.0, keep_ray: bool = True) -> None:
        """Kill this cluster's actors.

        A Ray that this process started and no other cluster uses is kept for the next launch for a
        while, or ends at once.
        """
        global _users, _started_in
        self._stopping.set()
        if self._released:
            return
        self._released = True
        if self.head_gone:
            for task in self.tasks:
                if task.pid and task.host == os.uname().nodename and is_running(task.pid):
                    with contextlib.suppress(OSError):
                        os.kill(task.pid, signal.SIGKILL)
        elif ray.is_initialized():
            for task in self.tasks:
                if task.actor is not None:
                    with contextlib.suppress(Exception):
                        ray.kill(task.actor, no_restart=True)
                    task.state = "stopped"
            if self._group is not None:
                with contextlib.suppress(Exception):
                    remove_placement_group(self._group)
        ensure_ended([task.pid for task in self.tasks if task.host == os.uname().nodename])
        if self._watcher is not None and threading.current_thread() is not self._watcher:
            self._watcher.join(timeout_seconds)
        for task in self.tasks:
            task.forget()
        self._group = None
        with _lock:
            _users -= 1
            if _users == 0 and (_started_in is not None or self.head_gone):
                if (
                    _started_in is not None
                    and keep_ray
                    and not self.head_gone
                    and ray.is_initialized()
                ):
                    kept_ray.keep(ray, _started_in)
                else:
                    private_ray.leave(ray, kill=self.head_gone)
                _started_in = None


def _connect(address: str | None, object_store_bytes: int, say: Callable[[str], None]) -> None:
    global _started_in
    wanted = None if address is not None else kept_ray.circumstances(object_store_bytes)
    if kept_ray.use(wanted):
        say(launch_progress.KEPT_RAY)
        _started_in = wanted
        return
    if ray.is_initialized():
        say(launch_progress.FOUND_RAY)
        return
    common: dict[str, Any] = {
        "logging_level": logging.ERROR,
        "log_to_driver": False,  # the tasks' lines come over our own connections
        "namespace": f"dataflow-{os.getpid()}",
    }
    if address is not None:
        say(launch_progress.joining(address))
        ray.init(address=address, **common)
        return
    say(launch_progress.STARTING_RAY)
    private_ray.start(ray, object_store_bytes, **common)
    _started_in = kept_ray.circumstances(object_store_bytes)


def _leave_dead_head(timeout_seconds: float = 15.0) -> None:
    """Leave a Ray whose head is gone, once the clusters on it have noticed."""
    if not ray.is_initialized() or private_ray.head_answers(ray.get_runtime_context().gcs_address):
        return
    deadline = time.monotonic() + timeout_seconds
    while _users and time.monotonic() < deadline:
        time.sleep(0.05)
    with _lock:
        if ray.is_initialized() and not _users:
            private_ray.leave(ray, kill=True)


def _short(error: BaseException) -> str:
    """Return the part of Ray's message that helps a reader who does not know Ray."""
    cause = getattr(error, "cause", None)
    if cause is not None:
        return f"{type(cause).__name__}: {cause}"
    if isinstance(error, ray.exceptions.ActorDiedError):
        text = str(error)
        if "connection error code 2" in text or "killed" in text or "crashed" in text:
            return "its process was killed or has crashed"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
