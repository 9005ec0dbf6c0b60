"""`tf.profiler.write_op_log`: what TensorFlow's profiler reads about a graph's nodes beside the graph."""

from __future__ import annotations

import os
from typing import Any

from dataflow.formats.local_paths import local_path
from dataflow.formats.protobuf_wire import bytes_field, varint_field
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.ops.flops import float_ops

#: How nodes of trainable variables are marked.
TRAINABLE_VARIABLES = "_trainable_variables"


class _Strings:
    """Numbers for texts, of which each is written once."""

    def __init__(self) -> None:
        self._ids = {"none": 0}

    def id_of(self, text: str) -> int:
        return self._ids.setdefault(text, len(self._ids))

    def written(self) -> bytes:
        """An entry of a map from int64 to string for each: field 2 of an OpLogProto."""
        return b"".join(
            bytes_field(2, varint_field(1, number) + bytes_field(2, text.encode()))
            for text, number in self._ids.items()
        )


def _entry(op: Operation, is_trainable: bool, strings: _Strings | None) -> bytes:
    """An OpLogEntry; empty where there is nothing to say."""
    count = float_ops(op)
    found = varint_field(2, count) if count else b""
    if is_trainable:
        found += bytes_field(3, TRAINABLE_VARIABLES.encode())
    if strings is not None:
        frames = b"".join(
            bytes_field(
                1,
                varint_field(2, frame.lineno or 0)
                + varint_field(6, strings.id_of(frame.filename))
                + varint_field(7, strings.id_of(frame.name)),
            )
            for frame in op.traceback
        )
        found += bytes_field(4, frames)
    return bytes_field(1, op.name.encode()) + found if found else b""


def write_op_log(
    graph: Any = None,
    log_dir: Any = "",
    op_log: Any = None,
    run_meta: Any = None,
    add_trace: bool = True,
) -> None:
    """Writes ``log_dir/tfprof_log``, an OpLogProto: floating-point operations and kinds of nodes.

    A node has an entry where its operations can be counted, where it is a trainable variable
    (``_trainable_variables``), and with ``add_trace`` where it was built: file, line, function.
    ``op_log``: a protobuf message whose entries come after these. ``run_meta`` has what is measured in a run, and
    changes nothing here: operations are counted by static shapes.
    """
    graph = default_graph() if graph is None else graph
    trainable = {v.op.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    strings = _Strings()
    entries = [
        _entry(op, op.name in trainable, strings if add_trace else None)
        for op in graph.get_operations()
    ]
    content = b"".join(bytes_field(1, entry) for entry in entries if entry) + strings.written()
    if op_log is not None:
        content += op_log.SerializeToString()
    folder = local_path(log_dir)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tfprof_log"), "wb") as file:
        file.write(content)
