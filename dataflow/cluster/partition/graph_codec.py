"""Operations as JSON and arrays: how a graph, or a partition of it, is sent to another task.

Shapes and dtypes are taken as they were inferred where the graph was built, so that a task need not
repeat the work. Nothing in the encoding is executed when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dataflow.dtypes import DType, as_dtype
from dataflow.errors import InvalidArgumentError, UnimplementedError
from dataflow.graph.graph import Graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.shapes import TensorShape


def encode_operations(ops: Iterable[Operation]) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    """Return one JSON object per operation, and the arrays that they refer to by number.

    Raises InvalidArgumentError for an attribute that exists only in this process, such as a Python
    function.
    """
    arrays: list[np.ndarray] = []
    return [encode_operation(op, arrays) for op in ops], arrays


def encode_operation(op: Operation, arrays: list[np.ndarray]) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "n": op.name,
        "t": op.type,
        "o": [[_dtype(t), None if t.dims is None else list(t.dims)] for t in op.outputs],
        "w": op.built_at,
    }
    if op.inputs:
        encoded["i"] = [t.name for t in op.inputs]
    if op.control_inputs:
        encoded["c"] = [source.name for source in op.control_inputs]
    if op.device:
        encoded["d"] = op.device
    if op.attrs:
        encoded["a"] = {
            name: _encode_value(op, name, value, arrays) for name, value in op.attrs.items()
        }
    return encoded


#: What follows the name of the value's dtype in that of a resource variable's handle.
_HANDLE = "_handle"


def _dtype(tensor: Tensor) -> str:
    dtype = tensor.dtype
    return dtype.value_dtype.name + _HANDLE if dtype.is_handle else dtype.name


def _decode_dtype(text: str) -> DType:
    name = text.removesuffix(_HANDLE)
    return as_dtype(name) if name == text else as_dtype(name).handle


def _encode_value(op: Operation, name: str, value: object, arrays: list[np.ndarray]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, DType):
        return {"t": value.name}
    if isinstance(value, bytes):
        return {"b": value.decode("latin-1")}
    if isinstance(value, TensorShape):
        return {"s": None if value.dims is None else value.as_list()}
    if isinstance(value, (np.ndarray, np.generic)):
        arrays.append(np.asarray(value))
        return {"a" if isinstance(value, np.ndarray) else "g": len(arrays) - 1}
    if isinstance(value, (list, tuple)):
        items = [_encode_value(op, name, item, arrays) for item in value]
        return {"l" if isinstance(value, list) else "u": items}
    if isinstance(value, dict):
        pairs = [[key, _encode_value(op, name, item, arrays)] for key, item in value.items()]
        return {"d": pairs}
    raise InvalidArgumentError(
        op,
        op,
        f"{op.type} {op.name!r} cannot be sent to another task: its attribute {name!r} is a Python "
        f"{type(value).__name__} that exists only in this process. Pin the node to the task whose "
        f"process built it, or feed what it computes.\n  built at {op.built_at}",
    )


def _decode_value(value: Any, arrays: list[np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "t":
            return as_dtype(content)
        case "b":
            return content.encode("latin-1")
        case "s":
            return TensorShape(content)
        case "a":
            return arrays[content]
        case "g":
            return arrays[content][()]
        case "l":
            return [_decode_value(item, arrays) for item in content]
        case "u":
            return tuple(_decode_value(item, arrays) for item in content)
        case "d":
            return {key: _decode_value(item, arrays) for key, item in content}
    raise InvalidArgumentError(None, None, f"An attribute arrived as {value!r}.")


#: Stands for a node of another task, or for a fed node: it only has outputs.
_STUB_TYPE = "Placeholder"


def encode_stub(op: Operation) -> dict[str, Any]:
    """Return a node without inputs that has the outputs of ``op``, whose values will arrive."""
    return {
        "n": op.name,
        "t": _STUB_TYPE,
        "o": [
            [t.dtype.base_dtype.name, None if t.dims is None else list(t.dims)] for t in op.outputs
        ],
        "w": op.built_at,
    }


def decode_operations(
    graph: Graph, encoded: list[dict[str, Any]], arrays: list[np.ndarray]
) -> list[Operation]:
    """Add the operations to ``graph`` under their own names and return them.

    Inputs may refer to nodes of this batch, in any order, or to nodes that ``graph`` has already.
    Raises UnimplementedError for an op type that this task does not know, InvalidArgumentError for
    a description that does not fit together.
    """
    ops = []
    for item in encoded:
        try:
            op_def: OpDef = get_op(item["t"])
        except KeyError:
            raise UnimplementedError(
                None,
                None,
                f"This task does not know the op type {item['t']!r} of node {item['n']!r}: it runs "
                "an older dataflow, or the op was registered only where the graph was built.",
            ) from None
        attrs = {name: _decode_value(value, arrays) for name, value in item.get("a", {}).items()}
        frames = _frames_of(item.get("w", ""))
        op = Operation(graph, item["n"], op_def, [], [], attrs, item.get("d", ""), frames)
        op.outputs = [
            Tensor(op, index, _decode_dtype(dtype), None if dims is None else tuple(dims))
            for index, (dtype, dims) in enumerate(item["o"])
        ]
        if op.name in graph.op_by_name:
            raise InvalidArgumentError(None, None, f"The node {op.name!r} was sent twice.")
        op.index = len(graph.operations)
        graph.operations.append(op)
        graph.op_by_name[op.name] = op
        graph.names_in_use[op.name.lower()] = 1
        ops.append(op)
    for op, item in zip(ops, encoded, strict=True):
        for name in item.get("i", ()):
            tensor = _tensor_of(graph, name)
            op.inputs.append(tensor)
            tensor.uses.append(op)
        for name in item.get("c", ()):
            source = graph.op_by_name.get(name)
            if source is not None:  # a control input of another task is waited for by a message
                op.add_control_edge(source)
    return ops


def _tensor_of(graph: Graph, name: str) -> Tensor:
    op_name, _, index = name.rpartition(":")
    try:
        return graph.op_by_name[op_name].outputs[int(index)]
    except (KeyError, IndexError, ValueError):
        raise InvalidArgumentError(
            None, None, f"An input {name!r} was sent without the node that computes it."
        ) from None


def _frames_of(built_at: str) -> Any:
    """Return raw frames that `tracebacks.where` shows as ``built_at``."""
    place, comma, line = built_at.rpartition(", line ")
    if not comma or not line.isdigit():
        return ()
    return (compile("", place, "exec"), -int(line))
