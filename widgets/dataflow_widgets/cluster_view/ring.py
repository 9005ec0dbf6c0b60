"""Workers as a ring: places on an ellipse, and the arcs on which the chunks travel from each to the next."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: More members are drawn in rows.
MOST_IN_RING = 16
_CENTER, _HALF_WIDTH = 530, 418
_SAMPLES = 96


def angles(count: int) -> list[float]:
    """Where the members stand, clockwise from above; as wide as can be, as the middle holds words."""
    first = -math.pi / 2 - (math.pi / count if count % 2 == 0 else 0)
    return [first + 2 * math.pi * i / count for i in range(count)]


def place_ring(
    count: int, y: float
) -> tuple[list[tuple[float, float, float, float]], dict[str, Any]]:
    """The cards (x, y, width, height) of so many members below ``y``, and the ring they are on:
    ``{"x", "y", "rx", "ry", "h"}``, ``h`` the height of it all."""
    small = count > 8
    width, height = (78.0, 34.0) if small else (176.0 if count < 6 else 140.0, 58.0)
    ry = 54 if count == 2 else 92 if count <= 4 else 130 if count <= 6 else 155
    rx = _HALF_WIDTH - width / 2
    sines = [math.sin(angle) for angle in angles(count)]
    up = max(ry + 8, height / 2 - min(sines) * ry)  # arcs reach as far as the ellipse does
    down = max(ry + 8, height / 2 + max(sines) * ry)
    x, middle = _CENTER, y + 8 + up
    cards = [
        (round(x + rx * math.cos(a) - width / 2, 1), round(middle + ry * math.sin(a) - height / 2, 1),
         width, height)
        for a in angles(count)
    ]  # fmt: skip
    return cards, {"x": x, "y": round(middle, 1), "rx": rx, "ry": ry, "h": round(up + down + 16)}


def ring_links(
    cards: Sequence[Mapping[str, Any]], members: Sequence[int], ring: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The arc from each member's card to the next one's; ``a`` sends, ``b`` receives. In the middle of
    each, an arrow: x, y and degrees."""
    count = len(members)
    found = []
    for i, angle in enumerate(angles(count)):
        a, b = members[i], members[(i + 1) % count]
        step = 2 * math.pi / count / _SAMPLES
        along = [angle + step * k for k in range(_SAMPLES + 1)]
        free = [at for at in along if not any(_is_in(cards[n], ring, at) for n in (a, b))] or [
            along[_SAMPLES // 2 - 4],
            along[_SAMPLES // 2 + 4],
        ]
        middle = (free[0] + free[-1]) / 2
        dx, dy = -ring["rx"] * math.sin(middle), ring["ry"] * math.cos(middle)
        arrow = [
            round(ring["x"] + ring["rx"] * math.cos(middle), 1),
            round(ring["y"] + ring["ry"] * math.sin(middle), 1),
            round(math.degrees(math.atan2(dy, dx)), 1),
        ]
        points = _arc(ring, free[0], free[-1])
        found.append({"a": a, "b": b, "oneWay": True, "points": points, "arrow": arrow})
    return found


def _is_in(card: Mapping[str, Any], ring: Mapping[str, Any], angle: float) -> bool:
    x = ring["x"] + ring["rx"] * math.cos(angle)
    y = ring["y"] + ring["ry"] * math.sin(angle)
    return bool(
        card["x"] - 3 < x < card["x"] + card["w"] + 3
        and card["y"] - 3 < y < card["y"] + card["h"] + 3
    )


def _arc(ring: Mapping[str, Any], first: float, last: float) -> list[float]:
    """An arc of the ellipse as a cubic Bezier curve."""
    k = 4 / 3 * math.tan((last - first) / 4)

    def at(angle: float, by: float) -> tuple[float, float]:
        return (
            ring["x"] + ring["rx"] * (math.cos(angle) - by * math.sin(angle)),
            ring["y"] + ring["ry"] * (math.sin(angle) + by * math.cos(angle)),
        )

    corners = (at(first, 0), at(first, k), at(last, -k), at(last, 0))
    return [round(value, 1) for corner in corners for value in corner]


class RingBytes(NamedTuple):
    """Bytes of a step: the reduced array's, ``num_bytes``, and what a worker ``sent``, if that is known;
    and of the optimizer's slots: (on each worker, undivided)."""

    size: int
    num_bytes: int
    sent: float | None
    slots: tuple[int, int] = (0, 0)


def reduced_bytes(graph: Any) -> int:
    """The bytes of the arrays that the collective ops of a graph reduce in a step; 0 if not known."""
    total = 0
    for op in graph.get_operations():
        if op.type in ("CollectiveReduce", "CollectiveReduceScatter"):
            tensor = op.inputs[0]
            total += (tensor.shape.num_elements() or 0) * tensor.dtype.base_dtype.size
    return total


def sent_in_a_step(workers: Sequence[Mapping[str, Any]]) -> float | None:
    """The median of what workers (rows of `cluster_state`) send for each of their steps, in bytes."""
    found = [
        worker["sentPerSecond"] / worker["stepsPerSecond"]
        for worker in workers
        if worker["stepsPerSecond"] and worker["sentPerSecond"] is not None
    ]
    return statistics.median(found) if found else None


def ring_words(ring: RingBytes | None) -> list[str]:
    """The lines in the middle of the ring: what a worker sends in a step, measured and in theory."""
    if ring is None:
        return []
    n, size = ring.size, ring.num_bytes
    sent = (
        "" if ring.sent is None else f"measured: {_size(ring.sent)}, {ring.sent / size:.2f} of it"
    )
    each, undivided = ring.slots
    slots = f"optimizer's slots: {_size(each)} a worker"
    if each < undivided:
        slots += f" of {_size(undivided)}"
    return [
        f"gradients: {_size(size)}; in a step a worker sends",
        *([sent] if sent else []),
        f"in theory 2(n−1)/n = {2 * (n - 1) / n:.2f} of it: {_size(2 * (n - 1) / n * size)}",
        f"by a parameter server: a worker {_size(size)},",
        f"the server n = {n} times that: {_size(n * size)}",
        *([slots] if each else []),
    ]


def _size(num_bytes: float) -> str:
    """As the page writes it (``bytes`` of values.js)."""
    if num_bytes < 1024:
        return f"{num_bytes:.0f} B"
    for unit in ("KB", "MB", "GB"):
        num_bytes /= 1024
        if num_bytes < 1024 or unit == "GB":
            break
    return f"{num_bytes:.1f} {unit}" if num_bytes < 10 else f"{num_bytes:.0f} {unit}"
