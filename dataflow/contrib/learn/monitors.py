"""``tf.contrib.learn.monitors``: hooks that know the estimator they watch."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.learn.monitor_hooks import RunHookAdapterForMonitors
from dataflow.namespaces import explain_absent
from dataflow.train.session_run_hook import SessionRunHook

__all__ = [
    "Monitor",
    "RunHookAdapterForMonitors",
    "replace_monitors_with_hooks",
]


class Monitor(SessionRunHook):
    """A hook that is given the estimator, by `fit`, before it starts."""

    _estimator: Any = None

    def set_estimator(self, estimator: Any) -> None:
        """The estimator that is trained."""
        self._estimator = estimator


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """The hooks for a training of ``estimator``: those given, then one for all monitors, which are given it."""
    hooks: list[Any] = []
    monitors: list[Any] = []
    for each in monitors_or_hooks or ():
        is_hook = isinstance(each, SessionRunHook) and not isinstance(each, Monitor)
        (hooks if is_hook else monitors).append(each)
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        return _absent(name)
    from dataflow.contrib.learn import logging_monitors, step_monitors, validation_monitor

    for module in (step_monitors, logging_monitors, validation_monitor):
        if hasattr(module, name):
            return getattr(module, name)
    return _absent(name)


_absent = explain_absent(__name__)
