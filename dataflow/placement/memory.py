"""In which memory an op on a GPU wants its inputs, and leaves its outputs.

TensorFlow's rules: what only says how to compute (shapes, axes, sizes) stays in the host's memory,
because the host needs it to launch anything; so do whole ops on int32, which count and index and
are rarely worth a kernel; so do strings and handles of resources. All else is on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import ArgSpec
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

HOST = "host"
DEVICE = "device"
#: Takes the value wherever it is: the op looks at its shape only, or passes it on.
ANY = "any"


class Memory(NamedTuple):
    """Where an op wants its inputs and leaves its outputs; ``on_host``: its kernel is the CPU's."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    on_host: bool


def memory_of(op: Operation, on_host: Callable[[Tensor], bool]) -> Memory:
    """The memory of each input and output of an op that is placed on a GPU.

    ``on_host`` tells of its inputs whether they are in the host's memory: what decides on a branch or
    another round, one truth value made of others that are there, is left there, too.
    """
    if _is_host_work(op) or (_is_decision(op) and all(map(on_host, op.inputs))):
        return Memory((HOST,) * len(op.inputs), (HOST,) * len(op.outputs), True)
    inputs: list[str] = []
    for arg in op.op_def.inputs:
        place = _place_of_argument(op.op_def, arg)
        inputs += [place] * _num_tensors(arg, op)
    for i, tensor in enumerate(op.inputs):
        if not tensor.dtype.base_dtype.kind or tensor.dtype.base_dtype.kind in "Sx":
            inputs[i] = HOST  # nothing but the host can hold it
    left = op.op_def.host_outputs
    places = [HOST if a.name in left else DEVICE for a in _each(op.op_def.outputs, op)]
    outputs = [
        HOST if t.dtype.base_dtype.kind in "Sx" else place
        for t, place in zip(op.outputs, places, strict=True)
    ]
    return Memory(tuple(inputs), tuple(outputs), bool(left) and DEVICE not in places)


def _place_of_argument(op_def: OpDef, arg: ArgSpec) -> str:
    if arg.is_ref or op_def.shape_only or arg.name in ("flow_in", "handle"):
        return ANY
    return HOST if arg.name in op_def.host_inputs else DEVICE


def _num_tensors(arg: ArgSpec, op: Operation) -> int:
    if arg.number_attr is not None:
        return int(op.attrs[arg.number_attr])
    if arg.type_list_attr is not None:
        return len(op.attrs[arg.type_list_attr])
    return 1


def _is_host_work(op: Operation) -> bool:
    """Whether all that the op reads and makes is int32 (or bool made of int32)."""
    if op.op_def.int32_on_device or op.op_def.stateful or op.op_def.is_internal:
        return False
    data = [
        t
        for arg, t in zip(_each(op.op_def.inputs, op), op.inputs, strict=True)
        if _place_of_argument(op.op_def, arg) != HOST
    ]
    # A handle, a list's say, is the host's, and does not decide.
    names = {t.dtype.base_dtype.name for t in data if t.dtype.base_dtype.kind not in "Sx"}
    made = {t.dtype.base_dtype.name for t in op.outputs if t.dtype.base_dtype.kind not in "Sx"}
    if any(t.dtype.is_ref for t in (*op.inputs, *op.outputs)) or not op.outputs:
        return False
    return made <= {"int32", "bool"} and names <= {"int32"} and ("int32" in names | made)


def _is_decision(op: Operation) -> bool:
    """Whether the op makes one truth value of others."""
    return bool(
        op.inputs
        and op.op_def.elementwise
        and all(t.dtype.name == "bool" and t.dims == () for t in (*op.inputs, *op.outputs))
    )


def _each(arguments: Iterable[ArgSpec], op: Operation) -> list[ArgSpec]:
    """The argument that each input, or each output, of a node belongs to."""
    return [arg for arg in arguments for _ in range(_num_tensors(arg, op))]
