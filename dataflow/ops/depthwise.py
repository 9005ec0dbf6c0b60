"""Depthwise convolution (each channel by itself) and morphological dilation, as ops."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import FLOATING, REAL_NUMBERS
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.conv import (
    check_padding,
    check_rank,
    check_steps,
    convolution_ops,
)
from dataflow.ops.costs import windows
from dataflow.shapes import Dims
from dataflow.windows import num_positions

_WORK: dict[str, Any] = {"T": FLOATING, "cost": windows, "shares_work": "always"}

depthwise_op, depthwise_backprop_input_op, depthwise_backprop_filter_op = convolution_ops(
    (
        "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropInput",
        "DepthwiseConv2dNativeBackpropFilter",
    ),
    4,
    "strides: list[int], padding: str, explicit_paddings: list[int] = (), "
    "data_format: str = 'NHWC', dilations: list[int] = (1, 1, 1, 1)",
    (
        """Convolution of each channel with its own filters.

    Shape: input [batch, height, width, channels], filter [height, width, channels, multiplier];
    result [batch, height', width', channels * multiplier], the filters of one channel side by
    side. Dtype: kept. Gradient: the two ops named DepthwiseConv2dNativeBackprop.
    """,
        """The gradient of `DepthwiseConv2dNative` by its input.

    Shape: the four sizes that input_sizes holds. Dtype: kept.
    Gradient: to the filter and to out_backprop, by the ops of the same family.
    """,
        """The gradient of `DepthwiseConv2dNative` by its filter.

    Shape: the four sizes that filter_sizes holds. Dtype: kept.
    Gradient: to the input and to out_backprop, by the ops of the same family.
    """,
    ),
    (_WORK, _WORK, _WORK),
    depthwise=True,
)


# ---- morphology --------------------------------------------------------------------------------


def _dilated_dims(
    input: Tensor, filter: Tensor, strides: list[int], rates: list[int], padding: str
) -> Dims:
    check_padding(padding, [], 4, ("SAME", "VALID"))
    check_steps("strides", strides, 4, [0, 3])
    check_steps("rates", rates, 4, [0, 3])
    check_rank(input, 4, "the input")
    check_rank(filter, 3, "the filter")
    sizes = input.dims or (None,) * 4
    taps = filter.dims or (None,) * 3
    if sizes[3] is not None and taps[2] is not None and sizes[3] != taps[2]:
        raise ValueError(
            f"the input has {sizes[3]} channels, the filter is for {taps[2]}\n"
            "The filter of a dilation has shape [height, width, channels]."
        )
    spatial = [num_positions(sizes[i], taps[i - 1], strides[i], rates[i], padding) for i in (1, 2)]
    return (sizes[0], *spatial, sizes[3] if sizes[3] is not None else taps[2])


@define_op("Dilation2D", "input: T, filter: T -> output: T", T=REAL_NUMBERS)
def dilation2d_op(
    input: Tensor, filter: Tensor, *, strides: list[int], rates: list[int], padding: str
) -> Dims:
    """Gray-scale dilation: the largest ``input + filter`` under each place of the filter.

    Shape: input [batch, height, width, channels], filter [height, width, channels]; result
    [batch, height', width', channels]. Dtype: kept. Gradient: to the element that was largest
    (the first of equals), by `Dilation2DBackpropInput` and `Dilation2DBackpropFilter`.
    """
    return _dilated_dims(input, filter, strides, rates, padding)


def _dilation_gradient(argument: str, index: int) -> OpDef:
    def rule(
        input: Tensor,
        filter: Tensor,
        out_backprop: Tensor,
        *,
        strides: list[int],
        rates: list[int],
        padding: str,
    ) -> Dims:
        _dilated_dims(input, filter, strides, rates, padding)
        return (input, filter)[index].dims

    op_type = f"Dilation2DBackprop{argument.capitalize()}"
    rule.__name__ = op_type
    rule.__doc__ = (
        f"The gradient of `Dilation2D` by its {argument}.\n\n"
        f"Shape: that of the {argument}. Dtype: kept. Gradient: none registered, as in TensorFlow."
    )
    signature = f"input: T, filter: T, out_backprop: T -> {argument}_backprop: T"
    if argument == "input":
        signature = signature.replace("input_backprop", "in_backprop")
    return define_op(op_type, signature, T=REAL_NUMBERS)(rule)


dilation2d_backprop_input_op = _dilation_gradient("input", 0)
dilation2d_backprop_filter_op = _dilation_gradient("filter", 1)


@dilation2d_op.gradient
def dilation2d_gradient(op: Operation, grad: Tensor) -> list[Any]:
    attrs = {n: op.attrs[n] for n in ("strides", "rates", "padding")}
    return [
        dilation2d_backprop_input_op(*op.inputs, grad, **attrs),
        dilation2d_backprop_filter_op(*op.inputs, grad, **attrs),
    ]


@dilation2d_backprop_input_op.gradient
@dilation2d_backprop_filter_op.gradient
def no_second_gradient(op: Operation, grad: Tensor) -> list[Any]:
    raise LookupError(
        f"No gradient defined for operation {op.name!r} (op type: {op.type}): a dilation has first "
        "derivatives only, as in TensorFlow."
    )
