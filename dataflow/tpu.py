"""``tf.tpu`` where there are no TPUs: what programs name on the way that they take without one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.losses import Reduction
from dataflow.namespaces import explain_absent
from dataflow.ops.variable_scope import VariableScope, variable_scope
from dataflow.train.optimizer import Optimizer

__all__ = ["CrossShardOptimizer", "bfloat16_scope", "cross_replica_sum"]


class CrossShardOptimizer(Optimizer):
    """``opt`` with gradients summed over the shards of a TPU; there is one, so the step is ``opt``'s.

    Raises `ValueError` for a ``reduction`` other than `Reduction.SUM` and `Reduction.MEAN`.
    """

    def __init__(
        self,
        opt: Any,
        reduction: str = Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the optimizer inside."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The step of the optimizer inside."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The slot of the optimizer inside."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The slots' names of the optimizer inside."""
        return list(self._opt.get_slot_names(*args, **kwargs))

    def variables(self) -> list[Any]:
        """The variables of the optimizer inside."""
        return list(self._opt.variables())


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Tensor:
    """The sum of ``x`` over the replicas of a TPU: ``x``, as there is one."""
    return convert_to_tensor(x, name=name)


@contextlib.contextmanager
def bfloat16_scope() -> Iterator[VariableScope]:
    """A variable scope without a name in which variables asked for as bfloat16 are kept as float32.

    Yields the scope.
    """
    from dataflow import dtypes
    from dataflow.ops.casts import cast

    def getter(create: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dtype") != dtypes.bfloat16:
            return create(*args, **kwargs)
        return cast(create(*args, **{**kwargs, "dtype": dtypes.float32}), dtypes.bfloat16)

    with variable_scope("", custom_getter=getter) as scope:
        yield scope


__getattr__ = explain_absent(__name__)
