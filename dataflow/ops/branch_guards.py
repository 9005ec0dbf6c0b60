"""Which branches of conditionals must be taken in a round of a loop for a value to be there."""

from __future__ import annotations

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow
from dataflow.ops.control_flow_context import WhileContext, is_loop_switch, while_context_of

Guards = tuple[tuple[Tensor, bool], ...]


def same_predicate(tensor: Tensor, loop: WhileContext) -> Tensor:
    """The tensor of the same loop that a predicate is a copy of (``cond/pred_id``)."""
    while tensor.op.type == "Identity":
        source = tensor.op.inputs[0]
        if source.dtype.is_ref or while_context_of(source.op) is not loop:
            break
        tensor = source
    return tensor


def merge_branches(
    pred: Tensor, on_false: Tensor, on_true: Tensor, name: str | None = None
) -> Tensor:
    """A Merge of two branches of ``pred``, remembered for its own gradient."""
    result = control_flow.merge([on_false, on_true], name=name)
    result.graph.attachments.setdefault("merge_predicates", {})[result.op] = pred
    return result


class GuardFinder:
    """Which branches must be taken in a round of a loop for a value of it to be there.

    ``of(tensor)`` gives (predicate, branch) pairs, outer conditionals first. They follow from the
    Switches on the way to the value that no Merge has brought together again.
    """

    def __init__(self, loop: WhileContext) -> None:
        self.loop = loop
        self._known: dict[Operation, Guards] = {}

    def of(self, tensor: Tensor) -> Guards:
        """The guards of a value."""
        op = tensor.op
        if op not in self._known:
            self._fill(op)
        guards = self._known[op]
        if op.type in ("Switch", "RefSwitch") and not is_loop_switch(op):
            pred = same_predicate(op.inputs[1], self.loop)
            guards = _union(guards, ((pred, tensor.value_index == 1),))
        return guards

    def _sources(self, op: Operation) -> tuple[list[Tensor], list[Operation]]:
        if op.type in ("Enter", "RefEnter") and op.control_flow_context is self.loop:
            return [], []
        inputs = op.inputs
        if op.type in ("Merge", "RefMerge"):
            inputs = [t for t in inputs if t.op.type not in ("NextIteration", "RefNextIteration")]
        return inputs, op.control_inputs

    def _fill(self, root: Operation) -> None:
        stack = [(root, False)]
        while stack:
            op, leaving = stack.pop()
            if op in self._known:
                continue
            inputs, controls = self._sources(op)
            if not leaving:
                stack.append((op, True))
                stack.extend((t.op, False) for t in inputs if t.op not in self._known)
                stack.extend((c, False) for c in controls if c not in self._known)
                continue
            if op.type in ("Merge", "RefMerge") and len(inputs) > 1:
                first, *others = [self.of(t) for t in inputs]
                guards: Guards = tuple(g for g in first if all(g in o for o in others))
            else:
                guards = ()
                for tensor in inputs:
                    guards = _union(guards, self.of(tensor))
            for control in controls:
                guards = _union(guards, self._known.get(control, ()))
                if control.type == "Identity":
                    guards = _union(guards, self.of(control.outputs[0]))
            self._known[op] = guards


def _union(a: Guards, b: Guards) -> Guards:
    return a + tuple(g for g in b if g not in a)
