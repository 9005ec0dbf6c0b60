"""`Stepper`: recorded runs, replayed in the page op by op."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.static.draw import graph_svg
from dataflow_widgets.stepper.trace_json import add_source_text, run_to_dict
from dataflow_widgets.values import shape_text
from dataflow_widgets.text_description import plural

_WHOLE_GRAPH = 60  # up to this many operations the pruned ones are drawn too
_MAX_SENT_CHARS = 2_000_000
_MOST_BYTES_KEPT = 256_000_000  # of whole values; of older runs only the summaries are kept then


class Stepper(Widget):
    """Runs ``session.run(fetches, feed_dict)`` once, recording it, and lets the page replay it.

    The run happens when the stepper is made, with the effects of a run (variables are assigned);
    ``result`` is what `Session.run` returns. Forward, back, play, a slider, breakpoints and "run to
    node" then need no kernel. Values of finished operations show as a number, a table or a small
    heat map; a large value is summarized, and fetched whole on demand while the kernel lives.

    `record` adds the next run (a training step), `branch` one with an edited value; the page scrubs
    over them and shows what differs.

    ``values="sampled"`` keeps a sample of each large value and no whole ones: recording then costs
    a few percent of a run, and no memory to speak of. ``label`` is what the first run is called.
    ``recorded`` is a run that was recorded before, shown in place of a new one: the variables before
    it (`dataflow.introspect.variables.snapshot`) and its `dataflow.runtime.stepper.Trace`.

    A run in which an operation fails is shown up to that operation, and ``error`` holds the exception, which
    reading ``result`` raises; with ``catch=False`` it is raised at once, as by `Session.run`, and with
    ``catch=True`` never. What does not get as far as to run (a fetch that is not in the graph) is raised in any case.
    """

    _options = {"title", "height", "catch", "values", "label", "recorded"}

    def __init__(self, session: Any, fetches: Any, feed_dict: Any = None, **options: Any) -> None:
        refuse_unknown(Stepper, self._options, options)
        self._values = options.pop("values", True)
        if self._values not in (True, "sampled"):
            raise ValueError(f'values is True or "sampled", got {self._values!r}')
        from dataflow.introspect.graph_json import graph_to_dict, with_copies
        from dataflow.introspect.node_roles import assign_roles

        self._session, self._fetches = session, fetches
        self._catch = options.pop("catch", None)
        label = str(options.pop("label", "run 1"))
        recorded = options.pop("recorded", None)
        self._recorded: list[Any] = []
        self._feeds: list[Any] = []
        self._before: list[Any] = []
        first = self._run(feed_dict, recorded, catch=self._catch is not False)
        nodes = graph_to_dict(session.graph)["nodes"]
        self._nodes = with_copies(nodes, first.copies, first.inputs)
        assign_roles(self._nodes)
        run = run_to_dict(first, self._nodes, label)
        touched = {i for key in ("fetched", "fed", "needed") for i in run["marks"][key]}
        add_source_text(self._nodes, touched)
        large = len(self._nodes) > _WHOLE_GRAPH and len(touched) < len(self._nodes)
        self._trace: dict[str, Any] = {"runs": [run], "only": sorted(touched) if large else []}
        super().__init__(
            kind="stepper",
            payload=self._payload(),
            marks=run["marks"],
            **({"height": 520} | options),
        )
        self.words = self.describe(limit=30)

    # ---- what was recorded --------------------------------------------------------------------

    @property
    def trace(self) -> Any:
        """The newest recorded run (`dataflow.runtime.stepper.Trace`), with the whole values."""
        return self._recorded[-1]

    @property
    def result(self) -> Any:
        """What the first run returned. Raises what it failed with, but for ``catch=True``."""
        error = self._recorded[0].error
        if error is not None and not self._catch:
            raise error
        return self._recorded[0].result

    @property
    def error(self) -> Exception | None:
        """What the newest run failed with, if it did."""
        return self._recorded[-1].error  # type: ignore[no-any-return]

    @property
    def labels(self) -> list[str]:
        """What the recorded runs are called, in order."""
        return [run["label"] for run in self._trace["runs"]]

    def record(self, feed_dict: Any = None, label: str | None = None, recorded: Any = None) -> Any:
        """Runs the fetches again and adds that run: a training step, to scrub over.

        ``recorded`` is one that was recorded before, as for the class. Returns the run's result.
        Raises what `Session.run` raises; nothing is added then.
        """
        trace = self._run(feed_dict, recorded)
        self._add(trace, label or f"run {len(self._recorded)}", None)
        return trace.result

    def branch(self, changes: dict[Any, Any], run: int = 0) -> Any:
        """Runs once more from the state before recorded run number ``run``, with values changed.

        ``changes`` maps tensors, variables or their names to values: a variable starts with that
        value, any other tensor is fed. Afterwards the session's variables are what they were. The
        page shows the branch compared with the run. Returns the branch's result; raises what
        `Session.run` raises, and `KeyError` for a name that is not in the graph.
        """
        from dataflow.introspect import variables

        graph, session = self._session.graph, self._session
        feeds = dict(self._feeds[run] or {})
        assigned: dict[str, Any] = {}
        labels = []
        for key, value in changes.items():
            if isinstance(key, str) and ":" not in key:
                key = f"{key}:0"
            tensor = graph.as_graph_element(key, allow_operation=False)
            labels.append(f"{tensor.op.name} = {_short(value)}")
            if tensor.op.type in ("Variable", "VariableV2", "VarHandleOp"):
                assigned[tensor.op.name] = value
            else:
                feeds[tensor] = value
        present = variables.snapshot(session)
        if present is None and assigned:
            raise ValueError(
                "The variables of this session live in other processes, so a branch can only feed "
                "tensors. Feed the tensor that reads the variable instead."
            )
        try:
            if present is not None:
                variables.restore(session, self._before[run])
                for name, value in assigned.items():
                    variables.assign(session, name, value)
            recorded = self._run(feeds)
        finally:
            if present is not None:
                variables.restore(session, present)
        self._add(recorded, f"branch: {', '.join(labels)}", run)
        return recorded.result

    def _run(self, feed_dict: Any, recorded: Any = None, *, catch: bool | None = None) -> Any:
        from dataflow.introspect.variables import snapshot
        from dataflow.runtime.stepper import record

        if recorded is None:
            before = snapshot(self._session)
            catch = bool(self._catch) if catch is None else catch
            trace = record(
                self._session, self._fetches, feed_dict, values=self._values, catch=catch
            )
        else:
            before, trace = recorded
        self._before.append(before)
        self._recorded.append(trace)
        self._feeds.append(feed_dict)
        self._forget_old()
        return trace

    def _forget_old(self) -> None:
        """Drops the whole values of the oldest runs but the first, while there are too many."""
        sizes = [_num_bytes(run) for run in self._recorded]
        for i in range(1, len(self._recorded) - 1):
            if sum(sizes) <= _MOST_BYTES_KEPT:
                return
            bare = [step._replace(outputs=[]) for step in self._recorded[i].steps]
            self._recorded[i] = self._recorded[i]._replace(steps=bare)
            sizes[i] = 0

    def _add(self, recorded: Any, label: str, compare: int | None) -> None:
        run = run_to_dict(recorded, self._nodes, label)
        self._trace["runs"].append(run)
        self._send_run(len(self._trace["runs"]) - 1, compare)

    def _send_run(self, number: int, compare: int | None) -> None:
        run = self._trace["runs"][number]
        self.send({"kind": "run", "number": number, "run": run, "compare": compare})

    # ---- showing ------------------------------------------------------------------------------

    def describe(self, limit: int = 200) -> str:
        """The first run in words: one line per step, with its value or the shape of it."""
        recorded = self._recorded[0]
        lines = [
            f"Run of {', '.join(recorded.fetches) or 'nothing'} in "
            f"{plural(len(recorded.steps), 'step')}; {self.marks['words']}."
        ]
        for number, step in enumerate(recorded.steps[:limit], start=1):
            dead = ["dead"] if step.op_type in ("Switch", "RefSwitch") else []
            shown = [[_one_line(v)] if v is not None else dead for v in step.outputs or []]
            values = ", ".join(word for words in shown for word in words)
            lines.append(f"  {number}. {step.op_type} {step.op_name}: {values or 'no value'}")
        if len(recorded.steps) > limit:
            lines.append(f"  ... and {len(recorded.steps) - limit} more")
        if recorded.error is not None:
            lines.append(f"  failed: {recorded.error}")
        return "\n".join(lines)

    def _draw(self) -> str:
        return graph_svg(self._nodes, self.marks, set(self._trace["only"]) or None)

    def _payload(self) -> dict[str, Any]:
        # A copy of the list: the trait's value must not change behind its back.
        trace = self._trace | {"runs": list(self._trace["runs"])}
        return {"version": len(self._nodes), "nodes": self._nodes, "trace": trace}

    def _greet(self, version: int, num_runs: int) -> None:
        if version < len(self._nodes):
            self.payload = self._payload()
            return
        for number in range(num_runs, len(self._trace["runs"])):
            self._send_run(number, None)

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.get("kind")
        if kind == "value":
            return self._whole_value(question)
        if kind == "branch":
            tensor = f"{question['op']}:{int(question['slot'])}"
            self.branch({tensor: _parse(str(question["text"]))}, int(question["run"]))
            return {}
        return super()._answer(question)

    def _whole_value(self, question: dict[str, Any]) -> dict[str, Any]:
        name, slot = str(question["op"]), int(question["slot"])
        recorded = self._recorded[int(question.get("run", 0))]
        rounds = [step for step in recorded.steps if step.op_name == name]
        value: Any = None
        if rounds:
            step = rounds[min(int(question.get("round", 0)), len(rounds) - 1)]
            if not step.outputs:
                raise ValueError("The whole values of this run are no longer kept: it is too old.")
            value = step.outputs[slot]
        elif f"{name}:{slot}" in recorded.feed_values:
            value = recorded.feed_values[f"{name}:{slot}"]
        else:
            raise KeyError(f"the recorded run has no step {name!r}")
        if hasattr(value, "is_whole"):
            raise ValueError("Only a sample was kept; record with values=True to see all values.")
        array = np.asarray(value)
        text = np.array2string(array, threshold=20_000, max_line_width=88)
        return {"text": text[:_MAX_SENT_CHARS], "size": int(array.size)}


def _parse(text: str) -> Any:
    """A value typed into the page: numbers, lists, strings; nan and inf by name."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError) as e:
        if text.strip().lower() in ("nan", "inf", "-inf"):
            return float(text)
        if text.strip().lower() in ("true", "false"):
            return text.strip().lower() == "true"
        raise ValueError(f"{text!r} is not a number or a list such as [[1, 2], [3, 4]]") from e


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 24 else text[:23] + "…"


def _num_bytes(recorded: Any) -> int:
    return sum(int(v.nbytes) for step in recorded.steps for v in step.outputs if v is not None)


def _one_line(value: Any) -> str:
    if hasattr(value, "is_whole"):
        if not value.is_whole:
            return f"{value.dtype} {shape_text(value.shape)}"
        value = value.sample
    array = np.asarray(value)
    if array.size <= 6:
        return " ".join(str(array.tolist()).split())
    return f"{array.dtype} {shape_text(array.shape)}"
