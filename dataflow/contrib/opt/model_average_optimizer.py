"""`ModelAverageOptimizer`: workers that train copies of their own, and average them every few steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.contrib.opt.worker_copies import CENTER, FirstValues, WorkerCopies, counter_of_steps
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops import array
from dataflow.ops.accumulator import ConditionalAccumulator
from dataflow.ops.arithmetic import mod
from dataflow.ops.comparison import equal
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.queues import FIFOQueue
from dataflow.ops.state import assign, assign_add
from dataflow.ops.variable_lists import trainable_variables
from dataflow.ops.variables import Variable
from dataflow.train.optimizer import Optimizer


class ModelAverageCustomGetter(WorkerCopies):
    """Makes for each trained variable a copy on the worker, and the average, which begins as that is."""

    def _centers_of(
        self, getter: Callable[..., Any], name: str, own: Any, args: Any, kwargs: Any
    ) -> list[Any]:
        return [
            Variable(
                own.initialized_value(),
                trainable=False,
                collections=[GraphKeys.GLOBAL_VARIABLES],
                name=f"{CENTER}/{name}",
            )
        ]


class ModelAverageOptimizer(Optimizer):
    """``opt`` on a worker's copies, which after every ``interval_steps`` become all workers' average.

    ``num_worker`` workers take part; one is the chief, who sets the averages. ``ma_custom_getter`` is the
    `ModelAverageCustomGetter` that the model was made with.
    """

    def __init__(
        self,
        opt: Any,
        num_worker: int,
        is_chief: bool,
        ma_custom_getter: ModelAverageCustomGetter,
        interval_steps: int = 100,
        use_locking: bool = True,
        name: str = "ModelAverageOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._num_worker = num_worker
        self._is_chief = is_chief
        self._centers = ma_custom_getter.centers
        self._interval_steps = interval_steps
        self._chief_init_op: Any = None
        self._local_step = counter_of_steps()

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the optimizer inside."""
        return self._opt.compute_gradients(*args, **kwargs)

    def _read_averages(self, variables: list[Any]) -> Any:
        if not variables:
            raise ValueError("The list of local_variables should not be empty")
        return group(*(assign(own, self._centers[own].read_value()) for own in variables))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The worker's step; each interval the averages, and one more in ``global_step``.

        Raises `ValueError` without gradients, or without a global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required")
        graph = default_graph()
        applied = self._opt.apply_gradients(pairs)
        with graph.control_dependencies([applied]):
            step = assign_add(self._local_step, 1, name="local_step_update")
        variables = [own for grad, own in pairs if grad is not None]
        with graph.name_scope(f"{self.get_name()}/global"):
            sums = [
                ConditionalAccumulator(
                    own.dtype.base_dtype,
                    shape=own.shape,
                    shared_name=f"{self._centers[own].name}/var_accum",
                )
                for own in variables
            ]
            waiting = FIFOQueue(-1, [dtypes.bool_], shapes=[[]], shared_name="sync_queue")

        def average() -> Any:
            given = [
                of.apply_grad(own.read_value(), local_step=global_step)
                for of, own in zip(sums, variables, strict=True)
            ]
            with graph.control_dependencies(given):
                together = self._set_averages(sums, variables, global_step, waiting)
            with graph.control_dependencies([together]):
                return self._read_averages(variables)

        averaged = cond(equal(mod(step, self._interval_steps), 0), average, no_op)
        self._chief_init_op = group(
            *(of.set_global_step(global_step, name="SetGlobalStep") for of in sums)
        )
        return averaged

    def _set_averages(
        self, sums: list[Any], variables: list[Any], global_step: Any, waiting: Any
    ) -> Any:
        """The chief takes the averages and lets the others go on; they wait for that."""
        if not self._is_chief:
            return waiting.dequeue()
        updates = [
            assign(self._centers[own], of.take_grad(self._num_worker))
            for of, own in zip(sums, variables, strict=True)
        ]
        updates.append(assign_add(global_step, 1))
        with default_graph().control_dependencies(updates):
            return waiting.enqueue_many(array.fill([self._num_worker - 1], False))

    def get_init_op(self) -> Any:
        """What gives the worker's copies the averages' values; `ValueError` without variables."""
        return self._read_averages(trainable_variables())

    def make_session_run_hook(self) -> FirstValues:
        """The hook of a worker, which runs `get_init_op`; made after `apply_gradients`."""
        chief = [self._chief_init_op] if self._is_chief else []
        return FirstValues(lambda: [*chief, self.get_init_op()])
