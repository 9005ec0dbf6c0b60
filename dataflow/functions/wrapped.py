"""`tf.wrap_function`: code written for graphs as a function that keeps its variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.functions.concrete import ConcreteFunction, initial_value_of, trace
from dataflow.functions.signatures import Parameters
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import eager_graph
from dataflow.graph.nest import flatten, map_structure
from dataflow.graph.operation import Operation
from dataflow.ops.variables import variable_creator_scope


class WrappedFunction(ConcreteFunction):
    """A function that was traced once, by `wrap_function`, and holds the variables that it made."""

    #: The variables that it made.
    held: tuple[Any, ...] = ()

    def prune(self, feeds: Any, fetches: Any, name: str | None = None) -> WrappedFunction:
        """The part of the graph that computes ``fetches`` from ``feeds``, as a function of its own.

        Both are tensors of ``graph`` or their names, or structures of them. ``fetches`` may have operations, too: they
        run, and None stands in their place. Other side effects of the function are left out.
        """
        graph = self.graph

        def element(item: Any) -> Any:
            return graph.as_graph_element(getattr(item, "name", item))

        inputs = [element(feed) for feed in flatten(feeds)]
        labels = [tensor.op.name for tensor in inputs]
        found = map_structure(element, fetches)
        run = [item for item in flatten(found) if isinstance(item, Operation)]
        results = map_structure(lambda item: None if isinstance(item, Operation) else item, found)
        made = WrappedFunction(graph, inputs, labels, results, run)
        made.held, made.name = self.held, name or self.name
        return made


def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> Any:
    """``fn`` as a function that is traced once, for placeholders of ``signature``, a list of `tf.TensorSpec`.

    The variables that ``fn`` makes (`tf.get_variable`, layers) are made once, and held by the result:
    ``result.graph`` is the graph, ``result.prune(feeds, fetches)`` a part of it. AutoGraph does not rewrite ``fn``, and
    as in a graph only what the results need runs: an assignment that nothing waits for does not.
    Only for eager execution: raises `RuntimeError` in a graph, where you call ``fn`` itself.
    """
    if not default_graph().executes_eagerly:
        raise RuntimeError(
            "tf.wrap_function is for eager execution: in a graph call the function, its nodes are added."
        )
    held: list[Any] = []

    def keep(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        kwargs["initial_value"] = initial_value_of(kwargs.get("initial_value"))
        held.append(next_creator(**kwargs))
        return held[-1]

    args = tuple(signature)
    names = Parameters(fn).names(len(args))
    label = name or getattr(fn, "__name__", "function").strip("_<>")
    before = eager_graph().attachments.pop("variables_of_functions", None)
    try:  # its names are its own
        with variable_creator_scope(keep):
            found = trace(fn, label, args, {}, names, autograph=False)
    finally:
        eager_graph().attachments["variables_of_functions"] = before
        if before is None:
            del eager_graph().attachments["variables_of_functions"]
    made = WrappedFunction(found.graph, found.inputs, names, found.structured_outputs, [])
    made.held = tuple(held)
    return made


def function_from_graph_def(graph_def: Any, inputs: Any, outputs: Any) -> Any:
    """A `GraphDef` as a function in eager code: of the tensors ``inputs``, what ``outputs`` give.

    Both are names of tensors in it (``"x:0"``), or structures of them.
    """
    from dataflow.graph.import_graph import import_graph_def

    whole = wrap_function(lambda: import_graph_def(graph_def, name=""), [])
    return whole.prune(inputs, outputs)
