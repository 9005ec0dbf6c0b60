"""Accumulators: gradients that workers hand in and one takes out, averaged; stale ones are dropped.

This is the building block of synchronous training: see `tf.train.SyncReplicasOptimizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.shapes import Dims, Shape, TensorShape


def _both(op_type: str, signature: str, **options: Any) -> Callable[[Any], Any]:
    """Registers an op under the name that TensorFlow 1 gives it, and with ``Resource`` before it.

    Later versions build the second kind; both are the same here. Returns both definitions.
    """

    def register(rule: Any) -> Any:
        return (
            define_op(op_type, signature, **options)(rule),
            define_op("Resource" + op_type, signature, **options)(rule),
        )

    return register


@_both("ConditionalAccumulator", "-> handle: resource", stateful=True, is_handle=True)
def conditional_accumulator_ops(
    *,
    dtype: DType,
    shape: Shape,
    container: str = "",
    shared_name: str = "",
    reduction_type: str = "MEAN",
) -> Dims:
    """Sums or averages dense gradients. A scalar handle."""
    return ()


sparse_conditional_accumulator_op = declare_op(
    "SparseConditionalAccumulator",
    "-> handle: resource",
    "Sums or averages sparse gradients, row by row. A scalar handle.",
    attrs="dtype: DType, shape: Shape, container: str = '', shared_name: str = '', "
    "reduction_type: str = 'MEAN'",
    stateful=True,
    is_handle=True,
)


@_both(
    "AccumulatorApplyGradient",
    "handle: resource, local_step: int64, gradient: dtype",
    stateful=True,
    inline_safe=True,
)
def accumulator_apply_gradient_ops(
    handle: Tensor, local_step: Tensor, gradient: Tensor
) -> list[Dims]:
    """Hands in a gradient; dropped when ``local_step`` is older than the accumulator's step."""
    return []


@_both(
    "AccumulatorTakeGradient",
    "handle: resource, num_required: int32 -> average: dtype",
    stateful=True,
    blocks=True,
    can_retry=True,
)
def accumulator_take_gradient_ops(handle: Tensor, num_required: Tensor, *, dtype: DType) -> Dims:
    """Waits for ``num_required`` gradients; returns their mean (or sum) and starts anew."""
    return None


sparse_accumulator_apply_gradient_op = declare_op(
    "SparseAccumulatorApplyGradient",
    "handle: resource, local_step: int64, gradient_indices: int64, gradient_values: dtype, "
    "gradient_shape: int64",
    "Hands in a sparse gradient; see `AccumulatorApplyGradient`.",
    attrs="has_known_shape: bool",
    stateful=True,
)
sparse_accumulator_take_gradient_op = declare_op(
    "SparseAccumulatorTakeGradient",
    "handle: resource, num_required: int32 -> indices: int64, values: dtype, shape: int64",
    "Waits for ``num_required`` sparse gradients; rows that several have are averaged.",
    None,
    attrs="dtype: DType",
    stateful=True,
    blocks=True,
    can_retry=True,
)


@_both("AccumulatorNumAccumulated", "handle: resource -> num_accumulated: int32", stateful=True)
def accumulator_num_accumulated_ops(handle: Tensor) -> Dims:
    """How many gradients are in, a scalar."""
    return ()


@_both(
    "AccumulatorSetGlobalStep",
    "handle: resource, new_global_step: int64",
    stateful=True,
    inline_safe=True,
)
def accumulator_set_global_step_ops(handle: Tensor, new_global_step: Tensor) -> list[Dims]:
    """Sets the step that decides which gradients are stale."""
    return []


not_differentiable(
    *conditional_accumulator_ops,
    *accumulator_apply_gradient_ops,
    *accumulator_take_gradient_ops,
    *accumulator_num_accumulated_ops,
    *accumulator_set_global_step_ops,
)


def _as_int64(value: TensorLike) -> Tensor:
    """``value``, of any integer type, as the int64 that the ops take: steps are often int32."""
    from dataflow.ops.casts import cast

    if isinstance(value, (int, list, tuple)):
        return convert_to_tensor(value, dtypes.int64)
    return cast(convert_to_tensor(value), dtypes.int64)  # type: ignore[no-any-return]


class ConditionalAccumulatorBase:
    """What both accumulators share."""

    _resource = 1

    def __init__(self, dtype: DTypeLike, shape: DynamicShapeLike, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the accumulator."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients are in, a scalar int32."""
        return accumulator_num_accumulated_ops[self._resource](  # type: ignore[no-any-return]
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Any:
        """An operation that sets the step; gradients of earlier steps are dropped from then on."""
        return accumulator_set_global_step_ops[self._resource](
            self._accumulator_ref, _as_int64(new_global_step), name=name
        )


def _check_reduction(reduction_type: str) -> str:
    if reduction_type not in ("MEAN", "SUM"):
        raise ValueError(f"reduction_type must be 'MEAN' or 'SUM', got {reduction_type!r}")
    return reduction_type


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Collects dense gradients until enough are in. ``reduction_type``: "MEAN" or "SUM"."""

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = conditional_accumulator_ops[1](
            dtype=dtype,
            shape=shape,
            shared_name=shared_name or "",
            reduction_type=_check_reduction(reduction_type),
            name=name,
        )
        super().__init__(dtype, shape, ref)

    def apply_grad(self, grad: Tensor, local_step: Any = 0, name: str | None = None) -> Any:
        """An operation that hands in ``grad``, computed at ``local_step``."""
        grad = convert_to_tensor(grad, self._dtype)
        shapes.merge(grad.dims, shapes.as_dims(self._shape))
        step = _as_int64(local_step)
        return accumulator_apply_gradient_ops[1](self._accumulator_ref, step, grad, name=name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean (or sum) of the gradients, once ``num_required`` are in; then starts anew."""
        result: Tensor = accumulator_take_gradient_ops[1](
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        result.set_shape(self._shape)
        return result


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Collects sparse gradients; a row's mean is over the gradients that have it."""

    _resource = 0

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = sparse_conditional_accumulator_op(
            dtype=dtype,
            shape=shape,
            shared_name=shared_name or "",
            reduction_type=_check_reduction(reduction_type),
            name=name,
        )
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Any:
        """An operation that hands in an `IndexedSlices`."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Any:
        """An operation that hands in rows: indices [n], values [n, ...]."""
        return sparse_accumulator_apply_gradient_op(
            self._accumulator_ref,
            _as_int64(local_step),
            _as_int64(grad_indices),
            convert_to_tensor(grad_values, self._dtype),
            _as_int64([] if grad_shape is None else grad_shape),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """(indices, values, shape), once ``num_required`` gradients are in; then starts anew."""
        return sparse_accumulator_take_gradient_op(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, as an `IndexedSlices`."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
