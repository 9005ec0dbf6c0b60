"""Weights of losses and metrics: which shapes fit, also where they are known only at run time."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import minimum_op, multiply, sub_op
from dataflow.ops.casts import cast
from dataflow.ops.comparison import (
    equal_op,
    less_equal_op,
    logical_and_op,
    logical_or_op,
    not_equal_op,
)
from dataflow.ops.control_flow import no_op, with_dependencies
from dataflow.ops.elementary import abs_op
from dataflow.ops.logging_ops import Assert
from dataflow.ops.reduce import reduce_all
from dataflow.ops.seeds import counted_as
from dataflow.shapes import format_dims


def require_broadcastable(weights: Tensor, values: Tensor) -> Tensor:
    """``weights``, whose shape fits that of ``values``: a scalar, or as many dimensions, each 1 or equal.

    Raises `ValueError` where it is known not to; what is known only at run time is an
    `InvalidArgumentError` then.
    """
    a, b = weights.dims, values.dims
    if a is not None and b is not None and (a == () or len(a) == len(b)):
        is_decided = a == () or not (None in a or None in b)
    else:
        is_decided = False
    with counted_as(5 if is_decided else 63):  # there a switch guards each part of the check
        return _checked(weights, values)


def _checked(weights: Tensor, values: Tensor) -> Tensor:
    check = _check_at_run_time(weights, values)
    return weights if check is None else with_dependencies([check], weights)


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Any:
    """An op that fails where the weights do not fit the values: see `require_broadcastable`."""
    weights, values = (
        convert_to_tensor(weights, name="weights"),
        convert_to_tensor(values, name="values"),
    )
    check = _check_at_run_time(weights, values)
    return no_op() if check is None else check


def _check_at_run_time(weights: Tensor, values: Tensor) -> Any:
    """What is left to be checked as the graph runs: an op, or None."""
    a, b = weights.dims, values.dims
    if a == ():
        return None
    if a is not None and b is not None:
        if len(a) != len(b) or not all(
            x is None or y is None or x in (1, y) for x, y in zip(a, b, strict=True)
        ):
            raise ValueError(
                f"weights can not be broadcast to values. values.rank={len(b)}. "
                f"weights.rank={len(a)}. values.shape={format_dims(b)}. "
                f"weights.shape={format_dims(a)}. Give one weight for all, or as many dimensions, "
                "each 1 or equal."
            )
        if all(x == 1 or (x is not None and x == y) for x, y in zip(a, b, strict=True)):
            return None
    with op_scope(None, "assert_broadcastable", [weights, values]):
        mine, theirs = array.shape(weights), array.shape(values)
        my_rank, rank = array.rank(weights), array.rank(values)
        both = minimum_op(my_rank, rank)
        fits = logical_or_op(equal_op(mine[:both], theirs[:both]), equal_op(mine[:both], 1))
        same = logical_and_op(equal_op(my_rank, rank), reduce_all(fits))
        message = ["weights can not be broadcast to values.", "weights.shape=", mine]
        return Assert(
            logical_or_op(equal_op(my_rank, 0), same), [*message, "values.shape=", theirs]
        )


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """Weights in the shape and dtype of ``values``: one for all, or 1 or the size in each dimension.

    Raises `ValueError` for other shapes.
    """
    values = convert_to_tensor(values)
    weights = convert_to_tensor(weights, values.dtype.base_dtype)
    is_same = weights.dims == values.dims and weights.dims is not None and None not in weights.dims
    if is_same:
        return weights
    weights = require_broadcastable(weights, values)
    return multiply(weights, array.ones_like(values), name="broadcast_weights")  # type: ignore[no-any-return]


def drop_last_one(tensor: Tensor, values: Tensor, excess: int = 1) -> Tensor:
    """``tensor``, without its last dimension of 1 where it has ``excess`` dimensions more than ``values``.

    What is known only at run time is decided then; a last dimension that is not 1 is an error of the reshape.
    """
    a, b = tensor.dims, values.dims
    if a == () or (a and a[-1] not in (1, None)):
        return tensor
    if a is not None and b is not None:
        return array.squeeze(tensor, [-1]) if len(a) == len(b) + excess else tensor
    with op_scope(None, "drop_last_one", [tensor, values]):
        rank = array.rank(tensor)
        dropped = cast(equal_op(sub_op(rank, array.rank(values)), excess), dtypes.int32)
        return array.reshape(tensor, array.shape(tensor)[: sub_op(rank, dropped)])


def match_rank(weights: Tensor, values: Tensor) -> Tensor:
    """``weights`` with the rank of ``values``: a last dimension of 1 is dropped or added.

    A scalar stays, and so do weights whose rank differs by more than one.
    """
    a, b = weights.dims, values.dims
    if a == ():
        return weights
    if a is not None and b is not None:
        if len(a) == len(b) + 1 and a[-1] in (1, None):
            return array.squeeze(weights, [-1])
        return array.expand_dims(weights, [-1]) if len(b) == len(a) + 1 else weights
    with op_scope(None, "match_rank", [weights, values]):
        my_rank, rank = array.rank(weights), array.rank(values)
        near = less_equal_op(abs_op(sub_op(my_rank, rank)), 1)
        changes = logical_and_op(near, not_equal_op(my_rank, 0))
        wanted = array.where(changes, rank, my_rank)
        sizes = array.concat([array.shape(weights), [1]], 0)
        return array.reshape(weights, sizes[:wanted])
