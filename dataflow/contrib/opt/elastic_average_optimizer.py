"""`ElasticAverageOptimizer`: workers that train copies of their own, tied to a center by springs."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.contrib.opt.worker_copies import (
    FirstValues,
    WorkerCopies,
    counter_of_steps,
    made_local,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.activation import l2_loss
from dataflow.ops.arithmetic import mod
from dataflow.ops.comparison import equal
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.queues import FIFOQueue
from dataflow.ops.sources import constant
from dataflow.ops.state import assign, assign_add, assign_sub
from dataflow.ops.sums import add_n
from dataflow.ops.variable_lists import trainable_variables
from dataflow.train.optimizer import Optimizer
from dataflow.train.saver import Saver


class ElasticAverageCustomGetter(WorkerCopies):
    """Makes for each trained variable a copy on the worker, the center, and the worker's copy of that."""

    beside = "local_center_variable"


def _rate(optimizer: Any) -> Any:
    rate = vars(optimizer).get("_learning_rate")
    if rate is None:
        raise ValueError(f"rho must be given: {type(optimizer).__name__} has no one learning rate.")
    return rate


class ElasticAverageOptimizer(Optimizer):
    """``opt`` on a worker's copies, which every few steps move to the center, and the center to them.

    Zhang et al., "Deep learning with Elastic Averaging SGD", 2014.

    Args:
        opt: the optimizer of the copies.
        num_worker: how many workers there are.
        ea_custom_getter: the `ElasticAverageCustomGetter` that the model was made with.
        communication_period: steps from one move to the next.
        moving_rate: the share of the difference that each moves; 0.9 / period / workers if None.
        rho: the weight of half the squared difference in the loss; the moving rate / the learning rate
            if None, for an optimizer that has one (`ValueError`).
        synchronous: whether the workers wait for each other before the first step.
    """

    BETA = 0.9

    def __init__(
        self,
        opt: Any,
        num_worker: int,
        ea_custom_getter: ElasticAverageCustomGetter,
        communication_period: int = 10,
        moving_rate: float | None = None,
        rho: float | None = None,
        use_locking: bool = True,
        synchronous: bool = False,
        name: str = "ElasticAverageOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._num_worker = num_worker
        self._period = communication_period
        self._centers, self._copies = ea_custom_getter.centers, ea_custom_getter.besides
        self._synchronous = synchronous
        if moving_rate is None:
            moving_rate = self.BETA / communication_period / num_worker
        self._moving_rate = moving_rate
        self._rho = moving_rate / _rate(opt) if rho is None else rho
        self._local_step = counter_of_steps()

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the loss and of the springs."""
        chosen = var_list or trainable_variables()
        springs = add_n([l2_loss(own - self._copies[own]) for own in chosen])
        return self._opt.compute_gradients(loss + self._rho * springs, chosen, *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The step of the optimizer inside; each period the moves, and one more in ``global_step``."""
        pairs = list(grads_and_vars)
        graph = default_graph()
        with made_local():
            applied = self._opt.apply_gradients(pairs)
        with graph.control_dependencies([applied]):
            step = assign_add(self._local_step, 1, name="local_step_update")

        def move() -> Any:
            moved = [own for grad, own in pairs if grad is not None]
            read = [assign(self._copies[own], self._centers[own].read_value()) for own in moved]
            updates = []
            with graph.control_dependencies(read):
                ways = [
                    self._moving_rate * (own.read_value() - self._copies[own].read_value())
                    for own in moved
                ]
                for own, way in zip(moved, ways, strict=True):
                    updates += [assign_sub(own, way), assign_add(self._centers[own], way)]
                if global_step is not None:
                    updates.append(assign_add(global_step, 1))
            return group(*updates)

        return cond(equal(mod(step, self._period), 0), move, no_op)

    def get_init_op(self, task_index: int) -> Any:
        """What gives the worker of this index the center's values; `ValueError` without variables.

        If ``synchronous``, it ends when all workers have done so.
        """
        variables = trainable_variables()
        if not variables:
            raise ValueError(
                "The lists of local_variables, global_center_variables, "
                "local_center_variables should not be empty"
            )
        values = [
            assign(copy, self._centers[own].read_value())
            for own in variables
            for copy in (own, self._copies[own])
        ]
        done = group(*values)
        if not self._synchronous:
            return done
        queues = [
            FIFOQueue(
                self._num_worker,
                [dtypes.bool_],
                shapes=[[]],
                shared_name=f"variable_init_sync_queue{i}",
            )
            for i in range(self._num_worker)
        ]
        with default_graph().control_dependencies([done]):
            told = [
                queue.enqueue(constant(False)) for i, queue in enumerate(queues) if i != task_index
            ]
        return group(*told, done, queues[task_index].dequeue_many(len(queues) - 1))

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> FirstValues:
        """The hook of a worker, which runs `get_init_op`."""
        del is_chief
        return FirstValues(lambda: [self.get_init_op(task_index)])

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """A `Saver` of the center's values under the names of the variables.

        Raises `RuntimeError` where the getter made none.
        """
        if not self._centers:
            raise RuntimeError(
                "global_center_variable is empty, please make sure this is called after model created "
                "and ElasticAverageCustomGetter is used when declaring you model"
            )
        chosen = trainable_variables() if var_list is None else var_list
        named = chosen if isinstance(chosen, dict) else {v.op.name: v for v in chosen}
        centers = {own.op.name: center for own, center in self._centers.items()}
        swapped = {key: centers.get(v.op.name, v) for key, v in named.items()}
        return Saver(swapped, name=name, **kwargs)
