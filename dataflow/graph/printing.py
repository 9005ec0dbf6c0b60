"""Words for nodes: build errors, inputs with shapes, and the hook to the notebook's widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dataflow.errors import FailedInput, FailedNode, OpError
from dataflow.graph import tracebacks
from dataflow.shapes import list_dims

if TYPE_CHECKING:
    from dataflow.graph.op_def import OpDef
    from dataflow.graph.tensor import Tensor


def describe_tensor(tensor: Tensor) -> str:
    """``float32[?, 784]``: dtype and static shape in one word."""
    return f"{tensor.dtype.base_dtype.name}{list_dims(tensor.dims)}"


def input_labels(op_def: OpDef, count: int) -> list[str]:
    labels: list[str] = []
    for arg in op_def.inputs:
        if arg.is_list:
            spare = count - len(labels) - (len(op_def.inputs) - op_def.inputs.index(arg) - 1)
            labels.extend(f"{arg.name}[{i}]" for i in range(max(spare, 0)))
        else:
            labels.append(arg.name)
    return (labels + [f"input {i}" for i in range(len(labels), count)])[:count]


def describe_inputs(op_def: OpDef, inputs: list[Tensor]) -> str:
    """One line for each input: its name in the op, dtype, shape, and where it comes from."""
    lines = []
    for label, tensor in zip(input_labels(op_def, len(inputs)), inputs, strict=True):
        lines.append(f"  {label}: {describe_tensor(tensor)}  from {tensor.name!r}\n")
    return "".join(lines)


def build_error(
    error_class: type[OpError],
    op_def: OpDef,
    name: str,
    inputs: list[Tensor],
    frames: tracebacks.RawFrames,
    cause: Exception,
) -> OpError:
    """The error for a node that cannot be made: what, got, needed, and where."""
    message, _, advice = str(cause).partition("\n")
    text = f"{op_def.type} {name!r}: {message}\n{describe_inputs(op_def, inputs)}"
    if advice:
        text += f"  {advice}\n"
    error = error_class(None, None, text + f"  built at {tracebacks.where(frames)}")
    error.failed_node = failed_node(op_def, name, inputs, _wrong_input(op_def, inputs, str(cause)))
    return error


def failed_node(
    op_def: OpDef, name: str, inputs: Sequence[Tensor], wrong: int | None
) -> FailedNode | None:
    """What a picture of the error shows; ``wrong``: the number of the input that does not fit."""
    if not inputs:
        return None
    labels = input_labels(op_def, len(inputs))
    return FailedNode(
        op_def.type,
        name,
        tuple(
            FailedInput(
                label,
                tensor.name,
                tensor.dtype.base_dtype.name,
                str(list_dims(tensor.dims)),
                i == wrong,
            )
            for i, (label, tensor) in enumerate(zip(labels, inputs, strict=True))
        ),
    )


def _wrong_input(op_def: OpDef, inputs: list[Tensor], cause: str) -> int | None:
    """The input that the cause names, or else the last whose shape it says: those before it fit."""
    if not inputs:
        return None
    for i, label in enumerate(input_labels(op_def, len(inputs))):
        if f"Did you mean {label} of shape" in cause:
            return i
    first_line = cause.partition("\n")[0]
    said = [i for i, t in enumerate(inputs) if str(list_dims(t.dims)) in first_line]
    return said[-1] if said else len(inputs) - 1
