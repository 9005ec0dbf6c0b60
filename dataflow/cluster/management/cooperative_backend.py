"""Tasks of this process where there are neither threads nor sockets: they take turns.

As `thread_backend`, with messages by `transport.in_process` and functions by `interleaved`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from typing import Any

from dataflow.capabilities import THREADS
from dataflow.cluster.management.interleaved import Asked, steps_of
from dataflow.cluster.management.thread_backend import ThreadBackend, ThreadTask, not_returned
from dataflow.cluster.transport.in_process import wait_until
from dataflow.errors import UnavailableError
from dataflow.graph.default_stacks import use_graph
from dataflow.graph.graph import Graph
from dataflow.runtime.cooperative import Task, Wait, finish, scheduler
from dataflow.runtime.session import Session

#: How long functions may take to end when their cluster is stopped.
_STOP_SECONDS = 5.0


class CooperativeBackend(ThreadBackend):
    """Starts, stops and disturbs the tasks of a cluster in this thread."""

    def __init__(self, jobs_and_indices: list[tuple[str, int]], key: str) -> None:
        self._calls: list[_Call] = []
        super().__init__(jobs_and_indices, key)

    def submit(self, task: ThreadTask, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Start a function with the task's server; it makes a step whenever some task waits."""
        assert not THREADS
        if task.server is None or task.state == "dead":
            raise UnavailableError(None, None, f"{task.name} is {task.state}.")
        call = _Call(task, getattr(function, "__name__", "a function"))
        self._calls = [other for other in self._calls if not other.future.done()] + [call]
        steps = steps_of(function)(task.server, *args, **kw)
        _FunctionTask(call.steps, (steps,), name=f"{task.name} {call.name}", daemon=True).start()
        return call

    def stop(self) -> None:
        """Stop all tasks, and the functions that run on them."""
        super().stop()
        calls, self._calls = self._calls, []
        if not scheduler.running:
            end = time.monotonic() + _STOP_SECONDS
            wait_until("functions to end", lambda: all(c.future.done() for c in calls), end)

    def result(self, reference: Any, timeout_seconds: float | None = None) -> Any:
        """Return the result of `submit`; raises what the function raised."""
        end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        what = f"what {reference.name} returns on {reference.task.name}"
        # Without a time-out that can pass: with one, the others run until then.
        if not wait_until(what, reference.future.done, end):
            raise not_returned(timeout_seconds)
        return reference.future.result()


class _FunctionTask(Task):
    shares_time = True


class _Call:
    """A function that runs on a task, one step after the other."""

    def __init__(self, task: ThreadTask, name: str) -> None:
        self.task, self.name = task, name
        self.future: Future[Any] = Future()
        self._server = task.server

    def steps(self, body: Generator[Asked, Any, Any]) -> Iterator[Wait | None]:
        """Makes the calls that the function asks for; each when its task may begin a step."""
        with use_graph(Graph()):
            try:
                self.future.set_result((yield from self._all(body)))
            except Exception as error:
                self.future.set_exception(error)
            finally:
                body.close()

    def _all(self, body: Generator[Asked, Any, Any]) -> Generator[Wait | None, None, Any]:
        value: Any = None
        error: Exception | None = None
        while True:
            yield None
            self._check_alive()
            try:
                asked = Asked(*(body.send(value) if error is None else body.throw(error)))
            except StopIteration as end:
                return end.value
            value = error = None
            try:
                value = yield from self._make(asked)
            except Exception as found:
                error = found
            self._check_alive()

    def _make(self, asked: Asked) -> Generator[Wait | None, None, Any]:
        if asked.function is time.sleep:
            end = time.monotonic() + asked.arguments[0]
            yield Wait("the end of a sleep", self._has_gone, end)
            return None
        owner = getattr(asked.function, "__self__", None)
        load = self._server.service.load if self._server is not None else None
        if load is None or not hasattr(owner, "run") or not hasattr(owner, "graph"):
            return (yield from finish(asked.make, resumable=False))
        # A session's step: slowed down here, so that the others go on meanwhile.
        begins_at = time.monotonic() + load.delay_seconds
        if load.delay_seconds:
            yield Wait(f"{self.task.name}, which is slowed down", self._has_gone, begins_at)
        while load.is_paused and not self._has_gone():
            yield Wait(
                f"{self.task.name}, which is paused",
                lambda: self._has_gone() or not load.is_paused,
            )
        self._check_alive()

        def make() -> Any:
            load.has_held = True
            try:
                return asked.make()
            finally:
                load.has_held = False

        return (yield from finish(make, resumable=type(owner) is Session))

    def _has_gone(self) -> bool:
        return self.task.server is not self._server or self.task.state not in ("running", "paused")

    def _check_alive(self) -> None:
        if self._has_gone():
            raise UnavailableError(
                None,
                None,
                f"{self.task.name} died, or was stopped, while it ran {self.name}.",
            )
