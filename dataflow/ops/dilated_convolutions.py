"""Convolutions with holes: dilation by space-to-batch, and `tf.nn.convolution`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.conv_functions import (
    conv1d,
    conv2d,
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d,
)
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sources import constant
from dataflow.ops.space_batch_depth import (
    batch_to_space_nd,
    required_space_to_batch_paddings,
    space_to_batch_nd,
)


def _spatial_axes(count: int, data_format: str | None) -> list[int]:
    return (
        list(range(2, count + 2))
        if (data_format or "").startswith("NC")
        else list(range(1, count + 1))
    )


def _sizes_of(values: Any, axes: list[int]) -> Any:
    """Sizes along ``axes``: known numbers, or a tensor."""
    if values.dims is not None and all(values.dims[a] is not None for a in axes):
        return [values.dims[a] for a in axes]
    shape = array_ops.shape(values)
    return array_ops.stack([shape[a] for a in axes])


def with_space_to_batch(
    input: TensorLike,
    dilation_rate: Any,
    padding: Any,
    op: Callable[..., Any],
    filter_shape: Any = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Any:
    """``op`` on an input cut into ``dilation_rate`` phases: a dilated ``op`` from one that is not.

    ``op(input, num_spatial_dims, padding)`` sees each phase as further items of the batch.
    """
    input = convert_to_tensor(input, name="input")
    convert_to_tensor(dilation_rate, dtypes.int32, name="dilation_rate")  # a node of TensorFlow's
    rates = [int(r) for r in np.asarray(dilation_rate).reshape(-1)]
    count = len(rates)
    axes = list(spatial_dims or _spatial_axes(count, data_format))
    if min(rates) < 1:
        raise ValueError(f"`dilation_rate` must be positive. Received: dilation_rate={rates}")
    if all(r == 1 for r in rates):
        return op(input, count, padding)
    base: Any = None
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for `padding='SAME'`.")
        taps = filter_shape
        extra = [(int(taps[i]) - 1) * rates[i] for i in range(count)]
        base = np.array([[e // 2, e - e // 2] for e in extra], np.int32)
        constant(np.array(list(filter_shape), np.int32), name="filter_shape")
        base = constant(base, name="stack")
        count_left_out(1)  # the paddings as a tensor of their own
    elif padding != "VALID":
        raise ValueError(f"`padding` must be either 'SAME' or 'VALID'. Received: {padding!r}")
    paddings, crops = required_space_to_batch_paddings(
        _sizes_of(input, axes), np.array(rates, np.int32), base_paddings=base
    )
    first = axes[0]
    block: Any = np.array(rates, np.int32)
    if first > 1:  # channels first: they come before the spatial axes and are not cut
        block = np.concatenate([[1] * (first - 1), block]).astype(np.int32)
        paddings = array_ops.concat([np.zeros((first - 1, 2), np.int32), paddings], 0)
        crops = array_ops.concat([np.zeros((first - 1, 2), np.int32), crops], 0)
    phases = space_to_batch_nd(input, block, paddings)
    result = op(phases, count, "VALID")
    return batch_to_space_nd(result, block, crops)


def _plain_convolution(
    input: Tensor,
    filters: Any,
    padding: Any,
    strides: list[int],
    data_format: str | None,
    name: Any,
) -> Tensor:
    """A convolution without dilation, in one to three dimensions: as many as there are strides."""
    if len(strides) == 1:
        return conv1d(input, filters, strides, padding, data_format=data_format, name=name)
    first = (data_format or "").startswith("NC")
    steps = [1, 1, *strides] if first else [1, *strides, 1]
    if len(strides) == 2:
        return conv2d(input, filters, steps, padding, data_format=data_format or "NHWC", name=name)
    return conv3d(input, filters, steps, padding, data_format=data_format or "NDHWC", name=name)


def convolution(
    input: Any,
    filter: Any = None,
    padding: Any = None,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Convolution in one to three dimensions, by the rank of the input.

    ``strides`` and ``dilation_rate``: one number for each spatial axis. Raises `ValueError` for
    another rank, or when both differ from one.
    """
    filter = renamed("filters", filters, "filter", filter)
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    with op_scope(name, "convolution", [input, filter]) as scope:
        input = convert_to_tensor(input, name="input")
        filter = convert_to_tensor(filter, name="filter")
        if input.dims is None and filter.dims is None:
            raise ValueError("rank of input must be 3, 4 or 5, and it is not known; use set_shape")
        count = len(filter.dims if filter.dims is not None else input.dims) - 2
        if count not in (1, 2, 3) or (input.dims is not None and len(input.dims) != count + 2):
            raise ValueError(
                "`input` must have rank 3, 4 or 5 and agree with the filter's. "
                f"Received: input.shape={input.shape}, filter.shape={filter.shape}"
            )
        rates = per_axis(dilation_rate, count, "dilation_rate")
        steps = per_axis(strides, count, "strides")
        if max(rates) > 1 and max(steps) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. "
                f"Received: strides={strides}, dilation_rate={dilation_rate}"
            )
        if max(rates) == 1:
            return _plain_convolution(input, filter, padding, steps, data_format, scope)

        def run(phases: Tensor, _: int, inner_padding: Any) -> Tensor:
            return _plain_convolution(phases, filter, inner_padding, steps, data_format, scope)

        taps = None if filter.dims is None else filter.dims[:count]
        return with_space_to_batch(  # type: ignore[no-any-return]
            input, rates, padding, run, taps, data_format=data_format
        )


def per_axis(value: Any, count: int, name: str) -> list[int]:
    """A positive number for each of ``count`` axes: one for all, or so many; 1 for `None`."""
    if value is None:
        return [1] * count
    values = [int(v) for v in value] if isinstance(value, Iterable) else [int(value)]
    if len(values) == 1:
        values *= count
    if len(values) != count:
        raise ValueError(f"`len({name})` must be 1 or {count}. Received: {name}={value}")
    if min(values) < 1:
        raise ValueError(f"`{name}` must be positive. Received: {name}={value}")
    return values


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """`conv2d` whose filter has holes: ``rate - 1`` zeros between its taps (stride 1)."""
    return convolution(
        value, filters, padding, dilation_rate=np.broadcast_to(rate, (2,)), name=name
    )


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The transpose of `atrous_conv2d`; ``filters`` [height, width, channels out, channels in]."""
    with op_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, name="filters")
        if rate < 1:
            raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
        if rate == 1:
            return conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding, name=scope)
        sizes = convert_to_tensor(output_shape, dtypes.int32, name="output_shape")
        return conv2d_backprop_input(
            sizes, filters, value, 1, padding, dilations=[1, rate, rate, 1], name=scope
        )
