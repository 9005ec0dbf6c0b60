"""Gradients along tapes that look alike, compiled once.

A training loop of eager code records the same operations again and again. `recorded_gradients` walks
back through a tape that is new; from the second one of its kind on, the recorded operations are built as a
graph, differentiated there, and compiled, and each further tape only feeds its values to that plan.
No recorded operation is computed again.

Tapes are alike if their operations are, with their attributes, the shapes and dtypes of what goes in and out, the
wiring, the variables, and the values of shapes and axes. Operations with a custom gradient, with side effects, or on
resources other than variables are left to the walk. For a further tape the plan is one operation, which can be
differentiated again.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.autodiff.gradients import gradients
from dataflow.autodiff.subgraphs import Call, Subgraph
from dataflow.graph.graph import Graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.tape import Record, Tape, connected
from dataflow.graph.tensor import Tensor
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.sources import placeholder

#: Plans that are kept, and kinds of tapes that were seen once.
_MOST_PLANS, _MOST_SEEN = 64, 1024
#: A shape or axes with more numbers than these are fed like other values.
_MOST_NUMBERS = 16


class _Plan:
    """The compiled gradient of tapes of one kind, whose tensors are known by their numbers."""

    __slots__ = ("fed", "results", "subgraph")

    def __init__(self, subgraph: Subgraph, fed: list[int], results: list[Any]) -> None:
        self.subgraph = subgraph
        self.fed = fed
        #: For each source a tensor of the plan, `IndexedSlices` of them, or ``None``.
        self.results = results


class _Kind:
    """What tapes have in common (`key`), and the tensors of this one in the order of their numbers."""

    def __init__(
        self, records: list[Record], ys: list[Tensor], xs: list[Tensor], given: list[Any]
    ) -> None:
        self.tensors: list[Any] = []
        self.numbers: dict[Tensor, int] = {}
        #: The numbers of shapes and axes, which are constants of the plan.
        self.constants: set[int] = set()
        #: None where the gradient is not planned.
        self.key: tuple[Any, ...] | None = None
        self._parts: list[Any] = []
        can_be_planned = all(self._note(op, inputs) for op, inputs in records)
        if can_be_planned and all(y in self.numbers and _has_value(y) for y in ys):
            parts = self._parts
            parts += [self.numbers[tensor] for tensor in ys]
            parts.append(None)
            parts += [self.numbers.get(tensor) for tensor in xs]
            for tensor in given:
                parts += (tensor.dtype, tensor.dims)
            self.key = tuple(parts)

    def _note(self, op: Operation, inputs: list[Any]) -> bool:
        """Adds what an operation has in common with others; whether its gradient can be planned."""
        op_def, kind = op.op_def, op.kind  # type: ignore[attr-defined]
        if isinstance(op, Call):
            return self._note_call(op, inputs)
        if op.gradient_override or kind is None:
            return False
        if op_def.stateful and all(tensor.handle_node is None for tensor in inputs):
            return False
        for place, tensor in enumerate(inputs):
            if tensor not in self.numbers:
                if not _has_value(tensor) and getattr(tensor, "variable", None) is None:
                    return False
                self._number(tensor)
                self._parts += self._given(tensor, _is_setting(op_def, place, len(inputs), tensor))
            self._parts.append(self.numbers[tensor])
        self._parts.append(kind)
        for tensor in op.outputs:
            if not _has_value(tensor):
                return False
            self._number(tensor)
            self._parts.append(tensor.dims)
        return True

    def _note_call(self, op: Call, inputs: list[Any]) -> bool:
        """As `_note`, for a gradient that came from a plan itself: its nodes are copied."""
        if op.call.operations is None:
            return False
        for tensor in inputs:
            if not _has_value(tensor):
                return False
            if tensor not in self.numbers:
                self._number(tensor)
                self._parts += (tensor.dtype, tensor.dims)
            self._parts.append(self.numbers[tensor])
        self._parts.append(op.call)
        for tensor in op.outputs:
            self._number(tensor)
            self._parts.append(tensor.dims)
        return True

    def _number(self, tensor: Any) -> None:
        self.numbers[tensor] = len(self.tensors)
        self.tensors.append(tensor)

    def _given(self, tensor: Any, is_setting: bool) -> tuple[Any, ...]:
        """What tells tensors apart that were not made on the tape."""
        if tensor.handle_node is not None:
            return (tensor.handle_node,)
        if is_setting:
            self.constants.add(self.numbers[tensor])
            return tensor.dtype, tensor.dims, tensor.known_value.tobytes()
        return tensor.dtype, tensor.dims


@functools.cache
def _settings_of(op_def: OpDef) -> tuple[frozenset[int], frozenset[int]]:
    """Which inputs are shapes or axes, counted from the first and (negative) from the last one."""
    names, is_list = [a.name for a in op_def.inputs], [a.is_list for a in op_def.inputs]
    host, count = op_def.host_inputs, len(op_def.inputs)
    return (
        frozenset(i for i in range(count) if names[i] in host and not any(is_list[: i + 1])),
        frozenset(i - count for i in range(count) if names[i] in host and not any(is_list[i:])),
    )


def _is_setting(op_def: OpDef, place: int, count: int, tensor: Any) -> bool:
    if not op_def.host_inputs or tensor.dtype.is_handle or tensor.dtype.kind == "x":
        return False
    if tensor.known_value.size > _MOST_NUMBERS:
        return False
    first, last = _settings_of(op_def)
    return place in first or place - count in last


class _Plans:
    """The plans, by the keys of their kinds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self._seen: set[tuple[Any, ...]] = set()

    def of(self, kind: _Kind, build: Callable[[], _Plan]) -> _Plan | None:
        """The plan of a kind that was met before; ``None`` where it was not, or there can be none."""
        key = kind.key
        if key is None or not _has_hash(key):
            return None
        with self._lock:
            plan = self._plans.pop(key, None)
            if plan is None:
                if key not in self._seen:
                    if len(self._seen) >= _MOST_SEEN:
                        self._seen.clear()
                    self._seen.add(key)
                    return None
                plan = build()
                self._seen.discard(key)
                if len(self._plans) >= _MOST_PLANS:
                    self._plans.pop(next(iter(self._plans)))
            self._plans[key] = plan  # the latest is the last
            return plan


def _has_hash(key: tuple[Any, ...]) -> bool:
    try:
        hash(key)
    except TypeError:  # an attribute has none
        return False
    return True


_plans = _Plans()


def recorded_gradients(
    tape: Tape, ys: list[Tensor], xs: list[Tensor], grad_ys: list[Any] | None
) -> list[Any]:
    """`gradients` along what a tape has recorded, by a plan where it can be.

    ``ys`` and ``xs`` are tensors of the tape. For each of ``xs`` there is a tensor, `IndexedSlices`
    or ``None``.
    """
    given = list(grad_ys or ())
    records = tape.records_of(ys)
    if all(_has_value(tensor) for tensor in given):
        kind = _Kind(records, ys, xs, given)
        plan = _plans.of(kind, lambda: _build(records, kind, ys, xs, given))
        if plan is not None:
            return _run(plan, [*kind.tensors, *given])
    with connected(records):
        return gradients(ys, xs, grad_ys)


def _has_value(tensor: Any) -> bool:
    return isinstance(tensor, Tensor) and getattr(tensor, "known_value", None) is not None


def _run(plan: _Plan, tensors: list[Any]) -> list[Any]:
    values = iter(plan.subgraph.apply([tensors[number] for number in plan.fed]))

    def made(tensor: Any) -> Any:
        if isinstance(tensor, IndexedSlices):
            return IndexedSlices(*map(made, _parts(tensor)))
        return None if tensor is None else next(values)

    return [made(tensor) for tensor in plan.results]


def _build(
    records: list[Record], kind: _Kind, ys: list[Tensor], xs: list[Tensor], given: list[Any]
) -> _Plan:
    """The plan of a kind, made from a tape of it."""
    graph = Graph()
    nodes: dict[Tensor, Tensor] = {}
    by_node: dict[Tensor, int] = {}
    made_here = {tensor for op, _ in records for tensor in op.outputs}
    with graph.as_default():
        for number, tensor in enumerate(kind.tensors):
            if tensor not in made_here:
                nodes[tensor] = _stand_in(graph, tensor, number in kind.constants)
                by_node[nodes[tensor]] = number
        for op, inputs in records:
            ins = [nodes[tensor] for tensor in inputs]
            outputs = _outputs_of(graph, op, ins)
            for made, tensor in zip(outputs, op.outputs, strict=True):
                made.dims = tensor.dims
                nodes[tensor] = made
                by_node[made] = kind.numbers[tensor]
        grad_ys = [_stand_in(graph, tensor, False) for tensor in given]
        by_node.update((node, len(kind.tensors) + i) for i, node in enumerate(grad_ys))
        used = [x for x in xs if x in nodes]
        found = gradients([nodes[y] for y in ys], [nodes[x] for x in used], grad_ys or None)
        by_source = dict(zip(used, found, strict=True))
        results = [by_source.get(x) for x in xs]
    fetches = [part for result in results for part in _parts(result)]
    fed = _needed(fetches, by_node)
    subgraph = Subgraph(graph, "gradient", fed, fetches)
    return _Plan(subgraph, [by_node[node] for node in fed], results)


def _outputs_of(graph: Graph, op: Operation, inputs: list[Tensor]) -> list[Tensor]:
    """The tensors that stand for what a recorded operation gave."""
    if isinstance(op, Call):
        return op.call.copied_into(graph, inputs)
    name = graph.unique_name(op.op_def.type)
    types = [tensor.dtype for tensor in op.outputs]
    return graph.make_op(op.op_def, name, inputs, op.attrs, types, op.frames).outputs


def _stand_in(graph: Graph, tensor: Any, is_constant: bool) -> Tensor:
    """What stands for a tensor that was not made on the tape."""
    if is_constant or tensor.dtype.is_handle:
        return tensor.in_graph(graph)  # type: ignore[no-any-return]
    return placeholder(tensor.dtype.base_dtype, tensor.dims)


def _parts(result: Any) -> list[Tensor]:
    if isinstance(result, IndexedSlices):
        found = [result.values, result.indices, result.dense_shape]
        return [part for part in found if part is not None]
    return [] if result is None else [result]


def _needed(fetches: Sequence[Tensor], by_node: dict[Tensor, int]) -> list[Tensor]:
    """Those of the recorded tensors that the fetched ones are computed from."""
    found: dict[Tensor, None] = {}
    seen: set[Tensor] = set()
    left = list(fetches)
    while left:
        tensor = left.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor in by_node and not tensor.dtype.is_handle:
            if tensor.op.type != "Const":
                found[tensor] = None
            continue
        left += tensor.op.inputs
        for op in tensor.op.control_inputs:
            left += op.inputs
    return list(found)
