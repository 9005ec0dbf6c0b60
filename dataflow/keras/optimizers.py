"""`tf.keras.optimizers`: optimizers by name.

Names of variables and ops are those of TensorFlow 1.15, so that checkpoints and graphs travel.
"""

from __future__ import annotations

import inspect
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.keras import backend as K, learning_rate_schedules
from dataflow.keras.base_optimizer import Optimizer
from dataflow.keras.loss_scale_optimizer import LossScaleOptimizer
from dataflow.keras.moment_optimizers import Adam, Adamax, Nadam
from dataflow.keras.optimizer_rules import SGD, Adadelta, Adagrad, Ftrl, RMSprop
from dataflow.layers.serialization import custom_object_scope, lookup, serialize as serialize
from dataflow.namespaces import with_provided
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.state import assign_add
from dataflow.train.mixed_precision import register_loss_scale_wrapper
from dataflow.train.optimizer import Optimizer as TrainOptimizer

schedules = learning_rate_schedules

register_loss_scale_wrapper(Optimizer, LossScaleOptimizer)


class TFOptimizer(Optimizer):
    """An optimizer of `tf.train`, as `compile` takes it."""

    def __init__(self, optimizer: TrainOptimizer, iterations: Any = None) -> None:
        super().__init__(type(optimizer).__name__)
        self.optimizer = optimizer
        if iterations is not None:
            self._graph, self._added["global_step"] = iterations.op.graph, iterations
        _ = self.iterations

    def _in(self, graph: Any) -> Any:
        super()._in(graph)
        return self.optimizer

    @property  # type: ignore[misc]
    def iterations(self) -> Any:
        """The number of steps made, a variable."""
        if "global_step" not in self._added:
            with default_graph().name_scope("TFOptimizer"):
                made = K.variable(0, dtype="int64", name="iterations")
            self._graph, self._added["global_step"] = made.graph, made
        return self._added["global_step"]

    @property
    def lr(self) -> Any:
        raise AttributeError(
            f"{type(self.optimizer).__name__} of tf.train has no `lr` to read or change; use one of "
            "tf.keras.optimizers with callbacks that change the learning rate."
        )

    learning_rate = lr

    def get_gradients(self, loss: Any, params: Any, grad_loss: Any = None) -> list[Any]:
        """The gradient of ``loss`` for each of ``params``; ``grad_loss``: that of ``loss`` itself."""
        settings = {} if grad_loss is None else {"grad_loss": grad_loss}
        found = self.optimizer.compute_gradients(loss, var_list=params, **settings)
        return [g for g, _ in found]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """An op that makes one step with gradients that are already there."""
        step = self.optimizer.apply_gradients(list(grads_and_vars), name=name)
        with control_dependencies([step]):
            return assign_add(self.iterations, 1).op

    @property  # type: ignore[misc]
    def weights(self) -> list[Any]:
        """Iterations and slots."""
        return [self.iterations, *self.optimizer.variables()]

    def get_slot_names(self) -> list[str]:
        """None: the slots are those of ``optimizer``."""
        return []

    def checkpoint_parts(self) -> Any:
        """(name, part) of what a checkpoint saves."""
        yield from {"optimizer": self.optimizer, "global_step": self.iterations}.items()

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
    Adamax: {"learning_rate": 0.002},
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
        from dataflow.layers.serialization import deserialize as make

        return make("optimizer", identifier, _BY_NAME)  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}")


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The optimizer of a config or a name; ``custom_objects`` has classes and functions of your own by name."""
    with custom_object_scope(custom_objects or {}):
        return get(config)


__getattr__ = with_provided(__name__)
