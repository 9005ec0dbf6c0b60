"""`tf.keras.optimizers`: with a learning rate that is a variable, and can be changed while fitting."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K, learning_rate_schedules as schedules
from dataflow.keras.serialization import lookup, serialize
from dataflow.ops.clip import clip_by_norm, clip_by_value
from dataflow.ops.control_flow import group
from dataflow.ops.elementary import abs_, sqrt, square
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.initializers import Constant
from dataflow.ops.math import cast, maximum, pow_
from dataflow.ops.resource_variables import is_resource_variable
from dataflow.ops.shape import shape_of_value
from dataflow.ops.state import assign, assign_add, assign_sub
from dataflow.train.adadelta import AdadeltaOptimizer
from dataflow.train.adam import AdamOptimizer
from dataflow.train.ftrl import FtrlOptimizer
from dataflow.train.gradient_descent import GradientDescentOptimizer
from dataflow.train.optimizer import Optimizer as TrainOptimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class Optimizer:
    """Names its settings; variables are made when a model first trains.

    ``clipnorm`` and ``clipvalue`` cut each gradient; ``decay`` divides the learning rate by
    ``1 + decay * iterations``; ``lr`` is the older name of ``learning_rate``, which may also be one
    of `tf.keras.optimizers.schedules`.
    """

    def __init__(self, learning_rate: Any, name: str, kwargs: dict[str, Any], **settings: Any) -> None:  # fmt: skip
        learning_rate = kwargs.pop("lr", learning_rate)
        self.decay = float(kwargs.pop("decay", 0.0))
        self.clipnorm = kwargs.pop("clipnorm", None)
        self.clipvalue = kwargs.pop("clipvalue", None)
        if kwargs:
            raise TypeError(
                f"Unexpected keyword argument passed to optimizer: {next(iter(kwargs))}"
            )
        if isinstance(learning_rate, dict):
            learning_rate = schedules.deserialize(learning_rate)
        self._name = name
        self._config = settings
        for key, value in settings.items():
            setattr(self, key, value)
        self._schedule = learning_rate if callable(learning_rate) else None
        self._initial_lr = 0.0 if self._schedule else float(learning_rate)
        self._graph: Any = None
        self._inner: Any = None
        self._made: dict[str, Any] = {}

    # ---- variables, made in the graph where they are first asked for ----------------------

    def _variables_here(self) -> dict[str, Any]:
        graph = default_graph() if self._graph is None else self._graph
        if not self._made:
            self._graph = graph
            with graph.as_default(), graph.name_scope(type(self).__name__):
                if self._schedule is None:
                    self._made["lr"] = K.variable(self._initial_lr, name="lr")
                self._made["iterations"] = K.variable(0, dtype="int64", name="iterations")
        return self._made

    @property
    def lr(self) -> Any:
        """The learning rate's variable: see `tf.keras.backend.get_value` and ``set_value``.

        A schedule, where one was given.
        """
        if self._schedule is not None:
            return self._schedule
        return self._variables_here()["lr"]

    @lr.setter
    def lr(self, value: Any) -> None:
        if self._schedule is not None:
            raise ValueError("The learning rate follows a schedule, so it cannot be set.")
        K.set_value(self.lr, value)

    learning_rate = lr

    @property
    def iterations(self) -> Any:
        """The number of steps made, a variable."""
        return self._variables_here()["iterations"]

    # ---- steps ----------------------------------------------------------------------------

    def _make(self, lr: Any) -> Any:
        raise NotImplementedError

    def _rate(self) -> Any:
        steps = self.iterations.value()
        rate = self.lr.value() if self._schedule is None else self._schedule(steps)
        if self.decay:
            rate = rate / (1.0 + self.decay * cast(steps, rate.dtype.base_dtype))
        return rate

    def get_gradients(self, loss: Any, params: TensorLike) -> list[Any]:
        """The gradient of ``loss`` for each of ``params``, cut as the optimizer says.

        Raises `ValueError` where none depends on them.
        """
        found = self._inner_here(loss.graph).compute_gradients(loss, params)
        if all(g is None for g, _ in found):
            raise ValueError(
                "No gradient reaches any trainable weight: the loss does not depend on them "
                "through differentiable ops (argmax, round and comparisons have no gradient)."
            )
        return [None if g is None else self._clipped(g) for g, _ in found]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """An op that makes one step with gradients that are already there."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        inner = self._inner_here(pairs[0][1].graph)
        self._params = [v for _, v in pairs]
        step = inner.apply_gradients(pairs)
        with default_graph().control_dependencies([step]):
            counted = assign_add(self.iterations, 1).op
            constrained = [
                assign(v, v.constraint(_read(v))).op for _, v in pairs if v.constraint is not None
            ]
        return group(step, counted, *constrained, name=name)

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Ops of one step; constraints of the variables are applied after it."""
        gradients = self.get_gradients(loss, params)
        step = self.apply_gradients(zip(gradients, params, strict=True))
        self._params = list(params)
        return [step]

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: Any = None) -> Any:
        """An op that makes one step down ``loss``, a tensor (or a function that returns one)."""
        if grad_loss is not None:
            raise NotImplementedError("minimize(grad_loss=...) is not supported.")
        loss = loss() if callable(loss) else loss
        params = list(var_list() if callable(var_list) else var_list)
        return self.apply_gradients(
            zip(self.get_gradients(loss, params), params, strict=True), name=name
        )

    def _inner_here(self, graph: Graph) -> Any:
        if self._graph is not None and self._graph is not graph:
            self._graph, self._made, self._inner = None, {}, None
        if self._inner is None:
            self._inner = self._make(self._rate())
        return self._inner

    def _clipped(self, gradient: Any) -> Any:
        if self.clipnorm is None and self.clipvalue is None:
            return gradient
        gradient = convert_to_tensor(gradient)
        if self.clipnorm is not None:
            gradient = clip_by_norm(gradient, self.clipnorm)
        if self.clipvalue is not None:
            gradient = clip_by_value(gradient, -self.clipvalue, self.clipvalue)
        return gradient

    @property
    def weights(self) -> list[Any]:
        """Iterations and slots: what is saved with a model to go on training."""
        if not self._made or self._inner is None:
            return []
        # In the order of the model's weights: names differ in a model that was loaded beside it.
        inner = self._inner
        own = [v for key, v in self._made.items() if key != "lr"]
        slots = [inner.get_slot(p, name) for name in inner._slots for p in self._params]
        return [*own, *(v for v in slots if v is not None)]

    def variables(self) -> list[Any]:
        """As `weights`."""
        return self.weights

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """(name, variable) of what a checkpoint saves beside the slots."""
        names = {"iterations": "iter", "lr": "learning_rate"}
        return [(names.get(key, key), v) for key, v in self._variables_here().items()]

    def get_slot_names(self) -> list[str]:
        """The names of what is kept for each weight, such as "m" and "v" of `Adam`."""
        return [] if self._inner is None else list(self._inner._slots)

    def get_slot(self, var: Variable, slot_name: str) -> Any:
        """What is kept for ``var`` under ``slot_name``, a variable; None where there is nothing."""
        return None if self._inner is None else self._inner.get_slot(var, slot_name)

    def get_weights(self) -> list[Any]:
        """Values of `weights`."""
        return K.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Gives `weights` values; raises `ValueError` for another number of them."""
        if len(weights) != len(self.weights):
            raise ValueError(
                f"This optimizer has {len(self.weights)} weights, got {len(weights)} arrays."
            )
        K.batch_set_value(list(zip(self.weights, weights, strict=True)))
        # Powers of Adam's betas follow from the number of steps.
        steps = int(weights[0]) if weights else 0
        K.batch_set_value(
            [
                (
                    variable,
                    self._config[name.removesuffix("_power").replace("beta", "beta_")]
                    ** (steps + 1),
                )
                for (name, _), variable in self._inner._non_slot_dict.items()
                if name in ("beta1_power", "beta2_power")
            ]
        )

    def get_config(self) -> dict[str, Any]:
        """The settings, with the learning rate as it is now."""
        rate: Any = self._initial_lr
        if self._schedule is not None:
            rate = serialize(self._schedule)
        elif self._made:
            rate = float(K.get_value(self.lr))
        config = {"name": self._name, "learning_rate": rate, "decay": self.decay, **self._config}
        for key in ("clipnorm", "clipvalue"):
            if getattr(self, key) is not None:
                config[key] = getattr(self, key)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Optimizer:
        """The optimizer of a config."""
        return cls(**config)


def _epsilon(value: Any) -> float:
    return K.epsilon() if value is None else float(value)


def _read(variable: Any) -> Any:
    if is_resource_variable(variable):
        return variable.read_value()
    # An assignment of nothing reads after the control dependencies; the snapshot may be earlier.
    return assign_add(variable, 0 * variable.value())


class _Rule(TrainOptimizer):
    """A rule written with ordinary ops; sparse gradients are made dense."""

    slots: tuple[str, ...] = ()

    def __init__(self, lr: Any, owner: Optimizer) -> None:
        super().__init__(False, type(owner).__name__)
        self._lr = lr
        self._owner = owner
        self._setting = owner._config

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            for slot in self.slots:
                self._zeros_slot(var, slot, self._name)

    def _step_number(self) -> Any:
        return cast(self._owner.iterations.value(), "float32") + 1.0

    def _mean(self, slot: Any, value: Any, part: float) -> Any:
        """The slot after it moved ``1 - part`` of the way towards ``value``."""
        return assign(slot, part * slot + (1.0 - part) * value)

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        return self._apply_dense(convert_to_tensor(grad), var)

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Variable) -> Any:
        if isinstance(grad, IndexedSlices):
            grad = convert_to_tensor(grad)
        return self._apply_dense(grad, var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        rows = IndexedSlices(grad, indices, shape_of_value(handle.handle))
        return self._apply_dense(convert_to_tensor(rows), handle)


class _MomentumRule(_Rule):
    """Keras's: the rate is inside what is accumulated, so a step keeps the rate it was made with."""

    slots = ("momentum",)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        momentum = self._setting["momentum"]
        slot = self.get_slot(var, "momentum")
        step = assign(slot, momentum * slot - self._lr * grad)
        if self._setting["nesterov"]:
            step = momentum * step - self._lr * grad
        return assign_add(var, step).op


class SGD(Optimizer):
    """Gradient descent, with momentum (Nesterov's) if asked for."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, name, kwargs, momentum=momentum, nesterov=nesterov)

    def _make(self, lr: Any) -> Any:
        return _MomentumRule(lr, self) if self._config["momentum"] else GradientDescentOptimizer(lr)


class _AmsgradRule(_Rule):
    slots = ("m", "v", "vhat")

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        c, t = self._setting, self._step_number()
        m = self._mean(self.get_slot(var, "m"), grad, c["beta_1"])
        v = self._mean(self.get_slot(var, "v"), square(grad), c["beta_2"])
        largest = self.get_slot(var, "vhat")
        largest = assign(largest, maximum(largest, v))
        rate = self._lr * sqrt(1.0 - pow_(c["beta_2"], t)) / (1.0 - pow_(c["beta_1"], t))
        return assign_sub(var, rate * m / (sqrt(largest) + c["epsilon"])).op


class Adam(Optimizer):
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
        settings = {"beta_1": beta_1, "beta_2": beta_2, "epsilon": _epsilon(epsilon)}
        super().__init__(learning_rate, name, kwargs, **settings, amsgrad=amsgrad)

    def _make(self, lr: Any) -> Any:
        c = self._config
        if c["amsgrad"]:
            return _AmsgradRule(lr, self)
        return AdamOptimizer(lr, c["beta_1"], c["beta_2"], c["epsilon"])


class _AdagradRule(_Rule):
    def _create_slots(self, var_list: list[Any]) -> None:
        start = Constant(self._setting["initial_accumulator_value"])
        for var in var_list:
            self._get_or_make_slot_with_initializer(
                var, start, var.shape, var.dtype.base_dtype, "accumulator", self._name
            )

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        total = assign_add(self.get_slot(var, "accumulator"), square(grad))
        return assign_sub(var, self._lr * grad / (sqrt(total) + self._setting["epsilon"])).op


class Adagrad(Optimizer):
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
        super().__init__(
            learning_rate,
            name,
            kwargs,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=_epsilon(epsilon),
        )

    def _make(self, lr: Any) -> Any:
        return _AdagradRule(lr, self)


class Adadelta(Optimizer):
    """Zeiler 2012."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: Any = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, name, kwargs, rho=rho, epsilon=_epsilon(epsilon))

    def _make(self, lr: Any) -> Any:
        return AdadeltaOptimizer(lr, self._config["rho"], self._config["epsilon"])


class _RMSpropRule(_Rule):
    slots: tuple[str, ...] = ("rms",)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        c = self._setting
        spread = self._mean(self.get_slot(var, "rms"), square(grad), c["rho"])
        if c["centered"]:
            spread = spread - square(self._mean(self.get_slot(var, "mg"), grad, c["rho"]))
        if not c["momentum"]:
            return assign_sub(var, self._lr * grad / (sqrt(spread) + c["epsilon"])).op
        slot = self.get_slot(var, "momentum")
        step = c["momentum"] * slot + self._lr * grad / sqrt(spread + c["epsilon"])
        return assign_sub(var, assign(slot, step)).op


class RMSprop(Optimizer):
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
        if not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        settings = {"rho": rho, "momentum": momentum, "epsilon": _epsilon(epsilon)}
        super().__init__(learning_rate, name, kwargs, **settings, centered=centered)

    def _make(self, lr: Any) -> Any:
        rule = _RMSpropRule(lr, self)
        wanted = {"rms": True, "momentum": self._config["momentum"], "mg": self._config["centered"]}
        rule.slots = tuple(slot for slot, needed in wanted.items() if needed)
        return rule


class _AdamaxRule(_Rule):
    slots = ("m", "v")

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        c = self._setting
        m = self._mean(self.get_slot(var, "m"), grad, c["beta_1"])
        largest = self.get_slot(var, "v")
        largest = assign(largest, maximum(c["beta_2"] * largest, abs_(grad)))
        rate = self._lr / (1.0 - pow_(c["beta_1"], self._step_number()))
        return assign_sub(var, rate * m / (largest + c["epsilon"])).op


class _NadamRule(_Rule):
    slots = ("m", "v")
    schedule_decay: float

    def _prepare(self) -> None:
        beta, t = self._setting["beta_1"], self._step_number()
        product = self._owner._made["momentum_cache"]
        # The warming momentum of this step and the next (Dozat 2016, section 3).
        self._now, self._next = (
            beta * (1.0 - 0.5 * pow_(0.96, self.schedule_decay * step)) for step in (t, t + 1.0)
        )
        self._product = product.value() * self._now
        super()._prepare()

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        c = self._setting
        m = self._mean(self.get_slot(var, "m"), grad, c["beta_1"])
        v = self._mean(self.get_slot(var, "v"), square(grad), c["beta_2"])
        m_hat = m / (1.0 - self._product * self._next)
        v_hat = v / (1.0 - pow_(c["beta_2"], self._step_number()))
        ahead = (1.0 - self._now) * grad / (1.0 - self._product) + self._next * m_hat
        return assign_sub(var, self._lr * ahead / (sqrt(v_hat) + c["epsilon"])).op

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        with default_graph().control_dependencies(update_ops):
            kept = assign(self._owner._made["momentum_cache"], self._product).op
        return super()._finish([*update_ops, kept], name_scope)


class _OfMoments(Optimizer):
    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: Any = 1e-7,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        settings = {"beta_1": beta_1, "beta_2": beta_2, "epsilon": _epsilon(epsilon)}
        super().__init__(learning_rate, name or type(self).__name__, kwargs, **settings)


class Adamax(_OfMoments):
    """Adam with the largest gradient in place of the mean square (Kingma and Ba 2015)."""

    def _make(self, lr: Any) -> Any:
        return _AdamaxRule(lr, self)


class Nadam(_OfMoments):
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
        self.schedule_decay = float(kwargs.pop("schedule_decay", 0.004))
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)

    def _make(self, lr: Any) -> Any:
        made = self._variables_here()
        with made["iterations"].graph.name_scope("Nadam"):
            made["momentum_cache"] = K.variable(1.0, name="momentum_cache")
        rule = _NadamRule(lr, self)
        rule.schedule_decay = self.schedule_decay
        return rule


class Ftrl(Optimizer):
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
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )

    def _make(self, lr: Any) -> Any:
        return FtrlOptimizer(lr, **self._config)


class TFOptimizer(Optimizer):
    """An optimizer of `tf.train`, as `compile` takes it."""

    def __init__(self, optimizer: TrainOptimizer) -> None:
        super().__init__(0.0, type(optimizer).__name__, {})
        self.optimizer = optimizer

    def _make(self, lr: Any) -> Any:
        return self.optimizer

    @property  # type: ignore[misc]
    def lr(self) -> Any:
        raise AttributeError(
            f"{type(self.optimizer).__name__} of tf.train has no `lr` to read or change; use one of "
            "tf.keras.optimizers with callbacks that change the learning rate."
        )

    learning_rate = lr

    def _rate(self) -> Any:
        return None

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError(
            "An optimizer of tf.train has no config to save: use one of tf.keras.optimizers, or "
            "save(path, include_optimizer=False)."
        )


_CLASSES: dict[str, Any] = {
    c.__name__: c for c in (SGD, Adam, Adagrad, Adadelta, RMSprop, Adamax, Nadam, Ftrl)
}
_BY_NAME = {**_CLASSES, **{name.lower(): cls for name, cls in _CLASSES.items()}}
#: Where the defaults of the package ``keras`` are others than those of `tf.keras`.
_IN_PACKAGE_KERAS: dict[Any, dict[str, float]] = {
    Adagrad: {"learning_rate": 0.01, "initial_accumulator_value": 0.0},
    Adadelta: {"learning_rate": 1.0},
    _OfMoments: {"learning_rate": 0.002},  # Adamax
    Nadam: {"learning_rate": 0.002},
}


def default_as_package_keras() -> None:
    """From now on the defaults are those of the package ``keras``: for a program that imports it.

    The rates were chosen there for programs that leave them out: with tf.keras's thousandth of it
    `Adadelta` learns next to nothing.
    """
    for cls, others in _IN_PACKAGE_KERAS.items():
        parameters = inspect.signature(cls.__init__).parameters.values()
        cls.__init__.__defaults__ = tuple(
            others.get(p.name, p.default) for p in parameters if p.default is not p.empty
        )


def get(identifier: Any) -> Optimizer:
    """The optimizer of a name, a config, or itself; those of `tf.train` are wrapped."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, TrainOptimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, str):
        key = identifier if identifier in _CLASSES else identifier.lower()
        return lookup("optimizer", key, _BY_NAME)()  # type: ignore[no-any-return]
    if isinstance(identifier, dict):
        from dataflow.keras.serialization import deserialize as make

        return make("optimizer", identifier, _BY_NAME)  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}")


deserialize = get
