"""Data-parallel training on a cluster, with a mode that can be switched while it runs.

Between-graph replication: each worker builds the model on its part of the data, with the variables
on the parameter servers, and steps by itself; this process takes no part in steps. The modes share
the variables. A switch ends the workers' loops after their current step, and starts new ones.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.capabilities import ELSEWHERE, THREADS, refused
from dataflow.cluster.management.model_parallel import ModelParallelGraph
from dataflow.cluster.management.ring_training import RingGraph
from dataflow.cluster.management.training_options import RING_MODES, SPREAD
from dataflow.cluster.management.training_owner import TrainingOwner
from dataflow.cluster.management.training_worker import build_worker, work
from dataflow.graph.graph import Graph
from dataflow.runtime.config import RunOptions
from dataflow.runtime.session import Session

if TYPE_CHECKING:
    from dataflow.cluster.management.running_cluster import Cluster


MODES = ("asynchronous", "synchronous", "backup workers", *RING_MODES, SPREAD)
_LOOK_SECONDS = 0.5
_AGAIN_SECONDS = 0.5

_running: weakref.WeakSet[Training] = weakref.WeakSet()


def trainings(cluster: Cluster | None = None) -> list[Training]:
    """Return the trainings of this process that were started, those of one cluster or all."""
    return [t for t in list(_running) if cluster is None or t.cluster is cluster]


class Training:
    """Trains ``model`` on all workers of a cluster; `switch` changes the mode and keeps the variables.

    Parameters
    ----------
    cluster: what `tf.cluster.launch` returned, with a job ``ps`` and a job ``worker``.
    batch_size: how many examples a worker takes at a step; the model is then called on the workers as
        ``model(part, num_parts, batch_size)``.
    model: ``model(part, num_parts)`` builds the loss (a scalar) on one part of the data, with
        `tf.get_variable`; it travels to the workers, so what it needs must be importable there or be
        held by it. ``model(0, 1)`` is the loss on all of it.
    mode: "asynchronous": each worker changes the variables by itself; "synchronous": the gradients
        of all workers make one step; "backup workers": those of all but ``num_backups`` do, and late
        ones are dropped; "all-reduce": each worker keeps all variables, and the gradients are
        averaged around the ring of workers, without the parameter servers, which get a copy of the
        variables twice a second; "ZeRO": so, too, but each worker keeps the optimizer's slots of its
        share of the parameters only. It gets the gradients of that share (reduce-scatter), updates it,
        and all collect the shares of the others (all-gather): as many bytes as all-reduce. The numbers
        are the same for optimizers that look at each number by itself, as all of `tf.train` do.
        "model parallel": all workers make one step together, which worker 0 runs; the model, called as
        ``model(0, 1)``, says with `on_worker`, `pipeline` or `tensor_parallel` what is where.
    optimizer: a function that makes the optimizer; ``learning_rate`` is that of the plain gradient
        descent that is used without one. Slots (of Adam, momentum) start over at a switch.
    steps_per_second: the most that a worker makes; ``None`` as many as it can.

    A worker that dies is joined again when the cluster has restarted it; after `Cluster.resize` the
    data is divided again among the workers. When a parameter server
    dies its variables are put back to what this process last saw of them (twice a second).

    Raises `UnimplementedError` where no thread can be started, as in a web page.
    """

    modes = MODES

    def __init__(
        self,
        cluster: Cluster,
        model: Callable[..., Any],
        *,
        mode: str = "asynchronous",
        num_backups: int = 1,
        optimizer: Callable[[], Any] | None = None,
        learning_rate: float = 0.1,
        steps_per_second: float | None = None,
        batch_size: int | None = None,
        name: str = "training",
    ) -> None:
        if not THREADS:
            raise refused("tf.cluster.Training", "a thread of its own", ELSEWHERE)
        missing = [job for job in ("ps", "worker") if not _count(cluster, job)]
        if missing:
            raise ValueError(f"Training needs a cluster with a job {missing[0]!r}: {cluster!r}.")
        self.cluster = cluster
        self.name = name
        self.switched: list[tuple[int, str]] = []  # (global step, mode) of each switch
        self.errors: dict[str, str] = {}  # the last error of a worker, until it steps again
        self._model = model
        self._optimizer = optimizer
        self._rate = learning_rate
        self._most = steps_per_second
        self.batch_size = batch_size
        self._number = 0
        self._num_workers = 0  # when the mode began
        self._state = "stopped"
        self._busy: dict[str, int] = {}  # number of the mode that each worker is in
        self._next: dict[str, float] = {}
        self._kept: dict[str, Any] = {}
        self._loss: float | None = None
        self._global_step = 0
        self._trouble = ""
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._connect_anew = threading.Event()
        self._thread: threading.Thread | None = None
        self.mode, self.num_backups = self._checked(mode, num_backups)

    def _checked(self, mode: str, num_backups: int) -> tuple[str, int]:
        if mode not in MODES:
            raise ValueError(f"The mode is one of {', '.join(MODES)}; got {mode!r}.")
        workers = _count(self.cluster, "worker")
        if mode == "backup workers" and not 1 <= num_backups < workers:
            raise ValueError(
                f"With {workers} workers there can be 1 to {workers - 1} backup workers, got "
                f"{num_backups}. Add workers with cluster.resize(worker=...)."
                if workers > 1
                else "Backup workers need at least two workers; add one with cluster.resize."
            )
        return mode, num_backups

    # ---- control -------------------------------------------------------------------

    def start(self) -> Training:
        """Start or continue training; returns at once."""
        with self._lock:
            if self._state == "running":
                return self
            self._state = "running"
            self._number += 1
            self._begin()
        _running.add(self)
        return self

    def stop(self) -> None:
        """End the workers' loops after their current step. The variables stay."""
        self._end("stopped")

    def switch(self, mode: str, num_backups: int = 1, batch_size: int | None = None) -> None:
        """Continue in another mode with the same variables; returns at once.

        ``batch_size`` changes that of a training that has one. Raises ValueError for a mode that there
        is not, or that the workers are too few for, and for a batch size that makes no sense.
        """
        if batch_size is not None and (self.batch_size is None or batch_size < 1):
            raise ValueError(
                f"switch: batch_size must be at least 1, got {batch_size}."
                if self.batch_size is not None
                else f"switch: {self.name} was made without batch_size=, so it has none to change."
            )
        with self._lock:
            self.batch_size = batch_size or self.batch_size
            self.mode, self.num_backups = self._checked(mode, num_backups)
            self.switched.append((self._global_step, mode))
            if self._state == "running":
                self._number += 1
                self._begin()

    def _begin(self) -> None:
        self._num_workers = _count(self.cluster, "worker")
        self._next.clear()
        self._wake.set()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._look_after, name=self.name, daemon=True)
            self._thread.start()

    def _end(self, state: str) -> None:
        with self._lock:
            self._state = state
            self._number += 1
            self._wake.set()

    # ---- state -------------------------------------------------------------------

    @property
    def state(self) -> str:
        """ "running" or "stopped" (the cluster's end is one)."""
        return self._state

    def status(self) -> dict[str, Any]:
        """Return name, state, mode, num_backups, batch_size (or ``None``), global_step, loss (on all data, half a second old
        at most, ``None`` before the first), workers (that step now), errors by worker, and trouble:
        why the parameter servers cannot be asked, or ""."""
        with self._lock:
            return {
                "name": self.name,
                "state": self._state,
                "mode": self.mode,
                "modes": list(MODES),
                "num_backups": self.num_backups,
                "batch_size": self.batch_size,
                "global_step": self._global_step,
                "loss": self._loss,
                "workers": sorted(t for t, n in self._busy.items() if n == self._number),
                "errors": dict(self.errors),
                "trouble": self._trouble,
            }

    @property
    def variables(self) -> dict[str, Any]:
        """The variables' values by name, as they were last seen."""
        with self._lock:
            return dict(self._kept)

    def graph(self, worker: int = 0) -> tuple[Any, list[Any]]:
        """Return the graph that a worker builds for the present mode, and its fetches."""
        if self.mode in RING_MODES:
            built = RingGraph(self._options(worker))
            return built.graph, built.fetches
        if self.mode == SPREAD:
            spread = ModelParallelGraph(self._options(0))
            return spread.graph, spread.fetches
        graph = Graph()
        with graph.as_default():
            fetches = build_worker(self._options(worker), self.cluster.spec)[0]
        return graph, fetches

    def trace(self, num_steps: int = 3) -> Any:
        """Make steps of the running training from this process; return the last one's `tf.RunMetadata`,
        as `Timeline` shows it.

        Raises ValueError in another mode than "model parallel", and FailedPreconditionError where the
        training has not begun its steps.
        """
        if self.mode != SPREAD:
            raise ValueError(
                f"trace makes a step of all workers together, in the mode {SPREAD!r}; this training is "
                f"in the mode {self.mode!r}. Trace a session's run with options=tf.RunOptions(...)."
            )
        from tensorboard.compat.proto.config_pb2 import RunMetadata

        graph, fetches = self.graph()
        options = RunOptions(trace_level=RunOptions.FULL_TRACE)
        with Session(self.cluster.targets["/job:worker/task:0"], graph=graph) as session:
            for _ in range(max(1, num_steps)):  # the first ones prepare the step
                metadata = RunMetadata()
                session.run(fetches, options=options, run_metadata=metadata)
        return metadata

    def slot_bytes(self) -> tuple[int, int]:
        """Return the bytes of the optimizer's slots: (on a worker of a ring, of all parameters).

        In a mode with parameter servers no worker has slots, and the first is 0.
        """
        ring = RingGraph(self._options(0) | {"ring": True})
        return (ring.slot_bytes if self.mode in RING_MODES else 0), ring.whole_slot_bytes

    # ---- the thread that looks after the workers ----------------------------------------------

    def _options(self, index: int) -> dict[str, Any]:
        workers = _count(self.cluster, "worker")
        spare = self.num_backups if self.mode == "backup workers" else 0
        return {
            "model": self._model,
            "optimizer": self._optimizer,
            "rate": self._rate,
            "index": index,
            "num_workers": workers,
            "aggregate": max(1, workers - spare)
            if self.mode in ("synchronous", "backup workers")
            else None,
            "ring": self.mode in RING_MODES,
            "divided": self.mode == "ZeRO",
            "spread": self.mode == SPREAD,
            "number": self._number,
            "most": self._most,
            "batch_size": self.batch_size,
            "kept": dict(self._kept),
        }

    def _look_after(self) -> None:
        owner = TrainingOwner(self.cluster, self._model)
        told = None
        ended: set[int] = set()
        try:
            while True:
                self._wake.wait(_LOOK_SECONDS)
                self._wake.clear()
                if self.cluster.stopped:
                    self._end("stopped")
                    return
                with self._lock:
                    if self._state == "running" and self._num_workers != _count(
                        self.cluster, "worker"
                    ):
                        self._number += 1  # after a resize: the data is divided again
                        self._num_workers = _count(self.cluster, "worker")
                        for task in self.errors.keys() - set(self.cluster.tasks):
                            del self.errors[task]
                    number = self._number
                if self._connect_anew.is_set():
                    self._connect_anew.clear()
                    owner.forget()
                try:
                    if told != number:
                        owner.tell(number, told)
                        if told is not None:
                            ended.add(told)
                        told = number
                    elif self._busy and number not in self._busy.values():
                        # A chief that was just beginning has written its own number over it.
                        owner.tell(number, None)
                    for old in ended - set(self._busy.values()):
                        owner.clear(old)
                        ended.discard(old)
                    found = owner.look()
                    self._trouble = ""
                except Exception as error:  # the parameter server is not there: it is tried again
                    found = None
                    self._trouble = _in_a_line(error)
                    owner.forget()
                if found is not None:
                    with self._lock:
                        self._kept, self._loss = found
                    self._global_step = int(found[0]["global_step"])
                if told != self._number:
                    self._wake.set()
                    time.sleep(0.05)
                elif self._state == "running":
                    self._submit_missing(number)
                elif not self._busy:
                    with self._lock:
                        if self._state != "running":
                            self._thread = None
                            return
        finally:
            owner.close()

    def _submit_missing(self, number: int) -> None:
        now = time.monotonic()
        tasks = [t for t in self.cluster.backend.tasks if t.job == "worker"]
        # A worker that is still in another mode would step unnoticed by the new mode's chief.
        # One that is paused does not step; when it goes on, it leaves after one late step.
        if any(
            self._busy.get(t.name, self._number) != self._number
            for t in tasks
            if t.state == "running"
        ):
            return
        for row in tasks:
            if row.state != "running" or row.name in self._busy:
                continue
            if self._next.get(row.name, 0.0) > now:
                continue
            with self._lock:
                if self._number != number:
                    return  # switched in the meantime: tell the workers first
                options = self._options(row.index)
                self._busy[row.name] = options["number"]
            threading.Thread(
                target=self._follow, args=(row.name, options), name=f"{self.name} {row.name}",
                daemon=True,
            ).start()  # fmt: skip

    def _follow(self, task: str, options: dict[str, Any]) -> None:
        try:
            self.errors.pop(task, None)
            self.cluster.submit(task, work, options).result()
        except Exception as error:
            goes_on = self._state == "running" and options["number"] == self._number
            if goes_on and task in self.cluster.tasks:  # else it was removed
                self.errors[task] = _in_a_line(error)
            self._next[task] = time.monotonic() + _AGAIN_SECONDS
            self._connect_anew.set()  # what a worker has lost, the owner's session may have, too
        finally:
            with self._lock:
                self._busy.pop(task, None)
            self._wake.set()


def _in_a_line(error: Exception) -> str:
    """The error in one line, without the other process's traceback, which Ray puts before it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    if type(error).__name__.startswith("RayTaskError"):
        return lines[-1].partition(" ")[0].rpartition(".")[2] + " " + lines[-1].partition(" ")[2]
    name, last = type(error).__name__, lines[0] if lines else ""
    return f"{name}: {last}"[:300]


def _count(cluster: Cluster, job: str) -> int:
    spec = cluster.spec
    return spec.num_tasks(job) if job in spec.jobs else 0
