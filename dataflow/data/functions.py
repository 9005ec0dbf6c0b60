"""Functions as graphs: what a user gives to ``map``, traced once and run by the session's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.dtypes import DType
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import placeholder_op
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from dataflow.shapes import Dims


class FunctionGraph(Graph):
    """The graph of a traced function: ``inputs`` and ``outputs`` are its tensors.

    Tensors of the outer graph that the function uses become inputs of their own (`captured`),
    whose values are given when the function is bound.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.outer = default_graph()
        self.seed = self.outer.seed
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.captures = {}

    def capture(self, tensor: Tensor) -> Tensor:
        """The input that stands for a tensor of the outer graph."""
        assert self.captures is not None
        found = self.captures.get(tensor)
        if found is None:
            if tensor.dtype.is_ref:
                raise ValueError(
                    f"The function {self.name!r} assigns to the variable {tensor.op.name!r} of the "
                    "outer graph. Functions of datasets may read variables, not change them."
                )
            with self.as_default(), self.name_scope(None), self.control_dependencies(None):
                found = placeholder_op(
                    dtype=tensor.dtype.base_dtype,
                    shape=tensor.dims,
                    name=f"captured/{tensor.op.name}",
                )
            self.captures[tensor] = found
        return found

    @property
    def captured(self) -> list[Tensor]:
        """Tensors of the outer graph that the function uses, in order of first use."""
        assert self.captures is not None
        return list(self.captures)

    def bind(self, session: Any, captured_values: list[Any]) -> Callable[..., tuple[Any, ...]]:
        """The function for a session: takes arrays, returns a tuple of arrays (or datasets)."""
        assert self.captures is not None
        inside = list(self.captures.values())
        fetches = FetchPlan(self, self.outputs)
        plan = Plan(session, fetches, [*self.inputs, *inside])
        plan.rewrite()
        values = list(captured_values)
        convert = plan.convert_feeds
        run = plan.run_flat

        def call(*arguments: Any) -> tuple[Any, ...]:
            return tuple(run(convert([*arguments, *values])))

        def call_with_repeats(*arguments: Any) -> tuple[Any, ...]:
            return tuple(fetches.rebuild(run(convert([*arguments, *values]))))

        return call if len(fetches.tensors) == len(self.outputs) else call_with_repeats

    def __repr__(self) -> str:
        return f"<function graph {self.name!r}: {self.version} nodes>"


def trace(
    function: Callable[..., Any],
    name: str,
    dtypes: list[DType],
    shapes: list[Dims],
    call: Callable[[list[Tensor]], list[Tensor]],
) -> FunctionGraph:
    """Runs ``call`` on placeholders inside a new function graph; ``function`` gives the name.

    ``call`` takes the input tensors and returns the output tensors.
    """
    graph = FunctionGraph(
        getattr(function, "__name__", name).replace("<lambda>", name).strip("_<>")
    )
    with graph.as_default():
        graph.inputs = [
            placeholder_op(dtype=d, shape=s, name=f"arg{i}")
            for i, (d, s) in enumerate(zip(dtypes, shapes, strict=True))
        ]
        outputs = call(graph.inputs)
        graph.outputs = [t if t.graph is graph else graph.capture(t) for t in outputs]
    return graph
