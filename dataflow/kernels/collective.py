"""The collective ops.

In a cluster the task's own exchange (`cluster.execution.collectives`) carries the tensors; in a session of
this process the members meet here, and the last to come computes for all.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.capabilities import THREADS
from dataflow.errors import DeadlineExceededError, InvalidArgumentError, OpError
from dataflow.kernels.array_types import Array
from dataflow.kernels.collective_groups import Complete, Member, Rendezvous, Request
from dataflow.kernels.collective_ring import MERGES, finish
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

#: How long an exchange may take that has no time-out of its own.
DEFAULT_SECONDS = float(os.environ.get("DATAFLOW_COLLECTIVE_SECONDS", "600"))


class _Entry:
    """A member that waits in this process: its value, and what comes of it."""

    def __init__(self) -> None:
        self.ticket: Any = None
        self.value: Any = None
        self.complete: Complete | None = None
        self.result: Any = None
        self.error: Exception | None = None

    def take(self, outcome: Complete | OpError) -> None:
        """The rendezvous's answer."""
        if isinstance(outcome, Complete):
            self.complete = outcome
        else:
            self.error = outcome

    @property
    def is_done(self) -> bool:
        """Whether there is a result or an error."""
        return self.error is not None or self.result is not None


class LocalExchange:
    """Exchanges among the nodes of this process's sessions that share resources."""

    def __init__(self) -> None:
        self._rendezvous = Rendezvous()
        self._condition = threading.Condition()

    def run(self, context: Any, request: Request, value: Any, seconds: float) -> Any:
        """This member's result; waits for the others."""
        entry = context.carried(_Entry)
        if entry.ticket is None:
            entry.value = value
            member = Member("", context.op_device, "", request)
            with self._condition:
                entry.ticket = self._rendezvous.join(member, entry.take, entry)
                if entry.complete is not None:
                    _compute([ticket.value for ticket in entry.complete.tickets])
                self._condition.notify_all()

        def withdraw() -> Exception | None:
            self._leave(entry, "was canceled, or another op of its step failed")
            return None

        began = time.monotonic()
        limit = (
            seconds if THREADS else None
        )  # without threads, a wait that nobody can end is an error
        with self._condition:
            try:
                in_time = context.wait(
                    self._condition, lambda: entry.is_done, limit, None, withdraw
                )
            except DeadlineExceededError:
                in_time = False
            except Exception:
                withdraw()
                raise
            if not in_time and not entry.is_done:
                came = self._rendezvous.waiting(request)
                error = late(request, came, (), time.monotonic() - began)
                self._leave(entry, f"gave up: {error.message}")
                raise error
        if entry.error is not None:
            raise entry.error
        return entry.result

    def _leave(self, entry: _Entry, why: str) -> None:
        with self._condition:
            if not entry.is_done:
                self._rendezvous.leave(entry.ticket, why)
                self._condition.notify_all()


def _compute(entries: list[_Entry]) -> None:
    """Give all members of a round their results; called by the last to come."""
    requests = [entry.ticket.member.request for entry in entries if entry.ticket is not None]
    values = [entry.value for entry in entries]
    try:
        results = _results(requests[0], values)
        for entry, result in zip(entries, results, strict=True):
            entry.result = result
    except Exception as error:
        for entry in entries:
            entry.error = error
    for entry in entries:
        entry.value = entry.complete = None


def _results(request: Request, values: list[Any]) -> list[np.ndarray]:
    """The results of all members, by rank, each in memory of its own."""
    size = len(values)
    if request.kind == "broadcast":
        (value,) = (value for value in values if value is not None)
        return [np.array(value) for _ in values]
    if request.kind == "gather":
        joined = np.concatenate(values)
        return [joined] + [joined.copy() for _ in values[1:]]
    total = np.array(values[0])
    for value in values[1:]:
        MERGES[request.merge](total, value, out=total)
    total = finish(total, request.final, size)
    if request.kind == "reduce_scatter":
        return [part.copy() for part in np.split(total, size)]
    return [total] + [total.copy() for _ in values[1:]]


def late(request: Request, came: Any, missing: Any, seconds: float) -> DeadlineExceededError:
    """The error for members that have not come in time."""
    others = ", ".join(missing) or f"{request.group_size - len(came)} more"
    return DeadlineExceededError(
        None,
        None,
        f"{len(came)} of the {request.group_size} members of {request.what} have come in "
        f"{seconds:.3g} s ({', '.join(map(str, came))}); missing: {others}. "
        "Every member must run its op in each step; see timeout=, and operation_timeout_in_ms of "
        "tf.ConfigProto.",
    )


def exchange(
    context: KernelContext,
    value: np.ndarray | None,
    kind: str,
    group_key: int | str,
    instance_key: int,
    group_size: int,
    timeout_seconds: float = 0.0,
    **more: Any,
) -> Any:
    """This node's result of an exchange; waits for the other members. Others are fields of `Request`."""
    if value is not None:
        more |= {"dtype": value.dtype.name, "shape": tuple(value.shape)}
    request = Request(context.op_name, kind, group_key, instance_key, group_size, **more)
    found = getattr(context.session, "exchange", None)
    if found is None:
        found = context.resources.get_or_create("", "collectives", "", LocalExchange)
    result = found.run(context, request, value, timeout_seconds or DEFAULT_SECONDS)
    return result if result.shape else result[()]


_ATTRS = ("group_size", "group_key", "instance_key", "timeout_seconds")


def _reduce(context: KernelContext, input: Any, kind: str, attrs: dict[str, Any]) -> Any:
    if attrs["group_size"] == 1:
        return input
    merge, final = attrs.pop("merge_op"), attrs.pop("final_op")
    return exchange(context, np.asarray(input), kind, merge=merge, final=final, **attrs)


@kernel("CollectiveReduce", stateful=True, attrs=(*_ATTRS, "merge_op", "final_op"))
def collective_reduce_kernel(context: KernelContext, input: Array, **attrs: Any) -> Any:
    return _reduce(context, input, "reduce", attrs)


@kernel("CollectiveReduceScatter", stateful=True, attrs=(*_ATTRS, "merge_op", "final_op"))
def collective_reduce_scatter_kernel(context: KernelContext, input: Array, **attrs: Any) -> Any:
    size = attrs["group_size"]
    if not input.shape or input.shape[0] % size:
        raise InvalidArgumentError(
            None,
            None,
            f"{context.op_name!r}: {list(input.shape)} has no first dimension that can be divided by "
            f"the group_size {size}; pad the tensor.",
        )
    return _reduce(context, input, "reduce_scatter", attrs)


@kernel("CollectiveGather", stateful=True, attrs=_ATTRS)
def collective_gather_kernel(context: KernelContext, input: Array, **attrs: Any) -> Any:
    if attrs["group_size"] == 1:
        return input
    return exchange(context, np.asarray(input), "gather", **attrs)


@kernel("CollectiveBcastSend", stateful=True, attrs=_ATTRS)
def collective_bcast_send_kernel(context: KernelContext, input: Array, **attrs: Any) -> Any:
    return exchange(context, np.asarray(input), "broadcast", sends=True, **attrs)


@kernel("CollectiveBcastRecv", stateful=True, attrs=(*_ATTRS, "T", "shape"))
def collective_bcast_recv_kernel(
    context: KernelContext, *, T: Any, shape: Any, **attrs: Any
) -> Any:
    return exchange(
        context, None, "broadcast", dtype=T.base_dtype.numpy.name, shape=tuple(shape), **attrs
    )


#: NCCL's names of reductions.
MERGE_OF = {"sum": "Add", "prod": "Mul", "min": "Min", "max": "Max"}


@kernel("NcclAllReduce", stateful=True)
def nccl_all_reduce_kernel(
    context: KernelContext, input: Array, *, reduction: str, num_devices: int, shared_name: str
) -> Any:
    if num_devices == 1:
        return input
    return exchange(
        context,
        np.asarray(input),
        "reduce",
        f"nccl {shared_name}",
        0,
        num_devices,
        merge=MERGE_OF[reduction],
        final="Id",
    )
