"""The interface through which a `Cluster` starts and ends its tasks: in Ray, in this process, or by others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar


class TaskHandle:
    """A task as its cluster's owner sees it; ``pid`` and ``host`` are those of its process.

    ``state`` is "starting", "running", "paused", "restarting", "dead" or "stopped".
    """

    def __init__(self, job: str, index: int, address: str = "") -> None:
        self.job = job
        self.index = index
        self.name = f"/job:{job}/task:{index}"
        self.address = address
        self.pid = 0
        self.host = ""
        self.restarts = 0
        self.state = "starting"


Handle = TypeVar("Handle", bound=TaskHandle)


class Backend(Protocol[Handle]):
    """Starts, ends and disturbs tasks; each kind has handles of its own.

    ``has_logs``: what tasks print can be asked of them. ``has_starter``: they can be started again,
    and others added. ``head_gone``: what started them has died. ``on_death(task, why)`` is called when
    a task dies. ``on_line(task, line)`` is called with each line that a server tells where its output is
    this process's own.
    """

    has_logs: bool
    has_starter: bool
    head_gone: bool
    on_death: Callable[[Any, str], None] | None
    on_line: Callable[[Any, str], None] | None

    @property
    def tasks(self) -> Sequence[Handle]:
        """The tasks that there are now."""

    def jobs(self) -> dict[str, dict[int, str]]:
        """Return the addresses by job and index."""

    def tell_all(self, key: str) -> None:
        """Tell every task about all of them."""

    def need_starter(self, what: str) -> None:
        """Raise UnimplementedError where tasks cannot be started."""

    def add(
        self, jobs_and_indices: list[tuple[str, int]], key: str, timeout_seconds: float
    ) -> list[Handle]:
        """Start further tasks; `tell_all` tells the others of them."""

    def restart(self, task: Handle, key: str) -> None:
        """Start a task again at its address, without its variables."""

    def remove(self, task: Handle) -> None:
        """Stop a task for good."""

    def signal(self, task: Handle, number: int) -> None:
        """Send a signal to a task's process, or simulate its effect."""

    def submit(
        self, task: Handle, function: Callable[..., Any], *args: object, **kw: object
    ) -> Any:
        """Start a function with the task's server; `result` waits for its value."""

    def result(self, reference: Any, timeout_seconds: float | None = None) -> Any:
        """Return the result of `submit`; raises what the function raised."""

    def stop(self) -> None:
        """Stop all tasks that it started."""


class Call:
    """A function call that runs in a task's process."""

    def __init__(self, backend: Backend[Any], task: str, reference: object) -> None:
        self.task = task
        self.backend = backend
        self._reference = reference

    def result(self, timeout_seconds: float | None = None) -> Any:
        """Wait and return what the function returned; re-raises its error."""
        return self.backend.result(self._reference, timeout_seconds)
