"""The session as kernels of a task see it, and the step that a thread is running."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Hashable
from typing import Any

from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.task_load import TaskLoad
from dataflow.errors import CancelledError
from dataflow.placement.placer import local_devices
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.cancellation import Cancellation
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.devices import num_visible_gpus
from dataflow.runtime.resources import ResourceManager
from dataflow.runtime.time_limits import LoopEnd


class _CurrentStep(threading.local):
    """The step that the calling thread is running."""

    cancellation: Cancellation | None = None
    #: The number of the segment.
    segment: int = 0
    #: Records the step, if a trace was requested.
    tracer: StepTracer | None = None


current_step = _CurrentStep()


class StepCancellation:
    """The cancellation that kernels see: that of the calling thread's current step."""

    @property
    def of_one_step(self) -> bool:
        """Whether the calling thread is running a step that can be canceled."""
        return current_step.cancellation is not None

    @property
    def holder(self) -> Hashable:
        """The holder of a lock that a kernel takes now: the calling thread's current segment.

        The thread will not do: it may run later segments and other steps while the lock is held.
        """
        current = current_step.cancellation
        return threading.get_ident() if current is None else (current, current_step.segment)

    @property
    def cancelled(self) -> bool:
        """Whether the step has been canceled."""
        current = current_step.cancellation
        return current is not None and current.cancelled

    def register(self, callback: Callable[[], None]) -> int:
        """Call ``callback`` when the step is canceled."""
        current = current_step.cancellation
        return 0 if current is None else current.register(callback)

    def unregister(self, token: int) -> None:
        """Undo `register`."""
        current = current_step.cancellation
        if current is not None:
            current.unregister(token)


class StepLoopEnd(LoopEnd):
    """Ends the loops of a step that is canceled; ``due`` is 1 from the session's first such step on."""

    def end(self) -> None:
        """Raise `CancelledError` in a step that was canceled."""
        current = current_step.cancellation
        if current is not None and current.cancelled:
            raise CancelledError(None, None, "A loop was running when its step was canceled.")


class TaskSession:
    """The session as kernels see it: the task's resources and the state of stateful ops."""

    def __init__(
        self,
        resources: ResourceManager,
        load: TaskLoad | None = None,
        task: str = "/job:localhost/task:0",
        name: str = "",
        exchange: Any = None,
    ) -> None:
        self.name = name
        #: How collective ops reach the other tasks (`execution.collectives.Collectives`); where the
        #: members of their groups meet ("": at the first task of the job); and how long they may wait.
        self.exchange = exchange
        self.group_leader = ""
        self.exchange_seconds = math.inf
        self.load = load or TaskLoad()
        self.resources = resources
        self.cancellation = StepCancellation()
        self.loop_end = StepLoopEnd()
        # Functions within a node (those of datasets) are planned here, as in a session of their own.
        # There, nodes without a GPU kernel go to the CPU, regardless of the client's session.
        self.config = ConfigProto(allow_soft_placement=True)
        self.local_devices = local_devices(self.config, num_visible_gpus(), task)
        self.has_gpu = len(self.local_devices) > 1
        self.rewrite_options = RewriteOptions.from_config(self.config)
        self._states: dict[str, dict[str, Any]] = {}
        #: ``updated(read_at)``: a step of this session changes variables of the task (`TaskLoad.updated`).
        self.updated = functools.partial(self.load.updated, master=name.partition("#")[0])

    def group_by(self, leader: str, timeout_seconds: float | None) -> None:
        """Take over what the client's session says about collective ops.

        They give up a little before a step does, as their error names who is missing.
        """
        self.group_leader = leader
        if timeout_seconds:
            self.exchange_seconds = max(0.8 * timeout_seconds, timeout_seconds - 1.0)

    def op_state(self, op_name: str) -> dict[str, Any]:
        return self._states.setdefault(op_name, {})
