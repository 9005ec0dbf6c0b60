"""``tf.contrib.nccl``: sums and copies among the devices of one process.

On NVIDIA's GPUs TensorFlow calls the library NCCL here. The names and the gradients are the same; the
exchange is that of `ops.collective` within one process, through the host's memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.graph_functions import device as device_scope
from dataflow.shapes import Dims, Shape

_NUMBERS = frozenset({dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64})
_HOST: dict[str, Any] = {"host_inputs": ("input",), "host_outputs": ("data",)}
_REDUCTIONS = ("sum", "prod", "min", "max")
_numbers = itertools.count()


@define_op("NcclAllReduce", "input: T -> data: T", stateful=True, blocks=True, T=_NUMBERS, **_HOST)
def nccl_all_reduce_op(
    input: Tensor, *, reduction: str, num_devices: int, shared_name: str
) -> Dims:
    """Combines the inputs of the ``num_devices`` nodes of one ``shared_name``; each gets the result.

    Shape and dtype: the input's. Gradient: for "sum" that of the others summed in the same way.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(_REDUCTIONS)}, got {reduction!r}")
    return input.dims


@define_op("NcclReduce", "input: num_devices * T -> data: T", T=_NUMBERS, **_HOST)
def nccl_reduce_op(input: list[Tensor], *, reduction: str) -> Dims:
    """Combines tensors of several devices on one. Shape: theirs. Gradient: for "sum", to each."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(_REDUCTIONS)}, got {reduction!r}")
    return input[0].dims


@define_op(
    "NcclBroadcast",
    "input: T -> output: T",
    T=_NUMBERS,
    host_inputs=("input",),
    host_outputs=("output",),
)
def nccl_broadcast_op(input: Tensor, *, shape: Shape) -> Dims:
    """The value for all devices. Shape: the input's. Gradient: passes through."""
    return input.dims


def _check_sum(op: Operation) -> None:
    if op.attrs["reduction"] != "sum":
        raise LookupError(
            f"There is no gradient of {op.type} {op.name!r} with the reduction "
            f'{op.attrs["reduction"]!r}; only "sum" has one, as in TensorFlow.'
        )


@nccl_all_reduce_op.gradient
def nccl_all_reduce_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    _check_sum(op)
    attrs = op.attrs
    with device_scope(op.device):
        return [
            nccl_all_reduce_op(
                grad,
                reduction="sum",
                num_devices=attrs["num_devices"],
                shared_name=attrs["shared_name"] + "_grad",
            )
        ]


@nccl_reduce_op.gradient
def nccl_reduce_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    _check_sum(op)
    with device_scope(op.device):
        return [nccl_broadcast_op(grad, shape=grad.dims)] * len(op.inputs)


@nccl_broadcast_op.gradient
def nccl_broadcast_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    return [grad]


def all_sum(tensors: Sequence[Any]) -> list[Tensor]:
    """The sum of the tensors, once on the device of each; all of them must be run in one step.

    Raises ValueError for a tensor without a device, and for none at all.
    """
    return _all_reduce("sum", tensors)


def all_prod(tensors: Sequence[Any]) -> list[Tensor]:
    """As `all_sum`, with the product."""
    return _all_reduce("prod", tensors)


def all_min(tensors: Sequence[Any]) -> list[Tensor]:
    """As `all_sum`, with the least."""
    return _all_reduce("min", tensors)


def all_max(tensors: Sequence[Any]) -> list[Tensor]:
    """As `all_sum`, with the largest."""
    return _all_reduce("max", tensors)


def reduce_sum(tensors: Sequence[Any]) -> Tensor:
    """The sum of the tensors of several devices, on the current one, which must be one of them.

    Raises ValueError for a tensor without a device, and where the current device has none.
    """
    given = _with_devices(tensors)
    result = nccl_reduce_op(given, reduction="sum")
    if all(t.device != result.device for t in given):
        raise ValueError(
            "reduce_sum: one of the tensors must be on the current device, "
            f"{result.device or 'which is not set'}; they are on {[t.device for t in given]}."
        )
    return result  # type: ignore[no-any-return]


def broadcast(tensor: TensorLike) -> Tensor:
    """The tensor, to be used on other devices. Raises ValueError for one without a device."""
    (given,) = _with_devices([tensor])
    with device_scope(given.device):
        return nccl_broadcast_op(given, shape=given.dims)  # type: ignore[no-any-return]


def _with_devices(tensors: Sequence[Any]) -> list[Tensor]:
    given = [convert_to_tensor(t) for t in tensors]
    if not given:
        raise ValueError("An exchange among devices needs at least one tensor, got none.")
    for t in given:
        if not t.device:
            raise ValueError(
                f"Device assignment required for nccl collective ops: {t!r} has none. Make it under "
                'tf.device("/gpu:0"), or "/cpu:0", "/cpu:1" with ConfigProto(device_count={"CPU": 2}).'
            )
    return given


def _all_reduce(reduction: str, tensors: Sequence[Any]) -> list[Tensor]:
    given, name, results = _with_devices(tensors), f"c{next(_numbers)}", []
    for t in given:
        with device_scope(t.device):
            results.append(
                nccl_all_reduce_op(t, reduction=reduction, num_devices=len(given), shared_name=name)
            )
    return results
