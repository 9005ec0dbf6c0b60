"""`Timeline`: the step statistics of a run as a Chrome trace, for ``chrome://tracing`` or Perfetto.

Source: the "Trace Event Format" document of the Chromium project.
"""

from __future__ import annotations

import json
import re
from typing import Any

from dataflow.graph.graph import Graph

_LABEL = re.compile(r"^(?P<name>[^ ]+) = (?P<op>[^(]+)\((?P<inputs>.*)\)$")


class Timeline:
    """A trace made from ``run_metadata.step_stats``, as ``tensorflow.python.client.timeline``'s.

    Args:
        step_stats: the ``StepStats`` of a run with ``RunOptions(trace_level=FULL_TRACE)``.
        graph: accepted.
    """

    def __init__(self, step_stats: Any, graph: Graph | None = None) -> None:
        self._step_stats = step_stats
        self._graph = graph

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON text.

        Each device is a process, with as many rows as nodes overlap. ``show_dataflow`` adds
        arrows from each node to those that use its output; ``show_memory`` the bytes of outputs
        that are alive. Times are in microseconds.
        """
        events: list[dict[str, Any]] = []
        placed: dict[str, dict[str, Any]] = {}
        for pid, device in enumerate(self._step_stats.dev_stats):
            events.append(
                {
                    "name": "process_name",
                    "ph": "M",
                    "pid": pid,
                    "args": {"name": f"{device.device} Compute"},
                }
            )
            events.extend(_device_events(device, pid, placed))
        if show_dataflow:
            events.extend(_flows(placed))
        if show_memory:
            events.extend(_memory(placed, len(self._step_stats.dev_stats)))
        return json.dumps({"traceEvents": events}, indent=4)


def _device_events(device: Any, pid: int, placed: dict[str, dict[str, Any]]) -> Any:
    row_ends: list[int] = []
    for stats in sorted(device.node_stats, key=lambda s: s.all_start_micros):
        start, duration = stats.all_start_micros, max(1, stats.all_end_rel_micros)
        row = next((i for i, end in enumerate(row_ends) if end <= start), len(row_ends))
        if row == len(row_ends):
            row_ends.append(0)
        row_ends[row] = start + duration
        match = _LABEL.match(stats.timeline_label)
        op_type = match["op"] if match else stats.timeline_label or stats.node_name
        inputs = [i.strip() for i in match["inputs"].split(",")] if match else []
        inputs = [i for i in inputs if i]
        arguments = {"name": stats.node_name, "op": op_type}
        arguments |= {f"input{i}": name for i, name in enumerate(inputs)}
        event = {
            "name": op_type,
            "ph": "X",
            "cat": "Op",
            "pid": pid,
            "tid": row,
            "ts": start,
            "dur": duration,
            "args": arguments,
        }
        num_bytes = sum(
            o.tensor_description.allocation_description.allocated_bytes for o in stats.output
        )
        placed[stats.node_name] = {"event": event, "inputs": inputs, "num_bytes": num_bytes}
        yield event


def _flows(placed: dict[str, dict[str, Any]]) -> Any:
    number = 0
    for item in placed.values():
        for name in item["inputs"]:
            source = placed.get(name.lstrip("^").partition(":")[0])
            if source is None:
                continue
            begin, end = source["event"], item["event"]
            common = {"cat": "DataFlow", "name": name, "id": number}
            yield common | {
                "ph": "s",
                "pid": begin["pid"],
                "tid": begin["tid"],
                "ts": begin["ts"] + begin["dur"],
            }
            yield common | {"ph": "t", "pid": end["pid"], "tid": end["tid"], "ts": end["ts"]}
            number += 1


def _memory(placed: dict[str, dict[str, Any]], pid: int) -> Any:
    """The bytes of outputs from the end of their node to the end of the last node that reads them."""
    last_use = {name: item["event"]["ts"] + item["event"]["dur"] for name, item in placed.items()}
    for item in placed.values():
        end = item["event"]["ts"] + item["event"]["dur"]
        for name in item["inputs"]:
            source = name.lstrip("^").partition(":")[0]
            if source in last_use:
                last_use[source] = max(last_use[source], end)
    changes: list[tuple[int, int]] = []
    for name, item in placed.items():
        made = item["event"]["ts"] + item["event"]["dur"]
        changes += [(made, item["num_bytes"]), (last_use[name], -item["num_bytes"])]
    total = 0
    yield {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": "Memory"}}
    for when, change in sorted(changes):
        total += change
        yield {
            "cat": "Memory",
            "name": "bytes of live outputs",
            "ph": "C",
            "pid": pid,
            "tid": 0,
            "ts": when,
            "args": {"bytes": total},
        }
