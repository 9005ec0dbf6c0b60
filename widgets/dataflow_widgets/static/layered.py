"""A plain layered drawing, for machines without Graphviz: longest-path layers, one sorting
sweep."""

from __future__ import annotations

from dataflow_widgets.static.visible import Item, Visible

_GAP_X, _GAP_Y = 26.0, 46.0


def layers(visible: Visible) -> tuple[dict[str, int], dict[str, list[str]]]:
    """The layer of each box by longest path, and the boxes with an arrow to it; loops are cut."""
    before: dict[str, list[str]] = {item.key: [] for item in visible.items}
    after: dict[str, list[str]] = {item.key: [] for item in visible.items}
    for link in visible.links:
        before[link.head].append(link.tail)
        after[link.tail].append(link.head)
    waiting = {key: len(tails) for key, tails in before.items()}
    layer: dict[str, int] = {}
    ready = [key for key, count in waiting.items() if not count]
    rest = dict.fromkeys(before)
    while rest:
        if not ready:
            ready.append(next(iter(rest)))  # a loop: cut it here
        key = ready.pop(0)
        if key not in rest:
            continue
        del rest[key]
        layer[key] = max((layer[t] + 1 for t in before[key] if t in layer), default=0)
        for head in after[key]:
            waiting[head] -= 1
            if waiting[head] <= 0:
                ready.append(head)
    return layer, before


def main_path(visible: Visible) -> list[str]:
    """The boxes on one longest path, from its end to its start."""
    layer, before = layers(visible)
    path: list[str] = []
    at = max(layer, key=lambda key: layer[key], default=None)
    while at is not None and at not in path:
        path.append(at)
        at = next((tail for tail in before[at] if layer[tail] == layer[path[-1]] - 1), None)
    return path


def layered(visible: Visible) -> None:
    """Fills in the coordinates of ``visible``; open scopes get no box."""
    from dataflow_widgets.static.layout import arrow_head

    items = {item.key: item for item in visible.items}
    layer, before = layers(visible)
    rows: list[list[Item]] = [[] for _ in range(max(layer.values()) + 1)]
    for key, depth in layer.items():
        rows[depth].append(items[key])
    place: dict[str, int] = {}
    for row in rows:
        row.sort(
            key=lambda item: (
                sum(place.get(t, 0) for t in before[item.key]) / (len(before[item.key]) or 1)
            )
        )
        place.update({item.key: i for i, item in enumerate(row)})
    widths = [sum(item.width for item in row) + _GAP_X * (len(row) - 1) for row in rows]
    visible.width = max(widths) + 16
    y = 8.0
    for row, width in zip(rows, widths, strict=True):
        height = max(item.height for item in row)
        x = (visible.width - width) / 2
        for item in row:
            item.x, item.y = x + item.width / 2, y + height / 2
            x += item.width + _GAP_X
        y += height + _GAP_Y
    visible.height = y - _GAP_Y + 8
    visible.boxes = []
    for link in visible.links:
        lower, upper = items[link.head], items[link.tail]
        side = 1 if lower.y >= upper.y else -1
        start = (upper.x, upper.y + side * upper.height / 2)
        tip = (lower.x, lower.y - side * lower.height / 2)
        base = (lower.x, tip[1] - side * 6)
        link.path = f"M{start[0]:.1f},{start[1]:.1f}L{base[0]:.1f},{base[1]:.1f}"
        link.arrow = arrow_head(tip, base)
        link.label_at = ((start[0] + base[0]) / 2, (start[1] + base[1]) / 2)
