"""``tf.contrib.learn.monitors``: hooks that know the estimator they watch."""

from __future__ import annotations

from typing import Any

from dataflow.namespaces import explain_absent
from dataflow.train.hooks import StopAtStepHook
from dataflow.train.session_run_hook import SessionRunHook

__all__ = [
    "Monitor",
    "StopAtStep",
    "replace_monitors_with_hooks",
]

StopAtStep = StopAtStepHook


class Monitor(SessionRunHook):
    """A hook that is given the estimator, by `fit`, before it starts."""

    _estimator: Any = None

    def set_estimator(self, estimator: Any) -> None:
        """The estimator that is trained."""
        self._estimator = estimator


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """The hooks for a training of ``estimator``: monitors are hooks here, and are given it."""
    hooks = list(monitors_or_hooks or [])
    for hook in hooks:
        if isinstance(hook, Monitor):
            hook.set_estimator(estimator)
    return hooks


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        return _absent(name)
    from dataflow.contrib.learn import logging_monitors, step_monitors, validation_monitor

    for module in (step_monitors, logging_monitors, validation_monitor):
        if hasattr(module, name):
            return getattr(module, name)
    return _absent(name)


_absent = explain_absent(__name__)
