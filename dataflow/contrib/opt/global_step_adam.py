"""Adam that counts its steps by the global step, and a wrapper that passes over gradients of zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.contrib.opt.adam_variants import LazyAdamOptimizer
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import no_op
from dataflow.ops.math import equal, pow_
from dataflow.ops.reduce import count_nonzero
from dataflow.train.adam import AdamOptimizer
from dataflow.train.optimizer import Optimizer


class AdamGSOptimizer(AdamOptimizer):
    """Adam whose powers of beta are those of ``global_step`` + 1: no variables that servers share."""

    def __init__(
        self,
        global_step: Any = 0,
        learning_rate: TensorLike | Callable[[], Any] = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step
        self._count: Any = None

    def _prepare(self) -> None:
        super()._prepare()
        self._count = cast(array.identity(self._global_step) + 1, dtypes.float32)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return pow_(self._beta1_t, self._count), pow_(self._beta2_t, self._count)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        return Optimizer._finish(self, update_ops, name_scope)


class LazyAdamGSOptimizer(AdamGSOptimizer, LazyAdamOptimizer):
    """`AdamGSOptimizer` whose rows without a gradient stay as they are."""

    _apply_sparse = LazyAdamOptimizer._apply_sparse


class MultitaskOptimizerWrapper:
    """Wraps an optimizer so that a gradient of only zeros changes neither the variable nor its slots.

    For models of several tasks, where a batch of one task has no gradient of the others' variables. Raises
    `TypeError` for anything but an optimizer.
    """

    def __init__(self, opt: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for name in ("_apply_dense", "_apply_sparse"):
            setattr(opt, name, _unless_zero(getattr(opt, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def _unless_zero(apply: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(grad: Any, *args: Any, **kwargs: Any) -> Any:
        values = getattr(grad, "values", grad)

        def update() -> Any:
            with default_graph().control_dependencies([apply(grad, *args, **kwargs)]):
                return no_op()

        return cond(equal(count_nonzero(values), 0), no_op, update)

    return wrapped
