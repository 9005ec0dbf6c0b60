"""`RMSPropOptimizer`. Source: Tieleman and Hinton, "Neural networks for machine learning", 6e, 2012.

The centered form is Graves', "Generating sequences with recurrent neural networks", 2013, eq. 38.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import ones_like
from dataflow.ops.initializers import ones_initializer
from dataflow.ops.optimizer_updates import (
    apply_centered_rms_prop,
    apply_rms_prop,
    sparse_apply_centered_rms_prop,
    sparse_apply_rms_prop,
)
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class RMSPropOptimizer(Optimizer):
    """A momentum step with the gradient divided by the root of its recent mean square.

    ``rms = decay * rms + (1 - decay) * grad**2``,
    ``mom = momentum * mom + learning_rate * grad / sqrt(rms + epsilon)``, ``var -= mom``. With
    ``centered``, rms less the square of the mean gradient takes its place.

    Slots: ``rms`` (starts with ones), ``momentum``, and ``mg`` where centered.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._ops = (apply_rms_prop, sparse_apply_rms_prop)
        if centered:
            self._ops = (apply_centered_rms_prop, sparse_apply_centered_rms_prop)
        self._learning_rate_tensor: Any = None
        self._decay_tensor: Any = None
        self._momentum_tensor: Any = None
        self._epsilon_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            dtype = var.dtype.base_dtype
            if var.get_shape().is_fully_defined():
                self._get_or_make_slot_with_initializer(
                    var, ones_initializer(dtype=dtype), var.get_shape(), dtype, "rms", self._name
                )
            else:
                self._get_or_make_slot(var, ones_like(var.initialized_value()), "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        call = self._call_if_callable
        self._learning_rate_tensor = convert_to_tensor(
            call(self._learning_rate), name="learning_rate"
        )
        self._decay_tensor = convert_to_tensor(call(self._decay), name="decay")
        self._momentum_tensor = convert_to_tensor(call(self._momentum), name="momentum")
        self._epsilon_tensor = convert_to_tensor(call(self._epsilon), name="epsilon")

    def _inputs(self, var: Variable) -> dict[str, Any]:
        slots = {"mg": "mg"} if self._centered else {}
        slots |= {"ms": "rms", "mom": "momentum"}
        return {
            **{name: self.get_slot(var, slot) for name, slot in slots.items()},
            "lr": self._cast(self._learning_rate_tensor, var),
            "rho": self._cast(self._decay_tensor, var),
            "momentum": self._cast(self._momentum_tensor, var),
            "epsilon": self._cast(self._epsilon_tensor, var),
        }
