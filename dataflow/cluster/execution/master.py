"""The master of a session: cuts the graph, registers the partitions, and runs steps over the tasks.

It lives in the process of the session's target. Its own task's partition runs on the caller's thread,
between the messages of the others. The `StepMachine` decides which tasks a step waits for, and what an
error or a death means.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from dataflow import errors
from dataflow.capabilities import THREADS
from dataflow.cluster.execution import prefetch
from dataflow.cluster.execution.calls import call, held
from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.explain import code_of, describe
from dataflow.cluster.execution.fast_path import Fallback, fast_step
from dataflow.cluster.execution.master_step import MasterStep
from dataflow.cluster.execution.prepared_step import PreparedStep, RemotePartition
from dataflow.cluster.execution.state_machine import Decision, Fail, StepMachine
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.task_load import TaskLoad
from dataflow.cluster.execution.task_session import TaskSession
from dataflow.cluster.partition.graph_partition import PartitionedGraph
from dataflow.cluster.partition.partition_codec import encode_partition
from dataflow.cluster.partition.partitioner import partition_graph
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.step_flags import CHANNEL_SHIFT, MAX_HANDLE
from dataflow.errors import OpError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.subnormals import Computing
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.cooperative import Suspended

#: How long a closing session waits for a task to drop what the session registered there.
_CLOSE_SECONDS = 1.0


class MasterSession:
    """One client's session on a cluster.

    ``addresses`` of the visible tasks by name; ``task`` is the master's own; ``task_session`` holds
    that task's resources.
    """

    def __init__(
        self,
        task: str,
        addresses: dict[str, str],
        pool: ConnectionPool,
        task_session: TaskSession,
        name: str,
        allow_soft_placement: bool = False,
        timeout_seconds: float | None = None,
        options: RewriteOptions | None = None,
        group_leader: str = "",
    ) -> None:
        self.task = task
        self.addresses = addresses
        self.pool = pool
        self.name = name
        self.timeout_seconds = timeout_seconds
        self._collectives = group_leader, timeout_seconds
        task_session.group_by(*self._collectives)
        self.machine = StepMachine()
        self.num_steps = 0
        #: Tasks that were restarted since this session first used them; their state is lost.
        self.restarted: set[str] = set()
        self.closed = False
        #: Counts what makes prepared steps useless.
        self.generation = 0
        self._was_reset = False
        self._task_session = task_session
        self.traffic = task_session.load.traffic
        self._soft = allow_soft_placement
        self._options = options
        #: Guards the machine.
        self.lock = threading.Lock()
        self._register_lock = threading.Lock()
        #: The incarnation of each task when this session first used it.
        self._first_incarnations: dict[str, str] = {}
        self._verdicts: dict[int, Fail] = {}
        self._contacted: set[str] = set()
        self._active: set[MasterStep] = set()
        #: The connections of fast-path steps in progress.
        self.in_use: set[Connection] = set()
        self.step_numbers = itertools.count(secrets.randbits(32) << 31)

    @property
    def load(self) -> TaskLoad:
        """The counters of the master's own task, and its artificial delay."""
        return self._task_session.load

    # Preparing

    def prepare(
        self,
        fetch_tensors: Sequence[Tensor],
        fetch_operations: Sequence[Operation],
        feeds: Sequence[Tensor],
        deadline: float | None = None,
        traced: bool = False,
    ) -> PreparedStep:
        """Cut the graph for these fetches and feeds and register its partitions with their tasks.

        ``traced``: its steps will be traced, see `CompiledPartition`. Raises DeadlineExceededError when the
        tasks have not answered by the deadline (on the clock of `time.monotonic`), AbortedError after `reset`.
        """
        self._check()
        cut = self._cut(fetch_tensors, fetch_operations, feeds)
        partitions = dict(cut.partitions)
        own = partitions.pop(self.task, None)
        local = None
        if own is not None:
            local = CompiledPartition(own, self._task_session, self._options, self._soft, traced)
        remotes = []
        for task, partition in partitions.items():
            remote = RemotePartition(task, self.addresses[task], partition, feeds, traced)
            if own is None or not any(t.task == task for s in own.segments for t in s.transfers):
                remote.waits = False
            else:
                remote.prefetch_channels = prefetch.prefetch_channels(partition, self.task)
                remote.coalesced = prefetch.coalesced(own, task, partition)
            self._register(remote, deadline)
            remotes.append(remote)
        sources = []
        for tensor in fetch_tensors:
            if tensor in feeds:
                sources.append(("", list(feeds).index(tensor)))
                continue
            task = next(t for t, p in cut.partitions.items() if tensor in p.fetches)
            sources.append((task, cut.partitions[task].fetches.index(tensor)))
        local_feeds = [list(feeds).index(t) for t in own.feeds] if own is not None else []
        prepared = PreparedStep(cut, local, local_feeds, remotes, sources)
        if THREADS and local is not None and len(remotes) == 1:
            prepared.fast = fast_step(self, prepared, partitions[remotes[0].task])
        return prepared

    def explain(
        self,
        fetch_tensors: Sequence[Tensor],
        fetch_operations: Sequence[Operation],
        feeds: Sequence[Tensor],
        deadline: float | None = None,
    ) -> dict[str, Any]:
        """Let each task compile and rewrite its partition without running it; see `explain`.

        ``deadline`` is as for `prepare`.
        """
        cut = self._cut(fetch_tensors, fetch_operations, feeds)
        codes = {}
        for task, partition in cut.partitions.items():
            if task == self.task:
                resources = self._task_session.resources
                codes[task] = code_of(partition, resources, self._options)
                continue
            encoded, arrays = encode_partition(partition)
            connection = self.pool.take(self.addresses[task], task, deadline=deadline)
            reply = call(
                connection, "explain", {"partition": encoded, "rewrites": self._options}, arrays
            )
            self.pool.give(connection)
            codes[task] = (reply.head or {})["code"]
        return describe(cut, codes)

    def _cut(
        self,
        fetch_tensors: Sequence[Tensor],
        fetch_operations: Sequence[Operation],
        feeds: Sequence[Tensor],
    ) -> PartitionedGraph:
        return partition_graph(
            fetch_tensors,
            fetch_operations,
            feeds,
            sorted(self.addresses),
            self.task,
            self._soft,
        )

    def register_again(
        self, remote: RemotePartition, incarnation: str, deadline: float | None
    ) -> None:
        """Register a partition again after its task's restart, unless another thread has done so."""
        with held(self._register_lock, deadline):
            if remote.incarnation != incarnation:
                self._register(remote, deadline)

    def _register(self, remote: RemotePartition, deadline: float | None) -> None:
        partition = remote.partition
        encoded, arrays = encode_partition(partition)
        head = {
            "partition": encoded,
            "session": self.name,
            "home": self.task,
            "rewrites": self._options,
            "soft": self._soft,
            "traced": remote.traced,
            "collectives": self._collectives,
            "addresses": {
                t.task: self.addresses[t.task] for s in partition.segments for t in s.transfers
            },
        }
        connection = self.pool.take(remote.address, remote.task, deadline=deadline)
        reply = call(connection, "register", head, arrays)
        told = reply.head or {}
        remote.handle, remote.on_gpus = int(told["handle"]), told["on_gpus"]
        if remote.handle > MAX_HANDLE or len(partition.channels) >= 1 << (32 - CHANNEL_SHIFT):
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"{remote.task} holds too many partitions; close sessions that are done.",
            )
        remote.incarnation = connection.greeting.get("incarnation", "")
        first = self._first_incarnations.setdefault(remote.task, remote.incarnation)
        if first != remote.incarnation:
            self.restarted.add(remote.task)
        self._contacted.add(remote.task)
        self.pool.give(connection)

    # Running

    def run(
        self,
        prepared: PreparedStep,
        values: Sequence[Any],
        timeout_seconds: float | None = None,
        watch: Connection | None = None,
        tracers: dict[str, StepTracer] | None = None,
        keep_values: bool = True,
        until: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """Run a step on the fed values, by the general path; return the fetched values.

        With ``until`` a step that runs entirely on another task and fetches nothing is repeated until
        ``until()`` is true; the time-out holds for each repetition.

        ``tracers``, if given, receives by task what each task did.

        ``watch`` is a client's connection: the step is canceled when it ends. Raises the classes of
        `tf.errors`; UnavailableError or AbortedError name the task that was lost.
        """
        self._check()
        self.num_steps += 1
        count = prefetch.note_run()
        seconds = timeout_seconds or self.timeout_seconds
        run = MasterStep(self, prepared, next(self.step_numbers), watch, count)
        if tracers is not None:
            run.trace(tracers, keep_values)
        elif THREADS and prepared.can_repeat and watch is None:
            run.until = until
        return self._run(run, values, seconds)

    def take_over(
        self, fallback: Fallback, values: Sequence[Any], seconds: float | None
    ) -> list[Any]:
        """Finish a fast-path step on the general path."""
        return self._run(
            MasterStep(self, fallback.prepared, fallback.step, None, fallback.run, fallback),
            values,
            seconds,
        )

    def _run(self, run: MasterStep, values: Sequence[Any], seconds: float | None) -> list[Any]:
        self._active.add(run)
        try:
            if self.closed:  # while the step was being prepared
                run.cancel_from_outside()
                self.close()
            with Computing():
                results = run.run(values, seconds)
        except Suspended as left:
            left.resume = lambda: self._run(run, values, seconds)
            raise
        except BaseException:
            self._active.discard(run)
            raise
        self._active.discard(run)
        return results

    def decide(self, event: Callable[..., list[Decision]], *arguments: Any) -> list[Decision]:
        """Give the machine an event; keep its decisions on other threads' steps for them."""
        with self.lock:
            decisions = event(*arguments)
            for decision in decisions:
                if type(decision) is Fail:
                    self._verdicts[decision.step] = decision
        return decisions

    def verdict(self, step: int) -> Fail | None:
        """Return, once, why a step failed."""
        return self._verdicts.pop(step, None)

    def _check(self) -> None:
        if self._was_reset:
            raise errors.AbortedError(
                None,
                None,
                f"This session was ended by tf.Session.reset on {self.task}. Make a new tf.Session; variables "
                "must be initialized or restored.",
            )

    def reset(self) -> None:
        """Cancel its steps; later calls raise AbortedError. It is still to be closed."""
        self._was_reset = self.closed = True
        self.generation += 1
        self._cancel_steps()

    def _cancel_steps(self) -> None:
        for run in list(self._active):
            run.cancel_from_outside()
        for connection in list(self.in_use):
            connection.wake()  # wakes the thread that waits for it, which closes it

    def close(self) -> None:
        """Cancel the steps of other threads; let the tasks drop what this session registered.

        A step that another thread is still preparing ends as soon as it begins.
        """
        self.closed = True
        self._cancel_steps()
        addresses = self.addresses  # none once the server has stopped: no task can be reached then
        for task in sorted(self._contacted & addresses.keys()):
            try:
                connection = self.pool.take(addresses[task], task, timeout_seconds=0.2)
                # A process that is stopped (SIGSTOP) reads it when it continues.
                connection.deadline = time.monotonic() + _CLOSE_SECONDS
                call(connection, "close_session", {"session": self.name})
                self.pool.give(connection)
            except OpError:
                pass  # a task that is gone has nothing left to drop
        self._contacted.clear()
