"""`Stepper`: one recorded run, replayed in the page op by op."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.static.draw import graph_svg
from dataflow_widgets.values import shape_text, summarize
from dataflow_widgets.words import count_words, plural

_WHOLE_GRAPH = 60  # up to this many operations the pruned ones are drawn too
_MAX_SENT_CHARS = 2_000_000


class Stepper(Widget):
    """Runs ``session.run(fetches, feed_dict)`` once, recording it, and lets the page replay it.

    The run happens when the stepper is made, with the effects of a run (variables are assigned);
    ``result`` is what `Session.run` returns. Forward, back, play, a slider and "run to node" then
    need no kernel. Values of finished operations show as a number, a table or a small heat map; a
    large value is summarised, and fetched whole on demand while the kernel lives.

    Raises what `Session.run` raises.
    """

    _options = {"title", "height"}

    def __init__(self, session: Any, fetches: Any, feed_dict: Any = None, **options: Any) -> None:
        refuse_unknown(Stepper, self._options, options)
        from dataflow.introspect.graph_json import graph_to_dict
        from dataflow.runtime.stepper import record

        self._recorded = record(session, fetches, feed_dict)
        self._nodes = graph_to_dict(session.graph)["nodes"]
        trace, marks = trace_to_dict(self._recorded, self._nodes)
        self._trace = trace
        super().__init__(
            kind="stepper",
            payload={"version": len(self._nodes), "nodes": self._nodes, "trace": trace},
            marks=marks,
            **({"height": 520} | options),
        )
        self.words = self.describe(limit=30)

    @property
    def trace(self) -> Any:
        """The recorded run (`dataflow.runtime.stepper.Trace`), with the whole values."""
        return self._recorded

    @property
    def result(self) -> Any:
        """What `Session.run` returned."""
        return self._recorded.result

    def describe(self, limit: int = 200) -> str:
        """The run in words: one line per step, with its value or the shape of it."""
        lines = [
            f"Run of {', '.join(self._recorded.fetches) or 'nothing'} in "
            f"{plural(len(self._recorded.steps), 'step')}; {self.marks['words']}."
        ]
        for number, step in enumerate(self._recorded.steps[:limit], start=1):
            values = ", ".join(_one_line(v) for v in step.outputs or [] if v is not None)
            lines.append(f"  {number}. {step.op_type} {step.op_name}: {values or 'no value'}")
        if len(self._recorded.steps) > limit:
            lines.append(f"  ... and {len(self._recorded.steps) - limit} more")
        return "\n".join(lines)

    def _draw(self) -> str:
        only = set(self._trace["only"]) or None
        return graph_svg(self._nodes, self.marks, only)

    def _greet(self, version: int) -> None:
        if version < len(self._nodes):
            self.payload = {
                "version": len(self._nodes),
                "nodes": self._nodes,
                "trace": self._trace,
            }

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("kind") != "value":
            return super()._answer(question)
        name, slot = str(question["op"]), int(question["slot"])
        for step in self._recorded.steps:
            if step.op_name == name:
                array = np.asarray(step.outputs[slot])
                text = np.array2string(array, threshold=20_000, max_line_width=88)
                return {"text": text[:_MAX_SENT_CHARS], "size": int(array.size)}
        raise KeyError(f"the recorded run has no step {name!r}")


def trace_to_dict(
    recorded: Any, nodes: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A trace as the page replays it, and the marks of its run.

    Operations are indices into ``nodes``. A step is ``{"i": op, "type": ..., "s": seconds, "in":
    ops that it reads, "out": summaries}``.
    """
    index = {node["name"]: i for i, node in enumerate(nodes)}

    def ops(names: Iterable[str]) -> list[int]:
        return list(dict.fromkeys(index[n.partition(":")[0]] for n in names))

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
    for name, value in dict(recorded.feed_values).items():
        key = name if isinstance(name, str) else name.name
        feed_values.setdefault(str(index[key.partition(":")[0]]), []).append(summarize(value))
    needed = sorted(index[n] for n in recorded.needed if n in index)
    marks: dict[str, Any] = {"fetched": sorted(fetched), "fed": sorted(fed), "needed": needed}
    marks["words"] = count_words(len(nodes), marks)
    touched = {*fetched, *fed, *needed}
    only = sorted(touched) if len(nodes) > _WHOLE_GRAPH and len(touched) < len(nodes) else []
    trace = {
        "steps": steps,
        "fetched": fetched,
        "fed": fed,
        "feed_values": feed_values,
        "only": only,
    }
    return trace, marks


def _one_line(value: Any) -> str:
    array = np.asarray(value)
    if array.size <= 6:
        return " ".join(str(array.tolist()).split())
    return f"{array.dtype} {shape_text(array.shape)}"
