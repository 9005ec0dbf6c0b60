"""Weight decay beside the gradient. Source: Loshchilov and Hutter, "Decoupled weight decay", 2017."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.gather_scatter import gather
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.math import cast
from dataflow.ops.sequences import unique
from dataflow.ops.state import scatter_sub
from dataflow.train.adam import AdamOptimizer
from dataflow.train.momentum import MomentumOptimizer
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class DecoupledWeightDecayExtension(Optimizer):
    """To be put before an optimizer: ``class AdamW(DecoupledWeightDecayExtension, AdamOptimizer)``.

    Each step first takes ``weight_decay * var`` off the variables, when all gradients are computed; of
    a variable whose gradient has rows, such as an embedding, off those rows alone.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        self._decayed: set[str] | None = None
        self._gradients: list[Any] = []
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: TensorLike,
        global_step: Tensor | Variable | None = None,
        var_list: Iterable[Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """As of every optimizer; of ``decay_var_list`` alone the variables decay, by default of all."""
        self._choose(kwargs.pop("decay_var_list", None))
        return super().minimize(loss, global_step, var_list, *args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Any = None,
    ) -> Any:
        """As of every optimizer; of ``decay_var_list`` alone the variables decay, by default of all."""
        pairs = list(grads_and_vars)
        if decay_var_list:
            self._choose(decay_var_list)
        self._gradients = [
            g.values if isinstance(g, IndexedSlices) else g for g, _ in pairs if g is not None
        ]
        return super().apply_gradients(pairs, global_step=global_step, name=name)

    def _choose(self, variables: Any) -> None:
        self._decayed = {v.op.name for v in variables} if variables else None

    def _update(self, grad: Any, var: Variable) -> Any:
        if self._decayed is not None and var.op.name not in self._decayed:
            return super()._update(grad, var)
        rate = cast(self._call_if_callable(self._weight_decay), var.dtype.base_dtype)
        with default_graph().control_dependencies(self._gradients):
            if isinstance(grad, IndexedSlices):
                rows, _ = unique(grad.indices)
                lost = rate * gather(var, rows)
                decay = scatter_sub(var, rows, lost, use_locking=self._use_locking)
            else:
                decay = var.assign_sub(rate * var, use_locking=self._use_locking)
        with default_graph().control_dependencies([decay]):
            return super()._update(grad, var)


def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Any]:
    """A class like ``base_optimizer`` whose first argument is ``weight_decay``."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[valid-type,misc]
        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._weight_decay = weight_decay
            self._decayed = None
            self._gradients = []
            base_optimizer.__init__(self, *args, **kwargs)

    OptimizerWithDecoupledWeightDecay.__doc__ = base_optimizer.__doc__
    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """`AdamOptimizer` with ``var -= weight_decay * var`` before each step."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: TensorLike | Callable[[], Any] = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """`MomentumOptimizer` with ``var -= weight_decay * var`` before each step."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: TensorLike | Callable[[], Any],
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )
