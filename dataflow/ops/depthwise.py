"""Depthwise convolution (each channel by itself) and morphological dilation, as ops."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import FLOATING, REAL_NUMBERS
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.ops import array as array_ops
from dataflow.ops.conv import (
    check_padding,
    check_rank,
    check_steps,
    convolved_dims,
    filter_gradient_dims,
    input_gradient_dims,
)
from dataflow.ops.costs import windows
from dataflow.shapes import Dims
from dataflow.windows import num_positions

_ONES = (1, 1, 1, 1)


@define_op(
    "DepthwiseConv2dNative",
    "input: T, filter: T -> output: T",
    T=FLOATING,
    cost=windows,
    shares_work="always",
)
def depthwise_op(
    input: Tensor,
    filter: Tensor,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int] = (),  # type: ignore[assignment]
    data_format: str = "NHWC",
    dilations: list[int] = _ONES,  # type: ignore[assignment]
) -> Dims:
    """Convolution of each channel with its own filters.

    Shape: input [batch, height, width, channels], filter [height, width, channels, multiplier];
    result [batch, height', width', channels * multiplier], the filters of one channel side by
    side. Dtype: kept. Gradient: the two ops named DepthwiseConv2dNativeBackprop.
    """
    return convolved_dims(
        input,
        filter.dims,
        4,
        strides,
        padding,
        explicit_paddings,
        data_format,
        dilations,
        depthwise=True,
    )


@define_op(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    T=FLOATING,
    cost=windows,
    shares_work="always",
)
def depthwise_backprop_input_op(
    input_sizes: Tensor,
    filter: Tensor,
    out_backprop: Tensor,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int] = (),  # type: ignore[assignment]
    data_format: str = "NHWC",
    dilations: list[int] = _ONES,  # type: ignore[assignment]
) -> Dims:
    """The gradient of `DepthwiseConv2dNative` by its input.

    Shape: the four sizes that input_sizes holds. Dtype: kept.
    Gradient: to the filter and to out_backprop, by the ops of the same family.
    """
    return input_gradient_dims(
        input_sizes,
        filter.dims,
        out_backprop,
        4,
        data_format,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        dilations=dilations,
        depthwise=True,
    )


@define_op(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    T=FLOATING,
    cost=windows,
    shares_work="always",
)
def depthwise_backprop_filter_op(
    input: Tensor,
    filter_sizes: Tensor,
    out_backprop: Tensor,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int] = (),  # type: ignore[assignment]
    data_format: str = "NHWC",
    dilations: list[int] = _ONES,  # type: ignore[assignment]
) -> Dims:
    """The gradient of `DepthwiseConv2dNative` by its filter.

    Shape: the four sizes that filter_sizes holds. Dtype: kept.
    Gradient: to the input and to out_backprop, by the ops of the same family.
    """
    return filter_gradient_dims(
        input,
        filter_sizes,
        out_backprop,
        4,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
        depthwise=True,
    )


def _attrs(op: Any) -> dict[str, Any]:
    names = ("strides", "padding", "explicit_paddings", "data_format", "dilations")
    return {n: op.attrs[n] for n in names}


@depthwise_op.gradient
def depthwise_gradient(op: Any, grad: Tensor) -> list[Any]:
    image, filters = op.inputs
    attrs = _attrs(op)
    return [
        depthwise_backprop_input_op(array_ops.shape(image), filters, grad, **attrs),
        depthwise_backprop_filter_op(image, array_ops.shape(filters), grad, **attrs),
    ]


@depthwise_backprop_input_op.gradient
def depthwise_backprop_input_gradient(op: Any, grad: Tensor) -> list[Any]:
    _, filters, out_backprop = op.inputs
    attrs = _attrs(op)
    return [
        None,
        depthwise_backprop_filter_op(grad, array_ops.shape(filters), out_backprop, **attrs),
        depthwise_op(grad, filters, **attrs),
    ]


@depthwise_backprop_filter_op.gradient
def depthwise_backprop_filter_gradient(op: Any, grad: Tensor) -> list[Any]:
    image, _, out_backprop = op.inputs
    attrs = _attrs(op)
    return [
        depthwise_backprop_input_op(array_ops.shape(image), grad, out_backprop, **attrs),
        None,
        depthwise_op(image, grad, **attrs),
    ]


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
    """Grey-scale dilation: the largest ``input + filter`` under each place of the filter.

    Shape: input [batch, height, width, channels], filter [height, width, channels]; result
    [batch, height', width', channels]. Dtype: kept. Gradient: to the element that was largest
    (the first of equals), by `Dilation2DBackpropInput` and `Dilation2DBackpropFilter`.
    """
    return _dilated_dims(input, filter, strides, rates, padding)


@define_op(
    "Dilation2DBackpropInput",
    "input: T, filter: T, out_backprop: T -> in_backprop: T",
    T=REAL_NUMBERS,
)
def dilation2d_backprop_input_op(
    input: Tensor,
    filter: Tensor,
    out_backprop: Tensor,
    *,
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Dims:
    """The gradient of `Dilation2D` by its input.

    Shape: that of the input. Dtype: kept. Gradient: none registered, as in TensorFlow.
    """
    _dilated_dims(input, filter, strides, rates, padding)
    return input.dims


@define_op(
    "Dilation2DBackpropFilter",
    "input: T, filter: T, out_backprop: T -> filter_backprop: T",
    T=REAL_NUMBERS,
)
def dilation2d_backprop_filter_op(
    input: Tensor,
    filter: Tensor,
    out_backprop: Tensor,
    *,
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Dims:
    """The gradient of `Dilation2D` by its filter.

    Shape: that of the filter. Dtype: kept. Gradient: none registered, as in TensorFlow.
    """
    _dilated_dims(input, filter, strides, rates, padding)
    return filter.dims


@dilation2d_op.gradient
def dilation2d_gradient(op: Any, grad: Tensor) -> list[Any]:
    attrs = {n: op.attrs[n] for n in ("strides", "rates", "padding")}
    return [
        dilation2d_backprop_input_op(*op.inputs, grad, **attrs),
        dilation2d_backprop_filter_op(*op.inputs, grad, **attrs),
    ]


@dilation2d_backprop_input_op.gradient
@dilation2d_backprop_filter_op.gradient
def no_second_gradient(op: Any, grad: Tensor) -> list[Any]:
    raise LookupError(
        f"No gradient defined for operation {op.name!r} (op type: {op.type}): a dilation has first "
        "derivatives only, as in TensorFlow."
    )
