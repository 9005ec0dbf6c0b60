"""Graphs and runs in words: status lines, and the table that `describe()` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plural(count: int, one: str, many: str | None = None) -> str:
    """``"1 op"``, ``"2 ops"``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def count_words(num_nodes: int, marks: Mapping[str, Any] | None) -> str:
    """The status line: how many operations were fetched, fed, needed and pruned, and the ``failure``, a sentence."""
    if not marks or "needed" not in marks:
        return plural(num_nodes, "operation")
    touched = {*marks["fetched"], *marks["fed"], *marks["needed"]}
    failure = f". {marks['failure']}" if marks.get("failure") else ""
    return (
        f"{plural(num_nodes, 'operation')}: {len(marks['fetched'])} fetched, "
        f"{len(marks['fed'])} fed, {len(marks['needed'])} needed, "
        f"{num_nodes - len(touched)} pruned{failure}"
    )


def state_words(index: int, marks: Mapping[str, Any] | None) -> str:
    """What the last run did with operation ``index``."""
    if not marks or "needed" not in marks:
        return ""
    states = [s for s in ("fetched", "fed", "needed", "failed") if index in marks.get(s, ())]
    return ", ".join(states) if states else "pruned"


def describe_nodes(
    nodes: Sequence[dict[str, Any]],
    marks: Mapping[str, Any] | None = None,
    limit: int = 200,
    only: set[int] | None = None,
) -> str:
    """A line per operation: name, type, outputs, inputs, and what the last run did with it."""
    shown = [i for i in range(len(nodes)) if only is None or i in only]
    quick = None
    if marks and "needed" in marks:
        quick = {k: set(marks.get(k, ())) for k in ("fetched", "fed", "needed", "failed")}
    lines = [f"Graph with {count_words(len(nodes), marks)}."]
    for i in shown[:limit]:
        node = nodes[i]
        outputs = ", ".join(f"{o['dtype']} {o['shape']}" for o in node.get("outputs", []))
        text = f"  {node['name']}: {node['op']}"
        if node.get("value"):
            text += f" = {node['value']}"
        if outputs:
            text += f" -> {outputs}"
        if node["inputs"]:
            text += f", from {', '.join(node['inputs'])}"
        if node.get("device"):
            text += f", on {node['device']}"
        state = state_words(i, quick)
        if state:
            text += f"  [{state}]"
        lines.append(text)
    if len(shown) > limit:
        lines.append(f"  ... and {len(shown) - limit} more")
    return "\n".join(lines)
