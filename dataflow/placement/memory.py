"""In which memory an op on a GPU wants its inputs, and leaves its outputs.

TensorFlow's rules: what only says how to compute (shapes, axes, sizes) stays in the host's memory,
because the host needs it to launch anything; so do whole ops on int32, which count and index and
are rarely worth a kernel; so do strings and handles of resources. All else is on the device.
"""

from __future__ import annotations

from typing import NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.registry import ArgSpec

HOST = "host"
DEVICE = "device"
#: Takes the value wherever it is: the op looks at its shape only, or passes it on.
ANY = "any"

#: Names of arguments that say how to compute.
_HOST_ARGUMENTS = frozenset(
    {
        *("axis", "axes", "begin", "block_shape", "concat_dim", "crops", "depth", "dim"),
        *("dimension", "dims", "element_shape", "end", "fft_length", "filter_sizes"),
        *("global_step", "index", "input_sizes", "k", "lengths", "max_num_elements", "max_size"),
        *("min_size", "multiples", "n", "nbins", "new_global_step", "num", "num_cols"),
        *("num_lower", "num_required", "num_rows", "num_samples", "num_segments", "num_upper"),
        *("orig_input_shape", "output_shape", "paddings", "perm", "pred", "reduction_indices"),
        *("reps", "row_shape", "seed", "shape", "shift", "size", "size_splits", "sizes"),
        *("split_dim", "strides", "a_shape"),
    }
)
#: Arguments of these names are data in some ops: there they are on the device.
_DEVICE_ARGUMENTS = frozenset({"UnravelIndex.dims", "Concat.values"})
_HOST_ARGUMENTS_OF = {
    "Range": ("start", "limit", "delta"),
    "LinSpace": ("start", "stop"),
    "Assert": ("condition", "data"),
    "Print": ("data",),
    "BroadcastArgs": ("s0", "s1"),
    "BroadcastGradientArgs": ("s0", "s1"),
    "RandomUniformInt": ("minval", "maxval"),
    "StatelessRandomUniformInt": ("minval", "maxval"),
    "TensorArrayGatherV3": ("indices",),
    "TensorArrayScatterV3": ("indices",),
    "LoopCond": ("input",),
}
#: These look at their input's shape or presence, or pass it on, and need it nowhere.
_LOOKS_ONLY = frozenset({"Shape", "ShapeN", "Size", "Rank", "IsVariableInitialized"})
#: Outputs in the host's memory although the op runs on the device.
_HOST_OUTPUTS = frozenset(
    {
        *("Shape", "ShapeN", "Size", "Rank", "IsVariableInitialized", "BroadcastArgs", "Range"),
        *("BroadcastGradientArgs", "ConcatOffset", "TensorArraySizeV3", "QueueSizeV2"),
        *("LoopCond", "QueueIsClosedV2"),
    }
)
#: Ops on int32 that have kernels for the device all the same: they make or take other types.
_INT32_ON_DEVICE = frozenset({"Bincount", "UnravelIndex"})


class Memory(NamedTuple):
    """Where an op wants its inputs and leaves its outputs; ``on_host``: its kernel is the CPU's."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    on_host: bool = False


def memory_of(op: Operation) -> Memory:
    """The memory of each input and output of an op that is placed on a GPU."""
    if _is_host_work(op):
        return Memory((HOST,) * len(op.inputs), (HOST,) * len(op.outputs), True)
    inputs: list[str] = []
    for arg in op.op_def.inputs:
        place = _place_of_argument(op.type, arg)
        inputs += [place] * _num_tensors(arg, op)
    for i, tensor in enumerate(op.inputs):
        if not tensor.dtype.base_dtype.kind or tensor.dtype.base_dtype.kind in "Sx":
            inputs[i] = HOST  # nothing but the host can hold it
    on_host = op.type in _HOST_OUTPUTS
    outputs = [HOST if on_host or t.dtype.base_dtype.kind in "Sx" else DEVICE for t in op.outputs]
    if op.op_def.control_flow == "merge":
        outputs[1] = HOST  # the number of the branch
    return Memory(tuple(inputs), tuple(outputs), on_host)


def _place_of_argument(op_type: str, arg: ArgSpec) -> str:
    if arg.is_ref or op_type in _LOOKS_ONLY or arg.name in ("flow_in", "handle"):
        return ANY
    if arg.name in _HOST_ARGUMENTS_OF.get(op_type, ()):
        return HOST
    if arg.name in _HOST_ARGUMENTS and f"{op_type}.{arg.name}" not in _DEVICE_ARGUMENTS:
        return HOST
    return DEVICE


def _num_tensors(arg: ArgSpec, op: Operation) -> int:
    if arg.number_attr is not None:
        return int(op.attrs[arg.number_attr])
    if arg.type_list_attr is not None:
        return len(op.attrs[arg.type_list_attr])
    return 1


def _is_host_work(op: Operation) -> bool:
    """Whether all that the op reads and makes is int32 (or bool made of int32)."""
    if op.type in _INT32_ON_DEVICE or op.op_def.stateful or op.type.startswith("_"):
        return False
    data = [
        t
        for arg, t in zip(_arguments(op), op.inputs, strict=True)
        if _place_of_argument(op.type, arg) != HOST
    ]
    names = {t.dtype.base_dtype.name for t in data}
    made = {t.dtype.base_dtype.name for t in op.outputs}
    if any(t.dtype.is_ref for t in (*op.inputs, *op.outputs)) or not made:
        return False
    return made <= {"int32", "bool"} and names <= {"int32"} and ("int32" in names | made)


def _arguments(op: Operation) -> list[ArgSpec]:
    """The argument of each input."""
    return [arg for arg in op.op_def.inputs for _ in range(_num_tensors(arg, op))]
