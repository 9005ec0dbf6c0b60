"""A recording as the page plays it: numbers of cards, parts and links in place of names."""

from __future__ import annotations

from typing import Any

from dataflow_widgets.text_description import plural

MOST_STEPS = 200


def played(recording: Any, scene: dict[str, Any]) -> dict[str, Any]:
    """``{"steps", "spans", "messages", "names", "duration", "busy", "sync"}`` of the last 200 steps.

    Times in seconds since the first of them began. ``busy`` is the share of the time in which a card
    ran something or had a message under way.
    """
    card_of = {card["task"]: i for i, card in enumerate(scene["tasks"])}
    part_of = {
        (i, name): number
        for i, card in enumerate(scene["tasks"])
        for number, part in enumerate(card["parts"])
        for name in part["ops"]
    }
    link_of = {(link["a"], link["b"]): n for n, link in enumerate(scene["links"])}
    for n, link in enumerate(scene["links"]):
        if not link.get("oneWay"):
            link_of.setdefault((link["b"], link["a"]), n)
    steps = recording.steps()[-MOST_STEPS:]
    numbers = {step.number for step in steps}
    origin = min((step.begin for step in steps), default=0.0)
    names: dict[str, int] = {}
    spans = []
    busy: dict[int, list[tuple[float, float]]] = {}
    for span in recording.spans():
        card = card_of.get(span.task)
        if span.step not in numbers or card is None:
            continue
        busy.setdefault(card, []).append((span.start - origin, span.end - origin))
        part = part_of.get((card, span.name), -1)
        number = names.setdefault(span.name, len(names))
        spans.append(
            [card, part, number, _short(span.start - origin), _short(span.end - origin), span.step]
        )
    messages = []
    for sent in recording.messages():
        a, b = card_of.get(sent.source), card_of.get(sent.target)
        if sent.step not in numbers or a is None or b is None:
            continue
        start, end = sent.sent - origin, sent.received - origin
        for card in (a, b):
            if scene["tasks"][card]["job"] == "ps":
                busy.setdefault(card, []).append((start, end))
        link = link_of.get((a, b))
        number = names.setdefault(sent.name or "done", len(names))
        if link is not None:
            messages.append([link, a, b, number, sent.num_bytes, _short(start), _short(end), sent.step])  # fmt: skip
    duration = max((step.end - origin for step in steps), default=0.0)
    return {
        "steps": [
            [
                step.number, card_of.get(step.worker, -1), _short(step.begin - origin),
                _short(step.end - origin), step.version, step.staleness, step.outcome,
                None if step.token is None else _short(step.token - origin),
            ]
            for step in steps
        ],
        "spans": sorted(spans, key=lambda row: row[3]),
        "messages": sorted(messages, key=lambda row: row[5]),
        "names": list(names),
        "duration": _short(duration),
        "busy": [_share(busy.get(i, []), duration) for i in range(len(scene["tasks"]))],
        "sync": any(step.token is not None for step in steps),
    }  # fmt: skip


def _short(seconds: float) -> float:
    return round(seconds, 7)


def _share(pieces: list[tuple[float, float]], duration: float) -> float:
    total, until = 0.0, 0.0
    for start, end in sorted(pieces):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return round(total / duration, 3) if duration > 0 else 0.0


def describe_recording(recording: Any, limit: int = 40) -> list[str]:
    """The recorded steps in words."""
    steps = recording.steps()
    messages: dict[int, list[Any]] = {}
    for sent in recording.messages():
        messages.setdefault(sent.step, []).append(sent)
    lines = [f"{plural(len(steps), 'recorded step')}."]
    for step in steps[-limit:]:
        traveled = messages.get(step.number, [])
        total = sum(sent.num_bytes for sent in traveled)
        line = (
            f"  step {step.number} of {_name(step.worker)}: {(step.end - step.begin) * 1e3:.3g} ms, "
            f"read version {step.version}"
        )
        if step.outcome == "dropped":
            line += ", its gradient came too late and was dropped"
        elif step.staleness is not None:
            line += f", {plural(step.staleness, 'update')} came in between"
        line += f"; {plural(len(traveled), 'message')}"
        lines.append(line + (f", {total:,} bytes" if total else ""))
    return lines


def _name(task: str) -> str:
    return task.replace("/job:", "").replace("/task:", ":")
