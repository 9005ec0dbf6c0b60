"""A graph as a cluster runs it: the task of each node, and a Send and a Recv where values travel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow_widgets.cluster_view.snapshot import short

_MOST_NODES = 600


def placed_graph(
    graph: Any, task_of: Mapping[str, str], feeds: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """``{"nodes": [...], "transfers": [...], "bytes": n, "unknown": n}`` of what a run needs.

    ``task_of`` maps names of needed nodes to tasks; ``feeds`` names fed tensors. Nodes are as of
    `graph_to_dict` with the task as device. Each value goes once to a task that needs it, whatever
    number of nodes it feeds there: ``transfers`` says the names of its two nodes and its bytes a
    run, None where the shape is known only when it runs. Constants are copied with the graph and do
    not travel.

    Raises ValueError for more than 600 nodes.
    """
    from dataflow.introspect.graph_json import node_to_dict

    ops = [op for op in graph.get_operations() if op.name in task_of]
    if len(ops) > _MOST_NODES:
        raise ValueError(
            f"The run needs {len(ops)} nodes; at most {_MOST_NODES} are drawn by task. "
            "GraphView(graph) draws all of them."
        )
    nodes, moves = [], []
    transfers: dict[tuple[str, str], dict[str, Any]] = {}
    for op in ops:
        node = node_to_dict(op)
        here = task_of[op.name]
        node["device"] = short(here)
        inputs = []
        for tensor in op.inputs:
            there = task_of.get(tensor.op.name)
            if there is None or there == here or tensor.name in feeds or tensor.op.type == "Const":
                inputs.append(tensor.name)
                continue
            key = (tensor.name, here)
            if key not in transfers:
                transfers[key] = made = _transfer(tensor, there, here, len(transfers))
                moves += made.pop("nodes")
            inputs.append(f"{transfers[key]['recv']}:0")
        node["inputs"] = inputs + [f"^{c.name}" for c in op.control_inputs if c.name in task_of]
        nodes.append(node)
    sizes = [transfer["bytes"] for transfer in transfers.values()]
    return {
        "nodes": nodes + moves,
        "transfers": list(transfers.values()),
        "bytes": sum(size for size in sizes if size is not None),
        "unknown": sum(size is None for size in sizes),
    }


def _transfer(tensor: Any, there: str, here: str, number: int) -> dict[str, Any]:
    # In no scope, so that they are seen while the scopes at both ends are closed.
    last = tensor.op.name.rpartition("/")[2]
    send, recv = f"send_{last}_{number}", f"recv_{last}_{number}"
    dtype = tensor.dtype.base_dtype
    output = {"dtype": dtype.name, "shape": str(tensor.shape)}
    common: dict[str, Any] = {"outputs": [output], "attrs": {}, "source": None}
    return {
        "send": send,
        "recv": recv,
        "tensor": tensor.name,
        "from": short(there),
        "to": short(here),
        "bytes": _static_bytes(tensor),
        "nodes": [
            {"name": send, "op": "_Send", "device": short(there), "inputs": [tensor.name]} | common,
            {"name": recv, "op": "_Recv", "device": short(here), "inputs": [f"{send}:0"]} | common,
        ],
    }


def _static_bytes(tensor: Any) -> int | None:
    if not tensor.shape.is_fully_defined():
        return None
    size = int(tensor.dtype.base_dtype.size or 0)
    return int(tensor.shape.num_elements()) * size if size else None
