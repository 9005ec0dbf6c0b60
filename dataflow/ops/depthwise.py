"""Depthwise convolution (each channel by itself), as ops."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import FLOATING
from dataflow.ops.conv import (
    convolution_ops,
)
from dataflow.ops.costs import windows

_WORK: dict[str, Any] = {
    "T": FLOATING,
    "cost": windows,
    "shares_work": "always",
    "later_attrs": {"explicit_paddings": []},
}

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
