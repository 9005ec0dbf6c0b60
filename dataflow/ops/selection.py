"""Elements by condition: choosing between two tensors, coordinates of what is true, masks."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops.broadcasting import broadcast_gradient_args_op
from dataflow.ops.casts import cast, cast_op
from dataflow.ops.concat_split import concat
from dataflow.ops.fills import zeros_like
from dataflow.ops.gather_scatter import gather
from dataflow.ops.ragged_dispatch import maps_ragged, takes_ragged
from dataflow.ops.reshape import expand_dims, reshape, squeeze
from dataflow.ops.shape import product_of, shape
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


@define_op("Select", "condition: bool, t: T, e: T -> output: T", shape_like=1, shares_work="large")
def select_op(condition: Tensor, t: Tensor, e: Tensor) -> Dims:
    """``t`` where the condition holds, else ``e``; a vector condition chooses whole rows.

    Shape: that of ``t`` and ``e``, which must agree. Gradient: to the one that was chosen.
    """
    try:
        dims = shapes.merge(t.dims, e.dims)
    except ValueError:
        raise ValueError(
            f"x and y must have the same shape, got {shapes.list_dims(t.dims)} and "
            f"{shapes.list_dims(e.dims)}"
        ) from None
    if condition.dims is None or dims is None or condition.dims == ():
        return dims
    if len(condition.dims) == 1 and len(dims) > 1:
        if not shapes.compatible(condition.dims, dims[:1]):
            raise ValueError(
                f"a condition of {condition.dims[0]} elements cannot choose among {dims[0]} rows"
            )
        return dims
    if not shapes.compatible(condition.dims, dims):
        raise ValueError(
            f"the condition has shape {shapes.list_dims(condition.dims)}, x and y "
            f"{shapes.list_dims(dims)}\nIt must be of that shape, a vector for rows, or a scalar."
        )
    return shapes.merge(dims, condition.dims)


@select_op.gradient
def select_gradient(op: Operation, grad: Tensor) -> list[Any]:
    condition = op.inputs[0]
    nothing = zeros_like(op.inputs[1])
    return [None, select_op(condition, grad, nothing), select_op(condition, nothing, grad)]


@define_op(
    "SelectV2", "condition: bool, t: T, e: T -> output: T", elementwise=True, shares_work="large"
)
def select_v2_op(condition: Tensor, t: Tensor, e: Tensor) -> Dims:
    """``t`` where the condition holds, else ``e``; all three are broadcast.

    Gradient: to the one that was chosen, summed over broadcast axes.
    """
    return shapes.broadcast(condition.dims, shapes.broadcast(t.dims, e.dims))


@select_v2_op.gradient
def select_v2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    condition, t, e = op.inputs
    nothing = constant(0, grad.dtype.base_dtype)
    result = []
    for source, part in (
        (t, select_v2_op(condition, grad, nothing)),
        (e, select_v2_op(condition, nothing, grad)),
    ):
        if source.dims != grad.dims or None in (source.dims or (None,)):
            _, axes = broadcast_gradient_args_op(shape(grad), shape(source))
            part = reshape(get_op("Sum")(part, axes), shape(source))
        result.append(part)
    return [None, *result]


@define_op("Where", "input: T -> index: int64", T=dtypes.NUMBERS | {dtypes.bool_})
def where_op(input: Tensor) -> Dims:
    """The coordinates of elements that are true (or not zero), in row-major order.

    Shape: [number of them, rank]. Not differentiable.
    """
    return (None, None if input.dims is None else len(input.dims))


not_differentiable(where_op)


@maps_ragged
def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """``x`` where the condition holds and ``y`` elsewhere; alone, the coordinates of true elements.

    ``condition`` has the shape of ``x``, or is a vector that chooses rows, or a scalar.
    """
    if x is None and y is None:
        with op_scope(name, "Where", [condition]) as scope:
            condition = convert_to_tensor(condition, preferred_dtype=dtypes.bool_, name="condition")
            return where_op(condition, name=scope)  # type: ignore[no-any-return]
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return select_op(condition, x, y, name=name)  # type: ignore[no-any-return]


def where_v2(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`where` with NumPy's broadcasting of all three."""
    if x is None and y is None:
        return where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return select_v2_op(condition, x, y, name=name)  # type: ignore[no-any-return]


@takes_ragged("boolean_mask")
def boolean_mask(
    tensor: TensorLike, mask: Any, name: str | None = "boolean_mask", axis: AxisLike | None = None
) -> Tensor:
    """The elements of ``tensor`` where ``mask`` is True; the mask's axes become one.

    The mask's shape must equal that of ``tensor`` from ``axis`` (0 by default) on.
    Raises `ValueError` when it does not, or when the mask's rank is unknown.
    """
    with op_scope(name, "boolean_mask", [tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        if mask.dims is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None. "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        if mask.dims == ():
            raise ValueError("mask cannot be scalar.")
        at = 0 if axis is None else int(static_value(convert_to_tensor(axis)))
        count = len(mask.dims)
        if tensor.dims is not None:
            at = shapes.normalize_axis(at, len(tensor.dims))
            if not shapes.compatible(tensor.dims[at : at + count], mask.dims):
                raise ValueError(
                    f"Shapes {shapes.format_dims(tensor.dims[at : at + count])} and "
                    f"{shapes.format_dims(mask.dims)} are incompatible: the mask must have the "
                    f"tensor's sizes from axis {at} on"
                )
        joined = product_of(shape(tensor)[at : at + count])
        before, after = shape(tensor)[:at], shape(tensor)[at + count :]
        flat = reshape(tensor, concat([before, [joined], after], 0))
        if tensor.dims is not None:
            length = shapes.num_elements(tensor.dims[at : at + count])
            flat.set_shape((*tensor.dims[:at], length, *tensor.dims[at + count :]))
        indices = squeeze(where(reshape(mask, [-1])), axis=[1])
        return gather(flat, indices, axis=at)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool_, name: str | None = None
) -> Tensor:
    """True for the first ``lengths[i]`` of ``maxlen`` places, False after.

    Shape: lengths' with ``maxlen`` (the largest length by default) added at the end.
    """
    from dataflow.ops.sequences import all_axes, range_op

    with op_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = get_op("Max")(lengths, all_axes(lengths))
            maxlen = get_op("Maximum")(constant(0, maxlen.dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.dims is not None and maxlen.dims != ():
            raise ValueError(f"maxlen must be scalar for sequence_mask, got {maxlen.shape}")
        row = range_op(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        matrix = cast_op(expand_dims(lengths, -1), DstT=maxlen.dtype)
        result = row < matrix
        if dtype is None or as_dtype(dtype) is dtypes.bool_:
            return result  # type: ignore[no-any-return]
        return cast(result, dtype)  # type: ignore[no-any-return]
