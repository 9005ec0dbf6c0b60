"""`to_graphviz`: the picture of a graph as a ``graphviz.Digraph``, for slides and papers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dataflow_widgets.static.draw import COLORS, PRUNED, graph_svg, state_color, state_of
from dataflow_widgets.static.layout import DIRECTIONS, weights
from dataflow_widgets.static.visible import MOST_BOXES, Item, visible

try:
    import graphviz
except ImportError as error:
    from dataflow.extras import install

    raise ImportError(
        f"to_graphviz needs the package graphviz, which is not installed: {install('widgets')}"
    ) from error

_SHAPES = {"placeholder": "parallelogram", "variable": "cylinder"}
_HOW = (
    "the program `dot` is not installed. On Debian and Ubuntu: apt install graphviz; on macOS: "
    "brew install graphviz; on Windows: winget install graphviz; with conda: conda install graphviz"
)


class Picture(graphviz.Digraph):  # type: ignore[misc]
    """A ``graphviz.Digraph`` whose SVG can be had without the program ``dot``, in our own layout."""

    def __init__(self, own_svg: Callable[[], str], **options: Any) -> None:
        super().__init__(**options)
        self._own_svg = own_svg

    def pipe(self, format: str | None = None, *args: Any, **options: Any) -> Any:
        """As ``graphviz.Digraph.pipe``; raises `RuntimeError` where ``dot`` is missing for it."""
        try:
            return super().pipe(format, *args, **options)
        except graphviz.ExecutableNotFound:
            self._refuse_without_dot(format)
            encoding = options.get("encoding")
            return self._own_svg() if encoding else self._own_svg().encode()

    def render(self, filename: Any = None, *args: Any, **options: Any) -> str:
        """As ``graphviz.Digraph.render``; raises `RuntimeError` where ``dot`` is missing for it."""
        try:
            return str(super().render(filename, *args, **options))
        except graphviz.ExecutableNotFound:
            outfile = options.get("outfile")
            wanted = options.get("format") or (outfile and Path(outfile).suffix[1:])
            self._refuse_without_dot(wanted or None)
            if outfile is None:
                outfile = f"{os.fspath(filename or self.filename)}.svg"
                outfile = Path(options.get("directory") or self.directory or ".") / outfile
            Path(outfile).write_text(self._own_svg(), encoding="utf-8")
            return os.fspath(outfile)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> Any:
        return {"image/svg+xml": self.pipe("svg", encoding="utf-8")}

    def _refuse_without_dot(self, format: str | None) -> None:
        wanted = format or self.format
        if wanted != "svg":
            raise RuntimeError(
                f"Cannot make {wanted}: {_HOW}. SVG can be had without it: format='svg'."
            ) from None


def to_graphviz(
    graph: Any = None,
    fetches: Any = None,
    feed_dict: Any = None,
    *,
    only: Sequence[Any] | None = None,
    direction: str = "down",
    whole: bool = False,
    limit: int = MOST_BOXES,
    name: str = "dataflow",
) -> Picture:
    """The graph as `GraphView` draws it at first, as a ``graphviz.Digraph``.

    ``to_graphviz(graph).render("model", format="pdf")`` writes ``model.pdf``. Scopes are closed until
    at most ``limit`` boxes are left; of more than 60 operations the model alone is shown, without
    what trains and saves it, unless ``whole`` is true. With ``fetches`` (and ``feed_dict``), what
    such a run would not need is dashed, as in `GraphView.highlight`; nothing is run. ``only`` names
    the operations to draw, and ``direction`` is "down", "up" or "right".

    Raises `TypeError` and `ValueError` as `GraphView` does. Where the program ``dot`` is missing,
    SVG is written in our own layout, and other formats say what to install.
    """
    from dataflow_widgets.graph_view import graph_and_nodes, indices_of

    if direction not in DIRECTIONS:
        raise ValueError(f'direction is "down", "up" or "right", got {direction!r}')
    known, nodes = graph_and_nodes(graph)
    chosen = set(indices_of(nodes, only or [])) or None
    marks = None if fetches is None else _marks(known, nodes, fetches, feed_dict)
    shown = visible(nodes, chosen, limit, whole)
    picture = Picture(
        lambda: graph_svg(nodes, marks, chosen, direction, limit, whole),
        name=name,
        graph_attr={"rankdir": DIRECTIONS[direction], "ranksep": "0.4", "nodesep": "0.3"},
        node_attr={"fontname": "Helvetica", "fontsize": "12", "style": "rounded,filled"},
        edge_attr={
            "fontname": "Helvetica",
            "fontsize": "10",
            "color": "#8b9199",
            "arrowsize": "0.7",
        },
    )
    number = {item.key: f"n{i}" for i, item in enumerate(shown.items)}
    states = {item.key: state_of(item, marks) for item in shown.items}

    def write(into: graphviz.Digraph, path: str) -> None:
        for item in shown.items:
            if item.scope == path:
                _write_item(into, number[item.key], item, states[item.key], nodes)
        for i, scope in enumerate(shown.scopes):
            if scope.rpartition("/")[0] == path:
                inner = graphviz.Digraph(f"cluster_{i}")
                inner.attr(
                    label=_scope_title(scope, shown.natures.get(scope)),
                    labeljust="l",
                    style="rounded,filled",
                    fillcolor="#1f23280a",
                    color="#8b9199",
                    fontname="Helvetica",
                )
                write(inner, scope)
                into.subgraph(inner)

    write(picture, "")
    weight = weights(shown)
    for link in shown.links:
        dead = "pruned" in states[link.tail] or "pruned" in states[link.head]
        picture.edge(
            number[link.tail],
            number[link.head],
            label=graphviz.escape(link.label),
            style="dotted" if link.control else "dashed" if dead else "solid",
            weight=str(weight(link)),
        )
    return picture


def _scope_title(scope: str, nature: str | None) -> str:
    title = graphviz.escape(scope.rpartition("/")[2])
    return f"{title} ({nature})" if nature else title


def _write_item(
    into: graphviz.Digraph,
    key: str,
    item: Item,
    states: list[str],
    nodes: Sequence[Mapping[str, Any]],
) -> None:
    fill, line = PRUNED if "pruned" in states else COLORS.get(item.kind, COLORS["op"])
    words = [item.title, item.detail, ", ".join(s for s in states if s != "needed")]
    into.node(
        key,
        label="\\n".join(graphviz.escape(word) for word in words if word),
        shape=_SHAPES.get(item.kind, "box"),
        style="dashed,filled" if "pruned" in states else _style(item),
        fillcolor=fill,
        color=state_color(states) or line,
        penwidth="2.4" if state_color(states) else "1",
        tooltip=graphviz.escape(str(nodes[item.members[0]]["name"])),
    )


def _style(item: Item) -> str:
    # Graphviz draws rounded corners on boxes alone.
    return "filled" if item.kind in _SHAPES else "rounded,filled"


def _marks(
    graph: Any, nodes: Sequence[Mapping[str, Any]], fetches: Any, feed_dict: Any
) -> dict[str, list[int]]:
    if graph is None:
        raise ValueError("A list of nodes has no fetches; give a Graph or a Session.")
    from dataflow.introspect.graph_json import needed_names

    index = {node["name"]: i for i, node in enumerate(nodes)}
    names = needed_names(graph, fetches, feed_dict)
    return {key: sorted(index[n] for n in names[key]) for key in ("fetched", "fed", "needed")}
