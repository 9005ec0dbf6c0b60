"""An optimizer of `tf.keras.optimizers` that scales its loss (`train.loss_scale`)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from dataflow.keras.base_optimizer import Optimizer
from dataflow.ops.replicas import replica_to_merge
from dataflow.train.loss_scale import LossScale, get
from dataflow.train.loss_scale_optimizer import (
    need_replica_context,
    scaled,
    step_if_finite,
    unscaled,
)
from dataflow.train.replicated_steps import apply_in_replica


class LossScaleOptimizer(Optimizer):
    """Wraps an optimizer: scales the loss, and passes it unscaled gradients.

    Args:
        opt: the optimizer, one of `tf.keras.optimizers` that does not clip gradients by itself.
        loss_scale: a `tf.train.experimental.LossScale`, a number, or "dynamic".

    With a dynamic scale a step whose gradients are not all finite changes nothing but the scale. Raises
    `ValueError` for other optimizers, and without a scale.
    """

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of OptimizerV2, but got: {opt!r}')
        for name in ("clipnorm", "clipvalue"):
            if getattr(opt, name) is not None:
                raise ValueError(
                    f"LossScaleOptimizer does not support wrapping optimizers with a {name}. "
                    f"Optimizer {opt!r} has {name} {getattr(opt, name)}"
                )
        self._optimizer = opt
        super().__init__(opt._name)
        self._loss_scale = get(loss_scale)
        if self._loss_scale is None:
            raise ValueError("loss_scale cannot be None: give a number, or 'dynamic'.")

    @property
    def loss_scale(self) -> LossScale:
        """The scale."""
        return self._loss_scale  # type: ignore[no-any-return]

    def get_scaled_loss(self, loss: Any) -> Any:
        """``loss``, a tensor or a function that gives one, times the scale; for `tf.GradientTape`."""
        return scaled(loss, self._loss_scale())

    def get_unscaled_gradients(self, grads: Any) -> list[Any]:
        """Each gradient of a scaled loss divided by the scale; None stays None."""
        return unscaled(grads, self._loss_scale())

    def get_gradients(self, loss: Any, params: Any, grad_loss: Any = None) -> list[Any]:
        """The gradient of ``loss`` for each of ``params``, computed of the scaled loss."""
        how = {} if grad_loss is None else {"grad_loss": grad_loss}
        found = self._optimizer.get_gradients(self.get_scaled_loss(loss), params, **how)
        return self.get_unscaled_gradients(found)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> Any:
        pairs = self._optimizer._compute_gradients(self.get_scaled_loss(loss), var_list, grad_loss)
        found = self.get_unscaled_gradients([g for g, _ in pairs])
        return list(zip(found, (v for _, v in pairs), strict=True))

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """As the optimizer's, where all gradients are finite; updates the scale.

        Raises `ValueError` within a strategy's scope outside of its replicas.
        """
        need_replica_context()
        pairs = list(grads_and_vars)
        replica = replica_to_merge()
        if replica is None:
            return self._step(pairs, name)
        return apply_in_replica(replica, functools.partial(self._step, name=name), pairs)

    def _step(self, pairs: list[Any], name: str | None) -> Any:
        def step() -> Any:
            return self._optimizer.apply_gradients(pairs, name)

        return step_if_finite(self._loss_scale, [g for g, _ in pairs], step)

    # ---- what is the optimizer's ----------------------------------------------------------

    @property
    def iterations(self) -> Any:
        """The number of steps made, a variable."""
        return self._optimizer.iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        self._optimizer.iterations = variable

    @property
    def learning_rate(self) -> Any:
        """The optimizer's learning rate."""
        return self._optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        self._optimizer.learning_rate = rate

    @property
    def lr(self) -> Any:
        """The older name of `learning_rate`."""
        return self._optimizer.lr

    @property
    def weights(self) -> list[Any]:
        """Iterations and slots of the optimizer."""
        return self._optimizer.weights

    @weights.setter
    def weights(self, variables: list[Any]) -> None:
        self._optimizer.weights = variables

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """What the optimizer keeps for ``var`` under ``slot_name``."""
        return self._optimizer.get_slot(var, slot_name)

    def get_slot_names(self) -> list[str]:
        """The names of what the optimizer keeps for each weight."""
        return self._optimizer.get_slot_names()

    def checkpoint_parts(self) -> Iterator[tuple[str, Any]]:
        """(name, part) of what a checkpoint saves: the optimizer and the scale."""
        yield "base_optimizer", self._optimizer
        yield "loss_scale", self._loss_scale

    def get_config(self) -> dict[str, Any]:
        """Raises `NotImplementedError`: it has no config, as in TensorFlow 1.15."""
        raise NotImplementedError("get_config() is not yet implemented for LossScaleOptimizers")

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Raises `NotImplementedError`: it has no config, as in TensorFlow 1.15."""
        raise NotImplementedError("from_config() is not yet implemented for LossScaleOptimizers")
