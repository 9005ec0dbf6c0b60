"""Convolutions as `tf.nn` offers them: defaults, short spellings, dilation by space-to-batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops, conv
from dataflow.ops.renamed_arguments import renamed


def spread(value: Any, count: int, channel_index: int, name: str) -> list[int]:
    """Strides and the like as one entry for each axis: a number, one per spatial axis, or all."""
    if value is None:
        value = [1]
    elif not isinstance(value, Iterable):
        value = [value]
    value = [int(v) for v in value]
    if len(value) not in (1, count, count + 2):
        raise ValueError(
            f"{name} should be of length 1, {count} or {count + 2}. "
            f"Received: {name}={value} of length {len(value)}"
        )
    if len(value) == count + 2:
        return value  # type: ignore[no-any-return]
    if len(value) == 1:
        value = value * count
    return [1, 1, *value] if channel_index == 1 else [1, *value, 1]


def explicit(padding: Any) -> tuple[Any, list[int]]:
    """``(padding, explicit_paddings)`` for a padding that may be a list of pairs."""
    if isinstance(padding, (list, tuple)):
        pairs = [int(v) for pair in padding for v in pair]
        if any(len(pair) != 2 for pair in padding) or len(padding) != 4:
            raise ValueError(
                "When padding is a list, each element of padding must be a list or tuple of size "
                f"2, one for each of the 4 axes. Received: padding={padding}"
            )
        return "EXPLICIT", pairs
    if padding == "EXPLICIT":
        raise ValueError(
            "'EXPLICIT' is not a valid value for `padding`. To use explicit padding, `padding` "
            "must be a list of pairs."
        )
    return padding, []


def _channel_index(data_format: str | None) -> int:
    return 1 if (data_format or "").startswith("NC") else -1


def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Convolution of images [batch, height, width, channels] with [height, width, in, out] filters.

    ``padding``: ``"SAME"``, ``"VALID"`` or a list of four (before, after) pairs. Strides and
    dilations: one number, one for each of height and width, or four. See the op `Conv2D`.
    """
    filter = renamed("filters", filters, "filter", filter)
    padding, pairs = explicit(padding)
    data_format = data_format or "NHWC"
    channel = _channel_index(data_format)
    return conv.conv2d_op(  # type: ignore[no-any-return]
        input,
        filter,
        strides=spread(strides, 2, channel, "strides"),
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        padding=padding,
        explicit_paddings=pairs,
        data_format=data_format,
        dilations=spread(dilations, 2, channel, "dilations"),
        name=name,
    )


def conv2d_backprop_input(
    input_sizes: Any,
    filter: TensorLike | None = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The gradient of `conv2d` by its input, of shape ``input_sizes``."""
    filter = renamed("filters", filters, "filter", filter)
    padding, pairs = explicit(padding)
    channel = _channel_index(data_format)
    return conv.conv2d_backprop_input_op(  # type: ignore[no-any-return]
        input_sizes,
        filter,
        out_backprop,
        strides=spread(strides, 2, channel, "strides"),
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        padding=padding,
        explicit_paddings=pairs,
        data_format=data_format,
        dilations=spread(dilations, 2, channel, "dilations"),
        name=name,
    )


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: Any,
    out_backprop: Any,
    strides: int | Sequence[int],
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` by its filter, of shape ``filter_sizes``."""
    padding, pairs = explicit(padding)
    return conv.conv2d_backprop_filter_op(  # type: ignore[no-any-return]
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        padding=padding,
        explicit_paddings=pairs,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of `conv2d` (Zeiler et al. 2010): its gradient by the input, as a layer.

    ``filter`` has shape [height, width, channels out, channels in]; ``output_shape`` four sizes.
    """
    value = renamed("input", input, "value", value)
    filter = renamed("filters", filters, "filter", filter)
    with op_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NHWC"
        return conv2d_backprop_input(
            output_shape,
            filter,
            value,
            spread(strides, 2, _channel_index(data_format), "strides"),
            padding,
            data_format=data_format,
            dilations=dilations,
            name=scope,
        )


def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] | None = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Convolution of volumes [batch, depth, height, width, channels]. See the op `Conv3D`."""
    filter = renamed("filters", filters, "filter", filter)
    data_format = data_format or "NDHWC"
    return conv.conv3d_op(  # type: ignore[no-any-return]
        input,
        filter,
        strides=[1] * 5 if strides is None else strides,
        padding=padding,
        data_format=data_format,
        dilations=[1] * 5 if dilations is None else dilations,
        name=name,
    )


def conv3d_backprop_filter_v2(
    input: TensorLike,
    filter_sizes: Any,
    out_backprop: Any,
    strides: int | Sequence[int],
    padding: Any,
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv3d` by its filter, of shape ``filter_sizes``."""
    return conv.conv3d_backprop_filter_op(  # type: ignore[no-any-return]
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


def conv3d_transpose(
    value: TensorLike,
    filter: TensorLike | None = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of `conv3d`; ``filter`` [depth, height, width, channels out, channels in]."""
    value = renamed("input", input, "value", value)
    filter = renamed("filters", filters, "filter", filter)
    with op_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NDHWC"
        channel = _channel_index(data_format)
        return conv.conv3d_backprop_input_op(  # type: ignore[no-any-return]
            output_shape,
            filter,
            value,
            strides=spread(strides, 3, channel, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=spread(dilations, 3, channel, "dilations"),
            name=scope,
        )


def _format1d(data_format: str | None) -> tuple[str, int, list[int]]:
    """Of a one-dimensional format: the 2-D one, the axis to insert, and where strides go."""
    if data_format is None or data_format in ("NHWC", "NWC"):
        return "NHWC", 1, [1, 1]
    if data_format in ("NCHW", "NCW"):
        return "NCHW", 2, [1, 1, 1]
    raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")


def conv1d(
    value: TensorLike | None = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """Convolution of sequences [batch, width, channels] with filters [width, in, out].

    ``data_format``: ``"NWC"`` or ``"NCW"``. Built as a `Conv2D` of height one.
    """
    value = renamed("input", input, "value", value)
    with op_scope(name, "conv1d", [value, filters]) as scope:
        format2d, axis, _ = _format1d(data_format)
        channel = _channel_index(format2d)
        value = array_ops.expand_dims(value, axis)
        filters = array_ops.expand_dims(filters, 0)
        strides = _insert_height(spread(stride, 1, channel, "stride"), axis)
        result = conv.conv2d_op(
            value,
            filters,
            strides=strides,
            use_cudnn_on_gpu=use_cudnn_on_gpu is not False,
            padding=padding,
            data_format=format2d,
            dilations=_insert_height(spread(dilations, 1, channel, "dilations"), axis),
            name=scope,
        )
        return array_ops.squeeze(result, [-3 if format2d == "NHWC" else -2])


def _insert_height(values: list[int], axis: int) -> list[int]:
    return [*values[:axis], 1, *values[axis:]]


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: int | Sequence[int],
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv1d`; ``filters`` [width, channels out, channels in]."""
    with op_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        format2d, axis, _ = _format1d(data_format)
        channel = _channel_index(format2d)
        strides = _insert_height(spread(strides, 1, channel, "strides"), axis)
        dilations = _insert_height(spread(dilations, 1, channel, "dilations"), axis)
        input = array_ops.expand_dims(input, axis)
        filters = array_ops.expand_dims(filters, 0)
        if isinstance(output_shape, (list, tuple, np.ndarray)):
            sizes = list(output_shape)
            parts: list[Any] = [sizes[:axis], [1], sizes[axis:]]
        else:
            sizes_tensor = convert_to_tensor(output_shape)
            parts = [sizes_tensor[:axis], [1], sizes_tensor[axis:]]
        result = conv2d_backprop_input(
            array_ops.concat(parts, 0),
            filters,
            input,
            strides,
            padding,
            data_format=format2d,
            dilations=dilations,
            name=scope,
        )
        return array_ops.squeeze(result, [axis])


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: int | Sequence[int],
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """The transposed convolution in one to three dimensions, by the length of ``output_shape``."""
    with op_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        tensor = convert_to_tensor(output_shape, name="output_shape")
        count = tensor.dims[0] - 2 if tensor.dims and tensor.dims[0] is not None else None
        functions: dict[Any, Any] = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}
        if count is None or count not in functions:
            raise ValueError(
                f"output_shape must be of length 3, 4 or 5. Received: output_shape={output_shape}"
            )
        default = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[count]
        return functions[count](  # type: ignore[no-any-return]
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=data_format or default,
            dilations=dilations,
            name=scope,
        )


# ---- any number of dimensions, and dilation by space-to-batch -----------------------------------
