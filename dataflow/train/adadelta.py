"""`AdadeltaOptimizer`. Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.optimizer_updates import apply_adadelta, sparse_apply_adadelta
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class AdadeltaOptimizer(Optimizer):
    """Steps as long as the recent ones, relative to the recent gradients (algorithm 1).

    Slots: ``accum``, ``accum_update``: moving means of the squares of gradients and of steps. The
    paper's form has a ``learning_rate`` of 1.
    """

    _ops = (apply_adadelta, sparse_apply_adadelta)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any] = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._rho_t: Any = None
        self._epsilon_t: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        call = self._call_if_callable
        self._lr_t = convert_to_tensor(call(self._lr), name="lr")
        self._rho_t = convert_to_tensor(call(self._rho), name="rho")
        self._epsilon_t = convert_to_tensor(call(self._epsilon), name="epsilon")

    def _inputs(self, var: Variable) -> dict[str, Any]:
        return {
            "accum": self.get_slot(var, "accum"),
            "accum_update": self.get_slot(var, "accum_update"),
            "lr": self._cast(self._lr_t, var),
            "rho": self._cast(self._rho_t, var),
            "epsilon": self._cast(self._epsilon_t, var),
        }
