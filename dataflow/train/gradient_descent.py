"""`GradientDescentOptimizer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.optimizer_updates import apply_gradient_descent, update
from dataflow.ops.state import scatter_sub
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class GradientDescentOptimizer(Optimizer):
    """``var -= learning_rate * grad``.

    ``learning_rate``: a number, a tensor, or a function that returns one.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        use_locking: bool = False,
        name: str = "GradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        rate = self._cast(self._learning_rate_tensor, var)
        locking = self._use_locking
        return update(apply_gradient_descent, var, alpha=rate, delta=grad, use_locking=locking)

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        # Subtracting the rows one by one is the same as summing repeated ones first.
        rate = self._cast(self._learning_rate_tensor, var)
        delta = grad.values * rate
        return scatter_sub(var, grad.indices, delta, use_locking=self._use_locking).op
