"""Errors between processes: the class by its number, the text, the node and the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow import errors
from dataflow.errors import OpError

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph


_CLASSES: dict[int, type[OpError]] = {
    cls.error_code: cls
    for cls in vars(errors).values()
    if isinstance(cls, type)
    and issubclass(cls, OpError)
    and cls.__module__ == errors.__name__
    and cls.__bases__ == (OpError,)
}


def describe_error(error: BaseException, task: str) -> dict[str, Any]:
    """Return the data from which a peer raises the same error: no traceback, no objects."""
    code = getattr(error, "error_code", errors.UNKNOWN)
    message = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    op = getattr(error, "op", None)
    head = {"code": code, "message": message, "task": getattr(error, "task", None) or task}
    if op is not None:
        head["op"] = op.name
    return head


def restore_error(head: dict[str, Any] | None, graph: Graph | None = None) -> OpError:
    """Return the error that `describe_error` described, with the node of ``graph``.

    ``error.task`` is the task that it came from, which the message names too.
    """
    head = head or {}
    cls = _CLASSES.get(head.get("code", errors.UNKNOWN), errors.UnknownError)
    message = str(head.get("message", "an error without a message"))
    task = head.get("task")
    if task and task not in message:
        message += f"\n  on {task}"
    op = None
    if graph is not None and "op" in head:
        op = graph.op_by_name.get(head["op"])
    error = cls(op, op, message)
    error.task = task  # type: ignore[attr-defined]
    return error


def with_restart(error: OpError, task: str) -> OpError:
    """The error of a step on a task that was restarted since its session first used it.

    If the step used state of the task's old process, it is an `AbortedError` that says so, which
    `MonitoredTrainingSession` answers with a new session; every other error stays as it is.
    """
    if not isinstance(error, errors.FailedPreconditionError):
        return error
    lost = errors.AbortedError(
        error.node_def,
        error.op,
        f"{error.message}\n  {task} was restarted since this session first used it, and its variables "
        "are gone. Restore or initialize them (MonitoredTrainingSession does so by itself), then go "
        "on with the same or a new session.",
    )
    lost.task = task  # type: ignore[attr-defined]
    return lost


def error_of(code: int, message: str, task: str = "") -> OpError:
    """Return an error of the class with this number."""
    return restore_error({"code": code, "message": message, "task": task})
