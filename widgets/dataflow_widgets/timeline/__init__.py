"""`Timeline`: where a run spent its time, as a flame chart."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.timeline.analysis import analyze, chrome_trace, step_stats_of
from dataflow_widgets.timeline.picture import duration_text, timeline_svg
from dataflow_widgets.text_description import plural

_MOST_OPS = 20_000


class Timeline(Widget):
    """The ops of a run on a lane for each device (and task), their copies, waits, critical path.

    ``run`` is a `RunMetadata` filled by ``session.run(fetches, options=tf.RunOptions(
    trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)``, its ``step_stats``, or a
    recorded run (``stepper.trace``). What is drawn is the run's Chrome trace (`to_chrome_trace`).

    Raises `TypeError` for anything else, `ValueError` for a run without ops or with more than
    20,000.
    """

    _options = {"title", "height"}

    def __init__(self, run: Any, **options: Any) -> None:
        refuse_unknown(Timeline, self._options, options)
        self._step_stats = step_stats_of(run)
        self._times = analyze(self._step_stats)
        if len(self._times.ops) > _MOST_OPS:
            raise ValueError(
                f"{len(self._times.ops)} ops are too many to draw (at most {_MOST_OPS}). "
                "Record a smaller run, or open the Chrome trace in Perfetto."
            )
        names = dict.fromkeys(op.name for op in self._times.ops)
        self._names = {name: i for i, name in enumerate(names)}
        super().__init__(kind="timeline", payload=self._payload(), **({"height": 420} | options))
        self.words = self.describe(limit=20)

    @property
    def times(self) -> Any:
        """The run taken apart: `dataflow_widgets.timeline.analysis.RunTimes`."""
        return self._times

    def to_chrome_trace(self, **options: Any) -> str:
        """The run as JSON for chrome://tracing or Perfetto."""
        return chrome_trace(self._step_stats, **options)

    def describe(self, limit: int = 100) -> str:
        """The run in words: each lane, the op types that took longest, copies, waits, the path."""
        times = self._times
        ops = times.ops
        lines = [
            f"Run of {duration_text(times.duration)}: {plural(len(ops), 'op')} on "
            f"{plural(len(times.lanes), 'lane')}."
        ]
        names = times.lane_names
        for lane, name in enumerate(names):
            mine = [op for op in ops if op.lane == lane]
            busy = sum(op.duration for op in mine)
            lines.append(f"  {name}: {plural(len(mine), 'op')}, busy {duration_text(busy)}")
        by_type: Counter[str] = Counter()
        for op in ops:
            by_type[op.op_type] += op.duration
        longest = ", ".join(f"{t} {duration_text(d)}" for t, d in by_type.most_common(6))
        lines.append(f"Longest op types: {longest}.")
        chain = sum(ops[i].duration for i in times.critical)
        waits = [wait for wait in times.critical_waits if wait]
        travel = (
            f" and {plural(len(waits), 'message')} between lanes, {duration_text(sum(waits))}"
            if waits
            else ""
        )
        lines.append(
            f"Critical path: {plural(len(times.critical), 'op')}, {duration_text(chain)}{travel}, "
            f"from {ops[times.critical[0]].name} to {ops[times.critical[-1]].name}."
        )
        for copy in times.copies[:limit]:
            source, target = ops[copy.source], ops[copy.target]
            lines.append(
                f"  copy of {source.name} ({copy.num_bytes:,} bytes) from {names[source.lane]} "
                f"to {names[target.lane]}: {duration_text(copy.end - copy.start)} "
                f"until {target.name} began"
            )
        for wait in times.waits[:limit]:
            cause = "" if wait.source is None else f", waiting for {ops[wait.source].name}"
            lines.append(
                f"  {names[wait.lane]} idle for {duration_text(wait.end - wait.start)} "
                f"before {ops[wait.op].name}{cause}"
            )
        return "\n".join(lines)

    def _draw(self) -> str:
        return timeline_svg(self._times)

    def _payload(self) -> dict[str, Any]:
        times = self._times
        types = {op.name: op.op_type for op in times.ops}
        return {
            "version": len(self._names),
            # The page knows names by number, as in the other widgets.
            "nodes": [
                {"name": name, "op": types[name], "inputs": [], "outputs": []}
                for name in self._names
            ],
            "lanes": times.lanes,
            "lane_names": times.lane_names,
            "ops": [
                [
                    self._names[op.name],
                    op.lane,
                    op.row,
                    op.start,
                    op.duration,
                    op.num_bytes,
                    list(op.inputs),
                ]
                for op in times.ops
            ],
            "duration": times.duration,
            "copies": [list(copy) for copy in times.copies],
            "waits": [list(wait) for wait in times.waits],
            "critical": times.critical,
            "critical_waits": times.critical_waits,
        }

    def _greet(self, version: int, num_runs: int) -> None:
        if version < len(self._names):
            self.payload = self._payload()
