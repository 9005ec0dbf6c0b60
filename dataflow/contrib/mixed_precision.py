"""``tf.contrib.mixed_precision``: managers of the loss scale, and the optimizer that uses them."""

from __future__ import annotations

import abc
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.arithmetic import maximum
from dataflow.ops.array import identity
from dataflow.ops.comparison import is_finite, logical_and
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.selection import where
from dataflow.ops.state import assign
from dataflow.ops.variables import Variable
from dataflow.train.loss_scale import all_finite
from dataflow.train.loss_scale_optimizer import scaled, step_if_finite, unscaled
from dataflow.train.optimizer import Optimizer

__all__ = [
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaleOptimizer",
]


class LossScaleManager(abc.ABC):
    """Base class of loss scale managers, including your own."""

    @abc.abstractmethod
    def get_loss_scale(self) -> Tensor:
        """The current scale, a float32 scalar."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: Any) -> Any:
        """The op that updates the scale after a step; ``finite_grads`` tells whether all gradients are finite."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that never changes. Raises `ValueError` below 1."""

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError(f"loss scale must be at least 1, got {loss_scale}.")
        self._loss_scale = convert_to_tensor(loss_scale, dtype=dtypes.float32)

    def get_loss_scale(self) -> Tensor:
        """The scale, a constant tensor."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """A no-op."""
        del finite_grads
        return no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A scale that grows after good steps, and shrinks after bad ones.

    Args:
        init_loss_scale: the scale at the beginning.
        incr_every_n_steps: the number of good steps in a row after which it grows.
        decr_every_n_nan_or_inf: the number of bad ones, in a row or not, after which it shrinks.
        incr_ratio, decr_ratio: the factors. It never passes float32's largest number, nor 1.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio

        def variable(name: str, value: Any, dtype: Any) -> Variable:
            return Variable(convert_to_tensor(value, dtype), name=name, trainable=False)

        self._loss_scale = variable("loss_scale", init_loss_scale, dtypes.float32)
        self._num_good_steps = variable("good_steps", 0, dtypes.int32)
        self._num_bad_steps = variable("bad_steps", 0, dtypes.int32)

    def get_loss_scale(self) -> Any:
        """The scale, a variable."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """The op that updates the scale and the counts of good and bad steps."""
        scale = identity(self._loss_scale)
        good = identity(self._num_good_steps) + 1
        bad = identity(self._num_bad_steps)
        none = convert_to_tensor(0)
        grows, shrinks = good >= self._incr_every_n_steps, bad + 1 >= self._decr_every_n_nan_or_inf
        grown = scale * self._incr_ratio
        after_good = where(logical_and(grows, is_finite(grown)), grown, scale)
        after_bad = where(shrinks, maximum(1.0, scale * self._decr_ratio), scale)
        good_steps = where(grows, none, good)
        bad_if_good = where(grows, none, bad)
        bad_if_bad = where(shrinks, none, bad + 1)
        finite = finite_grads
        return group(
            assign(self._loss_scale, where(finite, after_good, after_bad)),
            assign(self._num_good_steps, where(finite, good_steps, none)),
            assign(self._num_bad_steps, where(finite, bad_if_good, bad_if_bad)),
        )


class LossScaleOptimizer(Optimizer):
    """Scales the loss for ``opt``, an optimizer of `tf.train`, as ``loss_scale_manager`` says.

    A step is skipped unless all its gradients are finite.
    """

    def __init__(self, opt: Any, loss_scale_manager: LossScaleManager) -> None:
        super().__init__(getattr(opt, "_use_locking", False), opt.get_name())
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """The gradients of the scaled loss, divided by the scale."""
        scale = identity(self._loss_scale_manager.get_loss_scale())
        pairs = self._opt.compute_gradients(scaled(loss, scale), *args, **kwargs)
        gradients = unscaled([g for g, _ in pairs], scale)
        return list(zip(gradients, (v for _, v in pairs), strict=True))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies the gradients if all are finite, and then updates the manager's scale."""
        pairs = list(grads_and_vars)

        def step() -> Any:
            return self._opt.apply_gradients(pairs, global_step, name)

        return step_if_finite(_Managed(self._loss_scale_manager), [g for g, _ in pairs], step)


class _Managed:
    """Adapts a manager to the interface that `step_if_finite` expects of a scale."""

    def __init__(self, manager: LossScaleManager) -> None:
        self._manager = manager

    def update(self, gradients: Any) -> tuple[Any, Tensor]:
        finite = all_finite(gradients)
        return self._manager.update_loss_scale(finite), finite
