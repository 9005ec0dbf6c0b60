"""Waiting inside kernels: for a condition, until cancellation, or later, when the kernel is called again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from dataflow.errors import CancelledError, DeadlineExceededError
from dataflow.kernels.mutex import holder
from dataflow.kernels.would_block import WouldBlock
from dataflow.runtime.cooperative import Suspended, Wait, belongs_to_thread, scheduler

if TYPE_CHECKING:
    from dataflow.kernels.observable_condition import WatchedCondition


#: How long an op waits before another thread continues its step (see `runtime.waiting`).
GRACE_SECONDS = 0.001


class Cancellation:
    """Wakes blocked ops when their session is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._next = 0
        self.cancelled = False

    #: Whether it belongs to one step and is cancelled when the step fails.
    of_one_step = False

    @property
    def holder(self) -> Hashable:
        """The holder of a lock that a kernel takes now: the calling thread, whose runs do not overlap."""
        return holder()

    def register(self, callback: Callable[[], object]) -> int:
        """``callback`` is called at cancellation (at once when it has happened already)."""
        with self._lock:
            if not self.cancelled:
                self._next += 1
                self._callbacks[self._next] = callback
                return self._next
        callback()
        return 0

    def unregister(self, token: int) -> None:
        """Undoes `register`."""
        with self._lock:
            self._callbacks.pop(token, None)

    def cancel(self) -> None:
        """Cancels: calls every callback once; later registrations are called at once."""
        with self._lock:
            self.cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()


class Postponed(BaseException):
    """A kernel would have waited on a thread that must not wait; nothing has happened yet.

    it waits for ``condition``: the thread's callback is called when that changes and
    ``ready()`` is true. Without one the kernel must be called again on a thread that may wait.
    """

    def __init__(self, condition: WatchedCondition | None, ready: Callable[[], bool]) -> None:
        super().__init__("a kernel was postponed")
        self.condition = condition
        self.ready = ready


class Postponing(threading.local):
    """``callback`` is set on a thread while kernels may not wait on it."""

    callback: Callable[[], None] | None = None


postponing = Postponing()


class Waiter:
    """The op that a thread computes, if other ops of its step need not wait for it."""

    __slots__ = ()
    #: The step's, once another thread continues it.
    cancellation: Cancellation | None

    def go_on(self) -> None:
        """Lets another thread continue the step, unless one already does."""
        raise NotImplementedError


class _Here(threading.local):
    """The work of the current thread: see `runtime.waiting`."""

    waiter: Waiter | None = None
    #: When ops that wait give up, as `time.monotonic` counts; ``None`` for never.
    deadline: float | None = None
    #: Without threads: whether the kernel that runs is left by `WouldBlock` where it would wait.
    may_leave: bool = False
    #: State that the kernel kept when it was called before, in this step (`KernelContext.carried`).
    kept: dict[Any, Any] | None = None


here = _Here()


def _swap_here(other: tuple[Any, ...] | None) -> tuple[Any, ...]:
    former = here.waiter, here.deadline, here.may_leave, here.kept
    here.waiter, here.deadline, here.may_leave, here.kept = other or (None, None, False, None)
    return former


belongs_to_thread(_swap_here)


def wait_for(
    condition: threading.Condition,
    ready: Callable[[], bool],
    cancellation: Cancellation,
    op_name: str,
    timeout_seconds: float | None = None,
) -> bool:
    """As `KernelContext.wait`, for the op of this name in a session with this ``cancellation``."""
    if ready():
        return True
    waiter, deadline = here.waiter, here.deadline

    def wake() -> None:
        with condition:
            condition.notify_all()

    tokens = [(cancellation, cancellation.register(wake))]
    end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    if deadline is not None:
        end = deadline if end is None else min(end, deadline)

    def left(limit: float | None = None) -> float | None:
        remaining = None if end is None else max(0.0, end - time.monotonic())
        return remaining if limit is None else min(limit, limit if remaining is None else remaining)

    def over() -> bool:
        return any(c.cancelled for c, _ in tokens) or ready()

    try:
        if waiter is not None and not condition.wait_for(over, left(GRACE_SECONDS)):
            waiter.go_on()
            if waiter.cancellation is not None:
                tokens.append((waiter.cancellation, waiter.cancellation.register(wake)))
        condition.wait_for(over, left())
        if ready():
            return True
        if len(tokens) > 1 and tokens[1][0].cancelled and not cancellation.cancelled:
            raise CancelledError(
                None, None, f"{op_name!r} was waiting when another op of its step failed."
            )
        _check_not_over(cancellation, op_name, deadline)
        return False
    finally:
        for owner, token in tokens:
            owner.unregister(token)


def wait_without_threads(
    condition: threading.Condition,
    ready: Callable[[], bool],
    cancellation: Cancellation,
    op_name: str,
    timeout_seconds: float | None = None,
    again: Callable[[], bool] | None = None,
    withdraw: Callable[[], Exception | None] | None = None,
    in_line: bool = False,
) -> bool:
    """As `wait_for`, by `runtime.cooperative`; raises `WouldBlock` or `Suspended` where it may.

    Returns False, too, when the step goes on and `cooperative.finish` calls ``withdraw``.
    """
    deadline = here.deadline
    _check_not_over(cancellation, op_name, deadline)
    what = getattr(condition, "what", None)
    wait = Wait(
        f"op {op_name!r}" + (f", which waits for {what()}" if what is not None else ""),
        lambda: cancellation.cancelled or ready(),
        deadline,
    )
    if timeout_seconds is None:
        step = scheduler.step
        if here.may_leave:
            raise WouldBlock(wait, withdraw, in_line)
        if step is not None and in_line:
            step.parked.append(WouldBlock(wait, withdraw, in_line))
            return False
        if step is not None and step.resumable and scheduler.depth == 1:
            if again is not None:
                wait.ready = lambda: cancellation.cancelled or again()
            raise Suspended(wait)
    else:
        end = time.monotonic() + timeout_seconds
        wait.until = end if deadline is None else min(end, deadline)
    scheduler.wait(wait)
    if ready():
        return True
    _check_not_over(cancellation, op_name, deadline, wait.until)
    return False


def _check_not_over(
    cancellation: Cancellation,
    op_name: str,
    deadline: float | None,
    given_up: float | None = None,
) -> None:
    """Raises for an op that must not wait any longer."""
    if cancellation.cancelled:
        raise CancelledError(None, None, f"{op_name!r} was cancelled: its session was closed.")
    if deadline is not None and (given_up == deadline or time.monotonic() >= deadline):
        raise DeadlineExceededError(
            None, None, f"{op_name!r} was still waiting when its run timed out."
        )
