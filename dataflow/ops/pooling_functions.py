"""Poolings as `tf.nn` offers them: short spellings, paddings, dilation by space-to-batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.conv_functions import explicit, spread
from dataflow.ops.dilated_convolutions import with_space_to_batch
from dataflow.ops.pooling import (
    avg_pool_3d_op,
    avg_pool_op,
    max_pool_3d_op,
    max_pool_op,
    max_pool_with_argmax_op,
)
from dataflow.ops.renamed_arguments import renamed


def _steps(
    ksize: int | Sequence[int] | None,
    strides: int | Sequence[int] | None,
    count: int,
    data_format: str,
) -> dict[str, list[int]]:
    channel = 1 if data_format.startswith("NC") else -1
    if ksize is None or strides is None:
        raise ValueError("`ksize` and `strides` must be given")
    return {
        "ksize": spread(ksize, count, channel, "ksize"),
        "strides": spread(strides, count, channel, "strides"),
    }


def max_pool(
    value: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The largest element under each place of a window over images.

    ``ksize`` and ``strides``: one number, two, or four; ``padding``: ``"SAME"``, ``"VALID"`` or a
    list of four pairs. See the op `MaxPool`.
    """
    value = renamed("input", input, "value", value)
    padding, pairs = explicit(padding)
    data_format = data_format or "NHWC"
    return max_pool_op(  # type: ignore[no-any-return]
        value,
        **_steps(ksize, strides, 2, data_format),
        padding=padding,
        explicit_paddings=pairs,
        data_format=data_format,
        name=name,
    )


def max_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The same as `max_pool`."""
    return max_pool(input, ksize, strides, padding, data_format, name or "MaxPool2d")


def max_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element under each place of a window over volumes."""
    data_format = data_format or "NDHWC"
    return max_pool_3d_op(  # type: ignore[no-any-return]
        input,
        **_steps(ksize, strides, 3, data_format),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def avg_pool(
    value: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The mean under each place of a window over images. See the op `AvgPool`."""
    value = renamed("input", input, "value", value)
    data_format = data_format or "NHWC"
    return avg_pool_op(  # type: ignore[no-any-return]
        value,
        **_steps(ksize, strides, 2, data_format),
        padding=padding,
        data_format=data_format,
        name=name,
    )


avg_pool2d = avg_pool


def avg_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean under each place of a window over volumes."""
    data_format = data_format or "NDHWC"
    return avg_pool_3d_op(  # type: ignore[no-any-return]
        input,
        **_steps(ksize, strides, 3, data_format),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def _pool1d(
    function: Callable[..., Any],
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str,
    name: str | None,
    default: str,
) -> Tensor:
    with op_scope(name, default, [input]) as scope:
        data_format = data_format or "NWC"
        first = data_format.startswith("NC")
        axis = 2 if first else 1
        channel = 1 if first else -1
        ksize = spread(ksize, 1, channel, "ksize")
        strides = spread(strides, 1, channel, "strides")
        value = array_ops.expand_dims(input, axis)
        result = function(
            value,
            [*ksize[:axis], 1, *ksize[axis:]],
            [*strides[:axis], 1, *strides[axis:]],
            padding,
            "NCHW" if first else "NHWC",
            scope,
        )
        return array_ops.squeeze(result, [axis])


def max_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest element under each place of a window over sequences [batch, width, channels]."""
    return _pool1d(max_pool, input, ksize, strides, padding, data_format, name, "MaxPool1d")


def avg_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The mean under each place of a window over sequences [batch, width, channels]."""
    return _pool1d(avg_pool, input, ksize, strides, padding, data_format, name, "AvgPool1D")


def _by_rank(
    one: Any,
    two: Any,
    three: Any,
    input: TensorLike,
    data_format: str | None,
    name: str | None,
    *rest: Any,
) -> Tensor:
    tensor = convert_to_tensor(input, name="input")
    count = len(tensor.dims) - 2 if tensor.dims is not None else None
    functions = {1: (one, "NWC"), 2: (two, "NHWC"), 3: (three, "NDHWC")}
    if count not in functions:
        raise ValueError(f"the input must have rank 3, 4 or 5, got {tensor.shape}")
    function, default = functions[count]
    return function(tensor, *rest, data_format or default, name)  # type: ignore[no-any-return]


def max_pool_v2(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool1d`, `max_pool2d` or `max_pool3d`, by the rank of the input."""
    return _by_rank(
        max_pool1d, max_pool2d, max_pool3d, input, data_format, name, ksize, strides, padding
    )


def avg_pool_v2(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`avg_pool1d`, `avg_pool2d` or `avg_pool3d`, by the rank of the input."""
    return _by_rank(
        avg_pool1d, avg_pool, avg_pool3d, input, data_format, name, ksize, strides, padding
    )


def max_pool_with_argmax(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """`max_pool` and the flat index of each maximum within its image. See `MaxPoolWithArgmax`."""
    if data_format != "NHWC":
        raise ValueError("max_pool_with_argmax takes data_format='NHWC' only")
    kind = renamed("output_dtype", output_dtype, "Targmax", Targmax)
    return max_pool_with_argmax_op(
        input,
        ksize=ksize,
        strides=strides,
        Targmax=dtypes.int64 if kind is None else kind,
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


def pool(
    input: TensorLike,
    window_shape: Any,
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Pooling (``"MAX"`` or ``"AVG"``) in one to three dimensions, by the rank of the input.

    ``window_shape``, ``strides`` and ``dilation_rate``: a number for each spatial axis.
    """
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    kind = pooling_type.upper()
    if kind not in ("MAX", "AVG"):
        raise ValueError(f"`pooling_type` must be 'MAX' or 'AVG'. Received: {pooling_type!r}")
    with op_scope(name, f"{kind.lower()}_pool", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        count = len(window_shape)
        if count not in (1, 2, 3):
            raise ValueError(f"`window_shape` must have length 1, 2 or 3, got {window_shape}")
        rates = [1] * count if dilation_rate is None else [int(r) for r in dilation_rate]
        steps = [1] * count if strides is None else [int(s) for s in strides]
        if padding == "SAME" and max(rates) > 1:
            raise ValueError(
                "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
                f"Received: padding={padding} and dilation_rate={rates}"
            )
        if max(rates) > 1 and max(steps) > 1:
            raise ValueError("strides > 1 do not go with dilation_rate > 1")
        if any(s > w for s, w in zip(steps, window_shape, strict=True)):
            raise ValueError("`strides` > `window_shape` is not supported.")
        table: Any = {
            ("MAX", 1): (max_pool1d, "NWC"),
            ("MAX", 2): (max_pool, "NHWC"),
            ("MAX", 3): (max_pool3d, "NDHWC"),
            ("AVG", 1): (avg_pool1d, "NWC"),
            ("AVG", 2): (avg_pool, "NHWC"),
            ("AVG", 3): (avg_pool3d, "NDHWC"),
        }
        function, default = table[kind, count]

        def run(phases: Any, _: int, inner_padding: Any) -> Tensor:
            return function(  # type: ignore[no-any-return]
                phases, list(window_shape), steps, inner_padding, data_format or default, scope
            )

        return with_space_to_batch(  # type: ignore[no-any-return]
            input, rates, padding, run, list(window_shape), data_format=data_format
        )
