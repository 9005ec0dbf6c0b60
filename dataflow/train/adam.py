"""`AdamOptimizer`. Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.control_flow import group
from dataflow.ops.elementary import sqrt
from dataflow.ops.optimizer_updates import apply_adam, update
from dataflow.ops.resource_variables import is_resource_variable
from dataflow.ops.seeds import count_left_out
from dataflow.ops.state import assign, assign_sub, scatter_add
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class AdamOptimizer(Optimizer):
    """Steps of about ``learning_rate``, whatever the size of the gradients.

    ``alpha = learning_rate * sqrt(1 - beta2**t) / (1 - beta1**t)``, then
    ``var -= alpha * m / (sqrt(v) + epsilon)``, where m and v are moving averages of the gradient
    and of its square. The ``epsilon`` here is the paper's epsilon hat. A sparse gradient still
    lets m and v of all rows decay, and changes all rows by them, as TensorFlow's does.

    Slots: ``m``, ``v``; besides ``beta1_power`` and ``beta2_power``.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any] = 0.001,
        beta1: TensorLike | Callable[[], Any] = 0.9,
        beta2: TensorLike | Callable[[], Any] = 0.999,
        epsilon: TensorLike | Callable[[], Any] = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        graph = default_graph()
        return (
            self._get_non_slot_variable("beta1_power", graph=graph),
            self._get_non_slot_variable("beta2_power", graph=graph),
        )

    def _create_slots(self, var_list: list[Any]) -> None:
        # One variable that every process chooses alike, whatever the order of its list.
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", colocate_with=first)
        self._create_non_slot_variable(self._beta2, "beta2_power", colocate_with=first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        call = self._call_if_callable
        self._lr_t = convert_to_tensor(call(self._lr), name="learning_rate")
        self._beta1_t = convert_to_tensor(call(self._beta1), name="beta1")
        self._beta2_t = convert_to_tensor(call(self._beta2), name="beta2")
        self._epsilon_t = convert_to_tensor(call(self._epsilon), name="epsilon")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        beta1_power, beta2_power = self._get_beta_accumulators()
        return update(
            apply_adam,
            var,
            m=self.get_slot(var, "m"),
            v=self.get_slot(var, "v"),
            beta1_power=self._cast(beta1_power, var),
            beta2_power=self._cast(beta2_power, var),
            lr=self._cast(self._lr_t, var),
            beta1=self._cast(self._beta1_t, var),
            beta2=self._cast(self._beta2_t, var),
            epsilon=self._cast(self._epsilon_t, var),
            grad=grad,
            use_locking=self._use_locking,
        )

    def _moments_and_numbers(self, var: Variable) -> tuple[Any, ...]:
        """Both moments, then the rate with the bias of their first steps taken out, the betas and epsilon."""
        beta1_power, beta2_power = (self._cast(b, var) for b in self._get_beta_accumulators())
        rate, *others = (
            self._cast(value, var)
            for value in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        )
        rate = rate * sqrt(1 - beta2_power) / (1 - beta1_power)
        return self.get_slot(var, "m"), self.get_slot(var, "v"), rate, *others

    def _apply_sparse_shared(
        self, grad: Tensor, var: Variable, indices: TensorLike, scatter: Any
    ) -> Any:
        graph = default_graph()
        m, v, rate, beta1, beta2, epsilon = self._moments_and_numbers(var)
        m_rows = grad * (1 - beta1)
        m_t = assign(m, m * beta1, use_locking=self._use_locking)
        with graph.control_dependencies([m_t]):
            m_t = scatter(m, indices, m_rows)
        v_rows = (grad * grad) * (1 - beta2)
        v_t = assign(v, v * beta2, use_locking=self._use_locking)
        with graph.control_dependencies([v_t]):
            v_t = scatter(v, indices, v_rows)
        if is_resource_variable(var):
            count_left_out(-2)  # both moments are read once there
        v_sqrt = sqrt(v_t)
        update = assign_sub(var, rate * m_t / (v_sqrt + epsilon), use_locking=self._use_locking)
        return group(update, m_t, v_t)

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        return self._apply_sparse_shared(
            grad.values,
            var,
            grad.indices,
            lambda x, i, rows: scatter_add(x, i, rows, use_locking=self._use_locking),
        )

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        graph = default_graph()
        with graph.control_dependencies(update_ops):
            beta1_power, beta2_power = self._get_beta_accumulators()
            with graph.colocate_with(beta1_power.op):
                locking = self._use_locking
                update_beta1 = beta1_power.assign(beta1_power * self._beta1_t, use_locking=locking)
                update_beta2 = beta2_power.assign(beta2_power * self._beta2_t, use_locking=locking)
        return group(*update_ops, update_beta1, update_beta2, name=name_scope)
