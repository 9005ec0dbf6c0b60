"""The accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.observable_condition import WatchedCondition
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


class Accumulator:
    """``count`` gradients are in; ``step`` decides which are stale. ``total`` is their sum."""

    def __init__(self, name: str, dtype: Any, dims: Any, reduction: str) -> None:
        self.name = name
        self.dtype = dtype
        self.dims = None if dims is None else tuple(dims)
        self.mean = reduction == "MEAN"
        self.condition = WatchedCondition()
        self.step = 0
        self.count = 0
        self.dropped = 0  # gradients of older steps, of this accumulator's variable
        self.total: Any = None
        #: The last number of gradients in a mean, as an array of their dtype.
        self._divisor: tuple[int, Any] = (0, None)

    def check(self, shape: Any) -> None:
        if self.dims is None or shape == self.dims:
            return
        if len(shape) != len(self.dims) or any(
            d is not None and d != s for s, d in zip(shape, self.dims, strict=True)
        ):
            raise InvalidArgumentError(
                None,
                None,
                f"Shape mismatch: expected {list(self.dims)}, got {list(shape)} ({self.name!r})",
            )

    def apply(self, step: int, gradient: Any) -> None:
        condition = self.condition
        with condition.lock:
            if step < self.step:
                self.dropped += 1
                return
            self.add(gradient)
            self.count += 1
            condition.notify_all()

    def add(self, gradient: Any) -> None:
        shape, total = gradient.shape, self.total
        if shape != self.dims:
            self.check(shape)
        if total is None:
            # One that nobody changes (a number, or an array that came in a message and cannot be
            # written) is the sum while it is alone.
            is_changing = type(gradient) is np.ndarray and gradient.flags.writeable
            self.total = np.array(gradient) if is_changing else gradient
        elif total.shape != shape:
            raise InvalidArgumentError(
                None,
                None,
                f"Shape mismatch: expected {list(total.shape)}, got {list(shape)}",
            )
        elif type(total) is np.ndarray and total.flags.writeable and total.size > 1:
            np.add(total, gradient, total)
        else:  # NumPy takes ten times as long to change a single number in place
            self.total = np.add(total, gradient)

    def take(self, context: Any, required: int) -> Any:
        if required <= 0:
            raise InvalidArgumentError(
                None, None, f"Argument num_required must be positive, got {required}"
            )

        with self.condition.lock:
            if self.count < required:

                def ready() -> bool:
                    return self.count >= required

                context.postpone_unless(self.condition, ready)
                context.wait(self.condition, ready)
            result = self.result()
            self.count = 0
            self.total = None
            self.step += 1
            return result

    def result(self) -> Any:
        total = self.total
        if not self.mean:
            pass
        elif type(total) is np.ndarray and total.dtype.kind in "fc":
            count, divisor = self._divisor
            if count != self.count:
                divisor = np.array(self.count, total.dtype)
                self._divisor = self.count, divisor
            in_place = total.flags.writeable and total.size > 1
            total = np.divide(total, divisor, total if in_place else None)
        else:
            total = (total / self.count).astype(self.dtype.numpy, copy=False)
        return total if total.shape else total[()]


class SparseAccumulator(Accumulator):
    """``total`` maps a row to (sum, number of gradients that have it)."""

    dense_shape: Any = None

    def add(self, gradient: Any) -> None:
        indices, values, shape = gradient
        if len(indices) and values.shape[0] != len(indices):
            raise InvalidArgumentError(
                None,
                None,
                f"The gradient has {len(indices)} indices for {values.shape[0]} rows of values.",
            )
        if shape is not None:
            self.dense_shape = np.array(shape, np.int64)
        if self.total is None:
            self.total = {}
        # Rows that occur twice in one gradient count once.
        rows: dict[int, Any] = {}
        for index, value in zip(np.asarray(indices).tolist(), values, strict=True):
            rows[index] = rows[index] + value if index in rows else value
        for index, value in rows.items():
            found = self.total.get(index)
            if found is None:
                self.total[index] = (np.array(value), 1)
            else:
                self.total[index] = (found[0] + value, found[1] + 1)

    def result(self) -> Any:
        rows = sorted(self.total)
        values = [
            (self.total[r][0] / self.total[r][1]).astype(self.dtype.numpy)
            if self.mean
            else self.total[r][0]
            for r in rows
        ]
        indices = np.array(rows, np.int64)
        if values:
            stacked = np.stack(values)
        else:
            stacked = np.zeros((0, *[d or 0 for d in (self.dims or ())[1:]]), self.dtype.numpy)
        if self.dense_shape is not None:
            shape = self.dense_shape
        elif self.dims is not None and None not in self.dims:
            shape = np.array(self.dims, np.int64)
        else:
            largest = int(indices[-1]) + 1 if len(indices) else 0
            shape = np.array([largest, *stacked.shape[1:]], np.int64)
        return indices, stacked, shape.copy()


_REASON = "gradients are collected in the host's memory"


@kernel("ConditionalAccumulator", "ResourceConditionalAccumulator", stateful=True, looks_up=True)
def conditional_accumulator_kernel(
    context: KernelContext, *, dtype: Any, shape: Any, reduction_type: str
) -> Any:
    return context.resource(
        "accumulator", lambda: Accumulator(context.resource_name, dtype, shape, reduction_type)
    )


@kernel("SparseConditionalAccumulator", stateful=True, looks_up=True)
def sparse_conditional_accumulator_kernel(
    context: KernelContext, *, dtype: Any, shape: Any, reduction_type: str
) -> Any:
    return context.resource(
        "accumulator",
        lambda: SparseAccumulator(context.resource_name, dtype, shape, reduction_type),
    )


@kernel("AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient", cpu_only=_REASON)
def accumulator_apply_gradient_kernel(
    xp: Module, handle: Any, local_step: Array, gradient: Array
) -> tuple[()]:
    handle.apply(int(local_step), gradient)
    return ()


@kernel(
    "AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient", stateful=True, cpu_only=_REASON
)
def accumulator_take_gradient_kernel(
    context: KernelContext, handle: Any, num_required: Array
) -> Any:
    return handle.take(context, int(num_required))


@kernel("SparseAccumulatorApplyGradient", cpu_only=_REASON)
def sparse_accumulator_apply_gradient_kernel(
    xp: Module,
    handle: Any,
    local_step: Array,
    gradient_indices: Array,
    gradient_values: Array,
    gradient_shape: Array,
    *,
    has_known_shape: bool,
) -> tuple[()]:
    shape = gradient_shape if has_known_shape else None
    handle.apply(int(local_step), (gradient_indices, gradient_values, shape))
    return ()


@kernel("SparseAccumulatorTakeGradient", stateful=True, cpu_only=_REASON)
def sparse_accumulator_take_gradient_kernel(
    context: KernelContext, handle: Any, num_required: Array
) -> Any:
    return handle.take(context, int(num_required))


@kernel("AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated")
def accumulator_num_accumulated_kernel(xp: Module, handle: Any) -> Any:
    return np.int32(handle.count)


@kernel("AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep")
def accumulator_set_global_step_kernel(
    xp: Module, handle: Any, new_global_step: Array
) -> tuple[()]:
    with handle.condition:
        handle.step = int(new_global_step)
    return ()
