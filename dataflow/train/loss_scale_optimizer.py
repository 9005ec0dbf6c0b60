"""An optimizer of `tf.train` that scales its loss (`loss_scale`)."""

from __future__ import annotations

import functools
from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.math import cast
from dataflow.ops.replicas import replica_to_merge, state
from dataflow.train.loss_scale import DynamicLossScale, get
from dataflow.train.optimizer import Optimizer
from dataflow.train.replicated_steps import apply_in_replica


def scaled(loss: Any, scale: Tensor) -> Any:
    """``loss``, a tensor or a function that gives one, times ``scale`` in the loss's dtype."""
    if callable(loss) and not isinstance(loss, Tensor):
        return lambda: scaled(loss(), scale)
    return loss * cast(scale, loss.dtype.base_dtype)


def unscaled(gradients: Any, scale: Tensor) -> list[Any]:
    """Each gradient divided by ``scale``; None stays None."""

    def one(gradient: Any) -> Any:
        if gradient is None:
            return None
        if isinstance(gradient, IndexedSlices):
            return IndexedSlices(one(gradient.values), gradient.indices, gradient.dense_shape)
        return gradient * cast(1.0 / scale, gradient.dtype.base_dtype)

    return [one(gradient) for gradient in gradients]


def need_replica_context() -> None:
    """Raises `ValueError` within a strategy's scope outside of its replicas."""
    if state.strategy is not None and state.replica is None:
        raise ValueError("apply_gradients() must be called in a replica context.")


def step_if_finite(loss_scale: Any, gradients: Any, step: Any, name: str | None = None) -> Any:
    """What updates the scale and, where it says so, calls ``step`` to apply the gradients."""
    update, applies = loss_scale.update(gradients)
    if isinstance(applies, bool):
        applied = step() if applies else no_op()
    else:
        applied = cond(applies, lambda: _as_branch(step()), no_op)
    return group(*(op for op in (applied, update) if op is not None), name=name)


def _as_branch(result: Any) -> Any:
    return no_op() if result is None else result


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Scales the loss for another optimizer, and gives it the gradients of the loss itself.

    Args:
        opt: the optimizer, one of `tf.train`.
        loss_scale: a `tf.train.experimental.LossScale`, a number, or "dynamic".

    With a dynamic scale a step whose gradients are not all finite changes nothing but the scale; the
    global step stays, too. Raises `ValueError` for another kind of optimizer, and without a scale.
    """

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._loss_scale = get(loss_scale)
        if self._loss_scale is None:
            raise ValueError("loss_scale cannot be None: give a number, or 'dynamic'.")

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """(name, part) of what a checkpoint saves: the optimizer and the scale."""
        return [("base_optimizer", self._optimizer), ("loss_scale", self._loss_scale)]

    def get_slot(self, var: Any, name: str) -> Any:
        """The optimizer's slot."""
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """No slots of its own."""
        return []

    def variables(self) -> list[Any]:
        """The optimizer's variables."""
        return self._optimizer.variables()

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As the optimizer's, of the scaled loss, then divided by the scale."""
        scale = self._loss_scale()
        pairs = self._optimizer.compute_gradients(scaled(loss, scale), *args, **kwargs)
        gradients = unscaled([g for g, _ in pairs], scale)
        return list(zip(gradients, (v for _, v in pairs), strict=True))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """As the optimizer's, where all gradients are finite; updates the scale.

        Raises `ValueError` within a strategy's scope outside of its replicas.
        """
        need_replica_context()
        pairs = list(grads_and_vars)
        if not isinstance(self._loss_scale, DynamicLossScale):
            return self._optimizer.apply_gradients(pairs, global_step, name)
        replica = replica_to_merge()
        if replica is None:
            return self._step(pairs, global_step, name)
        step = functools.partial(self._step, name=name)
        return apply_in_replica(replica, step, pairs, global_step)

    def _step(self, pairs: list[Any], global_step: Any, name: str | None) -> Any:
        name = name or self.get_name()

        def step() -> Any:
            return self._optimizer.apply_gradients(pairs, global_step, f"{name}-wrapped")

        return step_if_finite(self._loss_scale, [g for g, _ in pairs], step, name)
