"""`LARSOptimizer`. Source: You, Gitman, Ginsburg, "Large batch training of convolutional networks", 2017."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import where
from dataflow.ops.math import greater, logical_and
from dataflow.ops.norms import norm
from dataflow.ops.optimizer_updates import apply_momentum, update
from dataflow.train.momentum import MomentumOptimizer


class LARSOptimizer(MomentumOptimizer):
    """Momentum with a rate for each variable: ``eeta * |w| / (|g| + weight_decay * |w| + epsilon)``.

    Variables whose name holds a text of ``skip_list`` are trained with the plain rate and without decay.
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        momentum: Any = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Any = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        super().__init__(learning_rate, momentum, False, name, use_nesterov)
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list = skip_list or []

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """The rate of ``var``, and its gradient with that of the decay."""
        rate = self._cast(self._learning_rate_tensor, var)
        if any(text in var.op.name for text in self._skip_list):
            return rate, grad
        w_norm, g_norm = norm(var), norm(grad)
        ratio = self._eeta * w_norm / (g_norm + self._weight_decay * w_norm + self._epsilon)
        grows = logical_and(greater(w_norm, 0.0), greater(g_norm, 0.0))
        rate = rate * where(grows, ratio, w_norm * 0.0 + 1.0)
        return rate, grad + self._weight_decay * var

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        # The slot holds steps, not gradients: each has the rate of its own time, as in TensorFlow.
        rate, grad = self.compute_lr(grad, var)
        inputs = self._inputs(var) | {"lr": self._cast(1.0, var)}
        locking = self._use_locking
        return update(apply_momentum, var, grad=rate * grad, **inputs, use_locking=locking)
