"""A hook that evaluates a model within its training, without a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.estimator.estimator import Estimator
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.ops.control_flow import group
from dataflow.ops.sources import placeholder
from dataflow.ops.state import assign
from dataflow.train.hooks import SecondOrStepTimer
from dataflow.train.scaffold import Scaffold
from dataflow.train.session_run_hook import SessionRunContext, SessionRunHook


class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates before the training, after every ``every_n_iter`` of its steps, and at its end.

    A hook for ``estimator.train``: the training's variables are copied into a graph of the evaluation, which is
    built once. ``input_fn``, ``steps``, ``hooks`` and ``name`` are those of ``estimator.evaluate``. Raises
    `ValueError` where ``every_n_iter`` is not positive, where the estimator trains on several machines, and, when
    the training begins, for a scaffold with its own saver or ``init_fn`` and for saveables besides variables.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Any = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(
                f"invalid every_n_iter={every_n_iter}: it must be a positive number of steps."
            )
        config = estimator.config
        if config.num_ps_replicas > 0 or config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator = estimator
        self._input_fn = input_fn
        self._steps = steps
        self._hooks = hooks
        self._name = name
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        """Builds the graph of the evaluation."""
        self._timer.reset()
        self._count = 0
        self._graph = Graph()
        with self._graph.as_default():
            self._evaluation = self._estimator.build_evaluation(
                self._input_fn, self._steps, self._hooks
            )
            self._scaffold = self._evaluation.scaffold or Scaffold()
            if self._scaffold.saver is not None:
                raise ValueError("InMemoryEvaluator does not support custom saver")
            if self._scaffold.init_fn is not None:
                raise ValueError("InMemoryEvaluator does not support custom init_fn")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Evaluates the model as the training finds it."""
        if default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError(
                "InMemoryEvaluator does not support saveables other than global variables."
            )
        mine = {v.name: v for v in self._graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
        trained = {v.name: v for v in default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)}
        self._trained = {name: trained[name] for name in mine if name in trained}
        with self._graph.as_default():
            self._values = {
                name: placeholder(mine[name].dtype.base_dtype, mine[name].shape)
                for name in self._trained
            }
            self._copy = group(*[assign(mine[name], value) for name, value in self._values.items()])
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        """Evaluates the model after every ``every_n_iter`` steps."""
        self._count += 1
        if self._timer.should_trigger_for_step(self._count):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        """Evaluates the model as the training leaves it."""
        self._evaluate(session)

    def _evaluate(self, training: Any) -> None:
        values = training.run(self._trained)
        feeds = {self._values[name]: value for name, value in values.items()}

        def copy_variables(scaffold: Any, session: Any) -> None:
            session.run(self._copy, feeds)

        scaffold = Scaffold(init_fn=copy_variables, copy_from_scaffold=self._scaffold)
        with self._graph.as_default():
            self._estimator.run_evaluation(self._evaluation, scaffold, None, self._name)
        self._timer.update_last_triggered_step(self._count)
