"""The nodes of a drawn graph by number, and what is connected with what: what `node_roles` goes by."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from dataflow.graph.registry import get_op

_T = TypeVar("_T")

#: What only reads a variable.
READS = frozenset({"Identity", "ReadVariableOp"})
_SOURCES = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})


class _Lists(dict[int, "list[_T]"], Generic[_T]):
    """Node number to what it has several of; an empty list, kept by nobody, where it has none."""

    def __missing__(self, _: int) -> list[_T]:
        return []


class NodeLinks:
    """The links of ``nodes`` (`dataflow.introspect.graph_json`), which are numbered in their order."""

    def __init__(self, nodes: Sequence[dict[str, Any]]) -> None:
        self.nodes = nodes
        number = {node["name"]: index for index, node in enumerate(nodes)}
        # Tuples of numbers and few lists: a graph of thousands of nodes must not make Python's
        # collector of cycles look through the whole process.
        self.inputs: list[tuple[int, ...]] = []
        self.controls = _Lists[int]()
        self.readers = _Lists[tuple[int, int]]()  # (reader, its input)
        self.followers = _Lists[int]()
        for index, node in enumerate(nodes):
            sources = []
            for position, text in enumerate(node["inputs"]):
                if text.startswith("^"):
                    source = number.get(text[1:])
                    if source is not None:
                        self.controls.setdefault(index, []).append(source)
                        self.followers.setdefault(source, []).append(index)
                    continue
                source = number.get(text.rpartition(":")[0] or text)
                if source is not None:
                    sources.append(source)
                    self.readers.setdefault(source, []).append((index, position))
            self.inputs.append(tuple(sources))
        self.variables = {i for i, node in enumerate(nodes) if _is_variable(node["op"])}
        self.constants: set[int] = set()  # also what is computed from constants alone
        for index, node in enumerate(nodes):
            inputs = self.inputs[index]
            if node["op"] == "Const" or (inputs and self.constants.issuperset(inputs)):
                self.constants.add(index)
        self.sources = {i for i, node in enumerate(nodes) if node["op"] in _SOURCES}

    def after(self, index: int) -> Iterable[int]:
        """The readers of a node, and those behind an identity or a reshape."""
        for reader, _ in self.readers[index]:
            if self.nodes[reader]["op"] in ("Identity", "Reshape"):
                yield from (further for further, _ in self.readers[reader])
            yield reader

    def writes(self, index: int) -> bool:
        """Whether an op changes the variable that is its first input."""
        node = self.nodes[index]
        first = self.inputs[index][:1]
        return bool(first) and first[0] in self.variables and node["op"] not in READS

    def sets(self, index: int, variable: int) -> bool:
        """Whether an op that nobody reads assigns a value to the variable."""
        is_assignment = self.nodes[index]["op"].startswith("Assign")
        return is_assignment and self.inputs[index][0] == variable and not self.readers[index]

    def is_unread(self, index: int) -> bool:
        """Whether a node is the new value of a variable, which nobody has asked for."""
        unused = not self.readers[index] and not self.followers[index]
        return unused and self.nodes[index]["op"] in READS

    def is_small(self, index: int) -> bool:
        """A constant, a shape, or a question that is answered with yes or no."""
        node = self.nodes[index]
        kinds = {output.get("dtype") for output in node.get("outputs", [])}
        return index in self.constants or kinds <= {"bool", "string"} or node["op"] == "Shape"

    def is_nothing(self, index: int) -> bool:
        """Whether a node is a group of no nodes."""
        return self.nodes[index]["op"] == "NoOp" and not self.controls[index]


@functools.cache
def _is_variable(op_type: str) -> bool:
    try:
        return get_op(op_type).is_variable
    except KeyError:
        return False  # a node of another program
