"""Functions as graphs: what a user gives to ``map``, traced once and run by the session's engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dataflow.dtypes import DType
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.effects import acting
from dataflow.ops.sources import placeholder_op
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan, is_kept_by_function
from dataflow.runtime.time_limits import LoopEnd
from dataflow.shapes import Dims


class FunctionGraph(Graph):
    """The graph of a traced function: ``inputs`` and ``outputs`` are its tensors.

    Tensors of the outer graph that the function uses become inputs of their own (`captured`),
    whose values are given when the function is bound.
    """

    building_function = True

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.outer = default_graph()
        self.seed = self.outer.seed
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.captures = {}
        #: Nodes for the outer graph's variables, by name.
        self.variables: dict[str, Tensor] = {}
        #: Whether what it captures is copied into it, where that can be, as in TensorFlow.
        self.by_value = False
        self._copies: dict[Operation, Operation] = {}

    def capture(self, tensor: Tensor) -> Tensor:
        """The input that stands for a tensor of the outer graph."""
        assert self.captures is not None
        found = self.captures.get(tensor)
        if found is None and self.by_value and (behind := _to_copy(tensor)) is not None:
            return self._copied(tensor, behind)
        if found is None:
            with self.as_default(), self.name_scope(None), self.control_dependencies(None):
                if tensor.dtype.is_ref:
                    return self._own_variable(tensor)
                found = placeholder_op(
                    dtype=tensor.dtype.base_dtype,
                    shape=tensor.dims,
                    name=f"captured/{tensor.op.name}",
                )
            self.captures[tensor] = found
        return found

    def _copied(self, tensor: Tensor, behind: list[Operation]) -> Tensor:
        """``tensor`` made anew in this graph, from copies of the operations ``behind`` it."""
        for op in behind:
            if op not in self._copies:
                inputs = [self._copies[t.op].outputs[t.value_index] for t in op.inputs]
                attrs = {key: value for key, value in op.attrs.items() if key != "_class"}
                with self.control_dependencies(None):
                    name = self.unique_name(op.name)
                    self._copies[op] = self.make_op(op.op_def, name, inputs, attrs)
        return self._copies[tensor.op].outputs[tensor.value_index]

    def _own_variable(self, tensor: Tensor) -> Tensor:
        """A node of this graph for a variable of the outer one, which the function assigns to.

        Both are called alike to the session, which keeps one value for them.
        """
        op = tensor.op
        found = self.variables.get(op.name)
        if found is None:
            attrs = {**op.attrs, "shared_name": op.attrs.get("shared_name") or op.name}
            made = self.create_op(op.type, [], name=op.name, attrs=attrs)
            found = self.variables[op.name] = made.outputs[0]
        return found

    @property
    def captured(self) -> list[Tensor]:
        """Tensors of the outer graph that the function uses, in order of first use."""
        assert self.captures is not None
        return list(self.captures)

    def bind(self, context: Any, captured_values: list[Any]) -> Callable[..., tuple[Any, ...]]:
        """The function for the op with this context: takes arrays, returns a tuple of such.

        What its ops keep (streams of random numbers) begins anew each time; but in a function that
        another one calls it goes on, as long as that is bound. Nodes that change a variable, print or
        check run in every call, whether or not an output needs them (`ops.effects.acting`). A call ends as a loop's round does when
        the session is closed or the time of the run is up: datasets may be endless.
        """
        assert self.captures is not None
        inside = list(self.captures.values())
        count = len(self.outputs)
        fetches = FetchPlan(self, [*self.outputs, *acting(self)])
        kept = context.state.setdefault("function", {}) if is_kept_by_function(context) else {}
        plan = Plan(context.session, fetches, [*self.inputs, *inside], kept)
        plan.rewrite()
        values = list(captured_values)
        convert = plan.convert_feeds
        run = plan.run_flat
        stop = getattr(context.session, "loop_end", None) or LoopEnd()

        has_repeats = len(fetches.tensors) != count

        def call(*arguments: Any) -> tuple[Any, ...]:
            if stop.due:
                stop.end()
            results = run(convert([*arguments, *values]))
            return tuple(fetches.rebuild(results)[:count] if has_repeats else results)

        return call

    def __repr__(self) -> str:
        return f"<function graph {self.name!r}: {self.version} nodes>"


def trace(
    function: Callable[..., Any],
    name: str,
    dtypes: list[DType],
    shapes: list[Dims],
    call: Callable[[list[Tensor]], list[Tensor]],
    by_value: bool = False,
) -> FunctionGraph:
    """Runs ``call`` on placeholders inside a new function graph; ``function`` gives the name.

    ``call`` takes the input tensors and returns the output tensors. ``by_value``: what it uses of the
    outer graph is copied into it, unless that is state, fed, or part of a loop or branch.
    """
    graph = FunctionGraph(
        getattr(function, "__name__", name).replace("<lambda>", name).strip("_<>")
    )
    graph.by_value = by_value
    with graph.as_default():
        graph.inputs = [
            placeholder_op(dtype=d, shape=s, name=f"arg{i}")
            for i, (d, s) in enumerate(zip(dtypes, shapes, strict=True))
        ]
        outputs = call(graph.inputs)
        graph.outputs = [t if t.graph is graph else graph.capture(t) for t in outputs]
    return graph


def _to_copy(tensor: Tensor) -> list[Operation] | None:
    """The operations that ``tensor`` needs, inputs first; None where one of them cannot be copied."""
    order: list[Operation] = []
    seen: set[Operation] = set()
    stack = [(tensor.op, False)]
    while stack:
        op, is_done = stack.pop()
        if is_done:
            order.append(op)
        if is_done or op in seen:
            continue
        seen.add(op)
        # A node of a loop or branch, which is made of several, would be another one when copied.
        if op.op_def.stateful or op.op_def.control_flow or op.type == "Placeholder":
            return None
        stack.append((op, True))
        for needed in op.inputs:
            if needed.dtype.is_ref or needed.dtype.is_handle:
                return None
            stack.append((needed.op, False))
    return order


def refuse_state(graph: FunctionGraph) -> None:
    """Raises `ValueError` for what a one-shot iterator of this function's dataset cannot use."""
    for tensor in graph.captured:
        _refuse_state_behind(tensor)
    for name, tensor in _variables_within(graph):
        _refuse("stateful node", name, tensor.op.type)


def _variables_within(graph: FunctionGraph) -> Iterator[tuple[str, Tensor]]:
    yield from graph.variables.items()
    for op in graph.operations:
        for value in op.attrs.values():
            if isinstance(value, FunctionGraph):
                yield from _variables_within(value)


def _refuse_state_behind(tensor: Tensor) -> None:
    seen = set()
    stack = [tensor.op]
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type == "Placeholder" or op.op_def.stateful:
            what = "placeholder" if op.type == "Placeholder" else "stateful node"
            _refuse(what, op.name, op.type)
        stack.extend(t.op for t in op.inputs)


def _refuse(what: str, name: str, op_type: str) -> None:
    raise ValueError(
        "`Dataset.make_one_shot_iterator()` does not support datasets that capture stateful objects, "
        f"such as variables and tables: cannot capture a {what} (name:{name}, type:{op_type}) by "
        "value, as a one-shot iterator starts by itself, before anything is fed or initialized. Use "
        "dataset.make_initializable_iterator()."
    )
