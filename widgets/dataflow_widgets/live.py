"""Keeps open views up to date: after every cell, and after every run.

One IPython hook and one run listener serve all views; both are there only while a view is.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

_views: weakref.WeakSet[Any] = weakref.WeakSet()
_unsubscribe: Any = None
_shell: Any = None
_error: BaseException | None = None
_when_over: list[tuple[Any, Any]] = []  # (view, method): calls that wait for the end of the cell


def watch(view: Any) -> None:
    """Follows the graph of ``view`` (a widget with ``refresh()`` and ``on_run(event)``)."""
    _views.add(view)
    _start()


def forget(view: Any) -> None:
    """Ends `watch`; the last one takes the hooks away, so that runs cost nothing again."""
    _views.discard(view)
    if not _views:
        _stop()


def error_of_cell() -> BaseException | None:
    """What the cell has raised that is just over; for methods that `after_cell` calls."""
    return _error


def after_cell(view: Any, method: Any) -> None:
    """Calls ``method()`` of ``view`` once, when the cell that runs is over; at once outside IPython."""
    _hook()
    if _shell is None:
        _call(view, method)
    else:
        _when_over.append((view, method))


def _start() -> None:
    global _unsubscribe
    if _unsubscribe is None:
        from dataflow.runtime.events import subscribe

        _unsubscribe = subscribe(_after_run, failures=True)
    _hook()


def _hook() -> None:
    global _shell
    if _shell is None and "IPython" in sys.modules:
        from IPython import get_ipython

        _shell = get_ipython()
        if _shell is not None:
            _shell.events.register("post_run_cell", _after_cell)


def _stop() -> None:
    global _unsubscribe, _shell
    if _unsubscribe is not None:
        _unsubscribe()
        _unsubscribe = None
    if _shell is not None and not _when_over:
        try:
            _shell.events.unregister("post_run_cell", _after_cell)
        except ValueError:
            pass  # the shell was reset and forgot its hooks
        _shell = None


def _after_cell(result: Any = None) -> None:
    global _error
    waiting = _when_over[:]
    _when_over.clear()
    _error = getattr(result, "error_in_exec", None)
    for view, method in waiting:
        _call(view, method)
    _error = None
    if not _views:
        _stop()  # the last one was not closed: it is gone
    for view in list(_views):
        _call(view, view.refresh)


def _after_run(event: Any) -> None:
    if not _views:
        _stop()
    for view in list(_views):
        _call(view, view.on_run, event)


def _call(view: Any, method: Any, *args: Any) -> None:
    """An error in a view is shown in that view: it must break neither the cell nor the run."""
    try:
        method(*args)
    except Exception as e:
        view.failure = f"This view could not follow the graph: {type(e).__name__}: {e}"
