"""`GraphView`: the graph of a notebook, laid out in the page and kept up to date."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from dataflow_widgets import live
from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.graph_view.reruns import rerun_hint
from dataflow_widgets.static.draw import graph_svg
from dataflow_widgets.text_description import count_words, describe_nodes

_MIN_SECONDS_BETWEEN_HIGHLIGHTS = 0.1
_WORDS = 30  # operations that a notebook keeps in words


class GraphView(Widget):
    """Draws a graph; name scopes open and close, and every run shows what it needed and pruned.

    ``graph`` is a `Graph`, a session (its graph is drawn), a list of node dictionaries as
    `dataflow.introspect.graph_json` makes them (drawn as they are, not live), or None for the
    default graph. Operations that later cells add appear by themselves, and so does the highlight
    of every `Session.run`, while the view is open.

    At first the model is drawn, as far open as it can be read. What trains it (gradients, the
    optimizer, initializers, the saver, summaries, assertions; see
    `dataflow.introspect.node_roles`) is put aside in graphs of more than 60 operations, and a
    variable is one node.

    ``only`` restricts the drawing to some operations (names or indices). ``direction`` is "auto"
    ("down", or "right" where more fits so), "down", "up" or "right"; ``height`` is the largest
    height in px.
    """

    direction = traitlets.Unicode("auto").tag(sync=True)
    only = traitlets.List(traitlets.Int()).tag(sync=True)
    profile_data = traitlets.Dict().tag(sync=True)
    hint = traitlets.Unicode("").tag(sync=True)  # said beside the counts

    _options = {"title", "height", "direction", "only", "is_live"}

    def __init__(self, graph: Any = None, **options: Any) -> None:
        refuse_unknown(GraphView, self._options, options)
        direction = options.get("direction", "auto")
        if direction not in ("auto", "down", "up", "right"):
            raise ValueError(f'direction is "auto", "down", "up" or "right", got {direction!r}')
        self._graph, self._nodes = graph_and_nodes(graph)
        self._is_live = bool(options.pop("is_live", True)) and self._graph is not None
        self._seen_mutations = getattr(self._graph, "num_mutations", 0)
        self._is_frozen = False
        self._lock = threading.RLock()
        self._last_run: Any = None
        self._held_marks: dict[str, Any] | None = None
        self._last_sent_seconds = float("-inf")
        only = indices_of(self._nodes, options.pop("only", None) or [])
        super().__init__(
            kind="graph_view",
            payload={"version": len(self._nodes), "nodes": self._nodes},
            only=only,
            words=describe_nodes(self._nodes, limit=_WORDS, only=set(only) or None),
            hint=rerun_hint(self._nodes) if self._is_live else "",
            **options,
        )
        if self._is_live:
            live.watch(self)

    # ---- what is shown ------------------------------------------------------------------------

    @property
    def graph(self) -> Any:
        """The graph that is drawn, or None for a list of nodes."""
        return self._graph

    def highlight(self, fetches: Any, feed_dict: Any = None) -> str:
        """Marks what ``session.run(fetches, feed_dict)`` would fetch, feed, need and prune.

        Nothing is run. Returns the counts in words. Raises `KeyError` or `ValueError`, as the
        session would, for a name or tensor that is not in this graph; the view then stays as it
        was.
        """
        if self._graph is None:
            raise ValueError("This view shows a list of nodes; only a Graph can be highlighted.")
        from dataflow.introspect.graph_json import needed_names

        names = needed_names(self._graph, fetches, feed_dict)
        self.refresh()
        self._set_marks(names["fetched"], names["fed"], names["needed"])
        self._last_run = None
        return str(self.marks["words"])

    def compare(self, first: Any, second: Any, feeds: tuple[Any, Any] = (None, None)) -> str:
        """Marks what two fetches need: only the first (A), only the second (B), both, or neither.

        ``feeds`` holds a feed_dict for each. Nothing is run. Returns the counts in words; raises as
        `highlight`.
        """
        if self._graph is None:
            raise ValueError("This view shows a list of nodes; only a Graph can be compared.")
        from dataflow.introspect.graph_json import needed_names

        runs = [
            needed_names(self._graph, fetches, feed)
            for fetches, feed in zip((first, second), feeds, strict=True)
        ]
        self.refresh()
        index = self._index()
        needed = [{index[n] for n in run["needed"]} for run in runs]
        words = (
            f"A needs {len(needed[0])} operations, B needs {len(needed[1])}: "
            f"{len(needed[0] & needed[1])} both, {len(needed[0] - needed[1])} only A, "
            f"{len(needed[1] - needed[0])} only B, "
            f"{len(self._nodes) - len(needed[0] | needed[1])} neither"
        )
        self._last_run = None
        self._show_marks(
            {
                "fetched": sorted({index[n] for run in runs for n in run["fetched"]}),
                "fed": sorted({index[n] for run in runs for n in run["fed"]}),
                "needed": sorted(needed[0] | needed[1]),
                "first": sorted(needed[0]),
                "second": sorted(needed[1]),
                "words": words,
            }
        )
        return words

    @classmethod
    def side_by_side(cls, graph: Any, first: Any, second: Any) -> Any:
        """Two views beside each other, one highlighted with ``first``, one with ``second``."""
        import ipywidgets

        views = []
        for fetches in (first, second):
            view = cls(graph, is_live=False, title=f"fetching {_fetch_text(fetches)}")
            view.highlight(fetches)
            view.layout.width = "50%"
            views.append(view)
        return ipywidgets.HBox(views)

    def clear_highlight(self) -> None:
        """Removes the marks of runs and highlights."""
        self.marks = {}
        self._last_run = None
        self._reword()

    def profile(self, session: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Runs ``fetches`` once, op by op, so that the view can color by time and by memory.

        Returns the run's result. Seconds are those of each op's kernel; bytes those of its outputs.
        """
        from dataflow.runtime.stepper import record

        trace = record(session, fetches, feed_dict, values="sizes")
        self.refresh()
        index = self._index()
        seconds: dict[str, float] = {}
        num_bytes: dict[str, int] = {}
        for step in trace.steps:
            if step.op_name not in index:
                continue  # a copy between memories: it is in the plan, not in the graph
            key = str(index[step.op_name])
            seconds[key] = seconds.get(key, 0.0) + float(step.seconds)
            held = sum(int(v.nbytes) for v in step.outputs if v is not None)
            num_bytes[key] = max(num_bytes.get(key, 0), held)
        self.profile_data = {"seconds": seconds, "bytes": num_bytes}
        return trace.result

    def describe(self) -> str:
        """The graph and its marks in words, one line per operation."""
        only = set(self.only) or None
        return describe_nodes(self._nodes, self.marks or None, only=only)

    def to_dot(self) -> str:
        """The whole graph as DOT, with names as quoted strings."""
        from dataflow_widgets.static.dot import graph_dot

        return graph_dot(self._nodes, self.marks or None, self.direction)

    def _draw(self) -> str:
        only = set(self.only) or None
        return graph_svg(self._nodes, self.marks or None, only, self.direction)

    # ---- keeping up ---------------------------------------------------------------------------

    def refresh(self) -> None:
        """Sends operations that were added since, if any. Called by itself after every cell."""
        if self._held_marks is not None:
            self._show_marks(self._held_marks)
        self._send_new()

    def _send_new(self) -> None:
        if self._graph is None or self._is_frozen:
            return
        from dataflow.introspect.graph_json import graph_to_dict
        from dataflow.introspect.node_roles import assign_roles

        with self._lock:  # runs of a background thread and cells both come here
            mutations = getattr(self._graph, "num_mutations", 0)
            if mutations != self._seen_mutations:
                self._seen_mutations = mutations
                self._send_changed(graph_to_dict(self._graph)["nodes"])
            known = len(self._nodes)
            if self._graph.version == known:
                return
            new = graph_to_dict(self._graph, since=known)["nodes"]
            self._nodes.extend(new)
            # What reads them may make known nodes a part of the machinery.
            changed = [i for i in assign_roles(self._nodes) if i < known]
            fresh = list(range(known, len(self._nodes)))
            self.hint = rerun_hint(self._nodes)
            if self.only:
                self.only = [*self.only, *fresh]
            if changed:
                self.send({"kind": "changed", "nodes": [self._nodes[i] for i in changed]})
            self.send({"kind": "ops", "nodes": new, "fresh": fresh})
        if self.marks:
            marks = dict(self.marks)
            marks["words"] = count_words(len(self._nodes), marks)
            self.marks = marks
        self._reword()

    def _send_changed(self, nodes: list[dict[str, Any]]) -> None:
        """Sends known operations that are not what they were: a loop's back edge, a new device."""
        from dataflow.introspect.node_roles import assign_roles

        assign_roles(nodes)
        changed = [i for i, node in enumerate(self._nodes) if node != nodes[i]]
        for i in changed:
            self._nodes[i] = nodes[i]
        if changed:
            self.send({"kind": "changed", "nodes": [nodes[i] for i in changed]})

    def on_run(self, event: Any) -> None:
        """Marks what a run needed; called after every `Session.run` of this graph."""
        if event.graph is not self._graph:
            return
        failure, failed = _failure(event.error)
        run = (tuple(event.fetches), tuple(event.feeds), self._graph.version, failure)
        if run == self._last_run or _is_end_of_data(event.error):
            return
        self._last_run = run
        self._send_new()
        self._set_marks(
            [n.partition(":")[0] for n in event.fetches],
            [n.partition(":")[0] for n in event.feeds],
            event.needed,
            failed,
            failure,
        )

    def _set_marks(
        self,
        fetched: Sequence[str],
        fed: Sequence[str],
        needed: Any,
        failed: str = "",
        failure: str = "",
    ) -> None:
        index = self._index()
        marks: dict[str, Any] = {
            "fetched": sorted({index[n] for n in fetched if n in index}),
            "fed": sorted({index[n] for n in fed if n in index}),
            "needed": sorted(index[n] for n in needed if n in index),
        }
        if failure:
            marks |= {"failed": [index[failed]] if failed in index else [], "failure": failure}
        marks["words"] = count_words(len(self._nodes), marks)
        if time.monotonic() - self._last_sent_seconds < _MIN_SECONDS_BETWEEN_HIGHLIGHTS:
            # A loop of runs that alternates fetches must not flood the page: keep the last one.
            self._held_marks = marks
            return
        self._show_marks(marks)

    def _show_marks(self, marks: dict[str, Any]) -> None:
        self._held_marks = None
        self._last_sent_seconds = time.monotonic()
        self.marks = marks
        self._reword()

    def _reword(self) -> None:
        only = set(self.only) or None
        self.words = describe_nodes(self._nodes, self.marks or None, limit=_WORDS, only=only)

    def _index(self) -> dict[str, int]:
        return {node["name"]: i for i, node in enumerate(self._nodes)}

    def _greet(self, version: int, num_runs: int) -> None:
        self.refresh()
        if version < len(self._nodes):
            fresh = list(range(version, len(self._nodes)))
            self.send({"kind": "ops", "nodes": self._nodes[version:], "fresh": fresh})

    def _page_changed(self) -> None:
        if not self._is_live:
            return
        if self._num_open:
            live.watch(self)
            self.refresh()
        else:
            live.forget(self)

    def freeze(self) -> None:
        """Keeps the view as it is now: later cells and runs no longer change it.

        Scopes still open and close; `highlight` and `profile` still mark it.
        """
        self.refresh()
        self._is_live, self._is_frozen = False, True
        live.forget(self)

    def close(self) -> None:
        """Ends the view: it no longer follows the graph."""
        live.forget(self)
        super().close()


def _is_end_of_data(error: BaseException | None) -> bool:
    """Whether a run was the one that ends a loop over a dataset."""
    from dataflow.errors import OutOfRangeError

    return isinstance(error, OutOfRangeError)


def _failure(error: BaseException | None) -> tuple[str, str]:
    """What is said of a run that failed, and the operation that it failed in; both may be empty."""
    if error is None:
        return "", ""
    if isinstance(error, KeyboardInterrupt):
        return "The run was interrupted.", ""
    name = getattr(getattr(error, "op", None), "name", "")
    return (f"The run failed in '{name}'." if name else "The run failed."), name


def _fetch_text(fetches: Any) -> str:
    if isinstance(fetches, (list, tuple)):
        return ", ".join(_fetch_text(each) for each in fetches)
    return str(getattr(fetches, "name", fetches))


def indices_of(nodes: Sequence[Mapping[str, Any]], only: Any) -> list[int]:
    """The indices of operations given by name, index, tensor or operation; `ValueError`: not there."""
    index = {node["name"]: i for i, node in enumerate(nodes)}
    result = []
    for one in only:
        if isinstance(one, int):
            result.append(one)
            continue
        name = one if isinstance(one, str) else getattr(one, "op", one).name
        if name not in index:
            raise ValueError(f"only= names {name!r}, which is not in this graph")
        result.append(index[name])
    return sorted(set(result))


def graph_and_nodes(graph: Any) -> tuple[Any, list[dict[str, Any]]]:
    """The `Graph` that is meant (``None`` for a list of nodes) and its nodes with their roles."""
    if isinstance(graph, Mapping):
        graph = graph["nodes"]
    from dataflow.introspect.node_roles import assign_roles

    if isinstance(graph, (list, tuple)):
        nodes = [dict(node) for node in graph]
        assign_roles(nodes)
        return None, nodes
    if graph is None:
        from dataflow.graph.default_stacks import default_graph

        graph = default_graph()
    graph = getattr(graph, "graph", graph)
    if not hasattr(graph, "get_operations"):
        raise TypeError(
            f"GraphView draws a Graph, a Session or a list of nodes, got {type(graph).__name__}. "
            "For one tensor, display the tensor itself."
        )
    from dataflow.introspect.graph_json import graph_to_dict

    nodes = graph_to_dict(graph)["nodes"]
    assign_roles(nodes)
    return graph, nodes
