"""Convolutions as ops: shape rules and gradients. The functions of `tf.nn` are in `conv_functions`.

A filter has shape [*taps, channels in, channels out]. ``strides``, ``dilations`` and
``explicit_paddings`` have one entry (or pair) for each axis of the input, in its data format.
"""

from __future__ import annotations

import sys
from typing import Any

from dataflow.dtypes import FLOATING, INDICES, int32
from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.ops import array as array_ops
from dataflow.ops.costs import windows
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims, list_dims, merge
from dataflow.windows import num_positions

_FORMATS = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}


def format_axes(data_format: str, rank: int) -> tuple[int, list[int]]:
    """The channel axis and the spatial axes; raises `ValueError` for another format."""
    last, first = _FORMATS[rank]
    if data_format == last:
        return rank - 1, list(range(1, rank - 1))
    if data_format == first:
        return 1, list(range(2, rank))
    raise ValueError(f"data_format must be {last!r} or {first!r}, got {data_format!r}")


def check_rank(tensor: Tensor, rank: int, what: str) -> None:
    """Raises `ValueError` when the tensor is known not to have this rank."""
    if tensor.dims is not None and len(tensor.dims) != rank:
        advice = "tf.expand_dims(t, axis) adds an axis." if len(tensor.dims) < rank else ""
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(tensor.dims)}: {what} is "
            f"{list_dims(tensor.dims)}\n{advice}"
        )


def check_padding(padding: str, explicit_paddings: list[int], rank: int, kinds: Any) -> None:
    """Raises `ValueError` for a padding that the op does not have."""
    if padding not in kinds:
        raise ValueError(
            f"padding must be one of {', '.join(repr(k) for k in kinds)}, got {padding!r}"
        )
    if padding == "EXPLICIT":
        if len(explicit_paddings) != 2 * rank or min(explicit_paddings) < 0:
            raise ValueError(
                f"explicit padding needs {rank} pairs of numbers >= 0, got {explicit_paddings}"
            )
    elif explicit_paddings:
        raise ValueError(f"{padding} padding takes no explicit_paddings, got {explicit_paddings}")


def check_steps(name: str, steps: list[int], rank: int, fixed: list[int]) -> None:
    """Raises `ValueError` unless there is one positive step per axis, and 1 along ``fixed``."""
    if len(steps) != rank:
        raise ValueError(f"{name} must have {rank} entries, one for each axis, got {steps}")
    if min(steps) < 1:
        raise ValueError(f"{name} must be positive, got {steps}")
    if any(steps[axis] != 1 for axis in fixed):
        raise ValueError(f"{name} along the batch and the channels must be 1, got {steps}")


def pairs_of(explicit_paddings: list[int], rank: int) -> list[tuple[int, int]]:
    """``explicit_paddings`` as (before, after) for each axis."""
    if not explicit_paddings:
        return [(0, 0)] * rank
    return list(zip(explicit_paddings[::2], explicit_paddings[1::2], strict=True))


def convolved_dims(
    input: Tensor,
    filter_dims: Dims,
    rank: int,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
    kinds: Any = ("SAME", "VALID", "EXPLICIT"),
    depthwise: bool = False,
) -> Dims:
    """The shape that a convolution gives; raises `ValueError` with what does not fit."""
    channel_axis, spatial = format_axes(data_format, rank)
    check_padding(padding, explicit_paddings, rank, kinds)
    for what, axis in (("batch", 0), ("depth", channel_axis)):
        if any(explicit_paddings[2 * axis : 2 * axis + 2]):
            raise ValueError(
                "Nonzero explicit padding in the batch or depth dimensions is not supported: "
                f"got {explicit_paddings[2 * axis : 2 * axis + 2]} along the {what} (axis {axis}, "
                f"{data_format}). Use tf.pad for that."
            )
    check_steps("strides", strides, rank, [0, channel_axis])
    check_steps("dilations", dilations, rank, [0, channel_axis])
    check_rank(input, rank, "the input")
    sizes = input.dims if input.dims is not None else (None,) * rank
    if filter_dims is None:
        filter_dims = (None,) * rank
    if len(filter_dims) != rank:
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(filter_dims)}: the filter is "
            f"{list_dims(filter_dims)}\n"
            f"It needs [{', '.join(['taps'] * (rank - 2))}, channels in, channels out]."
        )
    channels, own = sizes[channel_axis], filter_dims[-2]
    if channels is not None and own is not None:
        if depthwise and channels != own:
            raise ValueError(
                f"the input has {channels} channels, the filter is for {own}\n"
                "The third size of a depthwise filter is the number of input channels."
            )
        if not depthwise and (own == 0 or channels % own):
            raise ValueError(
                f"Depth of input ({channels}) is not a multiple of input depth of filter ({own})\n"
                f"The input has {channels} channels (data_format {data_format}); the filter, "
                f"{list_dims(filter_dims)}, needs that as its size before the last."
            )
    pairs = pairs_of(explicit_paddings, rank)
    out: list[int | None] = [None] * rank
    out[0] = sizes[0]
    for i, axis in enumerate(spatial):
        out[axis] = num_positions(
            sizes[axis], filter_dims[i], strides[axis], dilations[axis], padding, pairs[axis]
        )
    outputs = filter_dims[-1]
    if depthwise:
        depth = own if channels is None else channels
        outputs = None if depth is None or outputs is None else depth * outputs
    out[channel_axis] = outputs
    return tuple(out)


class _Shaped:
    """Stands for a tensor of known dims in `convolved_dims`."""

    def __init__(self, dims: Dims) -> None:
        self.dims = dims


def check_backprop(out_backprop: Tensor, expected: Dims) -> None:
    """Raises `ValueError` when the gradient of the output cannot have the shape of the output."""
    try:
        merge(out_backprop.dims, expected)
    except ValueError as e:
        raise ValueError(
            f"out_backprop is {list_dims(out_backprop.dims)}, but a convolution of these sizes "
            f"gives {list_dims(expected)}\n"
            "For a transposed convolution: output_shape, strides and padding must lead back from "
            "the output to the shape of the value."
        ) from e


def input_gradient_dims(
    input_sizes: Tensor,
    filter_dims: Dims,
    out_backprop: Tensor,
    rank: int,
    data_format: str,
    **attrs: Any,
) -> Dims:
    """Shape rule of the gradient by the input, which ``input_sizes`` says."""
    sizes = static_dims(input_sizes)
    channel_axis, spatial = format_axes(data_format, rank)
    if sizes is not None and len(sizes) == rank - 2:
        whole: list[int | None] = [None] * rank
        for axis, size in zip(spatial, sizes, strict=True):
            whole[axis] = size
        whole[0] = None if out_backprop.dims is None else out_backprop.dims[0]
        whole[channel_axis] = None if filter_dims is None else filter_dims[-2]
        sizes = tuple(whole)
    if sizes is not None and len(sizes) != rank:
        raise ValueError(f"input_sizes must have {rank} entries, got {list_dims(sizes)}")
    check_rank(out_backprop, rank, "out_backprop")
    expected = convolved_dims(
        _Shaped(sizes),  # type: ignore[arg-type]
        filter_dims,
        rank,
        data_format=data_format,
        **attrs,
    )
    check_backprop(out_backprop, expected)
    if sizes is None:
        return (None,) * rank
    if sizes[0] is None and out_backprop.dims is not None:
        return (out_backprop.dims[0], *sizes[1:])
    return sizes


def filter_gradient_dims(
    input: Tensor, filter_sizes: Tensor, out_backprop: Tensor, rank: int, **attrs: Any
) -> Dims:
    """Shape rule of the gradient by the filter, which ``filter_sizes`` says."""
    sizes = static_dims(filter_sizes)
    check_rank(out_backprop, rank, "out_backprop")
    expected = convolved_dims(input, sizes, rank, **attrs)
    check_backprop(out_backprop, expected)
    return (None,) * rank if sizes is None else sizes


def convolution_ops(
    op_types: tuple[str, str, str],
    rank: int,
    attrs: str,
    whats: tuple[str, str, str],
    options: tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
    *,
    sizes: str = "int32",
    depthwise: bool = False,
) -> tuple[OpDef, OpDef, OpDef]:
    """A convolution over inputs of ``rank`` axes, its gradient by the input, and that by the filter.

    ``whats`` are their docstrings, ``sizes`` the dtype of ``input_sizes``; ``attrs`` and ``options``
    are those of `define_op`. Each one's gradients are the other two.
    """
    checks: dict[str, Any] = {"depthwise": depthwise}
    if rank == 5:
        checks["kinds"] = ("SAME", "VALID")

    def settings(attrs: dict[str, Any]) -> dict[str, Any]:
        given = {n: attrs[n] for n in ("strides", "padding", "data_format", "dilations")}
        return {**given, "explicit_paddings": attrs.get("explicit_paddings", []), **checks}

    def rule(input: Tensor, filter: Tensor, **attrs: Any) -> Dims:
        return convolved_dims(input, filter.dims, rank, **settings(attrs))

    def input_rule(input_sizes: Tensor, filter: Tensor, out_backprop: Tensor, **attrs: Any) -> Dims:
        return input_gradient_dims(input_sizes, filter.dims, out_backprop, rank, **settings(attrs))

    def filter_rule(
        input: Tensor, filter_sizes: Tensor, out_backprop: Tensor, **attrs: Any
    ) -> Dims:
        return filter_gradient_dims(input, filter_sizes, out_backprop, rank, **settings(attrs))

    rules: tuple[Any, ...] = (rule, input_rule, filter_rule)
    signatures = (
        "input: T, filter: T -> output: T",
        f"input_sizes: {sizes}, filter: T, out_backprop: T -> output: T",
        "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    )
    made: list[OpDef] = []
    for function, what, op_type, signature, more in zip(
        rules, whats, op_types, signatures, options, strict=True
    ):
        function.__name__, function.__doc__ = op_type, what
        function.__module__ = sys._getframe(1).f_globals["__name__"]  # the op's family
        made.append(define_op(op_type, signature, attrs=attrs, **more)(function))
    forward, to_input, to_filter = made
    _add_gradients(forward, to_input, to_filter, depthwise)
    return forward, to_input, to_filter


def _add_gradients(forward: OpDef, to_input: OpDef, to_filter: OpDef, depthwise: bool) -> None:
    """The gradients of a convolution and of its two gradients: of each, the other two."""

    def given(op: Operation) -> dict[str, Any]:
        return {spec.name: op.attrs[spec.name] for spec in forward.attrs}

    @forward.gradient
    def convolution_gradient(op: Operation, grad: Tensor) -> list[Any]:
        input, filters = op.inputs
        if depthwise:
            input_shape, filter_shape = array_ops.shape(input), array_ops.shape(filters)
        else:
            input_shape, filter_shape = array_ops.shape_n([input, filters])
        return [
            to_input(input_shape, filters, grad, **given(op)),
            to_filter(input, filter_shape, grad, **given(op)),
        ]

    @to_input.gradient
    def backprop_input_gradient(op: Operation, grad: Tensor) -> list[Any]:
        _, filters, out_backprop = op.inputs
        by_filter = to_filter(grad, array_ops.shape(filters), out_backprop, **given(op))
        return [None, by_filter, forward(grad, filters, **given(op))]

    @to_filter.gradient
    def backprop_filter_gradient(op: Operation, grad: Tensor) -> list[Any]:
        input, _, out_backprop = op.inputs
        by_input = to_input(array_ops.shape(input), grad, out_backprop, **given(op))
        return [by_input, None, forward(input, grad, **given(op))]


_WORK: dict[str, Any] = {"calls_blas": True, "cost": windows, "shares_work": "always"}

conv2d_op, conv2d_backprop_input_op, conv2d_backprop_filter_op = convolution_ops(
    ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    4,
    "strides: list[int], use_cudnn_on_gpu: bool = True, padding: str, "
    "explicit_paddings: list[int] = (), data_format: str = 'NHWC', "
    "dilations: list[int] = (1, 1, 1, 1)",
    (
        """Convolution of a batch of images: for each place, the filter times what lies under it.

    Shape: input [batch, height, width, channels], filter [height, width, channels, outputs];
    result [batch, height', width', outputs]. NCHW has the channels after the batch. With fewer
    channels in the filter, the input is convolved in groups. Dtype: kept.
    Gradient: `Conv2DBackpropInput` and `Conv2DBackpropFilter`.
    """,
        """The gradient of `Conv2D` by its input; also the transposed convolution.

    Shape: the four (or two spatial) sizes that input_sizes holds. Dtype: kept.
    Gradient: `Conv2DBackpropFilter` to the filter, `Conv2D` to out_backprop.
    """,
        """The gradient of `Conv2D` by its filter.

    Shape: the four sizes that filter_sizes holds. Dtype: kept.
    Gradient: `Conv2DBackpropInput` to the input, `Conv2D` to out_backprop.
    """,
    ),
    (
        {"T": FLOATING | {int32}, "own_memory": True, **_WORK},
        {"T": FLOATING | {int32}, "shape_input": 0, "own_memory": True, **_WORK},
        {"T": FLOATING, "keeps_nothing": True, **_WORK},
    ),
)
conv3d_op, conv3d_backprop_input_op, conv3d_backprop_filter_op = convolution_ops(
    ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
    5,
    "strides: list[int], padding: str, data_format: str = 'NDHWC', "
    "dilations: list[int] = (1, 1, 1, 1, 1)",
    (
        """Convolution of a batch of volumes.

    Shape: input [batch, depth, height, width, channels], filter [depth, height, width, channels,
    outputs]; result [batch, depth', height', width', outputs]. Dtype: kept.
    Gradient: `Conv3DBackpropInputV2` and `Conv3DBackpropFilterV2`.
    """,
        """The gradient of `Conv3D` by its input; also the transposed convolution.

    Shape: the five sizes that input_sizes holds. Dtype: kept.
    Gradient: `Conv3DBackpropFilterV2` to the filter, `Conv3D` to out_backprop.
    """,
        """The gradient of `Conv3D` by its filter.

    Shape: the five sizes that filter_sizes holds. Dtype: kept.
    Gradient: `Conv3DBackpropInputV2` to the input, `Conv3D` to out_backprop.
    """,
    ),
    (
        {"T": FLOATING, **_WORK},
        {"T": FLOATING, "Tshape": Defaulted(int32, INDICES), **_WORK},
        {"T": FLOATING, **_WORK},
    ),
    sizes="Tshape",
)
