"""Decorators and questions of ``tensorflow.python.framework.test_util`` that tests of programs use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dataflow.graph.graph import Graph
from dataflow.test import TestCase as TensorFlowTestCase, is_gpu_available

__all__ = [
    "TensorFlowTestCase",
    "is_gpu_available",
    "is_xla_enabled",
    "run_all_in_graph_and_eager_modes",
    "run_all_in_graph_mode_only",
    "run_deprecated_v1",
    "run_in_graph_and_eager_modes",
    "run_v1_only",
]


def run_in_graph_and_eager_modes(
    func: Callable[..., Any] | None = None, config: Any = None, use_gpu: bool = True, **kwargs: Any
) -> Any:
    """A test method runs in a graph and session of its own, once: there is no eager mode."""
    if func is None:
        return functools.partial(
            run_in_graph_and_eager_modes, config=config, use_gpu=use_gpu, **kwargs
        )

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        with Graph().as_default(), self.test_session(use_gpu=use_gpu, config=config):
            func(self, *args, **kwargs)

    return run


def _as_it_is(reason: Any = None) -> Any:
    """For ``@run_v1_only("why")`` and ``@run_deprecated_v1``: what is decorated stays as it is."""
    return reason if callable(reason) else lambda decorated: decorated


run_v1_only = run_deprecated_v1 = run_all_in_graph_mode_only = _as_it_is
disable_xla = build_as_function_and_v1_graph = _as_it_is


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Every test method of the class runs in a graph and session of its own."""
    for name, value in list(vars(cls).items()):
        if name.startswith("test") and name != "test_session" and callable(value):
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def is_xla_enabled() -> bool:
    """Whether XLA compiles graphs: never."""
    return False


IsMklEnabled = is_xla_enabled


def InstallStackTraceHandler() -> None:
    """Nothing to do: Python prints its own traces."""
