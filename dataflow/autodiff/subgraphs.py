"""Subgraphs that eager code runs compiled: a traced function, the gradient along a tape.

A `Subgraph`, from some tensors of a graph to others, is compiled on its first call, and runs like a session's
plan. Where a tape watches an input, the tape records the call as one operation: the run also returns the values
that the gradient needs, and the gradient is another `Subgraph` of the same graph, which is fed those values and can
itself be differentiated.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.autodiff.gradients import gradients, takes_none
from dataflow.dtypes import resource, variant
from dataflow.graph import tracebacks
from dataflow.graph.eager import callable_of, eager_graph
from dataflow.graph.eager_kinds import EagerOperation
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.graph import Graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.tape import recording
from dataflow.graph.tensor import Tensor
from dataflow.ops.composites import parts_of
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.sources import placeholder

_lock = threading.RLock()


class Subgraph:
    """A part of a graph: ``outputs`` computed from ``inputs``, and the ``effects`` that run with it.

    ``inputs`` may be any tensors of the graph; nothing upstream of them is computed, and variables and constants
    among them are used as they are.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        inputs: list[Tensor],
        outputs: list[Tensor],
        effects: Sequence[Operation] = (),
    ) -> None:
        self.graph, self.inputs, self.outputs, self.effects = graph, inputs, outputs, effects
        self.name = name
        #: The places of the inputs whose values are fed.
        self.fed = [i for i, t in enumerate(inputs) if _is_fed(t)]
        self._is_prefix = self.fed == list(range(len(self.fed)))
        self._dtypes = [t.dtype.base_dtype for t in outputs]
        self._call: Callable[..., list[Any]] | None = None
        self._differentiable: _Differentiable | None = None

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The values of the outputs, for those of the inputs that are fed."""
        if self._call is None:
            fetches = [*self.outputs, *self.effects]
            if not fetches:
                return []
            self._call = callable_of(self.graph, fetches, [self.inputs[i] for i in self.fed])
        return self._call(*values)

    def apply(self, tensors: Sequence[Any]) -> list[Any]:
        """The outputs as tensors of eager code, for a tensor for each input; tapes that watch one record it."""
        tapes = recording.tapes
        if tapes and any(tape.watches(tensors) for tape in tapes):
            return self.differentiable.apply(tensors)
        if self._is_prefix:
            values = [t.known_value for t in tensors[: len(self.fed)]]
        else:
            values = [tensors[i].known_value for i in self.fed]
        made = eager_graph().constant
        return [made(v, d) for v, d in zip(self.run(values), self._dtypes, strict=False)]

    @property
    def differentiable(self) -> _Differentiable:
        """The subgraph as it runs under a tape."""
        if self._differentiable is None:
            with _lock:
                self._differentiable = self._differentiable or _Differentiable(self)
        return self._differentiable


def _is_fed(tensor: Tensor) -> bool:
    return not _is_resource(tensor) and tensor.op.type != "Const"


def _is_resource(tensor: Tensor) -> bool:
    return tensor.dtype.is_handle or tensor.dtype is resource or tensor.dtype is variant


def _carries(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype.is_floating or tensor.dtype.base_dtype.is_complex


class _Differentiable:
    """A subgraph that also returns the values that its gradient needs."""

    def __init__(self, subgraph: Subgraph) -> None:
        self.subgraph = subgraph
        graph = subgraph.graph
        self._num_nodes = len(graph.operations)
        self._sources = [i for i, t in enumerate(subgraph.inputs) if _is_source(t)]
        self._backward: dict[tuple[Tensor, ...], tuple[Subgraph, list[Any]]] = {}
        self._known = set(subgraph.inputs) | set(subgraph.outputs)
        flowing = tuple(dict.fromkeys(t for t in subgraph.outputs if _carries(t)))
        backward, _ = self._build(flowing, cut_anywhere=True)
        fresh = [t for t in backward.inputs if t.op.index < self._num_nodes]
        self.extra = [t for t in fresh if t not in self._known]
        self._known.update(self.extra)
        self._outputs = [*subgraph.outputs, *self.extra]
        self._forward = Subgraph(
            graph, subgraph.name, subgraph.inputs, self._outputs, subgraph.effects
        )

    def apply(self, tensors: Sequence[Any]) -> list[Any]:
        """As `Subgraph.apply`, recorded on the tapes."""
        graph = eager_graph()
        op = Call(graph, self.subgraph.name, _CALL, {}, "", tracebacks.capture())
        op.call = self
        values = self._forward.run([tensors[i].known_value for i in self._forward.fed])
        op.outputs = [
            EagerTensor(op, i, t.dtype.base_dtype, getattr(v, "shape", ()), v)
            for i, (t, v) in enumerate(zip(self._outputs, values, strict=False))
        ]
        graph.record(op, list(tensors))
        return op.outputs[: len(self.subgraph.outputs)]

    def gradient(self, op: Operation, grads: Sequence[Any]) -> list[Any]:
        """The gradients of the inputs of a recorded call, from those of its outputs (None: there is none)."""
        arrived: dict[Tensor, Any] = {}
        for tensor, grad in zip(self._outputs, grads, strict=True):
            if grad is not None and _carries(tensor):
                arrived[tensor] = arrived[tensor] + grad if tensor in arrived else grad
        result: list[Any] = [None] * len(op.inputs)
        if not arrived:
            return result
        flowing = tuple(arrived)
        with _lock:
            backward, found = self._backward.get(flowing) or self._build(flowing)
        values: dict[Tensor, Any] = dict(zip(self._outputs, op.outputs, strict=True))
        values.update(zip(self.subgraph.inputs, op.inputs, strict=True))
        given = [values[t] for t in backward.inputs[: len(backward.inputs) - len(flowing)]]
        made = iter(backward.apply([*given, *(_dense(arrived[t]) for t in flowing)]))
        for place, grad in zip(self._sources, found, strict=True):
            if grad is not None:
                parts, rebuild = _parts(grad)
                result[place] = rebuild([next(made) for _ in parts])
        return result

    @functools.cached_property
    def operations(self) -> list[Operation] | None:
        """The nodes of a call in order, where they only compute: no branches, loops or resources. Else None."""
        found: set[Operation] = set()
        left = [t.op for t in self._outputs if t not in self.subgraph.inputs]
        while left:
            op = left.pop()
            if op in found:
                continue
            found.add(op)
            only_computes = not (op.op_def.stateful or op.control_flow_context or op.control_inputs)
            if not only_computes or op.gradient_override or any(map(_is_resource, op.inputs)):
                return None
            left += [t.op for t in op.inputs if t not in self.subgraph.inputs]
        return sorted(found, key=lambda op: op.index)

    def copied_into(self, graph: Graph, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs of the call as nodes of the default graph, for tensors of it. It must only compute."""
        made = dict(zip(self.subgraph.inputs, inputs, strict=True))
        for op in self.operations or ():
            name, types = graph.unique_name(op.op_def.type), [t.dtype for t in op.outputs]
            node = graph.make_op(
                op.op_def, name, [made[t] for t in op.inputs], op.attrs, types, op.frames
            )
            for tensor, copy in zip(op.outputs, node.outputs, strict=True):
                copy.dims = tensor.dims
                made.setdefault(tensor, copy)
        return [made[t] for t in self._outputs]

    def _build(
        self, flowing: tuple[Tensor, ...], cut_anywhere: bool = False
    ) -> tuple[Subgraph, list[Any]]:
        """The subgraph from the values of the forward run, and gradients of ``flowing``, to those of the sources."""
        subgraph = self.subgraph
        graph = subgraph.graph
        sources = [subgraph.inputs[i] for i in self._sources]
        found: list[Any] = [None] * len(sources)
        with graph.as_default(), graph.control_dependencies(None):
            arriving = [placeholder(t.dtype.base_dtype, t.dims) for t in flowing]
            if flowing and sources:
                found = gradients(list(flowing), sources, arriving, stop_gradients=subgraph.inputs)
        outputs = [part for grad in found if grad is not None for part in _parts(grad)[0]]
        cut = self._cut(outputs, set(arriving), cut_anywhere)
        made = self._backward[flowing] = (
            Subgraph(graph, f"{subgraph.name}_gradient", [*cut, *arriving], outputs),
            found,
        )
        return made

    def _cut(self, outputs: list[Tensor], arriving: set[Tensor], anywhere: bool) -> list[Tensor]:
        """The tensors of the forward run that ``outputs`` are computed from.

        Those inside of branches and loops have no value outside: the gradient runs branches and loops again.
        Raises `Repeated` where that would do again what must happen once.
        """
        graph = self.subgraph.graph
        found: dict[Tensor, None] = {}
        seen: set[Tensor] = set()
        left = list(outputs)
        while left:
            tensor = left.pop()
            if tensor in seen or tensor in arriving:
                continue
            seen.add(tensor)
            op = tensor.op
            if op.index < self._num_nodes and not _is_resource(tensor) and op.type != "Const":
                is_outside = op.control_flow_context is None and graph.is_fetchable(tensor)
                if tensor in self._known or (anywhere and is_outside):
                    found[tensor] = None
                    continue
                if op.op_def.stateful or _reads_resource(op):
                    raise Repeated(op)
            left += op.inputs
            for control in op.control_inputs:
                left += control.inputs
        return list(found)


def _reads_resource(op: Operation) -> bool:
    """Whether a node takes the value of a variable, which may be another one later."""
    return not op.op_def.control_flow and any(map(_is_resource, op.inputs))


class Repeated(Exception):
    """The gradient of a function would have to run ``op`` again, which changes something or draws anew."""

    def __init__(self, op: Operation) -> None:
        super().__init__(op.name)
        self.op = op


def _is_source(tensor: Tensor) -> bool:
    dtype = tensor.dtype.value_dtype
    return dtype.is_floating or dtype.is_complex


def _dense(grad: Any) -> Any:
    from dataflow.graph.conversion import convert_to_tensor

    return convert_to_tensor(grad) if isinstance(grad, IndexedSlices) else grad


def _parts(grad: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    found = parts_of(grad)
    return found if found is not None else ([grad], lambda parts: parts[0])


class Call(EagerOperation):
    """What eager code records for a subgraph that runs under a tape."""

    __slots__ = ("call",)
    call: _Differentiable


def _call_rule(*args: Tensor) -> Any:
    """The outputs of a call are known by its run."""
    raise AssertionError("calls are not made as nodes are")


#: No op of the registry: nothing but tapes sees it.
_CALL = OpDef(
    "StatefulPartitionedCall", "args: list(Tin) -> output: list(Tout)", _call_rule, {}, True, {}
)


@takes_none
def _call_gradient(op: Call, *grads: Any) -> list[Any]:
    return op.call.gradient(op, grads)


_CALL.gradient_function = _call_gradient
