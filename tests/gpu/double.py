"""A graph in double precision: what a GPU computes in single precision is measured against it.

The same nodes with float32 turned into float64, complex64 into complex128, on the values that the
float32 graph has: constants, feeds and variables are widened, not drawn or read anew. An op that
has no float64 (a decoder, a random op, one that says float32 in its signature) stays as it is,
between casts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import dataflow as tf
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

WIDER = {tf.float32: tf.float64, tf.complex64: tf.complex128}
#: Families of ops that read or write a dtype's bytes, or draw other numbers for another dtype.
_KEPT_FAMILIES = frozenset(
    {
        *(
            "random",
            "candidate_sampling",
            "example_parsing",
            "parsing",
            "sequence_parsing",
            "checkpoint",
            "lookup",
        ),
        *("summary", "script_ops", "quantize"),
    }
)
#: Others that do: their bytes, or the least number of the dtype where a segment is empty.
_KEPT = frozenset({"Bitcast", "DecodeRaw", "UnsortedSegmentMax", "UnsortedSegmentMin"})


class Copied(NamedTuple):
    """The graph, and what the given tensors and operations became."""

    graph: Any
    tensors: dict[Tensor, Tensor]
    operations: dict[Operation, Operation]


def widen(value: Any) -> Any:
    """An array with float32 and complex64 as float64 and complex128; anything else as it is."""
    array = np.asarray(value)
    if array.dtype == np.float32:
        return array.astype(np.float64)
    if array.dtype == np.complex64:
        return array.astype(np.complex128)
    return value


def in_double(
    ops: Sequence[Operation], feeds: Iterable[Tensor] = (), double: bool = True
) -> Copied:
    """``ops`` (in an order in which they can run) in double precision; ``feeds`` are placeholders.

    Pins to devices are left out. With ``double=False`` dtypes stay as they are. Raises
    `NotImplementedError` for an op that changes a variable and has no float64.
    """
    graph = tf.Graph()
    tensors: dict[Tensor, Tensor] = {}
    made: dict[Operation, Operation] = {}
    wider = WIDER if double else {}
    with graph.as_default():
        for tensor in feeds:
            dtype = tensor.dtype.base_dtype
            tensors[tensor] = tf.placeholder(wider.get(dtype, dtype), tensor.shape)
        open_edges: list[tuple[Operation, int, Tensor]] = []
        for op in ops:
            if not op.outputs or any(t not in tensors for t in op.outputs):
                made[op] = _copy(graph, op, wider, tensors, made, open_edges)
        for new, index, source in open_edges:
            new.inputs[index].uses.remove(new)
            new.inputs[index] = tensors[source]
            tensors[source].uses.append(new)
    return Copied(graph, tensors, made)


def _copy(
    graph: Any,
    op: Operation,
    wider: dict[DType, DType],
    tensors: dict[Tensor, Tensor],
    made: dict[Operation, Operation],
    open_edges: list[tuple[Operation, int, Tensor]],
) -> Operation:
    keep = not wider or _stays(op)
    inputs: list[Tensor] = []
    waiting: list[tuple[int, Tensor]] = []
    for i, tensor in enumerate(op.inputs):
        new = tensors.get(tensor)
        if new is None:  # the back edge of a loop
            waiting.append((i, tensor))
            new = inputs[0]
        elif keep and new.dtype.base_dtype is not tensor.dtype.base_dtype:
            if tensor.dtype.is_ref:
                raise NotImplementedError(f"{op.type} changes a variable and has no float64")
            new = tf.cast(new, tensor.dtype)
        inputs.append(new)
    attrs = {k: v if keep else _wider(v) for k, v in op.attrs.items() if k != "_class"}
    controls = [made[c] for c in op.control_inputs if c in made]
    with graph.control_dependencies(controls), graph.device(None):
        new_op: Operation = graph.make_op(op.op_def, graph.unique_name(op.name), inputs, attrs)
    open_edges += [(new_op, i, tensor) for i, tensor in waiting]
    for tensor, new in zip(op.outputs, new_op.outputs, strict=True):
        if keep and new.dtype in wider:
            new = tf.cast(new, wider[new.dtype])
        tensors.setdefault(tensor, new)
    return new_op


def _stays(op: Operation) -> bool:
    if op.type in _KEPT or op.op_def.family in _KEPT_FAMILIES:
        return True
    if any(arg.dtype in WIDER for arg in (*op.op_def.inputs, *op.op_def.outputs)):
        return True
    for name, allowed in op.op_def.allowed.items():
        value = op.attrs.get(name)
        if value in WIDER and WIDER[value] not in allowed:
            return True
    return False


def _wider(value: Any) -> Any:
    if isinstance(value, DType):
        return WIDER.get(value, value)
    if isinstance(value, np.ndarray):
        return widen(value)
    if isinstance(value, list) and value and isinstance(value[0], DType):
        return [WIDER.get(as_dtype(v), v) for v in value]
    return value
