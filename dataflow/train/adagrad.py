"""Adagrad and its forms. Source: Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import identity, ones_like
from dataflow.ops.initializers import constant_initializer
from dataflow.ops.math import cast
from dataflow.ops.optimizer_updates import (
    apply_adagrad,
    apply_adagrad_da,
    apply_proximal_adagrad,
    sparse_apply_adagrad,
    sparse_apply_adagrad_da,
    sparse_apply_proximal_adagrad,
)
from dataflow.ops.sources import constant
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


def _positive(name: str, value: float) -> None:
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")


class AdagradOptimizer(Optimizer):
    """``accumulator += grad**2; var -= learning_rate * grad / sqrt(accumulator)``.

    Slot: ``accumulator``. Raises `ValueError` for an initial value that is not positive.
    """

    _ops = (apply_adagrad, sparse_apply_adagrad)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        _positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            dtype = var.dtype.base_dtype
            if var.get_shape().is_fully_defined():
                init: Any = constant_initializer(self._initial_accumulator_value, dtype=dtype)
                self._get_or_make_slot_with_initializer(
                    var, init, var.get_shape(), dtype, "accumulator", self._name
                )
            else:
                value = ones_like(var.initialized_value()) * self._initial_accumulator_value
                self._get_or_make_slot(var, value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")

    def _inputs(self, var: Variable) -> dict[str, Any]:
        return {
            "accum": self.get_slot(var, "accumulator"),
            "lr": self._cast(self._learning_rate_tensor, var),
        }


class ProximalAdagradOptimizer(Optimizer):
    """An Adagrad step, then shrinking towards 0 by l1 and l2 (Duchi and Singer, 2009).

    Slot: ``accumulator``. Raises `ValueError` for an initial value that is not positive.
    """

    _ops = (apply_proximal_adagrad, sparse_apply_proximal_adagrad)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        _positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l1_tensor: Any = None
        self._l2_tensor: Any = None
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            with default_graph().colocate_with(var.op):
                value = constant(
                    self._initial_accumulator_value,
                    shape=var.get_shape(),
                    dtype=var.dtype.base_dtype,
                )
            self._get_or_make_slot(var, value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._l1_tensor, self._l2_tensor = self._strengths()

    def _inputs(self, var: Variable) -> dict[str, Any]:
        return {
            "accum": self.get_slot(var, "accumulator"),
            "lr": self._cast(self._learning_rate_tensor, var),
            "l1": self._cast(self._l1_tensor, var),
            "l2": self._cast(self._l2_tensor, var),
        }


class AdagradDAOptimizer(Optimizer):
    """Adagrad with dual averaging: follows the sum of all gradients so far, and can keep zeros.

    ``global_step`` counts the steps; `minimize` must be given it too. Slots:
    ``gradient_accumulator``, ``gradient_squared_accumulator``. Raises `ValueError` for an initial
    value that is not positive.
    """

    _ops = (apply_adagrad_da, sparse_apply_adagrad_da)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        global_step: Tensor | Variable,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        _positive(
            "initial_gradient_squared_accumulator_value",
            initial_gradient_squared_accumulator_value,
        )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_gradient_squared_accumulator_value = (
            initial_gradient_squared_accumulator_value
        )
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            shape, dtype = var.get_shape(), var.dtype.base_dtype
            with default_graph().colocate_with(var.op):
                total = constant(0.0, shape=shape, dtype=dtype)
                squares = constant(
                    self._initial_gradient_squared_accumulator_value, shape=shape, dtype=dtype
                )
            self._get_or_make_slot(var, total, "gradient_accumulator", self._name)
            self._get_or_make_slot(var, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")

    def _inputs(self, var: Variable) -> dict[str, Any]:
        # The number of this step: the counter is increased after it.
        step = cast(identity(self._global_step), dtypes.int64) + 1
        slots = ("gradient_accumulator", "gradient_squared_accumulator")
        return {
            **{slot: self.get_slot(var, slot) for slot in slots},
            "lr": self._cast(self._learning_rate_tensor, var),
            "l1": self._cast(self._l1_regularization_strength, var),
            "l2": self._cast(self._l2_regularization_strength, var),
            "global_step": step,
        }
