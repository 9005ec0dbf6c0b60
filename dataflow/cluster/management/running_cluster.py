"""A running cluster, for its owner: run functions in its tasks, watch them, disturb them."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow.capabilities import THREADS
from dataflow.cluster.execution.calls import call
from dataflow.cluster.management.asking import ANSWER_SECONDS, ask_all
from dataflow.cluster.management.backend import Backend, Call, TaskHandle
from dataflow.cluster.management.cluster_events import Event, called_at
from dataflow.cluster.management.faulty_links import FaultyLinks
from dataflow.cluster.management.log_follower import LogFollower
from dataflow.cluster.management.status import FIELDS, Status, memory_bytes
from dataflow.cluster.transport import registry
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.link_faults import WHOLE, Fault
from dataflow.cluster_spec import ClusterSpec
from dataflow.display import ClusterPicture
from dataflow.errors import DeadlineExceededError, InvalidArgumentError, OpError, UnavailableError
from dataflow.runtime.cooperative import Task, Wait, scheduler

if TYPE_CHECKING:
    from dataflow.cluster.management.backend import Backend, TaskHandle


#: How often a process's memory is read: the system walks all its pages, which takes milliseconds.
_MEMORY_SECONDS = 3.0
#: A task of a busy machine may take more than a second to do as it is told; figures need not wait for it.
_CALL_SECONDS = 10.0


class Cluster(ClusterPicture):
    """A running cluster. Stop it with `stop`, or use it in a ``with`` block.

    ``spec`` its `ClusterSpec`; ``target`` what `tf.Session` takes (worker 0, or the first task);
    ``targets`` of all tasks by name; ``events`` the history of its tasks. A task is named
    ``"/job:worker/task:1"`` or ``"worker:1"`` everywhere.
    """

    def __init__(
        self, backend: Backend[Any], key: str, restart: bool, logs: bool, launch_seconds: float
    ) -> None:
        self.launch_seconds = launch_seconds
        self.events: list[Event] = []
        self.backend = backend
        self._key = key
        #: Whether a task that dies is started again; with ``False`` it stays dead until `restart`.
        self.auto_restart = restart
        self._how_stopped = ""
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._pool = ConnectionPool(key, "the cluster's owner")
        self._seen: dict[str, tuple[float, int]] = {}
        self._memory: dict[int, tuple[float, int | None]] = {}  # by process: when, bytes
        self._logs = LogFollower(key, logs)
        self._to_restart: set[str] = set()
        self._links = FaultyLinks(self._ask)
        registry.add_keys(list(self.spec.addresses().values()), key)
        backend.on_death = self._on_death
        backend.on_line = self._logs.take
        for task in backend.tasks:
            self._follow(task)

    @property
    def spec(self) -> ClusterSpec:
        """The tasks and their addresses."""
        return ClusterSpec(self.backend.jobs())

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

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks."""
        return [task.name for task in self.backend.tasks]

    @property
    def seconds(self) -> float:
        """Seconds since the cluster was started: the clock of its ``events``."""
        return time.monotonic() - self._started

    @property
    def deaths(self) -> list[tuple[str, str]]:
        """(task, why) of each death, in order."""
        return [(event.task, event.why) for event in self.events if event.kind == "died"]

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return bool(self._how_stopped)

    @property
    def launched(self) -> bool:
        """Whether `launch` made it, so that its tasks can be started again and more be added."""
        return bool(self.backend.has_starter)

    # Running functions in the tasks

    def submit(self, task: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """Start ``function(server, *args, **kwargs)`` in a task's process.

        The function has a default graph of its own; ``server.target`` is its session's target, so
        that a worker's steps never pass through this process.
        """
        self._need_tasks()
        found = self._task(task)
        return Call(self.backend, found.name, self.backend.submit(found, function, *args, **kwargs))

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        job: str = "worker",
        timeout_seconds: float | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """Run ``function(server, *args)`` on all tasks of a job at once; return the results."""
        spec = self.spec
        if job not in spec.jobs:
            raise ValueError(f"There is no job {job!r}; the jobs are {spec.jobs}.")
        names = [f"/job:{job}/task:{index}" for index in spec.task_indices(job)]
        calls = [self.submit(name, function, *args, **kwargs) for name in names]
        return [one.result(timeout_seconds) for one in calls]

    # Looking

    def status(self) -> Status:
        """Return a row per task (see `Status`); a dead, paused or silent one has ``None`` in it.

        state: "running", "paused", "restarting", "dead" or "stopped". steps_per_second: since the
        last call. received_bytes, sent_bytes: all that came from other tasks and went to them, with
        what the messages themselves take; shared_received_bytes, shared_sent_bytes: the part of it
        that went through the memory that tasks on one machine share, which tensors from 32 KB do,
        and the rest through sockets. queues: elements by name. variable_sizes: bytes of the largest variables by name.
        staleness: mean over the last 200 updates of how many others came between reading a variable
        and changing it. dropped_gradients: how often a worker's gradients came too late for a
        synchronous step; those that it computed in one step count once, whatever their number.
        processor_seconds: what its process has computed for. memory_bytes: as of at most three seconds ago. is_cut, link_delay_seconds: what `cut` and `delay` did to the task's links.
        """
        tasks = list(self.backend.tasks)
        answers = ask_all(self._pool, [t for t in tasks if t.state == "running"], "status")
        return Status([self._row(task, answers.get(task.name)) for task in tasks])

    def _row(self, task: TaskHandle, figures: dict[str, Any] | None) -> dict[str, Any]:
        row: dict[str, Any] = dict.fromkeys(FIELDS)
        row |= {
            "task": task.name,
            "state": task.state,
            "address": task.address,
            "pid": task.pid,
            "restarts": task.restarts,
            "is_cut": self._links.of(task.name).is_cut,
            "link_delay_seconds": self._links.of(task.name).delay_seconds,
        }
        if figures is not None:
            row |= {key: figures[key] for key in FIELDS if key in figures}
            now = time.monotonic()
            since, steps = self._seen.get(task.name, (now - figures["seconds"], 0))
            row["steps_per_second"] = max(0, figures["steps"] - steps) / max(now - since, 1e-9)
            self._seen[task.name] = (now, figures["steps"])
        if task.state in ("running", "paused") and _is_here(task):
            row["memory_bytes"] = self._memory_of(task.pid)
        return row

    def _memory_of(self, pid: int) -> int | None:
        now = time.monotonic()
        when, found = self._memory.get(pid, (-math.inf, None))
        if now - when >= _MEMORY_SECONDS:
            found = memory_bytes(pid)
            self._memory = {
                other: kept
                for other, kept in self._memory.items()
                if now - kept[0] < 2 * _MEMORY_SECONDS
            } | {pid: (now, found)}
        return found

    def log(self, task: str, num_lines: int = 20) -> list[str]:
        """Return the last lines that a task printed, those of its earlier lives included."""
        return self._logs.last(self._task(task).name, num_lines)

    def pid(self, task: str) -> int:
        """Return the process number of a task."""
        return int(self._task(task).pid)

    def _ask(
        self, task: TaskHandle, method: str, head: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        connection = self._pool.take(task.address, task.name, timeout_seconds=ANSWER_SECONDS)
        connection.deadline = time.monotonic() + _CALL_SECONDS
        reply = call(connection, method, head)
        self._pool.give(connection)
        return reply.head or {}

    def ask_all(
        self, tasks: Iterable[TaskHandle], method: str, head: dict[str, Any] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Call a method of several of ``backend.tasks`` at once, which have a second to answer (`asking.ask_all`).

        Returns the answers by task; those that do not answer are left out.
        """
        return ask_all(self._pool, tasks, method, head)

    def _task(self, name: str) -> TaskHandle:
        task: TaskHandle
        for task in self.backend.tasks:
            if name in (task.name, f"{task.job}:{task.index}"):
                return task
        raise InvalidArgumentError(
            None,
            None,
            f"The cluster has no task {name!r}; it has {', '.join(self.tasks)}.",
        )

    def _note(self, task: TaskHandle, kind: str, why: str = "") -> None:
        self.events.append(Event(self.seconds, task.name, kind, why))

    def _follow(self, task: TaskHandle) -> None:
        if self.backend.has_logs:
            self._logs.follow(task)

    # Life and death

    def _on_death(self, task: TaskHandle, why: str) -> None:
        self._note(task, "died", why)
        asked = task.name in self._to_restart
        self._to_restart.discard(task.name)
        if self.stopped or self.backend.head_gone or not (self.auto_restart or asked):
            return
        if not asked and len(self.deaths) > 20 + 5 * len(self.backend.tasks):
            self._note(task, "lost", "it dies again and again")
            print(f"{task.name} dies again and again; it is not restarted.", file=sys.stderr)
            return
        self._begin_again(task)

    def _begin_again(self, task: TaskHandle) -> None:
        def again() -> Iterator[Wait | None]:
            why = ""
            yield None
            for _ in range(5):
                if self.stopped or task not in self.backend.tasks:
                    return
                try:
                    self.backend.restart(task, self._key)
                except UnavailableError as error:
                    why = error.message
                    yield _moment(0.2)  # the port may still be held for a moment
                    continue
                except Exception as error:  # Ray itself is gone
                    why = f"{type(error).__name__}: {error}".splitlines()[0]
                    break
                self._note(task, "restarted")
                if self._links:
                    self._links.tell(task)
                self._follow(task)
                return
            task.state = "dead"
            self._note(task, "lost", why)

        Task(again, name=f"restart {task.name}", daemon=True).start()

    def kill(self, task: str) -> None:
        """Kill a task's process, as a fault would: without telling any other."""
        found = self._task(task)
        self._need(found, "running", "paused")
        self.backend.signal(found, signal.SIGKILL)

    def pause(self, task: str) -> None:
        """Stop a task's process (SIGSTOP): to the others it is slow, not dead. See `resume`."""
        found = self._task(task)
        self._need(found, "running")
        self.backend.signal(found, signal.SIGSTOP)
        found.state = "paused"
        self._note(found, "paused")

    def resume(self, task: str) -> None:
        """Let a paused task go on."""
        found = self._task(task)
        self._need(found, "paused")
        found.state = "running"
        self.backend.signal(found, signal.SIGCONT)
        self._links.tell(found)
        self._note(found, "resumed")

    def slow_down(self, task: str, seconds: float) -> None:
        """Let each step take ``seconds`` longer on a task (at most 60); 0 ends it.

        Raises UnavailableError when the task is not there, DeadlineExceededError when it does not
        answer.
        """
        found = self._task(task)
        if not 0 <= seconds <= 60:
            raise ValueError(f"slow_down: seconds must be from 0 to 60, got {seconds!r}.")
        self._need(found, "running")
        self._ask(found, "slow_down", {"seconds": float(seconds)})
        self._note(found, "slowed", f"{seconds:g} s a step")

    def cut(self, task: str) -> None:
        """Cut the links between a task and all other tasks, until `mend`.

        Their messages to each other are held back, as when a cable is pulled out: no task is told, a
        task that needs one waits, and after 30 s of silence (``DATAFLOW_SILENCE_SECONDS``) the
        connections are given up. Clients and this object still reach the task. Raises as `slow_down`.
        """
        self._set_fault(task, Fault(True, self._links.of(self._task(task).name)[1]), "cut")

    def delay(self, task: str, seconds: float) -> None:
        """Let each message between a task and the others, either way, arrive ``seconds`` later.

        At most 60; 0 ends it. Other messages may follow meanwhile. Raises as `slow_down`.
        """
        if not 0 <= seconds <= 60:
            raise ValueError(f"delay: seconds must be from 0 to 60, got {seconds!r}.")
        is_cut = self._links.of(self._task(task).name).is_cut
        self._set_fault(task, Fault(is_cut, float(seconds)), "delayed", f"{seconds:g} s a message")

    def mend(self, task: str) -> None:
        """End what `cut` and `delay` did; the messages held back arrive now, in order."""
        self._set_fault(task, WHOLE, "mended")

    def _set_fault(self, name: str, fault: Fault, kind: str, why: str = "") -> None:
        found = self._task(name)
        self._need(found, "running")
        self._links.set(found, fault, list(self.backend.tasks))
        self._note(found, kind, why)

    def restart(self, task: str, timeout_seconds: float = 120.0) -> None:
        """Start a task again, dead or alive, at its address and without its variables.

        Returns when it listens. Raises DeadlineExceededError when it does not in time.
        """
        self._need_tasks()
        found = self._task(task)
        self.backend.need_starter("Starting a task again")
        before = found.restarts
        if found.state in ("running", "paused"):
            self._to_restart.add(found.name)
            self.backend.signal(found, signal.SIGKILL)
        elif found.state != "restarting":
            self._begin_again(found)
        deadline = time.monotonic() + timeout_seconds
        while found.restarts == before or found.state != "running":
            if not THREADS:
                scheduler.let_run()
            if time.monotonic() > deadline:
                raise DeadlineExceededError(
                    None,
                    None,
                    f"{found.name} was not there again within {timeout_seconds:g} s; it is "
                    f"{found.state}. See the cluster's events and log({task!r}).",
                )
            time.sleep(0.01)

    def resize(self, *, timeout_seconds: float = 120.0, **num_tasks: int) -> None:
        """Add tasks to jobs, or stop the last ones: ``cluster.resize(worker=4)``.

        Sessions that are made from now on see the new cluster; existing ones keep what they saw.
        Variables of a parameter server that is stopped are lost. Raises ValueError for a negative
        number, for no task at all, and for a job that the cluster does not have,
        ResourceExhaustedError for more than the machines have.
        """
        self._need_tasks()
        spec = self.spec
        wanted = {job: spec.num_tasks(job) for job in spec.jobs}
        for job, count in num_tasks.items():
            if job not in wanted:
                raise ValueError(f"resize: there is no job {job!r}; the jobs are {spec.jobs}.")
            if not isinstance(count, int) or count < 0:
                raise ValueError(f"resize: the number of tasks of {job!r} must be >= 0: {count!r}.")
            wanted[job] = count
        if not any(wanted.values()):
            raise ValueError("resize: no task would be left; stop the cluster instead.")
        fewer = [t for t in self.backend.tasks if t.index >= wanted[t.job]]
        more = [
            (job, index)
            for job, count in wanted.items()
            for index in range(spec.num_tasks(job), count)
        ]
        added = self.backend.add(more, self._key, timeout_seconds) if more else []
        for task in fewer:
            registry.forget_keys([task.address])
            how = f"cluster.resize() stopped it at {called_at()}"
            registry.note_stopped([task.address], how, for_good=True)
            self.backend.remove(task)
            self._links.forget(task.name)
            self._note(task, "removed")
        registry.add_keys([task.address for task in added], self._key)
        self.backend.tell_all(self._key)
        for task in added:
            if self._links:
                self._links.tell(task)
            self._note(task, "added")
            self._follow(task)

    def _need_tasks(self) -> None:
        if self.stopped:
            raise UnavailableError(
                None,
                None,
                f"This cluster has no tasks any more: {self._how_stopped}. tf.cluster.launch starts "
                "another.",
            )

    def _need(self, task: TaskHandle, *states: str) -> None:
        self._need_tasks()
        if task.state not in states:
            raise UnavailableError(
                None, None, f"{task.name} is {task.state}, but it must be {' or '.join(states)}."
            )

    def stop(self) -> None:
        """Stop all tasks. A Ray that `launch` started for them ends half a minute later, unless
        another cluster uses it; `tf.cluster.shutdown` ends it at once.

        A session that still uses them is told which call stopped them, and in which line.
        """
        self.stop_because(f"cluster.stop() stopped it at {called_at()}")

    def stop_because(self, how: str) -> None:
        with self._lock:
            if self.stopped:
                return
            self._how_stopped = how
        addresses = [task.address for task in self.backend.tasks]
        registry.forget_keys(addresses)
        registry.note_stopped(addresses, how, for_good=self.launched)
        for task in self.backend.tasks:
            if task.state == "running":
                with contextlib.suppress(OpError):
                    self._ask(task, "shutdown")
        self._pool.close()
        self.backend.stop()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_because(f"its with block ended at {called_at()}")

    def __repr__(self) -> str:
        spec = self.spec
        jobs = ", ".join(f"{spec.num_tasks(job)} {job}" for job in spec.jobs)
        return f"<tf.cluster.Cluster of {jobs}: {'stopped' if self.stopped else self.target}>"

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> Any:
        if self.stopped:
            return {"text/plain": repr(self)}
        status = self.status()
        plain = {"text/plain": f"{self!r}\n{status!r}"}
        shown = super()._repr_mimebundle_(include, exclude)
        if shown is None:
            return plain | {"text/html": status._repr_html_()}
        data, metadata = shown
        return data | plain, metadata


def _moment(seconds: float) -> Wait:
    """That time, for a `Task`."""
    until = time.monotonic() + seconds
    return Wait("a moment", lambda: False, until, lambda: time.sleep(seconds))


def _is_here(task: TaskHandle) -> bool:
    return bool(task.host == os.uname().nodename)
