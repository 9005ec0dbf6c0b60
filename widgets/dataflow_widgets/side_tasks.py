"""What a widget does beside the cells of a notebook: in a thread of its own, or, where none can be
started, in turns between the cells and while a cell waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.runtime.cooperative import Task, Wait

    Steps = Callable[[], Iterator[Wait | None]]


def begin(steps: Steps, name: str) -> Task:
    """Starts a daemon thread, or task, whose body is the generator ``steps()``; see `cooperative`.

    Imported late, as a widget without such work needs no engine.
    """
    from dataflow.runtime.cooperative import Task

    task = Task(steps, name=name, daemon=True)
    task.calls_functions = True
    task.provides = False
    task.start()
    return task


def begin_call(function: Callable[..., Any], *args: Any, name: str) -> Task:
    """Has ``function(*args)`` called beside the cells."""

    def once() -> Iterator[Wait | None]:
        function(*args)
        return
        yield  # what makes it a generator

    return begin(once, name)


def pause(seconds: float, what: str) -> Wait:
    """A wait that a step yields, until so much time has passed. ``what`` ends "waits for ..."."""
    from dataflow.runtime.cooperative import Wait

    until = time.monotonic() + seconds
    return Wait(what, lambda: False, until, lambda: time.sleep(seconds))
