"""Common subexpressions: two nodes of one type with the same inputs are one node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import can_merge, changers, reads_by_handle, variable_behind
from dataflow.rewrites.gradual import Steps, in_steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

_MAX_CONSTANT_BYTES = 64
#: Their results are accumulators that other nodes add to, so each must be separate.
_GIVES_ITS_OWN = frozenset({"_RoundsSum"})


def _attr_key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.nbytes > _MAX_CONSTANT_BYTES:
            return id(value)
        if value.dtype == object:  # strings; what else there is in such arrays is known by itself
            items = value.reshape(-1).tolist()
            if not all(type(item) is bytes for item in items):
                return id(value)
            return ("strings", value.shape, tuple(items))
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, (list, tuple)):
        return tuple(_attr_key(v) for v in value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _source(tensor: Tensor, fed: Collection[Tensor]) -> Tensor:
    """What `StopGradient` passes on: a run knows no gradients.

    Not what may be a variable's value: one node may read it before a change, another after.
    """
    while tensor.op.type == "StopGradient" and tensor not in fed:
        source = tensor.op.inputs[0]
        if source.dtype.is_ref or source.op.op_def.is_alias or tensor.op.control_inputs:
            break
        tensor = source
    return tensor


def _key(op: Operation, fed: Collection[Tensor]) -> Any:
    attrs = tuple((k, _attr_key(v)) for k, v in sorted(op.attrs.items()) if not k.startswith("_"))
    return (
        op.type,
        tuple([_source(t, fed) for t in op.inputs]),
        tuple(sorted(c.index for c in op.control_inputs)),
        op.device,
        attrs,
    )


def run(work: WorkingGraph, journal: list[Hit]) -> Steps[None]:
    """Keeps the first of several equal nodes and gives it the consumers of the others."""
    seen: dict[Any, Operation] = {}
    ops = work.needed()
    reads = _Reads(ops, work)
    for some in in_steps(ops):
        for op in some:
            time = reads.time(op)
            if (can_merge(op) and op.type not in _GIVES_ITS_OWN) or time is not None:
                first = seen.setdefault((_key(op, work.feed_tensors), time), op)
                if first is not op:
                    _merge(work, journal, op, first)
        yield 2 * len(some)


class _Reads:
    """Between which changes of its variable a read of a resource variable stands."""

    def __init__(self, ops: Sequence[Operation], work: WorkingGraph) -> None:
        #: How often each variable has changed so far; ``None`` where loops or branches change it, too.
        self._changes: dict[Operation, int | None] = {}
        self._changed: dict[Operation, list[Operation]] = {}
        if not any(reads_by_handle(op) for op in ops):
            return
        where = positions(ops, work.feed_tensors)
        for variable, changing in changers(ops).items():
            in_line = all(where.get(op, OUTSIDE) == OUTSIDE for op in changing)
            self._changes[variable] = 0 if in_line else None
            for op in changing:
                self._changed.setdefault(op, []).append(variable)

    def time(self, op: Operation) -> int | None:
        """For a read, the number of changes before it, where that can be told; nodes come in order."""
        for variable in self._changed.get(op, ()):
            count = self._changes[variable]
            self._changes[variable] = None if count is None else count + 1
        return self._changes.get(variable_behind(op), 0) if reads_by_handle(op) else None


def _merge(work: WorkingGraph, journal: list[Hit], op: Operation, first: Operation) -> None:
    work.begin(op.outputs[0])
    for old, new in zip(op.outputs, first.outputs, strict=True):
        work.replace(old, new)
    journal.append(
        Hit(
            "common_subexpression",
            "f(x), f(x) -> one f(x)",
            op.outputs[0].name,
            first.outputs[0].name,
            (op.name,),
            (),
        )
    )
