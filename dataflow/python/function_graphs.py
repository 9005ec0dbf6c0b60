"""``function_def_to_graph``: a function of a graph's library as a graph of its own, which programs look through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.function_def import LibraryFunction

__all__ = ["function_def_to_graph", "function_def_to_graph_def", "is_function"]


def _library() -> dict[str, Any]:
    """The functions of the default graph, by name; none in eager code."""
    graph = default_graph()
    if graph.executes_eagerly:
        return {}
    return {f.signature.name: f for f in graph.as_graph_def().library.function}


def _of(fdef: Any, copy_functions: bool) -> LibraryFunction:
    name = fdef.signature.name
    known = _library() if copy_functions else {}
    return LibraryFunction(name, {**known, name: fdef})


def _shapes(fdef: Any, input_shapes: Sequence[Any] | None) -> list[Any]:
    """A ``TensorShapeProto`` or None for each input; empty: nothing is known. Raises `ValueError` for another number."""
    count = len(fdef.signature.input_arg)
    if input_shapes is None and "_input_shapes" in fdef.attr:
        input_shapes = fdef.attr["_input_shapes"].list.shape
    if input_shapes and len(input_shapes) != count:
        raise ValueError(
            "Length of input_shapes must match the number of input_args. "
            f"len(input_shapes): {len(input_shapes)} len(input_arg): {count}"
        )
    return [s.as_proto() if hasattr(s, "as_proto") else s for s in input_shapes or ()]


def function_def_to_graph(
    fdef: Any, input_shapes: Sequence[Any] | None = None, copy_functions: bool = True
) -> Any:
    """The graph of a ``FunctionDef``: its ``name``, ``inputs`` (placeholders) and ``outputs`` are set.

    ``input_shapes``: a shape of each input, None where none is known; without it that of the attribute
    ``_input_shapes``. Functions that it calls are those of the default graph. Raises `ValueError` for
    another number of shapes.
    """
    return _of(fdef, copy_functions).traced(_shapes(fdef, input_shapes))


def function_def_to_graph_def(
    fdef: Any, input_shapes: Sequence[Any] | None = None, copy_functions: bool = True
) -> tuple[Any, dict[str, str]]:
    """A ``FunctionDef`` as a ``GraphDef`` with placeholders for its inputs.

    With it a dict: names of tensors as the function has them, ``node:output:index``, to ``node:index``.
    """
    function = _of(fdef, copy_functions)
    return function.graph_def(_shapes(fdef, input_shapes)), function.flat_names()


def is_function(fname: str) -> bool:
    """Whether the default graph has a function of that name."""
    return fname in _library()
