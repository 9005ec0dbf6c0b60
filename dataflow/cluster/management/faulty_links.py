"""Which links between the tasks of a cluster are cut or slow, as its owner wants it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from dataflow.cluster.management.backend import TaskHandle
from dataflow.cluster.transport.link_faults import WHOLE, Fault
from dataflow.errors import OpError


class FaultyLinks:
    """The faults of tasks' links; ``ask(task, method, head)`` calls a method of a task.

    The tasks act on them (`transport.link_faults`): each is told of all, and again when it is back.
    """

    def __init__(self, ask: Callable[[TaskHandle, str, dict[str, Any]], object]) -> None:
        self._ask = ask
        self._faults: dict[str, Fault] = {}  # of all links of a task, by its name

    def __bool__(self) -> bool:
        return bool(self._faults)

    def of(self, task: str) -> Fault:
        """The fault of a task's links, by its name."""
        return self._faults.get(task, WHOLE)

    def set(self, task: TaskHandle, fault: Fault, tasks: Iterable[TaskHandle]) -> None:
        """Give the links of one of the ``tasks`` a fault, or none.

        Raises UnavailableError or DeadlineExceededError when that task does not answer; then nothing
        has changed.
        """
        before = self._faults
        self._faults = {name: other for name, other in before.items() if name != task.name}
        if fault != WHOLE:
            self._faults[task.name] = fault
        try:
            self._ask(task, "links", {"faults": self._as_told(task)})
        except OpError:
            self._faults = before
            raise
        for other in tasks:
            if other is not task:
                self.tell(other)

    def tell(self, task: TaskHandle) -> None:
        """Tell a task of all faults, if it answers."""
        if task.state == "running":
            with contextlib.suppress(OpError):
                self._ask(task, "links", {"faults": self._as_told(task)})

    def forget(self, task: str) -> None:
        """Drop the fault of a task that is gone; the others lose their links to it anyway."""
        self._faults.pop(task, None)

    def _as_told(self, task: TaskHandle) -> dict[str, Fault]:
        """A task's own fault, under "", is of all its links."""
        return {"" if name == task.name else name: f for name, f in self._faults.items()}
