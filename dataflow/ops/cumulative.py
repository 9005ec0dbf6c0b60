"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import FLOATING, INDICES, NUMBERS
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import conj_if_complex, div_no_nan_op
from dataflow.ops.comparison import greater, less
from dataflow.ops.elementary import exp, log
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, normalize_axis


def _running_dims(x: Tensor, axis: Tensor) -> Dims:
    value = static_value(axis)
    if x.dims is not None and value is not None and value.ndim == 0:
        normalize_axis(int(value), len(x.dims))
    return x.dims


@define_op("Cumsum", "x: T, axis: Tidx -> out: T", T=NUMBERS, Tidx=INDICES)
def cumsum_op(x: Tensor, axis: Tensor, *, exclusive: bool = False, reverse: bool = False) -> Dims:
    """The running sum along an axis.

    ``exclusive``: each element is left out of its own sum; ``reverse``: from the end.
    Shape and dtype: those of x. Gradient: the running sum of dy the other way round.
    """
    return _running_dims(x, axis)


@define_op("Cumprod", "x: T, axis: Tidx -> out: T", T=NUMBERS, Tidx=INDICES)
def cumprod_op(x: Tensor, axis: Tensor, *, exclusive: bool = False, reverse: bool = False) -> Dims:
    """The running product along an axis; see Cumsum for ``exclusive`` and ``reverse``.

    Shape and dtype: those of x. Gradient: the reverse running sum of ``dy * y``, divided by x.
    """
    return _running_dims(x, axis)


@define_op("CumulativeLogsumexp", "x: T, axis: Tidx -> out: T", T=FLOATING, Tidx=INDICES)
def cumulative_logsumexp_op(
    x: Tensor, axis: Tensor, *, exclusive: bool = False, reverse: bool = False
) -> Dims:
    """``log(cumsum(exp(x)))`` along an axis, exact where exp(x) would overflow.

    Shape and dtype: those of x. Gradient: ``exp(x) * reverse_cumsum(dy * exp(-y))``, in logarithms.
    """
    return _running_dims(x, axis)


@cumsum_op.gradient
def cumsum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    return [cumsum_op(grad, op.inputs[1], exclusive=exclusive, reverse=not reverse), None]


@cumprod_op.gradient
def cumprod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, axis = op.inputs
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    products = cumprod_op(x, axis, exclusive=exclusive, reverse=reverse)
    total = cumsum_op(
        conj_if_complex(products) * grad, axis, exclusive=exclusive, reverse=not reverse
    )
    return [div_no_nan_op(total, conj_if_complex(x)), None]


@cumulative_logsumexp_op.gradient
def cumulative_logsumexp_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, axis = op.inputs
    y = op.outputs[0]
    attrs = {"exclusive": op.attrs["exclusive"], "reverse": not op.attrs["reverse"]}
    lowest = array_ops.fill(array_ops.shape(grad), grad.dtype.min)
    one = array_ops.ones_like(grad)
    parts = []
    for sign, chosen in ((1.0, greater(grad, 0)), (-1.0, less(grad, 0))):
        magnitude = array_ops.where(chosen, log(array_ops.where(chosen, sign * grad, one)), lowest)
        parts.append(exp(cumulative_logsumexp_op(magnitude - y, axis, **attrs) + x))
    return [parts[0] - parts[1], None]


def cumsum(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The running sum of x along ``axis``."""
    x = convert_to_tensor(x, name="x")
    return cumsum_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)  # type: ignore[no-any-return]


def cumprod(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The running product of x along ``axis``."""
    x = convert_to_tensor(x, name="x")
    return cumprod_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)  # type: ignore[no-any-return]


def cumulative_logsumexp(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """``log(cumsum(exp(x)))`` along ``axis``."""
    return cumulative_logsumexp_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)  # type: ignore[no-any-return]
