"""``convert_to_constants``: functions whose variables have become constants."""

from __future__ import annotations

from typing import Any

from dataflow.functions.concrete import ConcreteFunction
from dataflow.functions.wrapped import WrappedFunction, wrap_function
from dataflow.graph.import_graph import import_graph_def
from dataflow.graph_util import convert_variables_to_constants

__all__ = ["convert_variables_to_constants_v2"]


class _Values:
    """The values of variables, by the names of their nodes in a graph: what a session is asked for."""

    def __init__(self, function: ConcreteFunction, graph_def: Any) -> None:
        variables = {v.handle.op.attrs["shared_name"]: v for v in function.variables}
        self._by_name = {
            node.name: variables.get(node.attr["shared_name"].s.decode())
            for node in graph_def.node
            if "shared_name" in node.attr
        }

    def run(self, fetches: list[str]) -> list[Any]:
        found = []
        for fetch in fetches:
            variable = self._by_name.get(fetch.partition(":")[0])
            if variable is None:
                raise ValueError(
                    f"{fetch!r} is not a variable of this function, so it has no value to freeze."
                )
            found.append(variable.numpy())
        return found


def convert_variables_to_constants_v2(
    func: ConcreteFunction, lower_control_flow: bool = True
) -> WrappedFunction:
    """A concrete function as another, with the values that its variables have now as constants.

    ``result.graph.as_graph_def()`` is the frozen graph; the result takes what ``func`` takes, and returns
    its outputs in a list. Raises `ValueError` where the function changes a variable.
    """
    graph_def = func.graph.as_graph_def()
    inputs = [tensor for tensor in func.inputs if not tensor.dtype.is_handle]
    kept = [tensor.op.name for tensor in (*inputs, *func.outputs)]
    frozen = convert_variables_to_constants(_Values(func, graph_def), graph_def, kept)
    whole = wrap_function(lambda: import_graph_def(frozen, name=""), [], name="frozen")
    made: WrappedFunction = whole.prune([t.name for t in inputs], [t.name for t in func.outputs])
    return made
