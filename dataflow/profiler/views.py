"""The views of a profile: by name scopes, by the graph's edges, by op types, by lines of the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dataflow.profiler.nodes import FIELDS, GraphNodeProto, Measured, MultiGraphNodeProto

ROOT = "_TFProfRoot"


def _matches(patterns: Iterable[str], text: str) -> bool:
    return any(re.fullmatch(p, text) for p in patterns)


class _Tree:
    """Names in a tree, where a name may have an op's numbers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.measured: Measured | None = None
        self.below: dict[str, _Tree] = {}

    def shown(self, options: Mapping[str, Any], depth: int) -> list[GraphNodeProto]:
        """This node with what is shown below it; where it is not shown itself, only those."""
        if _matches(options["trim_name_regexes"], self.name):
            return []
        is_shown = depth == 0 or (self.measured is not None and is_counted(self.measured, options))
        is_shown = is_shown and depth <= options["max_depth"]
        children = [
            node for part in self.below.values() for node in part.shown(options, depth + is_shown)
        ]
        if not is_shown:
            return children
        node = GraphNodeProto(self.name)
        if self.measured is not None:
            node = self.measured.node
        node.children = ordered(children, options)
        for name in FIELDS.values():
            total = getattr(node, name) + sum(getattr(c, f"total_{name}") for c in children)
            setattr(node, f"total_{name}", total)
        return [node]


def is_counted(measured: Measured, options: Mapping[str, Any]) -> bool:
    """Whether an op's types, name and own numbers are such as the options ask for."""
    node = measured.node
    if not any(_matches(options["account_type_regexes"], t) for t in measured.types):
        return False
    if not _matches(options["show_name_regexes"], node.name):
        return False
    if _matches(options["hide_name_regexes"], node.name):
        return False
    return all(
        getattr(node, FIELDS[attribute]) >= options[f"min_{attribute}"]
        for attribute in ("micros", "bytes", "params", "float_ops")
    )


def ordered(nodes: list[Any], options: Mapping[str, Any]) -> list[Any]:
    """The nodes by the option ``order_by``: names ascending, numbers descending."""
    if options["order_by"] not in FIELDS:
        return sorted(nodes, key=lambda n: n.name)
    total = f"total_{FIELDS[options['order_by']]}"
    return sorted(nodes, key=lambda n: -getattr(n, total))


def _started(tree: _Tree, options: Mapping[str, Any]) -> GraphNodeProto:
    """The root with the subtrees whose top has a name to start from."""
    starts = options["start_name_regexes"]
    if ".*" not in starts:
        found: dict[str, _Tree] = {}
        stack = list(tree.below.values())
        while stack:
            part = stack.pop()
            if _matches(starts, part.name):
                found[part.name] = part
            else:
                stack.extend(part.below.values())
        tree.below = found
    return tree.shown(options, 0)[0]


def by_scope(all_measured: list[Measured], options: Mapping[str, Any]) -> GraphNodeProto:
    """Nodes below the scopes that their names tell."""
    root = _Tree(ROOT)
    for measured in all_measured:
        place, name = root, ""
        for part in measured.node.name.split("/"):
            name = f"{name}/{part}" if name else part
            place = place.below.setdefault(name, _Tree(name))
        place.measured = measured
    return _started(root, options)


def by_edges(all_measured: list[Measured], options: Mapping[str, Any]) -> GraphNodeProto:
    """Nodes below those that read them, each once; those that nobody reads stand first."""
    root = _Tree(ROOT)
    measured = {m.node.name: m for m in all_measured}
    read = {t.op.name for m in all_measured for t in m.op.inputs}
    seen: set[str] = set()
    stack = [(root, m.op) for m in reversed(all_measured) if m.node.name not in read]
    while stack:
        above, op = stack.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        tree = above.below[op.name] = _Tree(op.name)
        tree.measured = measured[op.name]
        stack.extend((tree, t.op) for t in reversed(op.inputs))
    return _started(root, options)


def _grouped(
    all_measured: list[Measured], options: Mapping[str, Any], key: Callable[[Measured], str]
) -> list[MultiGraphNodeProto]:
    groups: dict[str, MultiGraphNodeProto] = {}
    for measured in all_measured:
        if is_counted(measured, options):
            name, node = key(measured), measured.node
            group = groups.setdefault(name, MultiGraphNodeProto(name))
            for field in FIELDS.values():
                setattr(node, f"total_{field}", getattr(node, field))
            group.add(node, own=True)
            group.graph_nodes.append(node)
    kept = [g for g in groups.values() if g.run_count >= options["min_occurrence"]]
    return ordered(kept, options)


def by_type(all_measured: list[Measured], options: Mapping[str, Any]) -> MultiGraphNodeProto:
    """Op types in a chain, each below the one before it, so that a total is its own and the rest's."""
    groups = _grouped(all_measured, options, lambda m: str(m.op.type))
    root = MultiGraphNodeProto(ROOT)
    chain = [root, *groups]
    for above, below in zip(chain, groups, strict=False):
        above.children = [below]
    for place in range(len(chain) - 2, -1, -1):
        chain[place].add(chain[place + 1], own=False)
    return root


def by_line(all_measured: list[Measured], options: Mapping[str, Any]) -> MultiGraphNodeProto:
    """Lines of the program that made the nodes, side by side."""
    root = MultiGraphNodeProto(ROOT)
    root.children = _grouped(all_measured, options, lambda m: str((m.op.traceback or ["?"])[-1]))
    for child in root.children:
        root.add(child, own=False)
    return root
