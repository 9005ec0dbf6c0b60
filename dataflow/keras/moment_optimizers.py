"""Rules of `tf.keras.optimizers` with moving averages of the gradient: Adam and its kin."""

from __future__ import annotations

from typing import Any

from dataflow.keras.optimizer_rules import Rule, epsilon_or_default
from dataflow.layers.serialization import serialize as serialize
from dataflow.ops.array import identity
from dataflow.ops.control_flow import group
from dataflow.ops.elementary import abs_, sqrt, square
from dataflow.ops.math import cast, maximum, pow_
from dataflow.ops.optimizer_updates import (
    apply_ada_max,
    apply_adam,
    apply_adam_with_amsgrad,
    update,
)
from dataflow.ops.resource_variables import is_resource_variable
from dataflow.ops.state import assign, assign_sub


class OfMoments(Rule):
    """With moving averages, whose settings are ``beta_1`` and ``beta_2``."""

    _slots: tuple[str, ...] = ("m", "v")

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        values = apply_state[(var_device, var_dtype)]
        step = cast(self.iterations + 1, var_dtype)
        for key in ("beta_1", "beta_2"):
            values[f"{key}_power"] = pow_(values[key], step)

    def _constants(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}


class Adam(OfMoments):
    """Kingma and Ba 2015; with ``amsgrad``, Reddi et al. 2018."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: Any = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, name, kwargs, beta_1=beta_1, beta_2=beta_2)
        self.epsilon = epsilon_or_default(epsilon)
        self.amsgrad = amsgrad
        if amsgrad:
            self._slots = ("m", "v", "vhat")

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        slots = self._slots_of(var)
        numbers = (
            *(c["beta_1_power"], c["beta_2_power"], c["lr_t"]),
            *(c["beta_1"], c["beta_2"], c["epsilon"]),
        )
        if not self.amsgrad:
            names = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")
            given = dict(zip(names, numbers, strict=True))
            m, v = slots
            return update(apply_adam, var, m=m, v=v, **given, grad=grad, use_locking=True)
        if is_resource_variable(var):
            handles = (var.handle, *(slot.handle for slot in slots))
            return apply_adam_with_amsgrad(*handles, *numbers, grad, use_locking=True)
        m, v = slots[:2]
        m = assign(m, m * c["beta_1"] + (1 - c["beta_1"]) * grad)
        v = assign(v, v * c["beta_2"] + (1 - c["beta_2"]) * square(grad))
        return self._step(var, m, v, c)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self._slots_of(var)[:2]
        m = self._decay_and_add(m, c["beta_1"], grad * (1 - c["beta_1"]), indices)
        v = self._decay_and_add(v, c["beta_2"], grad * grad * (1 - c["beta_2"]), indices)
        return self._step(var, m, v, c)

    def _step(self, var: Any, m: Any, v: Any, c: dict[str, Any]) -> Any:
        """The step of all rows, of moments that have moved already."""
        others = [m, v]
        if self.amsgrad:
            slot = self.get_slot(var, "vhat")
            v = assign(slot, maximum(slot, v))
            others.append(v)
        rate = c["lr_t"] * (sqrt(1 - c["beta_2_power"]) / (1 - c["beta_1_power"]))
        return group(assign_sub(var, rate * m / (sqrt(v) + c["epsilon"])), *others)

    def set_weights(self, weights: Any) -> None:
        """As in the base; Keras's older files have ``vhat`` also where it is not used."""
        count = len(self.weights)
        if len(weights) == 3 * ((count - 1) // 2) + 1:
            weights = weights[:count]
        super().set_weights(weights)

    def _constants(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "amsgrad": self.amsgrad}


class Adamax(OfMoments):
    """Adam with the largest gradient in place of the mean square (Kingma and Ba 2015)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: Any = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, name, kwargs, beta_1=beta_1, beta_2=beta_2)
        self.epsilon = epsilon_or_default(epsilon)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self._slots_of(var)
        return update(
            apply_ada_max,
            var,
            m=m,
            v=v,
            beta1_power=c["beta_1_power"],
            lr=c["lr_t"],
            beta1=c["beta_1"],
            beta2=c["beta_2"],
            epsilon=c["epsilon"],
            grad=grad,
            use_locking=True,
        )

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self._slots_of(var)
        m_rows = self._rows(m, indices) * c["beta_1"] + grad * (1 - c["beta_1"])
        v_rows = maximum(self._rows(v, indices) * c["beta_2"], abs_(grad))
        rate = -c["lr_t"] / (1 - c["beta_1_power"])
        return group(
            self._resource_scatter_update(m, indices, m_rows),
            self._resource_scatter_update(v, indices, v_rows),
            self._resource_scatter_add(var, indices, rate * (m_rows / (v_rows + c["epsilon"]))),
        )


class Nadam(OfMoments):
    """Adam with Nesterov's momentum (Dozat 2016), which ``schedule_decay`` warms up."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: Any = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", kwargs.get("decay", 0.004))
        super().__init__(learning_rate, name, kwargs, beta_1=beta_1, beta_2=beta_2)
        if callable(self._hyper["learning_rate"]):
            raise ValueError(
                "The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules as "
                "the learning rate."
            )
        self.epsilon = epsilon_or_default(epsilon)

    @property
    def schedule_decay(self) -> float:
        """How fast the momentum is warmed up; in `get_config` it is called ``decay``."""
        return self._initial_decay

    def _create_slots(self, var_list: list[Any]) -> None:
        if "momentum_cache" not in self._added:
            dtype = var_list[0].dtype.base_dtype
            cache = self.add_weight("momentum_cache", dtype=dtype, initializer="ones")
            self._weights.append(cache)
        super()._create_slots(var_list)

    def _decayed_lr(self, dtype: Any) -> Any:
        return self._get_hyper("learning_rate", dtype)

    def _prepare(self, var_list: list[Any]) -> dict[Any, dict[str, Any]]:
        self._cache_read = identity(self._added["momentum_cache"])
        return super()._prepare(var_list)

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c, cache = apply_state[(var_device, var_dtype)], self._added["momentum_cache"]
        # The warming momentum of this step and the next (Dozat 2016, section 3).
        now, following = (
            c["beta_1"] * (1.0 - 0.5 * pow_(0.96, self._initial_decay * cast(step, var_dtype)))
            for step in (self.iterations + 1, self.iterations + 2)
        )
        product = cast(self._cache_read, var_dtype) * now
        if var_dtype == cache.dtype.base_dtype:
            product = identity(assign(cache, product))
        c |= {"now": now, "next": following, "product": product}

    def _ahead(self, grad: Any, m: Any, c: dict[str, Any]) -> Any:
        m_hat = m / (1.0 - c["product"] * c["next"])
        return (1.0 - c["now"]) * (grad / (1.0 - c["product"])) + c["next"] * m_hat

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self._slots_of(var)
        m = assign(m, c["beta_1"] * m + (1 - c["beta_1"]) * grad)
        v = assign(v, c["beta_2"] * v + (1 - c["beta_2"]) * square(grad))
        root = sqrt(v / (1.0 - c["beta_2_power"])) + c["epsilon"]
        return assign_sub(var, c["lr_t"] * self._ahead(grad, m, c) / root).op

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self._slots_of(var)
        m = self._decay_and_add(m, c["beta_1"], grad * (1 - c["beta_1"]), indices)
        v = self._decay_and_add(v, c["beta_2"], grad * grad * (1 - c["beta_2"]), indices)
        ahead = self._ahead(grad, self._rows(m, indices), c)
        root = sqrt(self._rows(v, indices) / (1.0 - c["beta_2_power"])) + c["epsilon"]
        return group(self._resource_scatter_add(var, indices, -c["lr_t"] * ahead / root), m, v)
