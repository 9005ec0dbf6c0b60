"""`DropStaleGradientOptimizer`: gradients that took too many of others' steps are not applied."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.default_stacks import default_graph
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import less_equal
from dataflow.ops.conditionals import cond
from dataflow.ops.identity import identity
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.sources import constant
from dataflow.ops.summary import scalar
from dataflow.ops.variable_scope import get_variable
from dataflow.train.global_step import get_global_step
from dataflow.train.optimizer import Optimizer


class DropStaleGradientOptimizer(Optimizer):
    """``opt`` for gradients during whose computation at most ``staleness`` other steps were made.

    `apply_gradients` gives how many gradients were dropped so far, a float.
    """

    def __init__(
        self, opt: Any, staleness: int, use_locking: bool = False, name: str = "DropStaleGradient"
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._staleness = staleness
        self._step_before: Any = None

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the optimizer inside, of a loss that is computed after the step was read."""
        graph = default_graph()
        self._step_before = get_global_step() + 0
        with graph.control_dependencies([self._step_before]):
            return self._opt.compute_gradients(identity(loss), *args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot of the optimizer inside."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The names of the slots of the optimizer inside."""
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The step of the optimizer inside, or one more dropped."""
        pairs = list(grads_and_vars)
        graph = default_graph()
        dropped = get_variable(
            "stale_counter", [], initializer=zeros_initializer(), trainable=False
        )

        def accept() -> Any:
            applied = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
            with graph.control_dependencies([applied]):
                return constant(0.0)

        computed = [grad.op if isinstance(grad, IndexedSlices) else grad for grad, _ in pairs]
        with graph.control_dependencies([grad for grad in computed if grad is not None]):
            steps = array.reshape(global_step.read_value() - self._step_before, [])
        fresh = less_equal(steps, self._staleness)
        total = dropped.assign_add(cond(fresh, accept, lambda: constant(1.0)))
        scalar(
            "Gradient staleness percentage",
            dropped / cast(global_step + 1, dtypes.float32),
        )
        return total
