"""Axes, sizes and values of ragged tensors; functions of each of their innermost values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.ragged_operands import flat_operands
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.ragged_value import is_value


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``op`` of the innermost values of all ragged arguments, with their rows.

    The arguments' rows must be the same, and the result must have as many values. Without a ragged argument,
    ``op(*args, **kwargs)``.
    """
    values = [*args, *kwargs.values()]
    ragged = [convert_to_ragged(v) for v in values if is_value(v) or isinstance(v, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    flat = iter(flat_operands(ragged))

    def inner(value: Any) -> Any:
        return next(flat) if is_value(value) or isinstance(value, RaggedTensor) else value

    new_args = [inner(a) for a in args]
    new_kwargs = {k: inner(v) for k, v in kwargs.items()}
    return ragged[0].with_flat_values(op(*new_args, **new_kwargs))


def checked_axis(axis: int, rank: int | None) -> int:
    if axis >= 0:
        return axis
    if rank is None:
        raise ValueError("axis may not be negative where the rank is unknown")
    return axis + rank


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """`tf.expand_dims` of a ragged tensor: an axis of size 1 at ``axis``."""
    input = convert_to_ragged(input)
    if not isinstance(input, RaggedTensor):
        return array.expand_dims(input, axis, name)
    place = axis if dim is None else dim
    rank = input.shape.ndims
    place = checked_axis(place, None if rank is None else rank + 1)
    kind = input.row_splits.dtype.base_dtype
    if place == 0:
        return RaggedTensor(input, array.stack([array.zeros([], kind), input.nrows()]))
    if place == 1:
        return RaggedTensor(input, array.range_(input.nrows() + 1))
    return input.with_values(expand_dims(input.values, place - 1))


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Any:
    """The number of values."""
    return array.size(convert_to_ragged(input).flat_values, name, out_type)


def rank(input: TensorLike, name: str | None = None) -> Any:
    """The number of axes."""
    ragged = convert_to_ragged(input)
    return array.rank(ragged.flat_values) + ragged.ragged_rank


def _mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return map_flat_values(function, *args, **kwargs)

    mapped.__doc__ = "The function of the innermost values, with these rows."
    return mapped


ragged_cast = _mapped(cast)


zeros_like = _mapped(array.zeros_like)


ones_like = _mapped(array.ones_like)


identity = _mapped(array.identity)
