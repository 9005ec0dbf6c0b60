"""Rules of `tf.keras.optimizers` by which variables follow their gradients, and their base class."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.keras import backend as K
from dataflow.keras.base_optimizer import Optimizer
from dataflow.layers.serialization import serialize as serialize
from dataflow.ops.array import identity
from dataflow.ops.control_flow import group
from dataflow.ops.elementary import sqrt, square
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.initializers import Constant
from dataflow.ops.optimizer_updates import (
    apply_adadelta,
    apply_adagrad_v2,
    apply_centered_rms_prop,
    apply_ftrl,
    apply_ftrl_v2,
    apply_gradient_descent,
    apply_keras_momentum,
    apply_rms_prop,
    sparse_apply_adadelta,
    sparse_apply_adagrad_v2,
    sparse_apply_centered_rms_prop,
    sparse_apply_ftrl,
    sparse_apply_ftrl_v2,
    sparse_apply_keras_momentum,
    sparse_apply_rms_prop,
    update,
)
from dataflow.ops.resource_variables import is_resource_variable
from dataflow.ops.state import assign, assign_add, assign_sub


class Rule(Optimizer):
    """A rule with a learning rate: its settings that become variables, slots, and coefficients."""

    #: The slots, each made for all variables before the next.
    _slots: tuple[str, ...] = ()

    def __init__(
        self, learning_rate: Any, name: str, kwargs: dict[str, Any], **settings: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        for key, value in settings.items():
            self._set_hyper(key, value)

    def _create_slots(self, var_list: list[Any]) -> None:
        for slot in self._slots:
            for var in var_list:
                self.add_slot(var, slot)

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        values = apply_state[(var_device, var_dtype)]
        for key in self._hyper.keys() - {"learning_rate", "decay"}:
            values[key] = identity(self._get_hyper(key, var_dtype))
        if "epsilon" in vars(self):
            values["epsilon"] = convert_to_tensor(self.epsilon, var_dtype)

    def _slots_of(self, var: Any) -> list[Any]:
        return [self.get_slot(var, slot) for slot in self._slots]

    def _decay_and_add(self, slot: Any, part: Any, rows: Any, indices: Any) -> Any:
        """The slot times ``part``, after ``rows`` were added to those rows."""
        with control_dependencies([assign(slot, slot * part)]):
            return self._resource_scatter_add(slot, indices, rows)

    def get_config(self) -> dict[str, Any]:
        """The settings, with the learning rate as it is now."""
        config = super().get_config()
        settings = {key: self._serialize_hyperparameter(key) for key in self._hyper}
        return {"name": config.pop("name"), **settings, **self._constants(), **config}

    def _constants(self) -> dict[str, Any]:
        """The settings that stay Python numbers or bools."""
        return {}


class SGD(Rule):
    """Gradient descent, with momentum (Nesterov's) if asked for."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        super().__init__(learning_rate, name, kwargs, momentum=momentum)
        self._momentum = not isinstance(momentum, (int, float)) or momentum > 0
        self._slots = ("momentum",) if self._momentum else ()
        self.nesterov = nesterov

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        if not self._momentum:
            return update(apply_gradient_descent, var, alpha=c["lr_t"], delta=grad)
        slot = self.get_slot(var, "momentum")
        if is_resource_variable(var):
            return apply_keras_momentum(
                var.handle,
                slot.handle,
                c["lr_t"],
                grad,
                c["momentum"],
                use_locking=True,
                use_nesterov=self.nesterov,
            )
        step = assign(slot, c["momentum"] * slot - c["lr_t"] * grad)
        step = c["momentum"] * step - c["lr_t"] * grad if self.nesterov else step
        return assign_add(var, step).op

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, var: Any, indices: Any, **kwargs: Any
    ) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, var, indices, **kwargs)
        rate = self._coefficients(var, kwargs.get("apply_state"))["lr_t"]
        return self._resource_scatter_add(var, indices, -grad * rate).op

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        c = self._coefficients(var, apply_state)
        return sparse_apply_keras_momentum(
            var.handle,
            self.get_slot(var, "momentum").handle,
            c["lr_t"],
            grad,
            indices,
            c["momentum"],
            use_locking=True,
            use_nesterov=self.nesterov,
        )

    def _constants(self) -> dict[str, Any]:
        return {"nesterov": self.nesterov}


class Adagrad(Rule):
    """Duchi et al. 2011."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: Any = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(
                f"initial_accumulator_value must be non-negative: {initial_accumulator_value}"
            )
        super().__init__(learning_rate, name, kwargs)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon_or_default(epsilon)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value))

    def _inputs(self, var: Any, apply_state: Any) -> dict[str, Any]:
        c = self._coefficients(var, apply_state)
        accum = self.get_slot(var, "accumulator")
        return {"accum": accum, "lr": c["lr_t"], "epsilon": c["epsilon"]}

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        inputs = self._inputs(var, apply_state)
        return update(apply_adagrad_v2, var, **inputs, grad=grad, use_locking=True)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        given = {**self._inputs(var, apply_state), "grad": grad, "indices": indices}
        return update(sparse_apply_adagrad_v2, var, **given, use_locking=True)

    def _constants(self) -> dict[str, Any]:
        start = self._initial_accumulator_value
        return {"initial_accumulator_value": start, "epsilon": self.epsilon}


class Adadelta(Rule):
    """Zeiler 2012."""

    _slots = ("accum_grad", "accum_var")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: Any = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, name, kwargs, rho=rho)
        self.epsilon = epsilon_or_default(epsilon)

    def _inputs(self, var: Any, apply_state: Any) -> dict[str, Any]:
        c = self._coefficients(var, apply_state)
        accum, accum_update = self._slots_of(var)
        slots = {"accum": accum, "accum_update": accum_update}
        return {**slots, "lr": c["lr_t"], "rho": c["rho"], "epsilon": c["epsilon"]}

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        inputs = self._inputs(var, apply_state)
        return update(apply_adadelta, var, **inputs, grad=grad, use_locking=True)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        given = {**self._inputs(var, apply_state), "grad": grad, "indices": indices}
        return update(sparse_apply_adadelta, var, **given, use_locking=True)

    def _constants(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}


class RMSprop(Rule):
    """Tieleman and Hinton 2012; without momentum, epsilon is added after the root."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: Any = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        super().__init__(learning_rate, name, kwargs, rho=rho, momentum=momentum)
        self._momentum = not isinstance(momentum, (int, float)) or momentum > 0
        self.epsilon = epsilon_or_default(epsilon)
        self.centered = centered
        wanted = {"rms": True, "momentum": self._momentum, "mg": centered}
        self._slots = tuple(slot for slot, needed in wanted.items() if needed)

    def _with_momentum(self, grad: Any, var: Any, c: dict[str, Any], **rows: Any) -> Any:
        names = {"rms": "ms", "momentum": "mom", "mg": "mg"}
        slots = {names[slot]: self.get_slot(var, slot) for slot in self._slots}
        dense = apply_centered_rms_prop if self.centered else apply_rms_prop
        sparse = sparse_apply_centered_rms_prop if self.centered else sparse_apply_rms_prop
        numbers = {key: c[key] for key in ("rho", "momentum", "epsilon")}
        op = sparse if rows else dense
        given = {**slots, "lr": c["lr_t"], **numbers, "grad": grad, **rows}
        return update(op, var, **given, use_locking=True)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        if self._momentum:
            return self._with_momentum(grad, var, c)
        rms, rho = self.get_slot(var, "rms"), c["rho"]
        spread = assign(rms, rho * rms + (1 - rho) * square(grad))
        if self.centered:
            mg = self.get_slot(var, "mg")
            spread = spread - square(assign(mg, rho * mg + (1 - rho) * grad))
        return assign_sub(var, c["lr_t"] * grad / (sqrt(spread) + c["epsilon"])).op

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        c = self._coefficients(var, apply_state)
        if self._momentum:
            return self._with_momentum(grad, var, c, indices=indices)
        rest = 1 - c["rho"]
        rms = self._decay_and_add(self.get_slot(var, "rms"), c["rho"], grad * grad * rest, indices)
        spread = self._rows(rms, indices)
        if self.centered:
            mg = self._decay_and_add(self.get_slot(var, "mg"), c["rho"], grad * rest, indices)
            spread = spread - square(self._rows(mg, indices))
        step = c["lr_t"] * grad / (sqrt(spread) + c["epsilon"])
        return group(self._resource_scatter_add(var, indices, -step), rms)

    def _constants(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "centered": self.centered}


class Ftrl(Rule):
    """McMahan et al. 2013."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate,
            name,
            kwargs,
            learning_rate_power=learning_rate_power,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value))
            self.add_slot(var, "linear")

    def _changed(self, op: Any, op_v2: Any, var: Any, apply_state: Any, **given: Any) -> Any:
        c = self._coefficients(var, apply_state)
        shrinkage = self._l2_shrinkage_regularization_strength
        accum, linear = (self.get_slot(var, slot) for slot in ("accumulator", "linear"))
        given |= {"accum": accum, "linear": linear, "lr": c["lr_t"]}
        given |= {"l1": c["l1_regularization_strength"], "l2": c["l2_regularization_strength"]}
        given["lr_power"] = c["learning_rate_power"]
        if shrinkage > 0.0:
            given["l2_shrinkage"] = convert_to_tensor(shrinkage, var.dtype.base_dtype)
        return update(op_v2 if shrinkage > 0.0 else op, var, **given, use_locking=True)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        return self._changed(apply_ftrl, apply_ftrl_v2, var, apply_state, grad=grad)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        rows = {"grad": grad, "indices": indices}
        return self._changed(sparse_apply_ftrl, sparse_apply_ftrl_v2, var, apply_state, **rows)

    def _constants(self) -> dict[str, Any]:
        return {
            "initial_accumulator_value": self._initial_accumulator_value,
            "l2_shrinkage_regularization_strength": self._l2_shrinkage_regularization_strength,
        }


def epsilon_or_default(value: Any) -> float:
    return K.epsilon() if value is None else float(value)
