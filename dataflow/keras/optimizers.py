"""`tf.keras.optimizers`: with a learning rate that is a variable, and can be changed while fitting."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.keras import backend as K
from dataflow.keras.serialization import lookup
from dataflow.ops.clip import clip_by_norm, clip_by_value
from dataflow.ops.elementary import abs_, sqrt, square
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.math import cast, maximum, pow_
from dataflow.ops.state import assign, assign_add, assign_sub
from dataflow.train.adadelta import AdadeltaOptimizer
from dataflow.train.adagrad import AdagradOptimizer
from dataflow.train.adam import AdamOptimizer
from dataflow.train.gradient_descent import GradientDescentOptimizer
from dataflow.train.momentum import MomentumOptimizer
from dataflow.train.optimizer import Optimizer as TrainOptimizer


class Optimizer:
    """Names its settings; variables are made when a model first trains.

    ``clipnorm`` and ``clipvalue`` cut each gradient; ``decay`` divides the learning rate by
    ``1 + decay * iterations``.
    """

    def __init__(self, lr: Any, decay: float, kwargs: dict[str, Any], **settings: Any) -> None:
        lr = kwargs.pop("learning_rate", lr)
        self.clipnorm = kwargs.pop("clipnorm", None)
        self.clipvalue = kwargs.pop("clipvalue", None)
        kwargs.pop("name", None)
        if kwargs:
            raise TypeError(
                f"Unexpected keyword argument passed to optimizer: {next(iter(kwargs))}"
            )
        self._config = {**settings, "decay": decay}
        self._initial_lr = float(lr)
        self.decay = decay
        self._graph: Any = None
        self._inner: Any = None
        self._made: dict[str, Any] = {}

    # ---- variables, made in the graph where they are first asked for ----------------------

    def _variables_here(self) -> dict[str, Any]:
        graph = default_graph() if self._graph is None else self._graph
        if not self._made:
            self._graph = graph
            with graph.as_default(), graph.name_scope(type(self).__name__):
                self._made["lr"] = K.variable(self._initial_lr, name="lr")
                self._made["iterations"] = K.variable(0, dtype="int64", name="iterations")
        return self._made

    @property
    def lr(self) -> Any:
        """The learning rate's variable: see `tf.keras.backend.get_value` and ``set_value``."""
        return self._variables_here()["lr"]

    @lr.setter
    def lr(self, value: Any) -> None:
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
        rate = self.lr.value()
        if self.decay:
            rate = rate / (1.0 + self.decay * cast(self.iterations.value(), rate.dtype.base_dtype))
        return rate

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Ops of one step; constraints of the variables are applied after it."""
        if self._graph is not None and self._graph is not loss.graph:
            self._graph, self._made, self._inner = None, {}, None
        if self._inner is None:
            self._inner = self._make(self._rate())
        self._params = list(params)
        pairs = self._inner.compute_gradients(loss, params)
        if all(g is None for g, _ in pairs):
            raise ValueError(
                "No gradient reaches any trainable weight: the loss does not depend on them "
                "through differentiable ops (argmax, round and comparisons have no gradient)."
            )
        pairs = [(self._clipped(g), v) for g, v in pairs if g is not None]
        step = self._inner.apply_gradients(pairs)
        with default_graph().control_dependencies([step]):
            constrained = [
                assign(v, v.constraint(_read(v))) for _, v in pairs if v.constraint is not None
            ]
            counted = assign_add(self.iterations, 1).op
        return [step, counted, *constrained]

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
        others = sorted(inner._non_slot_dict.items(), key=lambda item: item[0][0])
        slots = [inner.get_slot(p, n) for n in sorted(inner.get_slot_names()) for p in self._params]
        return [
            self._made["iterations"],
            *(v for _, v in others),
            *(v for v in slots if v is not None),
        ]

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

    def get_config(self) -> dict[str, Any]:
        """The settings, with the learning rate as it is now."""
        rate = float(K.get_value(self.lr)) if self._made else self._initial_lr
        config = {"lr": rate, **self._config}
        for key in ("clipnorm", "clipvalue"):
            if getattr(self, key) is not None:
                config[key] = getattr(self, key)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Optimizer:
        """The optimizer of a config."""
        return cls(**config)


def _read(variable: Any) -> Any:
    # An assignment of nothing reads after the control dependencies; the snapshot may be earlier.
    return assign_add(variable, 0 * variable.value())


class SGD(Optimizer):
    """Gradient descent, with momentum (Nesterov's) if asked for."""

    def __init__(
        self,
        lr: Any = 0.01,
        momentum: float = 0.0,
        decay: float = 0.0,
        nesterov: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(lr, decay, kwargs, momentum=momentum, nesterov=nesterov)
        self.momentum = momentum
        self.nesterov = nesterov

    def _make(self, lr: Any) -> Any:
        if not self.momentum:
            return GradientDescentOptimizer(lr)
        return MomentumOptimizer(lr, self.momentum, use_nesterov=self.nesterov)


class Adam(Optimizer):
    """Kingma and Ba 2015."""

    def __init__(
        self,
        lr: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: Any = None,
        decay: float = 0.0,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        if amsgrad:
            raise NotImplementedError("Adam(amsgrad=True) is not supported.")
        epsilon = K.epsilon() if epsilon is None else epsilon
        super().__init__(lr, decay, kwargs, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)

    def _make(self, lr: Any) -> Any:
        c = self._config
        return AdamOptimizer(lr, c["beta_1"], c["beta_2"], c["epsilon"])


class Adagrad(Optimizer):
    """Duchi et al. 2011."""

    def __init__(
        self, lr: Any = 0.01, epsilon: Any = None, decay: float = 0.0, **kwargs: Any
    ) -> None:
        epsilon = K.epsilon() if epsilon is None else epsilon
        super().__init__(lr, decay, kwargs, epsilon=epsilon)

    def _make(self, lr: Any) -> Any:
        # TensorFlow's rule has no epsilon: starting the sums at it is as safe.
        return AdagradOptimizer(lr, initial_accumulator_value=max(self._config["epsilon"], 1e-10))


class Adadelta(Optimizer):
    """Zeiler 2012."""

    def __init__(
        self,
        lr: Any = 1.0,
        rho: float = 0.95,
        epsilon: Any = None,
        decay: float = 0.0,
        **kwargs: Any,
    ) -> None:
        epsilon = K.epsilon() if epsilon is None else epsilon
        super().__init__(lr, decay, kwargs, rho=rho, epsilon=epsilon)

    def _make(self, lr: Any) -> Any:
        return AdadeltaOptimizer(lr, self._config["rho"], self._config["epsilon"])


class _Rule(TrainOptimizer):
    """A rule written with ordinary ops; sparse gradients are made dense."""

    slots: tuple[str, ...] = ()

    def __init__(self, lr: Any, owner: Optimizer) -> None:
        super().__init__(False, type(owner).__name__)
        self._lr = lr
        self._owner = owner

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            for slot in self.slots:
                self._zeros_slot(var, slot, self._name)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_dense(convert_to_tensor(grad), var)

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        if isinstance(grad, IndexedSlices):
            grad = convert_to_tensor(grad)
        return self._apply_dense(grad, var)


class _RMSpropRule(_Rule):
    slots = ("rms",)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        c = self._owner._config
        rms = self.get_slot(var, "rms")
        new = assign(rms, c["rho"] * rms + (1.0 - c["rho"]) * square(grad))
        return assign_sub(var, self._lr * grad / (sqrt(new) + c["epsilon"])).op


class RMSprop(Optimizer):
    """Tieleman and Hinton 2012; epsilon is added after the root."""

    def __init__(
        self,
        lr: Any = 0.001,
        rho: float = 0.9,
        epsilon: Any = None,
        decay: float = 0.0,
        **kwargs: Any,
    ) -> None:
        epsilon = K.epsilon() if epsilon is None else epsilon
        super().__init__(lr, decay, kwargs, rho=rho, epsilon=epsilon)

    def _make(self, lr: Any) -> Any:
        return _RMSpropRule(lr, self)


class _AdamaxRule(_Rule):
    slots = ("m", "u")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        c = self._owner._config
        m, u = self.get_slot(var, "m"), self.get_slot(var, "u")
        t = cast(self._owner.iterations.value(), "float32") + 1.0
        new_m = assign(m, c["beta_1"] * m + (1.0 - c["beta_1"]) * grad)
        new_u = assign(u, maximum(c["beta_2"] * u, abs_(grad)))
        rate = self._lr / (1.0 - pow_(c["beta_1"], t))
        return assign_sub(var, rate * new_m / (new_u + c["epsilon"])).op


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the mean square (Kingma and Ba 2015)."""

    def __init__(
        self,
        lr: Any = 0.002,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: Any = None,
        decay: float = 0.0,
        **kwargs: Any,
    ) -> None:
        epsilon = K.epsilon() if epsilon is None else epsilon
        super().__init__(lr, decay, kwargs, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)

    def _make(self, lr: Any) -> Any:
        return _AdamaxRule(lr, self)


class TFOptimizer(Optimizer):
    """An optimizer of `tf.train`, as `compile` takes it."""

    def __init__(self, optimizer: TrainOptimizer) -> None:
        super().__init__(0.0, 0.0, {})
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


_CLASSES: dict[str, Any] = {c.__name__: c for c in (SGD, Adam, Adagrad, Adadelta, RMSprop, Adamax)}
_BY_NAME = {**_CLASSES, **{name.lower(): cls for name, cls in _CLASSES.items()}}


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
