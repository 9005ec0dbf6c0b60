"""Grayscale dilation and erosion of images (morphology): the ops, and the functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.dtypes import REAL_NUMBERS
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.conv import check_padding, check_rank, check_steps
from dataflow.ops.elementary import neg_op
from dataflow.ops.permute import reverse
from dataflow.ops.renamed_arguments import renamed
from dataflow.shapes import Dims
from dataflow.windows import num_positions


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


# ---- morphology -----------------------------------------------------------------------------------


def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    rates: Any = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """The largest ``input + filter`` under each place of the filter. See the op `Dilation2D`."""
    return dilation2d_op(  # type: ignore[no-any-return]
        input,
        renamed("filters", filters, "filter", filter),
        strides=strides,
        rates=renamed("dilations", dilations, "rates", rates),
        padding=padding,
        name=name,
    )


def erosion2d(
    value: TensorLike,
    kernel: Any,
    strides: int | Sequence[int],
    rates: Any,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The smallest ``value - kernel`` under each place of the kernel: the dual of a dilation."""
    with op_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = dilation2d_op(
            neg_op(value),
            reverse(kernel, [0, 1]),
            strides=strides,
            rates=rates,
            padding=padding,
            name=scope,
        )
        return neg_op(turned)  # type: ignore[no-any-return]
