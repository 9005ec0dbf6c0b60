"""The wake queue of a thread: segments to retry, and functions to call, once the work at hand is done.

A condition changes inside of the kernel that changes it, where locks are held: what waited for it is queued,
and runs on the same thread after that kernel (`then_wake`), or on one of the pool.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dataflow.cluster.execution.worker_threads import run_in_thread

if TYPE_CHECKING:
    from dataflow.cluster.execution.partition_run import PartitionRun

_Result = TypeVar("_Result")


class _Local(threading.local):
    #: Segments to retry because of work on this thread, and functions to call.
    woken: list[tuple[PartitionRun, int] | Callable[[], None]] | None = None
    #: Functions to be called after all of these.
    later: list[Callable[[], None]]


_local = _Local()


def wake_segment(run: PartitionRun, number: int) -> None:
    """The condition of a waiting segment has changed; the caller may hold locks."""
    woken = _local.woken
    if woken is not None:
        woken.append((run, number))
    else:
        run_in_thread(lambda: run.retry(number, on_notifier=False))


def wake(function: Callable[[], None]) -> None:
    """Call ``function`` on this thread if it has a wake queue, else on another that has one; the caller may
    hold locks."""
    woken = _local.woken
    if woken is not None:
        woken.append(function)
    else:
        run_in_thread(functools.partial(then_wake, function))


def then_wake(function: Callable[..., _Result], *arguments: object) -> _Result:
    """Call a function; then, on this thread, retry what waited for its effects."""
    if _local.woken is not None:
        return function(*arguments)
    woken = _local.woken = []
    _local.later = []
    try:
        return function(*arguments)
    finally:
        if woken or _local.later:
            _try_again(woken, _local.later)
        else:
            _local.woken = None


def try_woken() -> None:
    """Try at once what this thread has woken, inside of `then_wake`."""
    woken = _local.woken
    while woken:
        entry = woken.pop(0)
        if type(entry) is tuple:
            _retry(*entry)
        else:
            entry()  # type: ignore[operator]


def _retry(run: PartitionRun, number: int) -> None:
    run.retry(number, on_notifier=True)


def run_later(function: Callable[[], None]) -> None:
    """Run ``function`` once this thread's wake queue is empty."""
    if _local.woken is None:
        function()
    else:
        _local.later.append(function)


def _try_again(
    woken: list[tuple[PartitionRun, int] | Callable[[], None]], later: list[Callable[[], None]]
) -> None:
    """Retry the segments that this thread has woken, and the ones that they wake in turn."""
    try:
        while woken or later:
            entry = woken.pop(0) if woken else later.pop(0)
            if type(entry) is tuple:
                _retry(*entry)
            else:
                entry()  # type: ignore[operator]
    finally:
        _local.woken = None
        for entry in (*woken, *later):  # after an interrupt
            if isinstance(entry, tuple):
                wake_segment(*entry)
            else:
                wake(entry)
