"""`VariableClippingOptimizer`: an optimizer whose variables keep a largest norm."""

from __future__ import annotations

from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.clip import clip_by_norm
from dataflow.ops.control_flow import group
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.state import assign, scatter_update
from dataflow.train.optimizer import Optimizer


class VariableClippingOptimizer(Optimizer):
    """``opt``, after whose step variables are scaled down to a norm of at most ``max_norm``.

    ``vars_to_clip_dims``: for each variable to clip the list of dimensions that a norm goes along;
    [] for one norm of all. Where a gradient is sparse only its rows are looked at; dimension 0
    cannot be among the dimensions then (`ValueError`).
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: dict[Any, list[int]],
        max_norm: TensorLike,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._dims = dict(vars_to_clip_dims)
        self._max_norm = max_norm
        self._colocated = colocate_clip_ops_with_vars

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the optimizer inside."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot of the optimizer inside."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The names of the slots of the optimizer inside."""
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The step of the optimizer inside, and then the clipping."""
        graph = default_graph()
        with graph.name_scope(name or self.get_name()) as scope:
            pairs = list(grads_and_vars)
            update = self._opt.apply_gradients(pairs, global_step=global_step)
            with graph.control_dependencies([update]):
                clipped = [self._clip(g, v) for g, v in pairs if g is not None]
            return group(update, *(c for c in clipped if c is not None), name=scope)

    def _clip(self, grad: Any, variable: Any) -> Any:
        if variable not in self._dims:
            return None
        dims = self._dims[variable]
        device = variable.device if self._colocated else None
        with default_graph().device(device):
            if isinstance(grad, IndexedSlices):
                if 0 in dims:
                    raise ValueError(
                        f"Cannot clip dimension 0 of {variable.name}: its gradient is sparse."
                    )
                rows = array.gather(variable.read_value(), grad.indices)
                return scatter_update(
                    variable, grad.indices, clip_by_norm(rows, self._max_norm, dims)
                )
            whole = clip_by_norm(variable.read_value(), self._max_norm, dims or None)
            return assign(variable, whole, use_locking=self._use_locking)
