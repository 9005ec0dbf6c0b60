"""The picture of a cluster: where its machines, their parts of the graph and their links are drawn.

Made once, in Python, for the page and for the static picture alike, so that the two cannot differ.
Lengths are pixels of a picture that is 960 wide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dataflow_widgets.cluster_view.ring import MOST_IN_RING, place_ring, ring_links
from dataflow_widgets.cluster_view.snapshot import short

WIDTH = 960
_LEFT, _RIGHT = 112, 948  # of the lanes' contents
_HEAD, _PILL, _STEP = 40, 20, 26
_GAP = 18
_BELOW = 12  # what is left below the lowest link, for its dots
#: Parts of a task's graph that a card has room for.
_MOST_PILLS = 6
#: Workers whose graphs are drawn; the cards of more are small.
_MOST_WIDE = 8
_CLIENT = "client"
_KINDS = ("variable", "op", "control", "gradient", "state", "noop")


class Part(NamedTuple):
    """Ops of one task that are drawn as one: a scope, closed."""

    text: str
    kind: str
    ops: tuple[str, ...]


def scene_of(
    tasks: Sequence[str],
    ops: Mapping[str, Mapping[str, str]] | None = None,
    inputs: Mapping[tuple[str, str], Sequence[str]] | None = None,
    links: Sequence[tuple[str, str]] | None = None,
    details: Mapping[str, str] | None = None,
    with_client: bool = True,
    ring: Sequence[str] = (),
) -> dict[str, Any]:
    """``{"width", "height", "lanes", "tasks", "links", "ring"}``, places in pixels.

    ``tasks`` by full name; ``ops`` of each, name to type; ``inputs`` of each op by (task, name);
    ``links`` are pairs of tasks that talk to each other, by default all parameter servers with all
    others; ``details`` is the line below a task's name. The tasks of a ``ring`` stand in a circle,
    each linked to the next; all of them belong to one job.
    """
    ops, inputs, details = ops or {}, inputs or {}, details or {}
    jobs: dict[str, list[str]] = {}
    for task in sorted(tasks, key=_order):
        jobs.setdefault(_job(task), []).append(task)
    is_small = {task: len(jobs[_job(task)]) > _MOST_WIDE for task in tasks}
    parts = {task: [] if is_small[task] else parts_of(ops.get(task, {})) for task in tasks}
    lanes: list[dict[str, Any]] = []
    cards: list[dict[str, Any]] = []
    y = 8
    rows: list[tuple[str, list[str]]] = [(_CLIENT, [_CLIENT])] if with_client else []
    rows += [(job, jobs[job]) for job in sorted(jobs, key=_lane_order)]
    in_rows = ring if len(ring) > MOST_IN_RING else ()
    ring = ring if 2 <= len(ring) <= MOST_IN_RING else ()
    place: dict[str, Any] | None = None
    for job, members in rows:
        if ring and job == _job(ring[0]):
            corners, place = place_ring(len(ring), y)
            cards += [
                _card(task, job, corner, details, ())
                for task, corner in zip(ring, corners, strict=True)
            ]
            lanes.append({"label": ["ring of", f"{len(ring)} workers"], "y": y, "h": place["h"]})
            y += place["h"] + 26
            continue
        height = _place_lane(job, members, parts, details, y, cards)
        lanes.append({"label": _lane_words(job, len(members)), "y": y, "h": height})
        y += height + (44 if job == "ps" else 26)
    for card in cards:
        drawn = parts.get(card["task"], []) if card["parts"] else []  # a ring's cards have none
        card["edges"] = _edges(card, drawn, inputs)
    by_task = {card["task"]: i for i, card in enumerate(cards)}
    pairs = links if links is not None else _usual_links(jobs)
    pairs = [*pairs, *zip(in_rows, [*in_rows[1:], *in_rows[:1]], strict=True)]
    if with_client and tasks:
        pairs = [(_CLIENT, master_of(tasks)), *pairs]
    made = []
    for a, b in dict.fromkeys((min(p), max(p)) for p in pairs):
        if a in by_task and b in by_task:
            made.append(_link(cards, by_task[a], by_task[b]))
    if place is not None:
        made += ring_links(cards, [by_task[task] for task in ring], place)
    return {
        "width": WIDTH,
        "height": max([y - 18, *[math.ceil(_lowest(link) + _BELOW) for link in made]]),
        "lanes": lanes,
        "tasks": cards,
        "links": made,
        "ring": place,
    }


def master_of(tasks: Sequence[str]) -> str:
    """The task at which `tf.Session(cluster.target)` is: worker 0, or the first."""
    ordered = sorted(tasks, key=_order)
    return next((t for t in ordered if _job(t) in ("worker", "chief")), ordered[0])


def parts_of(ops: Mapping[str, str]) -> list[Part]:
    """A task's graph with its scopes closed, at most six parts; the last may stand for the rest."""
    groups: dict[str, list[str]] = {}
    for name, op_type in ops.items():
        if op_type in ("Const", "NoOp", "_Send", "_Recv") or name.startswith(("send_", "recv_")):
            continue
        scope = name.partition("/")[0]
        groups.setdefault(scope, []).append(name)
    parts = [Part(scope, _kind(scope, [ops[n] for n in names]), tuple(names)) for scope, names in groups.items()]  # fmt: skip
    parts.sort(key=lambda part: _KINDS.index(part.kind))  # as a step runs them, by and large
    if len(parts) <= _MOST_PILLS:
        return parts
    largest = sorted(parts, key=_weight, reverse=True)[: _MOST_PILLS - 1]
    kept = [part for part in parts if part in largest]
    rest = tuple(name for part in parts if part not in largest for name in part.ops)
    return [*kept, Part(f"{len(parts) - len(kept)} more", "noop", rest)]


def _weight(part: Part) -> tuple[int, int]:
    return (part.kind in ("variable", "gradient")) * 100 + len(part.ops), len(part.text)


def _kind(scope: str, types: Sequence[str]) -> str:
    if any("Variable" in t or t in ("Identity", "VarHandleOp") for t in types) and len(types) < 6:
        return "variable"
    if scope.startswith("gradients"):
        return "gradient"
    if any("Queue" in t or "Accumulator" in t for t in types):
        return "control"
    if any(t.startswith(("Apply", "Assign", "Scatter")) for t in types):
        return "state"
    return "op"


def _job(task: str) -> str:
    return short(task).partition(":")[0]


def _order(task: str) -> tuple[str, int]:
    job, _, index = short(task).partition(":")
    return job, int(index or 0)


def _lane_order(job: str) -> tuple[int, str]:
    return ({"ps": 0}.get(job, 2 if job == "worker" else 1), job)


def _lane_words(job: str, count: int) -> list[str]:
    if job == _CLIENT:
        return ["client"]
    if job == "ps":
        return ["parameter", "servers" if count > 1 else "server"]
    return [f"{job}s" if count > 1 else job]


def _place_lane(
    job: str,
    members: Sequence[str],
    parts: Mapping[str, Sequence[Part]],
    details: Mapping[str, str],
    y: int,
    cards: list[dict[str, Any]],
) -> int:
    """Add the cards of a lane; return the lane's height."""
    small = len(members) > _MOST_WIDE
    per_row = 10 if small else min(4, len(members))
    room = _RIGHT - _LEFT
    gap = 6 if small else _GAP
    width = min(78 if small else 250, (room - (per_row - 1) * gap) // per_row)
    if job == _CLIENT:
        width = 250
    most = 0 if small else max((len(parts.get(m, ())) for m in members), default=0)
    inner = -(-most // 2) * _STEP
    height = 34 if small else 40 if job == _CLIENT else _HEAD + 14 + inner + (6 if inner else 0)
    for number, task in enumerate(members):
        row, column = divmod(number, per_row)
        in_row = min(per_row, len(members) - row * per_row)
        left = _LEFT if job == _CLIENT else _LEFT + (room - in_row * width - (in_row - 1) * gap) / 2
        x = left + column * (width + gap)
        top = y + 8 + row * (height + 12)
        corner = (round(x, 1), top, width, height)
        cards.append(_card(task, job, corner, details, parts.get(task, ()), small))
    num_rows = -(-len(members) // per_row)
    return int(num_rows * (height + 12) + 4)


def _card(
    task: str,
    job: str,
    corner: tuple[float, float, float, float],
    details: Mapping[str, str],
    parts: Sequence[Part],
    small: bool | None = None,
) -> dict[str, Any]:
    """A machine at (x, y, width, height), with its part of the graph."""
    x, top, width, height = corner
    half = (width - 26) / 2
    return {
        "task": task,
        "name": "this notebook" if task == _CLIENT else short(task),
        "detail": details.get(task, "client: builds the graph" if task == _CLIENT else ""),
        "job": job,
        "small": width < 100 if small is None else small,
        "x": x,
        "y": top,
        "w": width,
        "h": height,
        "parts": [
            {
                "text": part.text,
                "kind": part.kind,
                "ops": list(part.ops),
                "x": round(x + 10 + (i % 2) * (half + 6), 1),
                "y": top + _HEAD + (i // 2) * _STEP,
                "w": round(half, 1),
                "h": _PILL,
            }
            for i, part in enumerate(parts)
        ],
    }


def _edges(
    card: Mapping[str, Any], parts: Sequence[Part], inputs: Mapping[tuple[str, str], Sequence[str]]
) -> list[list[int]]:
    part_of = {name: i for i, part in enumerate(parts) for name in part.ops}
    found: dict[tuple[int, int], None] = {}
    for name, i in part_of.items():
        for text in inputs.get((card["task"], name), ()):
            source = part_of.get(text.lstrip("^").partition(":")[0])
            if source is not None and source != i:
                found[source, i] = None
    return [list(pair) for pair in found]


def _usual_links(jobs: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    servers = jobs.get("ps", ())
    others = [task for job, members in jobs.items() if job != "ps" for task in members]
    if servers:
        return [(server, other) for server in servers for other in others]
    return [(a, b) for i, a in enumerate(others) for b in others[i + 1 :]]


def _link(cards: Sequence[Mapping[str, Any]], a: int, b: int) -> dict[str, Any]:
    """A curve from the lower edge of the upper card to the upper edge of the lower one; cards of one
    lane are linked by an arc below them."""
    first, second = cards[a], cards[b]
    if first["y"] > second["y"]:
        a, b, first, second = b, a, second, first
    x1, x2 = first["x"] + first["w"] / 2, second["x"] + second["w"] / 2
    y1 = first["y"] + first["h"]
    if first["y"] == second["y"]:
        y2, bend = y1, 26
        points = (x1, y1, x1, y1 + bend, x2, y2 + bend, x2, y2)
    else:
        y2 = second["y"]
        if first["job"] == _CLIENT:  # past the parameter servers, on their left
            x1 = first["x"] + 24
            x2 = second["x"] + min(24, second["w"] / 4)
            points = (x1, y1, x1, y2 - 70, x2, y1 + 70, x2, y2)
            return {"a": a, "b": b, "points": [round(p, 1) for p in points]}
        # Ends apart from each other, in the order of what is at their other ends.
        x1 += max(-0.36, min(0.36, (x2 - x1) / 900)) * first["w"]
        x2 += max(-0.3, min(0.3, (x1 - x2) / 1200)) * second["w"]
        middle = (y1 + y2) / 2
        points = (x1, y1, x1, middle, x2, middle, x2, y2)
    return {"a": a, "b": b, "points": [round(p, 1) for p in points]}


def _lowest(link: Mapping[str, Any]) -> float:
    """How far down the curve of a link can go."""
    ys = link["points"][1::2]
    return float(0.25 * max(ys[0], ys[-1]) + 0.75 * max(ys))


def path_of(link: Mapping[str, Any]) -> str:
    """The link as the ``d`` of an SVG path."""
    x1, y1, ax, ay, bx, by, x2, y2 = link["points"]
    return f"M{x1} {y1}C{ax} {ay} {bx} {by} {x2} {y2}"
