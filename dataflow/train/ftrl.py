"""`FtrlOptimizer`. Source: McMahan et al., "Ad click prediction: a view from the trenches", 2013."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.optimizer_updates import (
    apply_ftrl,
    apply_ftrl_v2,
    sparse_apply_ftrl,
    sparse_apply_ftrl_v2,
)
from dataflow.ops.sources import constant
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader: sparse models for wide inputs (algorithm 1).

    ``l1_regularization_strength`` makes weights exactly 0, ``l2_regularization_strength`` shrinks
    them; ``l2_shrinkage_regularization_strength`` adds ``2 * strength * var`` to the gradient.
    ``learning_rate_power`` is 0 for a fixed rate, -0.5 for the paper's; ``beta`` is the paper's.

    Slots: ``accum``, ``linear``. Raises `ValueError` for a negative strength or initial value and
    for a positive power.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._ops = (apply_ftrl, sparse_apply_ftrl)
        if l2_shrinkage_regularization_strength > 0.0:
            self._ops = (apply_ftrl_v2, sparse_apply_ftrl_v2)
        self._accum_name = accum_name
        self._linear_name = linear_name
        self._learning_rate_tensor: Any = None
        self._power_tensor: Any = None
        self._l1_tensor: Any = None
        self._l2_tensor: Any = None
        self._shrinkage_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            with default_graph().colocate_with(var.op):
                value = constant(
                    self._initial_accumulator_value,
                    dtype=var.dtype.base_dtype,
                    shape=var.get_shape(),
                )
            self._get_or_make_slot(var, value, "accum", self._accum_name or self._name)
            self._zeros_slot(var, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert_to_tensor(rate, name="learning_rate")
        self._l1_tensor = convert_to_tensor(
            self._l1_regularization_strength, name="l1_regularization_strength"
        )
        l2: Any = self._l2_regularization_strength
        if self._beta:  # beta in the paper's rate is the same as this much more l2
            l2 = l2 + self._beta / (2.0 * rate)
        self._l2_tensor = convert_to_tensor(l2, name="l2_regularization_strength")
        self._shrinkage_tensor = convert_to_tensor(
            self._l2_shrinkage_regularization_strength,
            name="l2_shrinkage_regularization_strength",
        )
        self._power_tensor = convert_to_tensor(
            self._learning_rate_power, name="learning_rate_power"
        )

    def _inputs(self, var: Variable) -> dict[str, Any]:
        tensors = {"lr": self._learning_rate_tensor, "l1": self._l1_tensor, "l2": self._l2_tensor}
        if self._l2_shrinkage_regularization_strength > 0.0:
            tensors["l2_shrinkage"] = self._shrinkage_tensor
        tensors["lr_power"] = self._power_tensor
        return {
            "accum": self.get_slot(var, "accum"),
            "linear": self.get_slot(var, "linear"),
            **{name: self._cast(tensor, var) for name, tensor in tensors.items()},
        }
