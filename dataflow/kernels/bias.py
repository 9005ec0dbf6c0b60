"""Kernels of biases."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.batch_norm import channel_sums
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.reduce import column_sums
from dataflow.kernels.registry import kernel


@kernel("BiasAdd")
def bias_add_kernel(xp: Module, value: Array, bias: Array, *, data_format: str) -> Any:
    axis = 1 if data_format == "NCHW" else value.ndim - 1
    if bias.shape != value.shape[axis : axis + 1]:
        raise InvalidArgumentError(
            None,
            None,
            f"Must provide as many biases as the channels of the input tensor: "
            f"{list(bias.shape)} vs. {value.shape[axis]} in {list(value.shape)}",
        )
    if axis == 1:
        bias = bias.reshape(-1, *([1] * (value.ndim - 2)))
    return value + bias


@kernel("BiasAddV1")
def bias_add_v1_kernel(xp: Module, value: Array, bias: Array) -> Any:
    return bias_add_kernel(xp, value, bias, data_format="NHWC")


@kernel("BiasAddGrad")
def bias_add_grad_kernel(xp: Module, out_backprop: Array, *, data_format: str) -> Any:
    dtype = out_backprop.dtype
    if can_run(xp, out_backprop):
        return channel_sums(xp, out_backprop, 1 if data_format == "NCHW" else -1)
    if data_format == "NCHW":
        axes = (0, *range(2, out_backprop.ndim))
        return out_backprop.sum(axes, dtype=dtype)
    rows = out_backprop.reshape(-1, out_backprop.shape[-1])
    if dtype.kind == "f" and dtype.itemsize >= 4 and rows.shape[0] > 8:
        return column_sums(xp, rows)
    return (
        rows.sum(0, dtype=np.float32).astype(dtype)
        if dtype == np.float16
        else rows.sum(0, dtype=dtype)
    )
