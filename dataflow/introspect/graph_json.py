"""A graph as plain dictionaries, in creation order: what the widgets draw.

The form is stable and JSON-safe, so that a widget, a saved page and a test can all hold one:

``{"version": 3, "nodes": [node, ...]}`` with a node

``{"name": "layer1/MatMul", "op": "MatMul", "device": "", "inputs": ["x:0", "^init"],
"outputs": [{"dtype": "float32", "shape": "(?, 10)"}], "attrs": {"transpose_a": "False"},
"source": {"file": "lesson.py", "line": 7, "cell": None}, "value": "3"}``

where ``^name`` is a control input, ``source`` may be None, and ``value`` is there for a Const only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph.tracebacks import innermost
from dataflow.shapes import format_dims

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.operation import Operation
    from dataflow.graph.tensor import Tensor
    from dataflow.runtime.stepper import CopyNode
    from dataflow.shapes import Dims

_MAX_TEXT = 80
#: What NumPy leaves free in a column of numbers, for signs and digits.
_PADDING = re.compile(r"(?<=\[)\s+|\s+(?=[,\]])")
# Attributes that say again what the inputs and outputs say already.
_REPEATED = frozenset({"value", "T", "dtype", "_output_shapes", "_nodes"})


def graph_to_dict(graph: Graph, since: int = 0) -> dict[str, Any]:
    """The nodes of ``graph`` from index ``since`` on, and the number of nodes it has now."""
    operations = graph.get_operations()
    texts: dict[Any, str] = {}
    return {
        "version": len(operations),
        "nodes": [node_to_dict(op, texts) for op in operations[since:]],
    }


def node_to_dict(op: Operation, texts: dict[Any, str] | None = None) -> dict[str, Any]:
    """One operation as a dictionary; see the module's docstring.

    ``texts`` keeps those of shapes and constants between calls: a graph has few and many tensors.
    """
    texts = {} if texts is None else texts
    node: dict[str, Any] = {
        "name": op.name,
        "op": op.type,
        "device": str(op.device or ""),
        "inputs": [t.name for t in op.inputs] + [f"^{c.name}" for c in op.control_inputs],
        "outputs": [
            {"dtype": _dtype(t), "shape": texts.get(t.dims) or _shape(t.dims, texts)}
            for t in op.outputs
        ],
        "attrs": {k: _short(v) for k, v in op.attrs.items() if k not in _REPEATED},
        "source": _source(op),
    }
    if op.type == "Const" and "value" in op.attrs:
        node["value"] = _constant(op.attrs["value"], texts)
    return node


def with_copies(
    nodes: list[dict[str, Any]], copies: Sequence[CopyNode], inputs: dict[str, list[str]]
) -> list[dict[str, Any]]:
    """The nodes of a graph with the copies between memories that a run had.

    ``inputs``: those of the nodes that read a copy.
    """
    placed = [n | {"inputs": inputs[n["name"]]} if n["name"] in inputs else n for n in nodes]
    return placed + [
        {
            "name": copy.name,
            "op": copy.op_type,
            "device": copy.device,
            "inputs": [copy.source],
            "outputs": [{"dtype": copy.dtype, "shape": copy.shape}],
            "attrs": {},
            "source": None,
        }
        for copy in copies
    ]


def _shape(dims: Dims, texts: dict[Any, str]) -> str:
    return texts.setdefault(dims, format_dims(dims))


def _constant(value: Any, texts: dict[Any, str]) -> str:
    """As `_short`; NumPy takes long to write an array, and the same few stand in many constants."""
    if not isinstance(value, np.ndarray) or value.size > 12 or value.dtype.hasobject:
        return _short(value)
    key = value.dtype.str, value.shape, value.tobytes()
    if key not in texts:
        texts[key] = _short(value)
    return texts[key]


def _dtype(tensor: Tensor) -> str:
    name = tensor.dtype.name
    return str(name)


def _short(value: Any) -> str:
    """A value on one line of at most 80 characters."""
    if isinstance(value, np.ndarray):
        if value.ndim and value.size > 12:
            return f"{value.dtype}{list(value.shape)}"
        text = np.array2string(value, separator=", ", precision=6, threshold=12)
        if value.dtype.kind not in "OSU":
            text = _PADDING.sub("", text)
    elif isinstance(value, np.generic):
        text = str(value.item())
    elif hasattr(value, "name") and isinstance(value.name, str):
        text = value.name
    else:
        text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _source(op: Operation) -> dict[str, Any] | None:
    frame = innermost(op.frames)
    if frame is None:
        return None
    return {"file": frame.filename, "line": frame.lineno, "cell": frame.cell}


def resolve(graph: Graph, fetches: Any, feeds: Any = None) -> tuple[list[Any], list[Tensor]]:
    """The graph elements that a nesting of fetches and the keys of a feed_dict stand for.

    ``fetches`` is what `Session.run` takes: tensors, operations, names, variables, lists, tuples
    and dicts of them. ``feeds`` is a feed_dict, or the tensors alone. Raises what
    `Graph.as_graph_element` raises for things that are not in the graph.
    """
    fed: list[Tensor] = []
    keys = feeds.keys() if isinstance(feeds, Mapping) else _flat(feeds)
    for key in keys:
        for each in key if isinstance(key, tuple) else (key,):
            fed.append(graph.as_graph_element(each, allow_operation=False))
    return [graph.as_graph_element(each) for each in _flat(fetches)], fed


def _flat(nested: Any) -> Iterable[Any]:
    if nested is None:
        return
    if isinstance(nested, Mapping):
        for value in nested.values():
            yield from _flat(value)
    elif isinstance(nested, (list, tuple)):
        for value in nested:
            yield from _flat(value)
    elif type(nested).__name__ == "SparseTensor":
        yield from (nested.indices, nested.values, nested.dense_shape)
    elif type(nested).__name__ == "IndexedSlices":
        yield from (
            each for each in (nested.values, nested.indices, nested.dense_shape) if each is not None
        )
    else:
        yield nested


def needed_names(graph: Graph, fetches: Any, feeds: Any = None) -> dict[str, list[str]]:
    """What a run of ``fetches`` with ``feeds`` would touch, without running it.

    Returns names of operations: ``fetched``, ``fed``, ``needed`` (those that would run) and
    ``pruned`` (those that would not, fed ones not counted).
    """
    from dataflow.rewrites.prune import needed_operations

    elements, fed = resolve(graph, fetches, feeds)
    tensors = [e for e in elements if hasattr(e, "value_index")]
    operations = [e for e in elements if not hasattr(e, "value_index")]
    needed = [op.name for op in needed_operations(tensors, operations, fed)]
    return run_names(
        graph,
        [t.op.name for t in tensors] + [op.name for op in operations],
        [t.op.name for t in fed],
        needed,
    )


def run_names(
    graph: Graph, fetched: Iterable[str], fed: Iterable[str], needed: Iterable[str]
) -> dict[str, list[str]]:
    """Sorts the operations of ``graph`` into those fetched, fed, needed and pruned."""
    fetched, fed, needed = list(dict.fromkeys(fetched)), list(dict.fromkeys(fed)), list(needed)
    touched = {*fetched, *fed, *needed}
    return {
        "fetched": fetched,
        "fed": fed,
        "needed": needed,
        "pruned": [op.name for op in graph.get_operations() if op.name not in touched],
    }
