"""`tf.profiler.profile` and `tf.profiler.Profiler`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dataflow.formats.local_paths import local_path
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.profiler import views
from dataflow.profiler.nodes import FIELDS, GraphNodeProto, MultiGraphNodeProto, measure
from dataflow.profiler.options import ProfileOptionBuilder, complete
from dataflow.summary.chrome_trace import Timeline

_VIEWS: dict[str, Callable[..., Any]] = {
    "scope": views.by_scope,
    "graph": views.by_edges,
    "op": views.by_type,
    "code": views.by_line,
}
_UNITS = {
    "micros": "us",
    "bytes": "B",
    "params": "params",
    "float_ops": "flops",
    "occurrence": "times",
}


def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: None = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Counts what ``graph`` (by default the default graph) has and does, and prints a report.

    ``cmd`` is the view: "scope" and "graph" return a `GraphNodeProto` (by names, by edges), "op" and
    "code" a `MultiGraphNodeProto` (by op types, by lines). Of what it returns,
    ``total_float_ops``, ``total_parameters``, ``total_exec_micros`` and ``total_requested_bytes`` are
    sums over what is shown; times and bytes need the ``run_meta`` of a run with FULL_TRACE.
    ``options`` come from `ProfileOptionBuilder`, by default its ``trainable_variables_parameter``.

    Raises `ValueError` for another view and for unknown options.
    """
    if op_log is not None:
        raise ValueError(
            "tf.profiler.profile takes no op_log: types of nodes are their op types, devices and "
            "'_trainable_variables'."
        )
    steps = {} if run_meta is None else {0: [run_meta]}
    if options is None:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    return _run(graph if graph is not None else default_graph(), steps, cmd, options)


class Profiler:
    """Profiles of one graph over several steps; see `add_step`."""

    def __init__(self, graph: Graph | None = None, op_log: None = None) -> None:
        if op_log is not None:
            raise ValueError("tf.profiler.Profiler takes no op_log.")
        self._graph = graph if graph is not None else default_graph()
        self._steps: dict[int, list[Any]] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds the `tf.RunMetadata` of a traced run under the number ``step``."""
        self._steps.setdefault(step, []).append(run_meta)

    def profile_name_scope(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """The nodes by their names' scopes."""
        return _run(self._graph, self._steps, "scope", options)  # type: ignore[no-any-return]

    def profile_graph(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """The nodes by the graph's edges."""
        return _run(self._graph, self._steps, "graph", options)  # type: ignore[no-any-return]

    def profile_operations(self, options: Mapping[str, Any]) -> MultiGraphNodeProto:
        """The nodes by their op types."""
        return _run(self._graph, self._steps, "op", options)  # type: ignore[no-any-return]

    def profile_python(self, options: Mapping[str, Any]) -> MultiGraphNodeProto:
        """The nodes by the lines of the program that made them."""
        return _run(self._graph, self._steps, "code", options)  # type: ignore[no-any-return]


def _run(graph: Graph, steps: Mapping[int, Any], cmd: str, options: Mapping[str, Any]) -> Any:
    if cmd not in _VIEWS:
        raise ValueError(f"tf.profiler has the views {sorted(_VIEWS)}, got cmd={cmd!r}.")
    options = complete(options)
    chosen = [m for s, found in steps.items() if options["step"] in (-1, s) for m in found]
    result = _VIEWS[cmd](measure(graph, chosen), options)
    kind, _, place = options["output"].partition(":outfile=")
    if kind == "timeline":
        _write_timelines(steps, options["step"], cmd, place)
    elif kind != "none":
        _write("\n".join(_report(result, options)) + "\n", place if kind == "file" else None)
    return result


def _write_timelines(steps: Mapping[int, Any], step: int, cmd: str, place: str) -> None:
    """A Chrome trace ``{place}_{step}`` of one step, or of each with a step of -1."""
    if cmd not in ("graph", "scope"):
        raise ValueError(
            f"tf.profiler writes timelines of the views 'graph' and 'scope', got cmd={cmd!r}; use "
            "profile_graph or profile_name_scope."
        )
    chosen = {s: found for s, found in steps.items() if step in (-1, s)}
    if not chosen:
        raise ValueError(
            f"A timeline needs the tf.RunMetadata of a run, and step {step} has none (those there are: "
            f"{sorted(steps)}); pass run_meta to tf.profiler.profile, or call Profiler.add_step."
        )
    for number, found in chosen.items():
        path = f"{place}_{number}"
        _write(Timeline(found[-1].step_stats).generate_chrome_trace_format(), path)
        print(f"Timeline file is written to {path}; load it at chrome://tracing or in Perfetto.")


def _write(text: str, path: str | None) -> None:
    if path is None:
        print(text)
    else:
        with open(local_path(path), "w") as file:
            file.write(text)


def _report(root: Any, options: Mapping[str, Any]) -> Iterable[str]:
    shown = [a for a in options["select"] if a in FIELDS]
    yield "\n==================Model Analysis Report======================\n"
    yield "node name | " + " | ".join(f"# {a}" for a in shown)
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        yield "  " * depth + f"{node.name} ({_numbers(node, shown)})"
        deeper = depth if isinstance(node, MultiGraphNodeProto) and depth else depth + 1
        stack.extend((child, deeper) for child in reversed(node.children))
    yield "\n======================End of Report=========================="


def _numbers(node: Any, shown: Iterable[str]) -> str:
    parts = ["x".join(map(str, shape)) for shape in getattr(node, "shapes", [])]
    for attribute in shown:
        name = FIELDS[attribute]
        own, total = getattr(node, name), getattr(node, f"total_{name}")
        parts.append(f"{_short(own) if own else '--'}/{_short(total)} {_UNITS[attribute]}")
    return ", ".join(parts)


def _short(number: int) -> str:
    """12147 as ``12.15k``."""
    for limit, unit in ((1e12, "t"), (1e9, "b"), (1e6, "m"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.2f}{unit}"
    return str(number)
