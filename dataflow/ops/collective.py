"""Collective communication: one op on each member of a group, which exchange their tensors.

The names are those of TensorFlow 1's ``tensorflow.python.ops.collective_ops``. The members of a group may
run in one session or in one session for each task (between-graph replication); ``group_key`` and
``instance_key`` say which of them belong together. Between tasks the tensors travel around a ring, from
each member to the next, so no task receives more than the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.shapes import Dims, Shape, as_dims

_NUMBERS = frozenset({dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64})
_LATER = {"timeout_seconds": 0.0}
_HOST: dict[str, Any] = {
    "host_inputs": ("input",),
    "host_outputs": ("data",),
    "later_attrs": _LATER,
}
MERGE_OPS = ("Add", "Mul", "Min", "Max")
FINAL_OPS = ("Id", "Div")


def _check_reduction(merge_op: str, final_op: str) -> None:
    if merge_op not in MERGE_OPS:
        raise ValueError(f"merge_op must be one of {', '.join(MERGE_OPS)}, got {merge_op!r}.")
    if final_op not in FINAL_OPS:
        raise ValueError(f"final_op must be one of {', '.join(FINAL_OPS)}, got {final_op!r}.")


@define_op(
    "CollectiveReduce", "input: T -> data: T", stateful=True, blocks=True, T=_NUMBERS, **_HOST
)
def collective_reduce_op(
    input: Tensor,
    *,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str,
    final_op: str,
    subdiv_offsets: list[int],
    wait_for: list[int] = [],  # noqa: B006  (TensorFlow's default)
    communication_hint: str = "auto",
    timeout_seconds: float = 0.0,
) -> Dims:
    """Combines the tensors of all members, element by element; each member gets the result.

    Shape and dtype: those of the input, the same on all members. Gradient: none, as in TensorFlow.
    """
    _check_reduction(merge_op, final_op)
    return input.dims


@define_op(
    "CollectiveReduceScatter",
    "input: T -> data: T",
    stateful=True,
    blocks=True,
    T=_NUMBERS,
    **_HOST,
)
def collective_reduce_scatter_op(
    input: Tensor,
    *,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str,
    final_op: str,
    communication_hint: str = "auto",
    timeout_seconds: float = 0.0,
) -> Dims:
    """Combines the tensors of all members; the member of rank r gets the r-th part of the result.

    Shape: the first dimension divided by ``group_size``. Gradient: none.
    """
    _check_reduction(merge_op, final_op)
    if input.dims is None:
        return None
    if not input.dims:
        raise ValueError("the input is a scalar, which has no rows to divide among the members")
    rows = input.dims[0]
    if rows is not None and rows % group_size:
        raise ValueError(
            f"the first dimension of {shapes.list_dims(input.dims)} cannot be divided by the "
            f"group_size {group_size}; pad the tensor"
        )
    return (None if rows is None else rows // group_size, *input.dims[1:])


@define_op(
    "CollectiveGather", "input: T -> data: T", stateful=True, blocks=True, T=_NUMBERS, **_HOST
)
def collective_gather_op(
    input: Tensor,
    *,
    group_size: int,
    group_key: int,
    instance_key: int,
    shape: Shape,
    communication_hint: str = "auto",
    timeout_seconds: float = 0.0,
) -> Dims:
    """The tensors of all members behind each other, in the order of their ranks.

    Shape: ``shape``, the input's with ``group_size`` times as many rows. Gradient: none.
    """
    return shape


_BROADCAST = _NUMBERS | {dtypes.bool_}


@define_op(
    "CollectiveBcastSend", "input: T -> data: T", stateful=True, blocks=True, T=_BROADCAST, **_HOST
)
def collective_bcast_send_op(
    input: Tensor,
    *,
    group_size: int,
    group_key: int,
    instance_key: int,
    shape: Shape,
    communication_hint: str = "auto",
    timeout_seconds: float = 0.0,
) -> Dims:
    """Sends a tensor to all other members, which run `CollectiveBcastRecv`.

    Shape and value: the input's. Gradient: none.
    """
    return shape


@define_op(
    "CollectiveBcastRecv",
    "-> data: T",
    stateful=True,
    blocks=True,
    T=_BROADCAST,
    host_outputs=("data",),
    later_attrs=_LATER,
)
def collective_bcast_recv_op(
    *,
    T: DType,
    group_size: int,
    group_key: int,
    instance_key: int,
    shape: Shape,
    communication_hint: str = "auto",
    timeout_seconds: float = 0.0,
) -> Dims:
    """The tensor that the group's one `CollectiveBcastSend` sends. Shape: ``shape``. Gradient: none."""
    return shape


not_differentiable(
    collective_reduce_op,
    collective_reduce_scatter_op,
    collective_gather_op,
    collective_bcast_send_op,
    collective_bcast_recv_op,
)


def all_reduce(
    t: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str = "Add",
    final_op: str = "Id",
    subdiv_offsets: Sequence[int] = (0,),
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Reduce the tensors of all members of a group; each member gets the whole result.

    ``group_size`` is the number of members, ``group_key`` names the group, and ``instance_key`` the
    exchange, as a group may have several in one step: all three are the same on all members.
    ``merge_op`` is "Add", "Mul", "Min" or "Max"; ``final_op`` "Div" divides by the group size, "Id" does
    not. ``subdiv_offsets`` and ``communication_hint`` are accepted, and change nothing here.
    ``timeout`` in seconds bounds the exchange; 0 stands for 600 seconds
    (DATAFLOW_COLLECTIVE_SECONDS), or less where the session has an operation time-out.

    With n members of different tasks each sends 2 (n - 1) / n times the tensor's bytes: the ring
    all-reduce of Patarasuk and Yuan (2009). All members get the same bits.

    Running it raises InvalidArgumentError on all members if their tensors do not agree, UnavailableError
    if a member is lost, and DeadlineExceededError that names those that have not come.
    Raises ValueError for a ``group_size`` below 1.
    """
    _check_group_size("all_reduce", group_size, 1)
    return collective_reduce_op(  # type: ignore[no-any-return]
        convert_to_tensor(t),
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint.lower(),
        timeout_seconds=float(timeout),
    )


def reduce_scatter(
    t: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str = "Add",
    final_op: str = "Id",
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Reduce the tensors of all members; the member of rank r gets the r-th part of the rows.

    It is the first half of `all_reduce`, as `all_gather` is the second. TensorFlow has it since 2.6
    (``CollectiveReduceScatterV2``). Ranks follow the names of tasks and devices. Arguments and errors
    as for `all_reduce`; the number of rows must be a multiple of ``group_size``.
    """
    _check_group_size("reduce_scatter", group_size, 1)
    return collective_reduce_scatter_op(  # type: ignore[no-any-return]
        convert_to_tensor(t),
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        communication_hint=communication_hint.lower(),
        timeout_seconds=float(timeout),
    )


def all_gather(
    t: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """The tensors of all members along the first dimension, in the order of tasks and devices.

    All members' tensors have the same shape. Arguments and errors as for `all_reduce`. Raises
    ValueError for a scalar, and where the number of dimensions is unknown.
    """
    _check_group_size("all_gather", group_size, 1)
    t = convert_to_tensor(t)
    if not t.dims:
        raise ValueError(
            f"all_gather joins rows, so the tensor needs a known number of dimensions, at least 1; "
            f"got {t!r}. Give it one with tf.expand_dims or set_shape."
        )
    rows = t.dims[0]
    return collective_gather_op(  # type: ignore[no-any-return]
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        shape=(None if rows is None else rows * group_size, *t.dims[1:]),
        communication_hint=communication_hint.lower(),
        timeout_seconds=float(timeout),
    )


def broadcast_send(
    t: TensorLike,
    shape: DynamicShapeLike,
    dtype: DTypeLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Send a tensor to the other members of the group, which call `broadcast_recv`.

    ``shape`` and ``dtype`` are declared on both sides and must be the tensor's. Other arguments and
    errors as for `all_reduce`. Raises ValueError where a declaration does not fit, and for a
    ``group_size`` below 2.
    """
    _check_group_size("broadcast_send", group_size, 2)
    t, dims = convert_to_tensor(t), as_dims(shape)
    if t.dims != dims:
        raise ValueError(
            f"broadcast_send: the tensor has shape {shapes.list_dims(t.dims)}, and the declared shape "
            f"is {shapes.list_dims(dims)}."
        )
    if t.dtype.base_dtype != as_dtype(dtype).base_dtype:
        raise ValueError(
            f"broadcast_send: the tensor is {t.dtype.base_dtype.name}, and the declared dtype is "
            f"{as_dtype(dtype).name}."
        )
    return collective_bcast_send_op(  # type: ignore[no-any-return]
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        shape=dims,
        communication_hint=communication_hint.lower(),
        timeout_seconds=float(timeout),
    )


def broadcast_recv(
    shape: DynamicShapeLike,
    dtype: DTypeLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """The tensor that another member of the group sends with `broadcast_send`; arguments as there."""
    _check_group_size("broadcast_recv", group_size, 2)
    return collective_bcast_recv_op(  # type: ignore[no-any-return]
        T=as_dtype(dtype).base_dtype,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        shape=as_dims(shape),
        communication_hint=communication_hint.lower(),
        timeout_seconds=float(timeout),
    )


def _check_group_size(function: str, group_size: int, least: int) -> None:
    if group_size < least:
        raise ValueError(f"{function}: group_size must be at least {least}, got {group_size}.")
