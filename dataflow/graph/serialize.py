"""The graph as TensorFlow's ``GraphDef``, through the protocol buffers that TensorBoard ships."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.dtypes import DType, as_dtype, resource
from dataflow.formats.local_paths import local_path
from dataflow.graph.function_def import LibraryFunction, add_library, is_function, library_name
from dataflow.graph.op_signature import normalize_attr
from dataflow.graph.tensor_proto import array_to_proto, proto_to_array, shape_to_proto
from dataflow.shapes import as_dims

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.operation import Operation

#: The version of the GraphDef format that is written (TensorFlow 1.15's).
PRODUCER = 134


def set_attr(proto: Any, value: Any, kind: str = "") -> None:
    """Writes one attribute into an ``AttrValue``; ``kind`` is that of the op's definition."""
    if kind == "Shape" or (value is None and not kind):
        proto.shape.MergeFrom(shape_to_proto(value))
    elif kind == "list[Shape]":
        proto.list.SetInParent()
        for dims in value:
            proto.list.shape.append(shape_to_proto(dims))
    elif isinstance(value, DType):
        proto.type = value.base_dtype.as_datatype_enum
    elif isinstance(value, (bool, np.bool_)):
        proto.b = bool(value)
    elif isinstance(value, (int, np.integer)):
        proto.i = int(value)
    elif isinstance(value, (float, np.floating)):
        proto.f = float(value)
    elif isinstance(value, str):
        proto.s = value.encode()
    elif isinstance(value, bytes):
        proto.s = value
    elif isinstance(value, np.ndarray):
        proto.tensor.MergeFrom(array_to_proto(value))
    elif isinstance(value, tuple):
        proto.shape.MergeFrom(shape_to_proto(value))
    elif isinstance(value, list):
        proto.list.SetInParent()
        for item in value:
            if isinstance(item, DType):
                proto.list.type.append(item.base_dtype.as_datatype_enum)
            elif isinstance(item, bool):
                proto.list.b.append(item)
            elif isinstance(item, (int, np.integer)):
                proto.list.i.append(int(item))
            elif isinstance(item, float):
                proto.list.f.append(item)
            elif isinstance(item, str):
                proto.list.s.append(item.encode())
            elif isinstance(item, bytes):
                proto.list.s.append(item)
            else:
                proto.list.shape.append(shape_to_proto(item))
    elif is_function(value):
        proto.func.name = library_name(value)
    else:
        raise TypeError(
            f"an attribute of type {type(value).__name__} cannot be written to a GraphDef"
        )


_NO_FUNCTIONS: list[Any] = []


def _is_local(value: Any) -> bool:
    """True for attributes that only mean something in this process, such as Python functions."""
    return callable(value) and not isinstance(value, DType)


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return list(value) == list(default)
    if isinstance(value, float):  # 32 bits of it are written
        return bool(np.float32(value) == np.float32(default))
    return bool(value == default)


def node_def(op: Operation, add_shapes: bool = False) -> Any:
    """One node as a ``NodeDef``."""
    from tensorboard.compat.proto import node_def_pb2

    node = node_def_pb2.NodeDef()
    write_node(node, op, add_shapes)
    return node


def write_node(node: Any, op: Operation, add_shapes: bool) -> list[Any]:
    """Writes a node into a ``NodeDef``, with the shapes of its outputs where wanted.

    Returns the functions that its attributes name: most nodes have none.
    """
    definition, functions = op.op_def, _NO_FUNCTIONS
    node.name = op.name
    node.op = definition.type
    if op.device:
        node.device = op.device
    inputs = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
    control_inputs = op.control_inputs
    if control_inputs:
        inputs += [f"^{c.name}" for c in control_inputs]
    if inputs:
        node.input.extend(inputs)
    later = definition.later_attrs
    for key, value in op.attrs.items():
        if later and key in later and _is_default(value, later[key]):
            continue
        if type(value) is DType:
            node.attr[key].type = value.base_dtype.as_datatype_enum
            continue
        if is_function(value):
            functions = [*functions, value]
        if not _is_local(value):
            spec = definition.attr_by_name.get(key)
            set_attr(node.attr[key], value, "" if spec is None else spec.kind)
    if op.gradient_override:
        node.attr["_gradient_op_type"].s = op.gradient_override.encode()
    if add_shapes:
        output_shapes = node.attr["_output_shapes"]
        output_shapes.list.SetInParent()
        for tensor in op.outputs:
            # A handle of a TensorArray has two elements in TensorFlow, which wants no other shape there.
            dims = None if tensor.dtype.base_dtype is resource else tensor.dims
            output_shapes.list.shape.append(shape_to_proto(dims))
    return functions


class _PlainNodes:
    """Consecutive nodes as a GraphDef's bytes: a fifth less time than field by field.

    Plain is a node without device, control inputs and attributes other than types, as most of a large
    graph are.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        #: The bytes of the op type and the attributes, which many nodes share.
        self._ends: dict[Any, bytes] = {}

    def write(self, op: Operation) -> bool:
        """Adds a node; ``False`` if it is not plain."""
        attrs = op.attrs
        if op.device or op.gradient_override or op.control_inputs:
            return False
        for value in attrs.values():
            if type(value) is not DType:
                return False
        key = (op.op_def.type, *attrs.items())
        end = self._ends.get(key)
        if end is None:
            end = self._ends[key] = _end_of_node(op)
        name = op.name.encode()
        node = b"\n" + _length(name) + name  # field 1
        for tensor in op.inputs:
            source = (tensor.op.name if tensor.value_index == 0 else tensor.name).encode()
            node += b"\x1a" + _length(source) + source  # field 3
        node += end
        self._parts += (b"\n", _length(node), node)  # field 1 of the GraphDef
        return True

    def add_to(self, result: Any) -> None:
        """Appends the nodes to a ``GraphDef``."""
        if self._parts:
            result.MergeFromString(b"".join(self._parts))
            self._parts.clear()


def _end_of_node(op: Operation) -> bytes:
    """The fields after the inputs: op type and types of a plain node."""
    from tensorboard.compat.proto import node_def_pb2

    node = node_def_pb2.NodeDef(op=op.op_def.type)
    later = op.op_def.later_attrs
    for key, value in op.attrs.items():
        if key not in later or value is not later[key]:
            node.attr[key].type = value.base_dtype.as_datatype_enum
    return node.SerializeToString()  # type: ignore[no-any-return]


def _length(data: bytes) -> bytes:
    """A length as protocol buffers write it: seven bits in each byte, the lowest first."""
    length = len(data)
    if length < 128:
        return _SHORT_LENGTHS[length]
    found = bytearray()
    while length >= 128:
        found.append(length & 127 | 128)
        length >>= 7
    found.append(length)
    return bytes(found)


_SHORT_LENGTHS = [bytes([length]) for length in range(128)]


def graph_def(graph: Graph, from_version: int = 0, add_shapes: bool = False) -> Any:
    """The nodes from number ``from_version`` on as a ``GraphDef``."""
    from tensorboard.compat.proto import graph_pb2

    result = graph_pb2.GraphDef()
    result.versions.producer = PRODUCER
    functions: list[Any] = []
    plain = _PlainNodes()
    for op in graph.get_operations()[from_version:]:
        if add_shapes or not plain.write(op):
            plain.add_to(result)
            functions += write_node(result.node.add(), op, add_shapes)
    plain.add_to(result)
    add_library(result, functions)
    return result


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a GraphDef to ``logdir/name`` (made when missing), as text or binary; returns the path.

    The file appears whole or not at all.
    """
    proto = (
        graph_or_graph_def.as_graph_def()
        if hasattr(graph_or_graph_def, "as_graph_def")
        else graph_or_graph_def
    )
    if as_text:
        from google.protobuf import text_format

        data = text_format.MessageToString(proto).encode()
    else:
        data = proto.SerializeToString()
    folder = local_path(logdir)
    os.makedirs(folder or ".", exist_ok=True)
    path = os.path.join(folder, name)
    from dataflow.formats.atomic_files import write_atomically

    write_atomically(path, data)
    return os.path.join(logdir, name)


def plain_attr(definition: Any, name: str, value: Any) -> Any:
    """The Python value of the attribute ``name``, where ``value`` is one or an ``AttrValue``."""
    if getattr(getattr(value, "DESCRIPTOR", None), "name", "") != "AttrValue":
        return value
    spec = definition.attr_by_name.get(name)
    plain = attr_value(value)
    return plain if spec is None else normalize_attr(spec.kind, plain)


def attr_value(proto: Any, library: dict[str, Any] | None = None) -> Any:
    """The Python value of an ``AttrValue``; functions are looked up in ``library``."""
    field = proto.WhichOneof("value")
    if field == "type":
        return as_dtype(proto.type)
    if field == "shape":
        return as_dims(proto.shape)
    if field == "func":
        return LibraryFunction(proto.func.name, library or {})
    if field == "tensor":
        return proto_to_array(proto.tensor)
    if field == "list":
        for name in ("s", "i", "f", "b"):
            values = getattr(proto.list, name)
            if values:
                return list(values)
        if proto.list.type:
            return [as_dtype(t) for t in proto.list.type]
        if proto.list.shape:
            return [as_dims(s) for s in proto.list.shape]
        return []
    return None if field is None else getattr(proto, field)
