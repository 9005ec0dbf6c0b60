"""Depthwise and separable convolutions as `tf.nn` offers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import depthwise
from dataflow.ops.conv_functions import conv2d, explicit
from dataflow.ops.dilated_convolutions import per_axis, with_space_to_batch
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.seeds import count_left_out


def _depthwise_op(
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    padding, pairs = explicit(padding)
    return depthwise.depthwise_op(  # type: ignore[no-any-return]
        input,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=pairs,
        data_format=data_format or "NHWC",
        dilations=dilations,
        name=name,
    )


depthwise_conv2d_native = _depthwise_op


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: TensorLike,
    out_backprop: Any,
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` by its input, of shape ``input_sizes``."""
    padding, pairs = explicit(padding)
    return depthwise.depthwise_backprop_input_op(  # type: ignore[no-any-return]
        input_sizes,
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        explicit_paddings=pairs,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


def depthwise_conv2d_native_backprop_filter(
    input: TensorLike,
    filter_sizes: Any,
    out_backprop: Any,
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` by its filter, of shape ``filter_sizes``."""
    padding, pairs = explicit(padding)
    return depthwise.depthwise_backprop_filter_op(  # type: ignore[no-any-return]
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        explicit_paddings=pairs,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


def _dilated_depthwise(
    input: Tensor,
    filter: Tensor,
    strides: int | Sequence[int],
    padding: str,
    rate: TensorLike,
    data_format: str | None,
    name: str,
) -> Tensor:
    rates = per_axis(rate, 2, "rate")
    count_left_out(1)  # the shape of the filter

    def run(phases: Any, _: int, inner_padding: Any) -> Tensor:
        return _depthwise_op(phases, filter, strides, inner_padding, data_format, name=name)

    return with_space_to_batch(  # type: ignore[no-any-return]
        input,
        rates,
        padding,
        run,
        None if filter.dims is None else filter.dims[:2],
        data_format=data_format,
    )


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Convolution of each channel by itself; ``filter`` [height, width, channels, multiplier].

    ``rate``: dilation of height and width (then strides must be 1).
    """
    rate = renamed("dilations", dilations, "rate", rate)
    with op_scope(name, "depthwise", [input, filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")
        return _dilated_depthwise(input, filter, strides, padding, rate, data_format, scope)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: int | Sequence[int],
    padding: str,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """A depthwise convolution, then a mix of its channels by ``pointwise_filter`` [1, 1, in, out].

    Raises `ValueError` when the pointwise filter is not 1 x 1.
    """
    rate = renamed("dilations", dilations, "rate", rate)
    with op_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        dims = pointwise_filter.dims
        if dims is not None and (len(dims) != 4 or any(d not in (None, 1) for d in dims[:2])):
            raise ValueError(
                "the pointwise filter must be [1, 1, channels in, channels out], "
                f"got {pointwise_filter.shape}"
            )
        middle = _dilated_depthwise(
            input, depthwise_filter, strides, padding, rate, data_format, "depthwise"
        )
        return conv2d(
            middle,
            pointwise_filter,
            [1, 1, 1, 1],
            "VALID",
            data_format=data_format or "NHWC",
            name=scope,
        )
