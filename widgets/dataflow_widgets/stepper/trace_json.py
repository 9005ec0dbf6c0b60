"""A recorded run as the page replays it."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from typing import Any

from dataflow_widgets.text_description import count_words
from dataflow_widgets.values import summarize

_MOST_CODE_CHARS = 200


def run_to_dict(recorded: Any, nodes: list[dict[str, Any]], label: str) -> dict[str, Any]:
    """A trace as JSON-safe data; operations are indices into ``nodes``.

    A run on several devices or tasks also says of a step where it ran (``"on"``), what it got from
    others (``"recv"``: [op, from where, bytes, seconds under way]), where its value went (``"send"``:
    [to where, bytes]) and how long its device waited (``"wait"``: [seconds, for which op]).

    A step is ``{"i": op, "type": ..., "s": seconds, "in": ops that it reads, "out": summaries}``.
    Beside the steps there are ``fetched``, ``fed``, ``feed_values`` (op to summaries), ``marks``
    as a GraphView has them, ``device`` of each op that is pinned, and for a failed run ``error`` and
    ``failed``, the operation.
    """
    index = {node["name"]: i for i, node in enumerate(nodes)}

    def ops(names: Iterable[str]) -> list[int]:
        found = [index[n.partition(":")[0]] for n in names if n.partition(":")[0] in index]
        return list(dict.fromkeys(found))

    steps = []
    for step in recorded.steps:
        if step.op_name not in index:
            continue  # a copy that the first run did not need
        i = index[step.op_name]
        reads = {text.lstrip("^").partition(":")[0] for text in nodes[i]["inputs"]}
        steps.append(
            {
                "i": i,
                "type": step.op_type,
                "s": None if step.seconds is None else round(float(step.seconds), 9),
                "in": sorted(index[n] for n in reads if n in index),
                "out": [summarize(v) for v in step.outputs or []],
            }
        )
    _add_travels(recorded, steps, index)
    fetched, fed = ops(recorded.fetches), ops(recorded.feeds)
    feed_values: dict[str, list[Any]] = {}
    for name, value in recorded.feed_values.items():
        feed_values.setdefault(str(index[name.partition(":")[0]]), []).append(summarize(value))
    marks: dict[str, Any] = {
        "fetched": sorted(fetched),
        "fed": sorted(fed),
        "needed": sorted(
            index[n] for n in (*recorded.needed, *(c.name for c in recorded.copies)) if n in index
        ),
    }
    marks["words"] = count_words(len(nodes), marks)
    run: dict[str, Any] = {
        "label": label,
        "steps": steps,
        "fetched": fetched,
        "fed": fed,
        "feed_values": feed_values,
        "marks": marks,
    }
    if recorded.error is not None:
        run["error"] = str(getattr(recorded.error, "message", recorded.error)).split("\n")[0]
        op = getattr(recorded.error, "op", None)
        if op is not None and op.name in index:
            run["failed"] = index[op.name]
    return run


def add_source_text(nodes: list[dict[str, Any]], touched: Iterable[int]) -> None:
    """Puts the line of code itself (``"text"``) into the source of the nodes at ``touched``."""
    for i in touched:
        source = nodes[i]["source"]
        text = linecache.getline(source["file"], source["line"]).strip() if source else ""
        if text:
            nodes[i]["source"] = source | {"text": text[:_MOST_CODE_CHARS]}


def _add_travels(recorded: Any, steps: list[dict[str, Any]], index: dict[str, int]) -> None:
    if len({step.device for step in recorded.steps if step.device}) < 2:
        return
    from dataflow_widgets.timeline.analysis import analyze, step_stats_of

    times = analyze(step_stats_of(recorded))
    lanes = [place_words(lane) for lane in times.lanes]
    by_op = {step["i"]: step for step in steps}
    for op in times.ops:
        by_op[index[op.name]]["on"] = lanes[op.lane]
    for copy in times.copies:
        source, target = times.ops[copy.source], times.ops[copy.target]
        seconds = (copy.end - copy.start) / 1e6
        came = [index[source.name], lanes[source.lane], copy.num_bytes, seconds]
        by_op[index[target.name]].setdefault("recv", []).append(came)
        sent = [lanes[target.lane], copy.num_bytes]
        by_op[index[source.name]].setdefault("send", []).append(sent)
    for wait in times.waits:
        cause = None if wait.source is None else index[times.ops[wait.source].name]
        by_op[index[times.ops[wait.op].name]]["wait"] = [(wait.end - wait.start) / 1e6, cause]


def place_words(device: str) -> str:
    """``"ps 0"`` for a task's device, ``"GPU 1"`` for one of this process."""
    task = re.search(r"/job:(\w+).*/task:(\d+)", device)
    local = re.search(r"/(?:device:)?(\w+):(\d+)$", device)
    if task and task[1] != "localhost":
        gpu = f" GPU {local[2]}" if local and local[1].upper() == "GPU" else ""
        return f"{task[1]} {task[2]}{gpu}"
    return f"{local[1].upper()} {local[2]}" if local else device
