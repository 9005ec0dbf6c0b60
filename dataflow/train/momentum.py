"""`MomentumOptimizer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.optimizer_updates import apply_momentum, sparse_apply_momentum
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class MomentumOptimizer(Optimizer):
    """``accum = momentum * accum + grad; var -= learning_rate * accum``.

    With ``use_nesterov``, ``var -= learning_rate * (grad + momentum * accum)`` (Sutskever et al.,
    2013). Slot: ``momentum``.
    """

    _ops = (apply_momentum, sparse_apply_momentum)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov
        self._learning_rate_tensor: Any = None
        self._momentum_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._hyperparameter(self._momentum, "momentum")

    def _inputs(self, var: Variable) -> dict[str, Any]:
        return {
            "accum": self.get_slot(var, "momentum"),
            "lr": self._cast(self._learning_rate_tensor, var),
            "momentum": self._cast(self._momentum_tensor, var),
            "use_nesterov": self._use_nesterov,
        }
