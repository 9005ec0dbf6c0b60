"""Steps by whether gradient and average agree. Source: Bello et al., "Neural optimizer search", 2017."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import gather
from dataflow.ops.control_flow import group
from dataflow.ops.math import cast, pow_, sign
from dataflow.ops.state import assign, assign_sub, scatter_add, scatter_sub
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class _SignOptimizer(Optimizer):
    """Slot: ``m``, the moving average of the gradient."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        beta: TensorLike,
        sign_decay_fn: Any,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta = learning_rate, beta
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay: Any = None
        self._lr_t: Any = None
        self._beta_t: Any = None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """As of every optimizer; the decay of the signs follows ``global_step``."""
        if self._sign_decay_fn is not None:
            self._sign_decay = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyperparameter(self._lr, "learning_rate")
        self._beta_t = self._hyperparameter(self._beta, "beta")

    def _scale(self, agreement: Any) -> Any:
        raise NotImplementedError

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        beta, m = self._cast(self._beta_t, var), self.get_slot(var, "m")
        new_m = beta * m + (1 - beta) * grad
        step = self._step(grad, new_m, var)
        with default_graph().control_dependencies([step]):
            return group(
                assign(m, new_m, use_locking=self._use_locking),
                assign_sub(var, step, use_locking=self._use_locking),
            )

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        beta, m = self._cast(self._beta_t, var), self.get_slot(var, "m")
        locking: Any = {"use_locking": self._use_locking}
        decayed = assign(m, beta * m, **locking)  # of all rows; those with a gradient move
        with default_graph().control_dependencies([decayed]):
            new_m = scatter_add(m, grad.indices, (1 - beta) * grad.values, **locking)
        step = self._step(grad.values, gather(new_m, grad.indices), var)
        return group(new_m, scatter_sub(var, grad.indices, step, **locking))

    def _step(self, grad: Any, average: Any, var: Variable) -> Any:
        agreement = sign(grad) * sign(average)
        if self._sign_decay is not None:
            agreement = cast(self._sign_decay, agreement.dtype) * agreement
        return self._cast(self._lr_t, var) * self._scale(agreement) * grad


class AddSignOptimizer(_SignOptimizer):
    """``var -= learning_rate * (alpha + sign(g) sign(m)) * g``, m the moving average of g.

    ``sign_decay_fn(global_step)`` weighs the signs: `get_linear_decay_fn` and its like make one.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any] = 0.1,
        alpha: float = 1.0,
        beta: TensorLike = 0.9,
        sign_decay_fn: Any = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _scale(self, agreement: Any) -> Any:
        return agreement + self._alpha


class PowerSignOptimizer(_SignOptimizer):
    """``var -= learning_rate * base ** (sign(g) sign(m)) * g``, m the moving average of g.

    ``sign_decay_fn(global_step)`` weighs the signs: `get_linear_decay_fn` and its like make one.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any] = 0.1,
        base: float = math.e,
        beta: TensorLike = 0.9,
        sign_decay_fn: Any = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._base = base

    def _scale(self, agreement: Any) -> Any:
        return pow_(cast(self._base, agreement.dtype), agreement)
