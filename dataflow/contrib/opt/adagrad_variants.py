"""Relatives of Adagrad: for regularization, and with a matrix for each axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.conditionals import cond
from dataflow.ops.decompositions import svd
from dataflow.ops.math import less, matmul, maximum, mod, pow_, reduce_sum
from dataflow.ops.matrix_diag import eye
from dataflow.ops.state import assign, assign_add, assign_sub
from dataflow.ops.tensor_products import tensordot
from dataflow.train.adagrad import AdagradOptimizer
from dataflow.train.optimizer import Optimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad whose accumulators can be left alone, for the gradients of a regularization."""

    _updates_slots = True

    def __init__(
        self,
        learning_rate: TensorLike | Callable[[], Any],
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)

    @contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Within it, `apply_gradients` takes the accumulators as they are."""
        before, self._updates_slots = self._updates_slots, False
        try:
            yield
        finally:
            self._updates_slots = before

    def _inputs(self, var: Variable) -> dict[str, Any]:
        return {**super()._inputs(var), "update_slots": self._updates_slots}


def _at(value: Any, step: Any) -> Any:
    return value(step) if callable(value) else value


class ShampooOptimizer(Optimizer):
    """Gradients multiplied along each axis by a root of what they were along it (Gupta et al. 2018).

    For axis i of n with at most ``max_matrix_size`` elements, ``G_i = decay G_i + weight g g^T`` (divided
    by the axis's size) and the gradient is multiplied by ``(G_i + epsilon I) ** (-alpha / n)``; a longer axis has
    a vector instead of the matrix. ``gbar_decay`` adds momentum. Decays, weights, intervals, alpha and
    the rate may be functions of the step. The roots are computed every ``svd_interval`` steps, by
    singular values also with ``use_iterative_root``.

    Slots: ``gbar``, ``Gbar_i``, and ``H_i`` with an interval above 1.
    """

    def __init__(
        self,
        global_step: Any = 0,
        max_matrix_size: int = 768,
        gbar_decay: Any = 0.0,
        gbar_weight: Any = 1.0,
        mat_gbar_decay: Any = 1.0,
        mat_gbar_weight: Any = 1.0,
        learning_rate: Any = 1.0,
        svd_interval: Any = 1,
        precond_update_interval: Any = 1,
        epsilon: float = 1e-4,
        alpha: Any = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        super().__init__(use_locking, name)
        self._step = cast(global_step, dtypes.float32)
        self._most = max_matrix_size
        self._gbar = (gbar_decay, gbar_weight)
        self._matrices = (mat_gbar_decay, mat_gbar_weight)
        self._learning_rate = learning_rate
        self._intervals = (svd_interval, precond_update_interval)
        self._epsilon, self._alpha = epsilon, alpha

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gbar", self._name)
            for i, size in enumerate(var.shape.as_list()):
                shape = [size, size] if size <= self._most else [size]
                zeros = array.zeros(shape, var.dtype.base_dtype)
                self._get_or_make_slot(var, zeros, f"Gbar_{i}", self._name)
                if size <= self._most and self._intervals[0] != 1:
                    self._get_or_make_slot(
                        var, eye(size, dtype=var.dtype.base_dtype), f"H_{i}", self._name
                    )

    @staticmethod
    def _averaged(slot: Any, decay: Any, at: Any, added: Any) -> Any:
        """The slot, decayed and added to; without decay what is added, at decay 1 the sum."""
        if not callable(decay) and decay == 0.0:
            return added
        if not callable(decay) and decay == 1.0:
            return assign_add(slot, added)
        return assign_add(slot, (at - 1.0) * slot + added)

    def _root(self, matrix: Any, size: int, exponent: Any) -> Any:
        if size == 1:
            return pow_(matrix + self._epsilon, exponent)
        values, u, v = svd(
            matrix + self._epsilon * eye(size, dtype=matrix.dtype), full_matrices=True
        )
        powers = pow_(maximum(values, np.asarray(self._epsilon, values.dtype.numpy)), exponent)
        return matmul(v * powers, array.transpose(u))

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        indices = array.expand_dims(grad.indices, 1)
        shape = array.shape(var, out_type=grad.indices.dtype)
        return self._apply_dense(array.scatter_nd(indices, grad.values, shape), var)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        step = self._step + 1.0
        (decay, weight), (svd_interval, interval) = self._gbar, self._intervals
        result = self._averaged(
            self.get_slot(var, "gbar"), decay, _at(decay, step), _at(weight, step) * grad
        )
        sizes: list[Any] = var.shape.as_list()
        exponent = -_at(self._alpha, step) / len(sizes)
        for i, size in enumerate(sizes):
            others = [axis for axis in range(len(sizes)) if axis != i]
            if size > self._most:
                result = self._by_vector(grad, var, result, i, others, exponent, step)
                continue
            matrix = self._matrix(grad, var, i, others, step, _at(interval, step)) / float(size)
            if svd_interval == 1:
                root = self._root(matrix, size, exponent)
            else:
                kept = self.get_slot(var, f"H_{i}")
                root = cond(
                    less(mod(step, float(_at(svd_interval, step))), 1.0),
                    lambda m=matrix, n=size, h=kept: assign(h, self._root(m, n, exponent)),  # type: ignore[misc]
                    lambda h=kept: array.identity(h),  # type: ignore[misc]
                )
            result = tensordot(result, root, [[0], [0]])
        return assign_sub(var, _at(self._learning_rate, step) * result)

    def _matrix(
        self, grad: Any, var: Variable, i: int, others: list[int], step: Any, interval: Any
    ) -> Any:
        """G_i with this step's gradient, where its turn has come."""
        decay, weight = self._matrices
        slot = self.get_slot(var, f"Gbar_{i}")

        def updated() -> Any:
            outer = tensordot(grad, grad, [others, others])
            added = _at(weight, step) * interval * outer
            return array.identity(self._averaged(slot, decay, _at(decay, step), added))

        if interval == 1:
            return updated()
        return cond(less(mod(step, float(interval)), 1.0), updated, lambda: array.identity(slot))

    def _by_vector(
        self,
        grad: Any,
        var: Variable,
        result: Any,
        i: int,
        others: list[int],
        exponent: Any,
        step: Any,
    ) -> Any:
        """A long axis: what stands for G_i is its diagonal."""
        decay, weight = self._matrices
        size: Any = var.shape.as_list()[i]
        squares = reduce_sum(grad * grad, others) / float(size) if others else grad * grad
        sums = self._averaged(
            self.get_slot(var, f"Gbar_{i}"), decay, _at(decay, step), _at(weight, step) * squares
        )
        root = array.where(sums > 0.0, pow_(sums, exponent), array.zeros_like(sums))
        turned = array.transpose(result, [*range(1, len(var.shape.as_list())), 0])
        return turned * root
