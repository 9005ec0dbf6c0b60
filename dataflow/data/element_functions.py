"""Functions of elements, traced into graphs of their own: what `Dataset.map` and its like call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import shapes
from dataflow.autograph.conversion import converted_if_needed
from dataflow.data.functions import FunctionGraph, trace
from dataflow.data.structure import Structure, to_tensors
from dataflow.graph.tensor import Tensor
from dataflow.ops.type_specs import TensorSpec


def trace_on_elements(
    ours: Structure, function: Callable[..., Any], name: str
) -> tuple[FunctionGraph, Any]:
    """A function's graph on elements of a structure, and the nesting of what it returned."""
    nested: Any = None
    run = converted_if_needed(function)

    def call(inputs: list[Tensor]) -> list[Tensor]:
        nonlocal nested
        element = ours.decode(inputs)
        result = run(*element) if type(element) is tuple else run(element)
        if isinstance(result, list):  # what an op with several outputs returned
            result = tuple(result)
        nested = to_tensors(result)
        return Structure.of(nested).encode(nested)

    graph = trace(function, name, ours.dtypes, ours.dims, call)
    return graph, nested


def trace_with_state(
    ours: Structure, function: Callable[..., Any], state: Any, name: str
) -> tuple[FunctionGraph, Any, list[Tensor]]:
    """The graph of ``function(state, element)``, what it returned, and the first state's tensors.

    It is traced again for as long as it changes what is known of the state's shapes.
    """
    initial = to_tensors(state)
    before = Structure.of(initial)
    flat = before.encode(initial)
    nested: Any = None
    dims = [t.dims for t in flat]
    while True:
        known = before.with_dims(
            [
                own if isinstance(spec, TensorSpec) else whole
                for spec, own, whole in zip(before.specs, dims, before.dims, strict=True)
            ]
        )

        def call(inputs: list[Tensor], held: Structure = known) -> list[Tensor]:
            nonlocal nested
            packed = held.decode(inputs[: len(flat)])
            element = ours.decode(inputs[len(flat) :])
            nested = to_tensors(function(packed, element))
            return Structure.of(nested).encode(nested)

        kinds = [t.dtype.base_dtype for t in flat] + ours.dtypes
        graph = trace(function, name, kinds, dims + ours.dims, call)
        # The state may change its shape: what is known of it holds before and after every step.
        pairs = zip(dims, graph.outputs, strict=False)
        common = [shapes.common(own, after.dims) for own, after in pairs]
        if common == dims or len(common) < len(dims):
            return graph, nested, flat
        dims = common
