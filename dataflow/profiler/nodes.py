"""What the profiler counts of each op, and the nodes of its results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.graph import Graph
from dataflow.ops.flops import float_ops

#: Attribute of the options -> field of a node; its total is ``total_`` and that.
FIELDS = {
    "micros": "exec_micros",
    "bytes": "requested_bytes",
    "params": "parameters",
    "float_ops": "float_ops",
    "occurrence": "run_count",
}


@dataclass
class _Counts:
    """A name, numbers of its own, and totals with what is below it."""

    name: str = ""
    exec_micros: int = 0
    requested_bytes: int = 0
    parameters: int = 0
    float_ops: int = 0
    run_count: int = 0
    total_exec_micros: int = 0
    total_requested_bytes: int = 0
    total_parameters: int = 0
    total_float_ops: int = 0
    total_run_count: int = 0

    def add(self, other: _Counts, own: bool) -> None:
        """Adds another's totals to the totals; with ``own``, its own numbers to these, too."""
        for name in FIELDS.values():
            total = f"total_{name}"
            setattr(self, total, getattr(self, total) + getattr(other, total))
            if own:
                setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class GraphNodeProto(_Counts):
    """A node of the graph, or a scope; ``children`` are the nodes below it."""

    children: list[GraphNodeProto] = field(default_factory=list)
    shapes: list[list[int | None]] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)


@dataclass
class MultiGraphNodeProto(_Counts):
    """Several nodes as one: those of an op type, or of a line of the program (``graph_nodes``)."""

    children: list[MultiGraphNodeProto] = field(default_factory=list)
    graph_nodes: list[GraphNodeProto] = field(default_factory=list)


@dataclass
class Measured:
    """An op with its numbers, and what regular expressions of types are compared with."""

    op: Any
    node: GraphNodeProto
    types: list[str]


def measure(graph: Graph, steps: Iterable[Any]) -> list[Measured]:
    """All ops of ``graph`` with their numbers; times and bytes are means over ``steps`` (`RunMetadata`)."""
    steps = list(steps)
    ran = _times(steps)
    trainable = _ops_of(graph, GraphKeys.TRAINABLE_VARIABLES)
    variables = _ops_of(graph, GraphKeys.GLOBAL_VARIABLES) | trainable
    result = []
    for op in graph.get_operations():
        micros, size, device = ran.get(op.name, (0, 0, op.device or ""))
        node = GraphNodeProto(
            op.name,
            exec_micros=round(micros / max(1, len(steps))),
            requested_bytes=round(size / max(1, len(steps))),
            parameters=math.prod(variables.get(op.name, [0])),
            float_ops=float_ops(op),
            run_count=1,
            shapes=[list(variables[op.name])] if op.name in variables else [],
            devices=[device] if device else [],
        )
        types = [op.type, *node.devices]
        types += ["_trainable_variables"] if op.name in trainable else []
        result.append(Measured(op, node, types))
    return result


def _ops_of(graph: Graph, key: str) -> dict[str, list[int]]:
    """Name of a variable's op -> its shape; a shape that is not known counts nothing."""
    found = {}
    for variable in graph.get_collection(key):
        dims = variable.shape.as_list() if variable.shape.ndims is not None else [None]
        found[variable.op.name] = [0 if d is None else d for d in dims]
    return found


def _times(steps: Iterable[Any]) -> Mapping[str, tuple[int, int, str]]:
    """Name -> microseconds, bytes of the outputs, device; added up over the steps."""
    result: dict[str, tuple[int, int, str]] = {}
    for run_metadata in steps:
        for device in run_metadata.step_stats.dev_stats:
            for stats in device.node_stats:
                size = sum(
                    o.tensor_description.allocation_description.requested_bytes
                    for o in stats.output
                )
                micros, so_far, _ = result.get(stats.node_name, (0, 0, ""))
                result[stats.node_name] = (
                    micros + stats.all_end_rel_micros,
                    so_far + size,
                    device.device,
                )
    return result
