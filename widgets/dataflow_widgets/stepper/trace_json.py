"""A recorded run as the page replays it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow_widgets.values import summarize
from dataflow_widgets.words import count_words


def run_to_dict(recorded: Any, nodes: list[dict[str, Any]], label: str) -> dict[str, Any]:
    """A trace as JSON-safe data; operations are indices into ``nodes``.

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
    fetched, fed = ops(recorded.fetches), ops(recorded.feeds)
    feed_values: dict[str, list[Any]] = {}
    for name, value in recorded.feed_values.items():
        feed_values.setdefault(str(index[name.partition(":")[0]]), []).append(summarize(value))
    marks: dict[str, Any] = {
        "fetched": sorted(fetched),
        "fed": sorted(fed),
        "needed": sorted(index[n] for n in recorded.needed if n in index),
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
