"""`GGTOptimizer`: adaptive steps by a matrix of the latest gradients."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import minimum
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group
from dataflow.ops.decompositions import svd
from dataflow.ops.elementary import sqrt
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import eye
from dataflow.ops.reduce import reduce_min
from dataflow.ops.state import assign, assign_add, assign_sub, scatter_update
from dataflow.train.optimizer import Optimizer


class GGTOptimizer(Optimizer):
    """Full-matrix Adagrad of the last ``window`` averages of the gradients.

    All variables are one vector. Agarwal et al., "The Case for Full-Matrix Adaptive Regularization",
    2018. Sparse gradients are a `NotImplementedError`.

    Args:
        learning_rate: the rate.
        beta1: the decay of the average of the gradients.
        window: how many averages are kept.
        eps: below this smallest singular value, what is across the window is left out.
        svd_eps: is added to the diagonal before the singular values are computed.
        sigma_eps: is added to the singular values.
    """

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        beta1: TensorLike = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: int = 10,
        eps: float = 1e-4,
        svd_eps: float = 1e-6,
        sigma_eps: float = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta1, self._window = learning_rate, beta1, window
        self._eps, self._svd_eps, self._sigma_eps = eps, svd_eps, sigma_eps
        self._places: dict[str, tuple[int, int]] = {}
        self._variables: list[Any] = []

    def _create_slots(self, var_list: list[Any]) -> None:
        end = 0
        for variable in sorted(var_list, key=lambda variable: variable.name):
            start, end = end, end + (variable.shape.num_elements() or 1)
            self._places[variable.name] = (start, end)
        first = min(var_list, key=lambda variable: variable.name)
        dtype = first.dtype.base_dtype
        for name, shape in (
            ("global_step", []),
            ("grad_buffer", [self._window, end]),
            ("moment1", [end]),
            ("flat_grad", [end]),
        ):
            self._create_non_slot_variable(array.zeros(shape, dtype), name, first)

    def _kept(self, name: str) -> Any:
        return self._get_non_slot_variable(name, default_graph())

    def _prepare(self) -> None:
        self._variables = []

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        self._variables.append(var)
        places = array.range_(*self._places[var.name])
        return scatter_update(self._kept("flat_grad"), places, array.reshape(grad, [-1]))

    def _direction(self, moment: Any, buffer: Any, step: Any) -> Any:
        """The step of all variables, of shape [elements, 1]."""
        dtype = moment.dtype
        window = array.transpose(buffer / sqrt(minimum(step, cast(self._window, dtype))))
        damping = eye(self._window, dtype=dtype) * self._svd_eps
        values, left, _ = svd(matmul(window, window, transpose_a=True) + damping)
        roots = sqrt(values)
        along = matmul(left, matmul(window, moment, transpose_a=True), transpose_a=True)

        def back(scales: Any) -> Any:
            return matmul(window, matmul(left, array.expand_dims(scales, 1) * along))

        smallest = reduce_min(roots)
        head = back(1.0 / (roots + self._sigma_eps) ** 3)
        across = (moment - back(1.0 / values)) / smallest
        return cond(greater(smallest, self._eps), lambda: head + across, lambda: head + 0.0)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        graph = default_graph()
        with graph.control_dependencies(update_ops):
            step = assign_add(self._kept("global_step"), 1.0)
            kept = self._kept("moment1")
            beta1 = self._call_if_callable(self._beta1)
            moment = assign(
                kept,
                beta1 * kept.read_value() + (1.0 - beta1) * self._kept("flat_grad").read_value(),
            )
        row = cast(step - 1.0, dtypes.int32) % self._window
        buffer = scatter_update(self._kept("grad_buffer"), row, moment)
        direction = self._direction(array.expand_dims(moment, -1), buffer, step)
        rate = self._call_if_callable(self._learning_rate)
        updates = []
        for variable in self._variables:
            start, end = self._places[variable.name]
            way = array.reshape(direction[start:end], variable.shape)
            updates.append(assign_sub(variable, rate * way))
        return group(*updates, name=name_scope)
