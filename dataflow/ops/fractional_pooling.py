"""Fractional pooling: windows of changing sizes, so that an image shrinks by a factor between 1 and 2.

Source: Graham 2014, "Fractional Max-Pooling".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import shape as shape_of
from dataflow.ops.conv import check_rank
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims

_TYPES: frozenset[DType] = frozenset({dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64})
_SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"


def _pooled(value: Tensor, pooling_ratio: list[float]) -> list[Dims]:
    if len(pooling_ratio) != 4 or pooling_ratio[0] != 1 or pooling_ratio[3] != 1:
        raise ValueError(f"pooling_ratio must be [1, rows, columns, 1], got {pooling_ratio}")
    if min(pooling_ratio) < 1:
        raise ValueError(f"each pooling_ratio must be 1 or more, got {pooling_ratio}")
    check_rank(value, 4, "the value")
    sizes = value.dims if value.dims is not None else (None,) * 4
    rows, columns = (
        None if size is None else math.floor(size / ratio)
        for size, ratio in zip(sizes[1:3], pooling_ratio[1:3], strict=True)
    )
    ends = [(None if count is None else count + 1,) for count in (rows, columns)]
    return [(sizes[0], rows, columns, sizes[3]), *ends]


def _define(name: str, what: str) -> OpDef:
    def rule(
        value: Tensor,
        *,
        pooling_ratio: list[float],
        pseudo_random: bool = False,
        overlapping: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        seed2: int = 0,
    ) -> list[Dims]:
        return _pooled(value, pooling_ratio)

    rule.__name__ = name
    rule.__doc__ = f"""{what} of regions of changing sizes.

    Shape: [batch, height, width, channels] becomes [batch, floor(height / pooling_ratio[1]),
    floor(width / pooling_ratio[2]), channels]; beside it come where the regions of rows and of columns
    start, and where the last ends, both int64. Dtype: kept. Gradient: by `{name}Grad`.
    """
    return define_op(name, f"value: T -> output: T, {_SEQUENCES}", stateful=True, T=_TYPES)(rule)


fractional_max_pool_op = _define("FractionalMaxPool", "The largest element")
fractional_avg_pool_op = _define("FractionalAvgPool", "The mean")


@define_op(
    "FractionalMaxPoolGrad",
    f"orig_input: T, orig_output: T, out_backprop: T, {_SEQUENCES} -> output: T",
    T=_TYPES,
)
def fractional_max_pool_grad_op(
    orig_input: Tensor,
    orig_output: Tensor,
    out_backprop: Tensor,
    row_pooling_sequence: Tensor,
    col_pooling_sequence: Tensor,
    *,
    overlapping: bool = False,
) -> Dims:
    """The gradient of `FractionalMaxPool`: to the first of the largest elements of each region.

    Shape: that of orig_input. Dtype: kept. Gradient: none.
    """
    return orig_input.dims


@define_op(
    "FractionalAvgPoolGrad",
    f"orig_input_tensor_shape: int64, out_backprop: T, {_SEQUENCES} -> output: T",
    T=_TYPES,
)
def fractional_avg_pool_grad_op(
    orig_input_tensor_shape: Tensor,
    out_backprop: Tensor,
    row_pooling_sequence: Tensor,
    col_pooling_sequence: Tensor,
    *,
    overlapping: bool = False,
) -> Dims:
    """The gradient of `FractionalAvgPool`: an equal part to each element of a region.

    Shape: orig_input_tensor_shape. Dtype: kept. Gradient: none.
    """
    return static_dims(orig_input_tensor_shape)


refuse_gradient(fractional_max_pool_grad_op, fractional_avg_pool_grad_op)


@fractional_max_pool_op.gradient
def fractional_max_pool_gradient(op: Operation, grad: Tensor, *_: Any) -> list[Any]:
    overlapping = op.attrs["overlapping"]
    output, rows, columns = op.outputs
    return [
        fractional_max_pool_grad_op(
            op.inputs[0], output, grad, rows, columns, overlapping=overlapping
        )
    ]


@fractional_avg_pool_op.gradient
def fractional_avg_pool_gradient(op: Operation, grad: Tensor, *_: Any) -> list[Any]:
    overlapping = op.attrs["overlapping"]
    whole = shape_of(op.inputs[0], out_type=dtypes.int64)
    return [fractional_avg_pool_grad_op(whole, grad, *op.outputs[1:], overlapping=overlapping)]


def _ratios(pooling_ratio: Any) -> list[float]:
    if not isinstance(pooling_ratio, Sequence):
        pooling_ratio = [pooling_ratio]
    if len(pooling_ratio) < 3:  # TensorFlow 2's: of both axes, or of each
        return [1.0, float(pooling_ratio[0]), float(pooling_ratio[-1]), 1.0]
    return [float(ratio) for ratio in pooling_ratio]


def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """The largest elements of regions of changing sizes: (output, row and column sequence).

    ``pooling_ratio``: [1, rows, columns, 1], each 1.0 or more; a number, or two, as in TensorFlow 2, do.
    ``pseudo_random``: sizes follow from one number that is drawn; else all are shuffled.
    ``overlapping``: neighboring regions share the row or column at their border.
    ``deterministic``, ``seed``, ``seed2``: the same regions in every run.
    """
    return _pool(
        fractional_max_pool_op,
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name,
    )


def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """The means of regions of changing sizes, with arguments and results as `fractional_max_pool`."""
    return _pool(
        fractional_avg_pool_op,
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name,
    )


def _pool(
    op: OpDef,
    value: TensorLike,
    pooling_ratio: Any,
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
    name: str | None,
) -> Any:
    return op(
        value,
        pooling_ratio=_ratios(pooling_ratio),
        pseudo_random=pseudo_random,
        overlapping=overlapping,
        deterministic=deterministic,
        seed=seed,
        seed2=seed2,
        name=name,
    )
