"""`dataflow run`: a TensorFlow 1 program as it stands, and a look at the graph that it built."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run(
    program: str,
    arguments: Sequence[str],
    *,
    python2: bool = False,
    graph: bool = False,
    page: str | None = None,
    no_browser: bool = False,
) -> int:
    """Runs ``program``; the return value is its exit status.

    With ``graph`` (or ``page``) the graph that it built is written as one page of HTML, which works
    offline, also where the program failed, and opened in the browser unless ``no_browser``.
    """
    from dataflow.shim.programs import run_program

    if not (graph or page):
        return run_program(Path(program), arguments, python2=python2)
    built = _keep_graphs()
    place = Path(page or f"{Path(program).stem}_graph.html").absolute()
    status = run_program(Path(program), arguments, python2=python2)
    return _write_page(built, place, Path(program).name, no_browser) or status


def _keep_graphs() -> list[Any]:
    """A list that every graph that the program builds in from now on is added to, and so lives on.

    That is each default graph: neither what functions are traced to nor the copies that a run rewrites.
    """
    from dataflow.graph import default_stacks
    from dataflow.graph.graph import Graph

    built: list[Any] = []

    def keep(graph: Any) -> Any:
        if type(graph) is Graph and not any(graph is other for other in built):
            built.append(graph)
        return graph

    as_default, make_global = Graph.as_default, default_stacks.make_global_graph
    Graph.as_default = lambda self: as_default(keep(self))  # type: ignore[method-assign]
    default_stacks.make_global_graph = lambda: keep(make_global())
    default_stacks.default_graph()  # the first one
    return built


def _write_page(built: list[Any], place: Path, title: str, no_browser: bool) -> int:
    graph = max(built, key=lambda g: len(g.get_operations()), default=None)
    if graph is None or not graph.get_operations():
        print(f"dataflow run: {title} built no graph; no page was written.", file=sys.stderr)
        return 0
    try:
        from dataflow_widgets.static.page import graph_page
    except ImportError:
        from dataflow.extras import install

        print(f"dataflow run: --graph needs the widgets: {install('widgets')}", file=sys.stderr)
        return 1
    try:
        place.write_text(graph_page(graph, title), encoding="utf-8")
    except OSError as error:
        print(f"dataflow run: {place} cannot be written: {error.strerror}.", file=sys.stderr)
        return 1
    others = len([g for g in built if g is not graph and g.get_operations()])
    more = f" (the largest of {others + 1} graphs)" if others else ""
    print(f"dataflow run: the graph{more} is in {place}", file=sys.stderr)
    if not no_browser:
        import webbrowser

        webbrowser.open(place.as_uri())
    return 0
