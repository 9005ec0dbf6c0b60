"""Which loops and branches the nodes of a plan stand in, and in which order they can run.

A *frame* is a loop: the nodes between its Enters and its Exits. A *guard* is a pair (predicate, branch) that
a node inherits from a Switch above it. Invariant: the guards of a predicate are a prefix of every guard path
that contains it. `control_structure` writes the code.
"""

from __future__ import annotations

from typing import Any

from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.loop_frames import Frame, find_frames, is_head

Guard = tuple[Tensor, bool]
Path = tuple[Guard, ...]

Item = Any  # an Operation or a Frame


class ControlFlow:
    """The frames of a plan's nodes and, as they are written, the guards of each."""

    def __init__(self, ops: list[Operation], fed: set[Tensor]) -> None:
        self.fed = fed
        self.root, self.frame_of = find_frames(ops, fed)
        #: Guards of each node; ``None``: it can never run.
        self.guards: dict[Operation, Path | None] = {}
        self._ops = ops

    # ---- order ----------------------------------------------------------------------------

    def item_of(self, op: Operation, frame: Frame) -> Item | None:
        """The stand-in for ``op`` among the items of ``frame``: itself, or a loop inside it."""
        inner = self.frame_of.get(op)
        if inner is None or inner is frame:
            return op if inner is frame else None
        while inner.parent is not None and inner.parent is not frame:
            inner = inner.parent
        return inner if inner.parent is frame else None

    def sources(self, item: Item, frame: Frame) -> list[Item]:
        """Items of ``frame`` that must come before ``item``."""
        result: dict[Item, None] = {}
        for op in members(item):
            inputs = (
                []
                if op.op_def.control_flow == "merge" and frame is self.frame_of[op] and is_head(op)
                else op.inputs
            )
            for source in [t.op for t in inputs if t not in self.fed] + op.control_inputs:
                found = self.item_of(source, frame)
                if found is not None and found is not item:
                    result[found] = None
        return list(result)

    def order(self, frame: Frame) -> list[Item]:
        """The items of ``frame`` in an order in which they can run."""
        items: dict[Item, None] = {}
        for op in self._ops:
            found = self.item_of(op, frame)
            if found is not None:
                items[found] = None
        result: list[Item] = []
        done: set[Item] = set()
        entered: set[Item] = set()
        for start in items:
            stack: list[tuple[Item, bool]] = [(start, False)]
            while stack:
                item, leaving = stack.pop()
                if item in done:
                    continue
                if leaving:
                    done.add(item)
                    result.append(item)
                    continue
                if item in entered:
                    op = members(item)[0]
                    raise InvalidArgumentError(
                        None, op, f"{op.name!r} waits for itself, through a loop: it cannot be run."
                    )
                entered.add(item)
                stack.append((item, True))
                for source in reversed(self.sources(item, frame)):
                    if source not in done:
                        stack.append((source, False))
        return result

    # ---- guards ---------------------------------------------------------------------------

    def guards_from(self, tensor: Tensor, frame: Frame) -> Path | None:
        """The guards that a value brings along to a node of ``frame``."""
        source = tensor.op
        if tensor in self.fed:
            return ()
        if self.item_of(source, frame) is None:
            return ()
        path = self.guards.get(source, ())
        if path is None:
            return None
        if source.op_def.control_flow == "switch" and not self.is_loop_switch(source):
            guard = (self.predicate(source.inputs[1]), tensor.value_index == 1)
            return self.union(path, (guard,))
        return path

    def predicate(self, tensor: Tensor) -> Tensor:
        """The tensor that a predicate is a copy of (``cond/pred_id`` is an Identity)."""
        while tensor.op.type == "Identity" and tensor not in self.fed:
            if tensor.op.inputs[0].dtype.is_ref:
                break
            tensor = tensor.op.inputs[0]
        return tensor

    def guards_of(self, op: Operation, frame: Frame) -> Path | None:
        """The guards of a node, from its inputs and control inputs; ``None``: never runs."""
        path: Path | None = ()
        if op.op_def.control_flow == "merge":
            alive = [p for t in op.inputs if (p := self.guards_from(t, frame)) is not None]
            if not alive:
                return None
            path = tuple(g for g in alive[0] if all(g in other for other in alive[1:]))
            if len(alive) == 1:
                path = alive[0]
        else:
            for tensor in op.inputs:
                path = self.union(path, self.guards_from(tensor, frame))
        for source in op.control_inputs:
            if self.item_of(source, frame) is not None:
                path = self.union(path, self.guards.get(source, ()))
        return path

    def union(self, a: Path | None, b: Path | None) -> Path | None:
        """All guards of both; ``None`` when they contradict each other."""
        if a is None or b is None:
            return None
        result = list(a)
        for predicate, branch in b:
            if (predicate, branch) in result:
                continue
            if (predicate, not branch) in result:
                return None
            result.append((predicate, branch))
        return tuple(result)

    def is_loop_switch(self, op: Operation) -> bool:
        """True for a Switch on a loop's condition: it passes the loop variable on."""
        return op.inputs[1].op.op_def.control_flow == "loop_cond"

    def loop_guards(self, frame: Frame, parent: Frame) -> Path | None:
        """The guards of a whole loop: those of everything that enters it."""
        path: Path | None = ()
        inside = set(members(frame))
        for op in inside:
            for tensor in op.inputs:
                if tensor.op not in inside:
                    path = self.union(path, self.guards_from(tensor, parent))
            for source in op.control_inputs:
                if source not in inside and self.item_of(source, parent) is not None:
                    path = self.union(path, self.guards.get(source, ()))
        return path

    def ancestors(self, condition: Operation, frame: Frame) -> set[Item]:
        """The items of ``frame`` that the condition needs."""
        result: set[Item] = set()
        stack: list[Item] = [condition]
        while stack:
            for source in self.sources(stack.pop(), frame):
                if source not in result:
                    result.add(source)
                    stack.append(source)
        return result


def members(item: Item) -> list[Operation]:
    """The nodes of an item: itself, or those of a loop and of the loops inside it."""
    if not isinstance(item, Frame):
        return [item]
    result = list(item.nodes)
    for child in item.children:
        result.extend(members(child))
    return result
