"""A graph as DOT for people and other tools, with real names as quoted strings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataflow_widgets.static.draw import state_of
from dataflow_widgets.static.layout import DIRECTIONS
from dataflow_widgets.static.visible import visible


def quoted(text: str) -> str:
    r"""A DOT string: backslash and quote escaped, so that ``a"]; b`` stays a name."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def graph_dot(
    nodes: Sequence[dict[str, Any]],
    marks: Mapping[str, Any] | None = None,
    direction: str = "down",
) -> str:
    """All of ``nodes`` as DOT; scopes are clusters, pruned operations dashed."""
    shown = visible(nodes, limit=len(nodes) + 1, whole=True)
    number = {item.key: i for i, item in enumerate(shown.items)}
    marks = marks if marks and "needed" in marks else None
    lines = [
        "digraph dataflow {",
        f"  rankdir={DIRECTIONS[direction]};",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
    ]

    def write(path: str, indent: str) -> None:
        for item in shown.items:
            if item.scope != path:
                continue
            node = nodes[item.members[0]]
            label = f"{item.title}\n{item.detail}" if item.detail else item.title
            states = state_of(item, marks)
            style = ', style="rounded,dashed", color=gray' if "pruned" in states else ""
            words = f", class={quoted(' '.join(states))}" if states else ""
            lines.append(
                f"{indent}n{number[item.key]} [label={quoted(label)}, "
                f"tooltip={quoted(node['name'])}{words}{style}];"
            )
        for i, scope in enumerate(shown.scopes):
            if scope.rpartition("/")[0] == path:
                lines.append(f"{indent}subgraph cluster_{i} {{")
                lines.append(f"{indent}  label={quoted(scope.rpartition('/')[2])};")
                write(scope, indent + "  ")
                lines.append(f"{indent}}}")

    write("", "  ")
    for link in shown.links:
        dashed = ", style=dashed" if link.control else ""
        lines.append(
            f"  n{number[link.tail]} -> n{number[link.head]} [label={quoted(link.label)}{dashed}];"
        )
    return "\n".join([*lines, "}", ""])
