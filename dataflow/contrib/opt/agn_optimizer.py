"""`AGNOptimizer`: workers that send the gradients of several steps at once."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.opt.worker_copies import (
    FirstValues,
    WorkerCopies,
    counter_of_steps,
    made_local,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.ops import array
from dataflow.ops.arithmetic import mod
from dataflow.ops.comparison import equal
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.state import assign, assign_add
from dataflow.ops.variable_lists import trainable_variables
from dataflow.train.optimizer import Optimizer


class AGNCustomGetter(WorkerCopies):
    """Makes for each trained variable a copy on the worker, the center, and a sum of gradients."""

    beside = "grad_variable"


class AGNOptimizer(Optimizer):
    """Accumulated Gradient Normalization: a worker trains by itself, then moves the center.

    After ``communication_period`` steps of ``optimizer`` on the worker's copies it applies the mean of
    their gradients to the center, and the copies get the center's values. Hermans et al., "Accumulated
    Gradient Normalization", 2017. ``custom_getter``: the `AGNCustomGetter` that the model was made with.
    """

    def __init__(
        self,
        optimizer: Any,
        num_worker: int,
        custom_getter: AGNCustomGetter,
        communication_period: int = 10,
        use_locking: bool = True,
        name: str = "AGNOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = optimizer
        self._num_worker = num_worker
        self._period = communication_period
        self._centers, self._sums = custom_getter.centers, custom_getter.besides
        self._local_step = counter_of_steps()

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The worker's step; each period the center's, and one more in ``global_step``."""
        pairs = [(grad, own) for grad, own in grads_and_vars if grad is not None]
        graph = default_graph()
        with made_local():
            applied = self._opt.apply_gradients(pairs)
        summed = [assign_add(self._sums[own], grad) for grad, own in pairs]
        step = assign_add(self._local_step, 1, name="local_step_update")

        def move() -> Any:
            means = [self._sums[own].read_value() / self._period for _, own in pairs]
            to_center = self._opt.apply_gradients(
                [(mean, self._centers[own]) for mean, (_, own) in zip(means, pairs, strict=True)]
            )
            with graph.control_dependencies([to_center]):
                updates = [assign(own, self._centers[own].read_value()) for _, own in pairs]
                updates += [
                    assign(self._sums[own], array.zeros_like(self._sums[own])) for _, own in pairs
                ]
                if global_step is not None:
                    updates.append(assign_add(global_step, 1))
            return group(*updates)

        with graph.control_dependencies([applied, *summed]):
            return cond(equal(mod(step, self._period), 0), move, no_op)

    def get_init_op(self, task_index: int) -> Any:
        """What gives the worker the center's values, and sums of zero; `ValueError` without variables."""
        del task_index
        variables = trainable_variables()
        if not variables:
            raise ValueError(
                "The lists of local_variables, global_center_variables, grad_center_variables "
                "should not be empty"
            )
        values = [assign(own, self._centers[own].read_value()) for own in variables]
        zeros = [assign(self._sums[own], array.zeros_like(self._sums[own])) for own in variables]
        return group(*values, *zeros)

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> FirstValues:
        """The hook of a worker, which runs `get_init_op`."""
        del is_chief
        return FirstValues(lambda: [self.get_init_op(task_index)])
