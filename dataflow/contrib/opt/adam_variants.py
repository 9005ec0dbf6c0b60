"""Relatives of Adam: lazy for rows, with Nesterov's momentum, with the infinity norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import gather
from dataflow.ops.control_flow import group
from dataflow.ops.math import abs_, maximum, sqrt
from dataflow.ops.state import assign, assign_sub, scatter_sub, scatter_update
from dataflow.train.adam import AdamOptimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class LazyAdamOptimizer(AdamOptimizer):
    """Adam whose rows without a gradient stay as they are, their averages, too.

    `AdamOptimizer` lets all rows decay in every step; for large embeddings this one is much cheaper, and its
    results differ.
    """

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        m, v, rate, beta1, beta2, epsilon = self._moments_and_numbers(var)
        rows, values = grad.indices, grad.values
        m_rows = beta1 * gather(m, rows) + (1 - beta1) * values
        v_rows = beta2 * gather(v, rows) + (1 - beta2) * values * values
        step = rate * m_rows / (sqrt(v_rows) + epsilon)
        with default_graph().control_dependencies([step]):  # both averages are read by then
            return group(
                scatter_update(m, rows, m_rows, use_locking=self._use_locking),
                scatter_update(v, rows, v_rows, use_locking=self._use_locking),
                scatter_sub(var, rows, step, use_locking=self._use_locking),
            )


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat 2016): ``m`` is taken one step further in the update."""

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        return self._step(grad, var, None)

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        return self._step(grad.values, var, grad.indices)

    def _step(self, grad: Any, var: Variable, rows: Any) -> Any:
        m, v, rate, beta1, beta2, epsilon = self._moments_and_numbers(var)
        locking: Any = {"use_locking": self._use_locking}
        if rows is None:
            new_m = beta1 * m + (1 - beta1) * grad
            new_v = beta2 * v + (1 - beta2) * grad * grad
            step = rate * (beta1 * new_m + (1 - beta1) * grad) / (sqrt(new_v) + epsilon)
            with default_graph().control_dependencies([step]):
                return group(
                    assign(m, new_m, **locking),
                    assign(v, new_v, **locking),
                    assign_sub(var, step, **locking),
                )
        # The averages of all rows decay, as Adam's do; only the rows with a gradient move.
        m_rows = beta1 * gather(m, rows) + (1 - beta1) * grad
        v_rows = beta2 * gather(v, rows) + (1 - beta2) * grad * grad
        step = rate * (beta1 * m_rows + (1 - beta1) * grad) / (sqrt(v_rows) + epsilon)
        with default_graph().control_dependencies([step]):
            decayed = [assign(m, beta1 * m, **locking), assign(v, beta2 * v, **locking)]
        with default_graph().control_dependencies(decayed):
            return group(
                scatter_update(m, rows, m_rows, **locking),
                scatter_update(v, rows, v_rows, **locking),
                scatter_sub(var, rows, step, **locking),
            )


class AdaMaxOptimizer(AdamOptimizer):
    """Adam with the infinity norm: ``v = max(beta2 * v, |g|)`` (Kingma and Ba 2015, section 7.1)."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any] = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        return self._step(grad, var, None)

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        return self._step(grad.values, var, grad.indices)

    def _create_slots(self, var_list: list[Variable]) -> None:
        # `beta2` has no power in this rule, and so no variable.
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power", graph=default_graph())

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        graph, power = default_graph(), self._get_beta_accumulators()
        with graph.control_dependencies(update_ops), graph.colocate_with(power.op):
            grown = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return group(*update_ops, grown, name=name_scope)

    def _step(self, grad: Any, var: Variable, rows: Any) -> Any:
        beta1_power = self._cast(self._get_beta_accumulators(), var)
        rate, beta1, beta2, epsilon = (
            self._cast(value, var)
            for value in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        )
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        old_m, old_v = (m, v) if rows is None else (gather(m, rows), gather(v, rows))
        new_m = beta1 * old_m + (1 - beta1) * grad
        new_v = maximum(beta2 * old_v, abs_(grad))
        step = rate / (1 - beta1_power) * new_m / (new_v + epsilon)
        locking: Any = {"use_locking": self._use_locking}
        with default_graph().control_dependencies([step]):
            if rows is None:
                return group(
                    assign(m, new_m, **locking),
                    assign(v, new_v, **locking),
                    assign_sub(var, step, **locking),
                )
            return group(
                scatter_update(m, rows, new_m, **locking),
                scatter_update(v, rows, new_v, **locking),
                scatter_sub(var, rows, step, **locking),
            )
