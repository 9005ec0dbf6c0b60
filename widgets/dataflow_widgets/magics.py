"""``%%graph``: runs a cell and shows what it added to the graph.

``%load_ext dataflow_widgets`` first.
"""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.display import display


@magics_class
class GraphMagics(Magics):
    """The magics of dataflow_widgets."""

    @cell_magic("graph")  # type: ignore[arg-type]
    def graph(self, line: str, cell: str) -> None:
        """Runs the cell, then draws the operations that it added to the default graph.

        ``%%graph g`` watches the graph called ``g`` instead. Operations made earlier that the new
        ones read are drawn too.
        """
        name = line.strip()
        before = self._graph(name, required=False)
        known = before.version if before is not None else 0
        shell: Any = self.shell
        result = shell.run_cell(cell, silent=False)
        if not result.success:
            return  # the cell's own error has been shown
        graph = self._graph(name, required=True)
        if graph is not before:
            known = 0  # the cell made a new graph
        added = added_names(graph, known)
        if not added:
            print("This cell added no operations to the graph.")
            return
        from dataflow_widgets.graph_view import GraphView

        count = graph.version - known
        title = f"{count} operation{'' if count == 1 else 's'} added by this cell"
        display(  # type: ignore[no-untyped-call]
            GraphView(graph, only=added, title=title, is_live=False)
        )

    def _graph(self, name: str, *, required: bool) -> Any:
        from dataflow.graph.default_stacks import default_graph

        if not name:
            return default_graph()
        shell: Any = self.shell
        graph = shell.user_ns.get(name)
        if hasattr(graph, "get_operations"):
            return graph
        if required:
            raise NameError(f"%%graph {name}: there is no Graph called {name!r} in this notebook.")
        return None


def added_names(graph: Any, known: int) -> list[str]:
    """Names of the operations from index ``known`` on, and of what they read directly."""
    added = graph.get_operations()[known:]
    names = dict.fromkeys(op.name for op in added)
    for op in added:
        for tensor in op.inputs:
            names.setdefault(tensor.op.name)
    return list(names)
