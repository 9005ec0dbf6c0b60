"""Poolings as ops; `pooling_functions` has what `tf.nn` offers."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import FLOATING, INDICES, REAL_NUMBERS, DType
from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.ops import array as array_ops
from dataflow.ops.conv import check_padding, check_rank, format_axes, pairs_of
from dataflow.ops.costs import windows
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims, list_dims, merge
from dataflow.windows import num_positions

_SHAPE = (
    "Shape: [batch, spatial axes, channels], or channels after the batch; the spatial axes "
    "shrink. Dtype: kept."
)


def pooled_dims(
    input: Tensor,
    rank: int,
    ksize: list[int],
    strides: list[int],
    padding: str,
    data_format: str,
    explicit_paddings: list[int],
    kinds: Any = ("SAME", "VALID"),
) -> Dims:
    """The shape that a pooling gives; raises `ValueError` with what does not fit."""
    format_axes(data_format, rank)
    check_padding(padding, explicit_paddings, rank, kinds)
    for name, values in (("ksize", ksize), ("strides", strides)):
        if len(values) != rank:
            raise ValueError(f"{name} must have {rank} entries, one for each axis, got {values}")
        if min(values) < 1:
            raise ValueError(f"{name} must be positive, got {values}")
    if ksize[0] != 1 or strides[0] != 1:
        raise ValueError(
            f"pooling over the batch is not possible: ksize {ksize}, strides {strides}"
        )
    check_rank(input, rank, "the input")
    sizes = input.dims if input.dims is not None else (None,) * rank
    pairs = pairs_of(explicit_paddings, rank)
    windows = list(zip(sizes, ksize, strides, pairs, strict=True))[1:]
    # The batch is no axis of the window: it may be empty.
    return (
        sizes[0],
        *(
            num_positions(size, taps, stride, 1, padding, pair)
            for size, taps, stride, pair in windows
        ),
    )


def _merged(a: Dims, b: Dims, what: str) -> Dims:
    try:
        return merge(a, b)
    except ValueError as e:
        raise ValueError(f"{what}: {list_dims(a)} and {list_dims(b)}") from e


# ---- maximum ------------------------------------------------------------------------------------


def _attrs(op: Operation, *names: str) -> dict[str, Any]:
    return {n: op.attrs[n] for n in ("ksize", "strides", "padding", "data_format", *names)}


def _with_zeros(op: Operation, grad: Tensor) -> list[Any]:
    return [array_ops.zeros_like(op.inputs[0]), array_ops.zeros_like(op.inputs[1]), grad]


_WORK: dict[str, Any] = {"cost": windows, "shares_work": "always"}


def _define(op_type: str, what: str, rule: Any, signature: str, **options: Any) -> OpDef:
    rule.__name__, rule.__doc__ = op_type, what
    return define_op(op_type, signature, **_WORK, **options)(rule)


def _maximum_ops(
    name: str,
    rank: int,
    default: str,
    what: str,
    allowed: Any,
    *,
    explicit: str = "",
    input_type: str = "T",
    options: dict[str, Any],
    gradient_options: dict[str, Any],
) -> tuple[OpDef, OpDef]:
    """A maximum pooling and its gradient; each one's second gradient is made besides.

    ``explicit``: the attribute of explicit paddings, where there are such.
    """
    kinds = ("SAME", "VALID", "EXPLICIT") if explicit else ("SAME", "VALID")
    steps = "ksize: list[int], strides: list[int], padding: str, "
    layout = f"data_format: str = '{default}'"
    extra = ("explicit_paddings",) if explicit else ()

    def rule(input: Tensor, **attrs: Any) -> Dims:
        return pooled_dims(
            input,
            rank,
            attrs["ksize"],
            attrs["strides"],
            attrs["padding"],
            attrs["data_format"],
            list(attrs.get("explicit_paddings", ())),
            kinds,
        )

    def gradient_rule(orig_input: Tensor, orig_output: Tensor, grad: Tensor) -> Dims:
        _merged(orig_output.dims, grad.dims, "orig_output and grad differ in shape")
        return orig_input.dims

    def second_rule(orig_input: Tensor, orig_output: Tensor, grad: Tensor) -> Dims:
        _merged(orig_input.dims, grad.dims, "orig_input and grad differ in shape")
        return orig_output.dims

    forward = _define(
        name,
        what,
        rule,
        "input: T -> output: T",
        T=allowed,
        attrs=f"{steps}{explicit}{layout}",
        **options,
    )
    seconds = f"`{name}GradGrad` to grad" + ("" if rank == 5 else ", zero to the others")
    gradient = _define(
        f"{name}Grad",
        f"The gradient of `{name}`: each value of grad goes to the first maximum of its window.\n\n"
        f"    Shape: that of orig_input. Dtype: kept. Gradient: {seconds}.\n",
        gradient_rule,
        f"orig_input: {input_type}, orig_output: {input_type}, grad: T -> output: T",
        attrs=f"{steps}{explicit}{layout}",
        **gradient_options,
    )
    firsts = f"`{name}Grad` to grad" + ("" if rank == 5 else ", zero to the others")
    second = _define(
        f"{name}GradGrad",
        f"The second gradient of `{name}`: the elements of grad at the first maxima.\n\n"
        f"    Shape: that of orig_output. Dtype: kept. Gradient: {firsts}.\n",
        second_rule,
        "orig_input: T, orig_output: T, grad: T -> output: T",
        T=REAL_NUMBERS,
        attrs=f"{steps}{layout}",
    )

    _differentiate(forward, gradient, second, extra)
    return forward, gradient


def _differentiate(forward: OpDef, gradient: OpDef, second: OpDef, extra: tuple[str, ...]) -> None:
    """Makes each of the three the gradient of another; ``extra`` are attributes that the second has not."""

    @forward.gradient
    def max_pool_gradient(op: Operation, grad: Tensor) -> list[Any]:
        return [gradient(op.inputs[0], op.outputs[0], grad, **_attrs(op, *extra))]

    @gradient.gradient
    def max_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
        if op.attrs["padding"] == "EXPLICIT":
            raise LookupError(
                f"{op.name!r}: MaxPool with explicit padding has no second derivative (TensorFlow "
                "has none either); pad with tf.pad and use VALID."
            )
        return _with_zeros(op, second(op.inputs[0], op.inputs[1], grad, **_attrs(op)))

    @second.gradient
    def max_pool_grad_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
        return _with_zeros(op, gradient(op.inputs[0], op.inputs[1], grad, **_attrs(op)))


max_pool_op, max_pool_grad_op = _maximum_ops(
    "MaxPool",
    4,
    "NHWC",
    """The largest element under each place of a window.

    Shape: [batch, height, width, channels], or NCHW; ksize and strides have an entry for each
    axis. Dtype: kept. Gradient: to the first of the largest elements, by `MaxPoolGrad`.
    """,
    Defaulted(dtypes.float32, REAL_NUMBERS),
    explicit="explicit_paddings: list[int] = (), ",
    options={"keeps_nothing": True, "later_attrs": {"explicit_paddings": []}},
    gradient_options={
        "later_attrs": {"explicit_paddings": []},
        "T": Defaulted(dtypes.float32, REAL_NUMBERS),
        "shape_like": 0,
        "own_memory": True,
    },
)
max_pool_3d_op, max_pool_3d_grad_op = _maximum_ops(
    "MaxPool3D",
    5,
    "NDHWC",
    """The largest element under each place of a window of three spatial axes.

    Shape: [batch, depth, height, width, channels], or NCDHW. Dtype: kept.
    Gradient: to the first of the largest elements, by `MaxPool3DGrad`.
    """,
    FLOATING,
    input_type="TInput",
    options={},
    gradient_options={"T": FLOATING, "TInput": FLOATING},
)


# ---- the places of the maxima --------------------------------------------------------------------


@define_op(
    "MaxPoolWithArgmax",
    "input: T -> output: T, argmax: Targmax",
    T=REAL_NUMBERS,
    Targmax=INDICES,
    cost=windows,
    shares_work="always",
)
def max_pool_with_argmax_op(
    input: Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    Targmax: DType = dtypes.int64,
    padding: str,
    include_batch_in_index: bool = False,
) -> list[Dims]:
    """`MaxPool`, and where each maximum was: ``(y * width + x) * channels + channel``.

    Shape: both results as `MaxPool`'s. Dtype: kept; the places are int64 or int32.
    Gradient: by `MaxPoolGradWithArgmax`; none to the places.
    """
    dims = pooled_dims(input, 4, ksize, strides, padding, "NHWC", [])
    return [dims, dims]


_ARGMAX = "input: T, grad: T, argmax: Targmax -> output: T"


@define_op(
    "MaxPoolGradWithArgmax",
    _ARGMAX,
    T=REAL_NUMBERS,
    Targmax=INDICES,
    cost=windows,
    shares_work="always",
)
def max_pool_grad_with_argmax_op(
    input: Tensor,
    grad: Tensor,
    argmax: Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    include_batch_in_index: bool = False,
) -> Dims:
    """The gradient of `MaxPoolWithArgmax`: grad added at the places of the maxima.

    Shape: that of the input. Dtype: kept. Gradient: `MaxPoolGradGradWithArgmax` to grad.
    """
    _merged(grad.dims, argmax.dims, "grad and argmax differ in shape")
    return input.dims


@define_op(
    "MaxPoolGradGradWithArgmax",
    _ARGMAX,
    T=REAL_NUMBERS,
    Targmax=INDICES,
    cost=windows,
    shares_work="always",
)
def max_pool_grad_grad_with_argmax_op(
    input: Tensor,
    grad: Tensor,
    argmax: Tensor,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    include_batch_in_index: bool = False,
) -> Dims:
    """The elements of grad, of the shape of the input, at the places of the maxima.

    Shape: that of argmax. Dtype: kept. Gradient: `MaxPoolGradWithArgmax` to grad.
    """
    _merged(input.dims, grad.dims, "input and grad differ in shape")
    return argmax.dims


def _argmax_attrs(op: Operation) -> dict[str, Any]:
    return {n: op.attrs[n] for n in ("ksize", "strides", "padding", "include_batch_in_index")}


@max_pool_with_argmax_op.gradient
def max_pool_with_argmax_gradient(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    return [max_pool_grad_with_argmax_op(op.inputs[0], grad, op.outputs[1], **_argmax_attrs(op))]


@max_pool_grad_with_argmax_op.gradient
def max_pool_grad_with_argmax_gradient(op: Operation, grad: Tensor) -> list[Any]:
    second = max_pool_grad_grad_with_argmax_op(
        op.inputs[0], grad, op.inputs[2], **_argmax_attrs(op)
    )
    return [array_ops.zeros_like(op.inputs[0]), second, None]


@max_pool_grad_grad_with_argmax_op.gradient
def max_pool_grad_grad_with_argmax_gradient(op: Operation, grad: Tensor) -> list[Any]:
    first = max_pool_grad_with_argmax_op(op.inputs[0], grad, op.inputs[2], **_argmax_attrs(op))
    return [array_ops.zeros_like(op.inputs[0]), first, None]


# ---- mean ---------------------------------------------------------------------------------------


def _average_ops(suffix: str, rank: int, first_input: str, default: str) -> tuple[OpDef, OpDef]:
    """AvgPool and AvgPoolGrad for two or three spatial axes; they differ in names only."""

    def rule(*inputs: Tensor, **attrs: Any) -> Dims:
        return pooled_dims(inputs[0], rank, **attrs, explicit_paddings=[])

    def gradient_rule(orig_input_shape: Tensor, grad: Tensor) -> Dims:
        sizes = static_dims(orig_input_shape)
        return (None,) * rank if sizes is None else sizes

    attrs = f"ksize: list[int], strides: list[int], padding: str, data_format: str = '{default}'"
    forward = _define(
        f"AvgPool{suffix}",
        "The mean of the elements under each place of a window; padding does not count.\n\n"
        f"{_SHAPE}\nGradient: spread evenly, by AvgPool{suffix}Grad.\n",
        rule,
        f"{first_input}: T -> output: T",
        T=FLOATING,
        attrs=attrs,
        keeps_nothing=True,
    )
    backward = _define(
        f"AvgPool{suffix}Grad",
        f"The gradient of AvgPool{suffix}: each value of grad spread over its window.\n\n"
        "Shape: the sizes that orig_input_shape holds. Dtype: kept.\n"
        f"Gradient: AvgPool{suffix} of the incoming gradient.\n",
        gradient_rule,
        "orig_input_shape: int32, grad: T -> output: T",
        T=FLOATING,
        attrs=attrs,
        own_memory=True,
    )

    @forward.gradient
    def avg_pool_gradient(op: Operation, grad: Tensor) -> list[Any]:
        return [backward(array_ops.shape(op.inputs[0]), grad, **_attrs(op))]

    @backward.gradient
    def avg_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
        return [None, forward(grad, **_attrs(op))]

    return forward, backward


avg_pool_op, avg_pool_grad_op = _average_ops("", 4, "value", "NHWC")
avg_pool_3d_op, avg_pool_3d_grad_op = _average_ops("3D", 5, "input", "NDHWC")
