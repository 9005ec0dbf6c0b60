"""`ProximalGradientDescentOptimizer`. Source: Duchi and Singer, "Efficient learning using
forward-backward splitting", 2009."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.optimizer_updates import (
    apply_proximal_gradient_descent,
    sparse_apply_proximal_gradient_descent,
    update,
)
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class ProximalGradientDescentOptimizer(Optimizer):
    """A gradient step, then shrinking towards 0 by l1 and l2. No slots."""

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._learning_rate_tensor: Any = None
        self._l1_tensor: Any = None
        self._l2_tensor: Any = None

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._l1_tensor, self._l2_tensor = self._strengths()

    def _scalars(self, var: Variable) -> dict[str, Any]:
        tensors = [self._learning_rate_tensor, self._l1_tensor, self._l2_tensor]
        return {n: self._cast(t, var) for n, t in zip(("alpha", "l1", "l2"), tensors, strict=True)}

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        scalars = self._scalars(var)
        locking = self._use_locking
        return update(
            apply_proximal_gradient_descent, var, **scalars, delta=grad, use_locking=locking
        )

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        rows = {"grad": grad.values, "indices": grad.indices}
        return update(
            sparse_apply_proximal_gradient_descent,
            var,
            **self._scalars(var),
            **rows,
            use_locking=self._use_locking,
        )
