"""A step that its task repeats by itself until its master tells it to stop.

A step that runs entirely on one task and returns nothing needs no master between two repetitions.
The step that a synchronous chief repeats (take the averages, apply them, hand out tokens) is of this
kind: a round trip to the chief for each one cost as much processor time as a worker's whole step.

The master asks now and then how often the step has run (PING, answered by PONG), so that it notices a
step that makes no progress; after CANCEL the task finishes the current repetition and stops.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.linear_run import LinearRun, linear_schedule
from dataflow.cluster.execution.partition_run import PartitionRun
from dataflow.cluster.execution.schedule import first_chain
from dataflow.cluster.execution.wake_queue import run_later
from dataflow.cluster.execution.worker_threads import run_in_thread
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.remote_errors import describe_error

if TYPE_CHECKING:
    from dataflow.cluster.execution.worker_service import WorkerService

#: How often the master asks, and checks whether the loop is to end.
REPORT_SECONDS = 0.1


class ServerSideLoop:
    """Runs one step's partition again and again. It is the transport of each run.

    Invariants: one run at a time; after `cancel` none begins; the master hears of the end once, by
    DONE after `finish`, or by ERROR.
    """

    def __init__(
        self,
        service: WorkerService,
        partition: CompiledPartition,
        connection: Connection,
        step: int,
    ) -> None:
        self.count = 0
        self._service = service
        self._partition = partition
        self._connection = connection
        self._step = step
        self._run: PartitionRun | LinearRun | None = None
        chain = first_chain(partition)
        schedule = None if any(chain.pending) else linear_schedule(partition, chain)
        self._linear = None if schedule is None else LinearRun(schedule, self)
        self._beginning = False
        self._done = False
        self._finishing = False
        self._cancelled = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Run the step, and repeat it as long as it ends without waiting."""
        while True:
            run: PartitionRun | LinearRun | None = self._linear
            if run is None or self._partition.session.load.delay_seconds:
                run = PartitionRun(self._partition, self._step, self)
            with self._lock:
                if self._cancelled:
                    return
                self._run = run
                self._beginning, self._done = True, False
            if isinstance(run, PartitionRun):
                run.start(())
            else:
                self._begin(run)
            with self._lock:
                self._beginning = False
                if not self._done:
                    return  # it waits; `done` begins the next

    def _begin(self, run: LinearRun) -> None:
        partition = self._partition
        if partition.is_new:
            partition.count_run()
        run.begin(partition.new_slots(), partition.session.load.num_updates)

    def finish(self) -> None:
        """Make the run in progress the last one."""
        self._finishing = True

    def cancel(self) -> None:
        """Begin no further run, and cancel the one in progress."""
        with self._lock:
            self._cancelled = True
            run = self._run
        if run is not None:
            run.cancel()

    # The runs' transport

    def send(self, task: str, channel: int, tensors: list[Any]) -> None:
        """Never called, as nothing leaves the task."""
        raise AssertionError("a step that repeats itself has something to send")

    def may_block(self) -> bool:
        """Nothing is sent."""
        return False

    def done(self, fetches: list[Any], last: Sequence[tuple[str, int, list[Any]]]) -> None:
        """As `ended`."""
        self.ended(fetches)

    def ended(self, results: list[Any]) -> None:
        """One run has ended: begin the next, on this thread if that does not hold it up."""
        self.count += 1
        self._service.num_steps += 1
        if self._finishing:
            self._service.forget(self._step)
            self._connection.send(Kind.DONE, 0, self._step)
            return
        with self._lock:
            if self._beginning:
                self._done = True
                return
        if self._partition.is_quick:
            run_later(self.begin)  # runs that wait for the effects of this one go first
        else:
            run_in_thread(self.begin)

    def failed(self, error: Exception) -> None:
        """A run raised: the loop ends."""
        service = self._service
        service.forget(self._step)
        if not self._connection.closed:
            self._connection.send(
                Kind.ERROR, 0, self._step, head=describe_error(error, service.task)
            )
