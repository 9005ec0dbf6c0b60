"""Contexts: what happens to nodes that are made inside a branch or a loop body.

While a branch function runs, a `CondContext` is in force: every tensor from outside passes through
a Switch first. While a loop's functions run, a `WhileContext` is: tensors from outside pass
through a constant Enter. `Graph.make_op` asks the context (`prepare`, `add_op`) for each node.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow

_EXITS = frozenset({"Exit", "RefExit"})
_PASSING = frozenset({"Switch", "RefSwitch", "Identity", "RefIdentity"})


@contextlib.contextmanager
def in_context(graph: Graph, context: Context | None) -> Iterator[None]:
    """Nodes made inside belong to ``context`` and wait for no control dependencies."""
    saved = graph.control_stack, graph.control_flow_context
    graph.control_stack, graph.control_flow_context = [], context
    try:
        yield
    finally:
        graph.control_stack, graph.control_flow_context = saved


@contextlib.contextmanager
def entered(graph: Graph, context: Context | None) -> Iterator[None]:
    """Nodes made inside belong to ``context``; control dependencies stay in force."""
    saved = graph.control_flow_context
    graph.control_flow_context = context
    try:
        yield
    finally:
        graph.control_flow_context = saved


def output_context(op: Operation) -> Context | None:
    """The context in which the outputs of a node live: an Exit's are outside its loop."""
    context: Context | None = op.control_flow_context
    if context is not None and op.type in _EXITS:
        return context.outer
    return context


def while_context_of(op: Operation) -> WhileContext | None:
    """The innermost loop that a node's outputs live in."""
    context = output_context(op)
    return None if context is None else context.while_context


def is_loop_switch(op: Operation) -> bool:
    """True for the Switch of a loop variable (False for one of a conditional)."""
    if op.type not in ("Switch", "RefSwitch"):
        return False
    pred = op.inputs[1].op
    while pred.type in ("Identity",):
        pred = pred.inputs[0].op
    return pred.type == "LoopCond"


def constant_enter(tensor: Tensor) -> Operation | None:
    """The constant Enter that a value inside a loop comes from unchanged, if it does."""
    op = tensor.op
    while op.type in _PASSING:
        if is_loop_switch(op):
            return None
        op = op.inputs[0].op
    if op.type in ("Enter", "RefEnter") and op.attrs["is_constant"]:
        return op
    return None


def check_input(
    op_type: str, op_name: str, context: Context | None, tensor: Tensor, op_context: Any
) -> None:
    """Refuses a tensor that lives in a loop which the new node is not in. Raises `ValueError`."""
    source = tensor.op
    if source.type in _EXITS:
        op_context = op_context.outer
        if op_context is None:
            return
    loop = op_context.while_context
    if loop is None:
        return  # in a branch: the node is dead where the branch is not taken, as in TensorFlow
    walk = context
    while walk is not None:
        if walk is loop:
            return
        inner = walk.while_context
        if inner is not None and (
            inner.grad_state is not None or loop.grad_state is not None
        ):  # a gradient's loop takes values of its forward loop from an accumulator
            return
        walk = walk.outer
    if op_type in ("Enter", "RefEnter", "Switch", "RefSwitch", "Merge", "Exit", "RefExit"):
        return
    raise ValueError(
        f"Cannot use {source.name!r} as input to {op_name!r} because {source.name!r} is in a while "
        f"loop ({loop.name!r}). A value from inside a loop is seen outside only as one of the "
        "loop's results: add it to loop_vars."
        f"\n  {source.name!r} built at {source.built_at}"
    )


class Context:
    """What a conditional's branch and a loop have in common.

    ``values``: tensors that nodes of this context may use as they are. ``external``: tensors from
    outside, and what stands for them inside. Invariant: outer contexts know all values of inner
    ones that are made with `add_op`.
    """

    is_while = False

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outer: Context | None = graph.control_flow_context
        self.values: set[Tensor] = set()
        self.external: dict[Tensor, Tensor] = {}
        self.name = ""
        self.nested: list[Context] = []
        if self.outer is not None:
            self.outer.nested.append(self)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A ``CondContextDef`` or ``WhileContextDef``; None for one outside ``export_scope``."""
        from dataflow.ops.control_flow_defs import context_def

        return context_def(self, export_scope)

    @property
    def while_context(self) -> WhileContext | None:
        """The innermost loop around (or equal to) this context."""
        return None if self.outer is None else self.outer.while_context

    @property
    def outer_context(self) -> Context | None:
        """The enclosing context (TensorFlow's name)."""
        return self.outer

    def GetWhileContext(self) -> WhileContext | None:
        """The innermost loop around this context."""
        return self.while_context

    def contains(self, op: Operation) -> bool:
        """True when the outputs of ``op`` live in this context or one inside it."""
        context = output_context(op)
        while context is not None:
            if context is self:
                return True
            context = context.outer
        return False

    def check_use(self, op_def: Any, op_name: str, tensor: Tensor) -> None:
        """Refuses ``tensor``, made in this context, for a node outside all contexts."""
        check_input(op_def.type, op_name, None, tensor, self)

    def add_value(self, tensor: Tensor) -> Tensor:
        """What stands for ``tensor`` in this context."""
        raise NotImplementedError

    def pivot_op(self) -> Operation:
        """The node that runs whenever this context does; nodes without inputs wait for it."""
        raise NotImplementedError

    def prepare(
        self, op_def: Any, op_name: str, inputs: list[Tensor], controls: list[Operation]
    ) -> tuple[list[Tensor], list[Operation]]:
        """Inputs and control inputs for a new node of this context."""
        values = self.values
        real = inputs
        if inputs:
            graph = self.graph
            saved, graph.name_stack = graph.name_stack, op_name
            try:
                real = []
                for tensor in inputs:
                    if tensor not in values:
                        there = tensor.op.control_flow_context
                        if there is not None:
                            check_input(op_def.type, op_name, self, tensor, there)
                    real.append(self.add_value(tensor))
            finally:
                graph.name_stack = saved
        internal, external = self._split_controls(controls)
        if not inputs:
            if not any(self.contains(op) for op in internal):
                internal = [*internal, self.pivot_op()]
        elif not internal and self._only_constants(real):
            internal = [self.pivot_op()]
        if external:
            # A control edge may not cross into a loop; a value may: pull one of its outputs in.
            with in_context(self.graph, self):
                for op in external:
                    if op.outputs:
                        from dataflow.ops.array import identity

                        internal = [*internal, identity(op.outputs[0]).op]
        return real, internal

    def _only_constants(self, inputs: list[Tensor]) -> bool:
        return False

    def _split_controls(self, controls: list[Operation]) -> tuple[list[Operation], list[Operation]]:
        """Control inputs of the same loop, and those from outside it."""
        loop = self.while_context
        if loop is None or not controls:
            return controls, []
        internal = [op for op in controls if while_context_of(op) is loop]
        return internal, [op for op in controls if op not in internal]

    def add_op(self, op: Operation) -> None:
        """Takes note of a node that was made in this context."""
        outer: Context | None = self
        while outer is not None:
            outer.values.update(op.outputs)
            outer = outer.outer
        attachments = self.graph.attachments
        attachments.setdefault("unfetchable", set()).add(op)
        if op.outputs:
            attachments.setdefault("unfeedable", set()).update(op.outputs)


class CondContext(Context):
    """One branch of a conditional: nodes made here run only when ``pred`` equals ``branch``."""

    def __init__(self, graph: Graph, pred: Tensor, pivot: Tensor, branch: int) -> None:
        super().__init__(graph)
        self.pred = pred
        self.pivot = pivot
        self.branch = branch
        self.sibling: CondContext | None = None
        self.values.update((pred, pivot))
        self.external[pred] = pred

    def pivot_op(self) -> Operation:
        """The ``switch_t`` or ``switch_f`` node."""
        return self.pivot.op

    def add_value(self, tensor: Tensor) -> Tensor:
        """``tensor``, through a Switch when it is from outside."""
        if tensor in self.values:
            return self.external.get(tensor, tensor)
        result = tensor
        if self.outer is not None:
            result = self.outer.add_value(tensor)
            self.values.add(result)
            self.external[result] = result
        with in_context(self.graph, None):
            result = control_flow.switch_beside(result, self.pred)[self.branch]
        op = result.op
        op.control_flow_context = self
        self.graph.attachments.setdefault("unfetchable", set()).add(op)
        outer: Context | None = self
        while outer is not None:
            outer.values.update(op.outputs)
            outer = outer.outer
        self.values.add(tensor)
        self.external[tensor] = result
        return result  # type: ignore[no-any-return]

    def build_output(self, value: Any) -> Any:
        """A result of the branch function as a tensor of this branch (lists for composites)."""
        if isinstance(value, Operation):
            return control_flow.with_dependencies([value], self.pivot)
        from dataflow.graph.conversion import convert_to_tensor

        tensor = convert_to_tensor(value)
        if tensor in self.values:
            return self.external.get(tensor, tensor)
        return self.add_value(tensor)


class WhileContext(Context):
    """A loop. ``pivot`` is its LoopCond; ``grad_state`` is set when it is a gradient's loop.

    ``frame_name``: the frame of a loop that is in the graph already; by default a new, unique one.
    """

    is_while = True

    def __init__(
        self,
        graph: Graph,
        name: str = "while_context",
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        maximum_iterations: Tensor | None = None,
        grad_state: Any = None,
        frame_name: str | None = None,
    ) -> None:
        super().__init__(graph)
        self.name = graph.unique_name(name) if frame_name is None else frame_name
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self.maximum_iterations = maximum_iterations
        self.grad_state = grad_state
        self.pivot: Tensor | None = None
        self.pivot_for_pred: Tensor | None = None
        self.pivot_for_body: Tensor | None = None
        self.loop_enters: list[Tensor] = []
        self.loop_exits: list[Tensor] = []

    @property
    def while_context(self) -> WhileContext | None:
        """This loop."""
        return self

    def pivot_op(self) -> Operation:
        """A node of every round: the first loop variable, in the condition or in the body."""
        pivot = self.pivot_for_body if self.pivot_for_body is not None else self.pivot_for_pred
        assert pivot is not None
        return pivot.op

    def _only_constants(self, inputs: list[Tensor]) -> bool:
        """Nodes on loop invariants alone wait for the pivot, or they would run outside rounds."""
        return all(t.op.type in ("Enter", "RefEnter") and t.op.attrs["is_constant"] for t in inputs)

    def enter(self, tensor: Tensor, is_constant: bool = False, name: str | None = None) -> Tensor:
        """An Enter of this loop for a tensor of the outer context."""
        graph = self.graph
        controls = graph.controls_for([tensor]) if graph.control_stack else []
        with in_context(graph, None):
            op = (
                control_flow.ref_enter_op
                if control_flow.by_reference(tensor)
                else control_flow.enter_op
            )
            result: Tensor = op(
                tensor,
                frame_name=self.name,
                is_constant=is_constant,
                parallel_iterations=self.parallel_iterations,
                name=name or op.type,
            )
        node = result.op
        node.control_flow_context = self
        outer_loop = None if self.outer is None else self.outer.while_context
        keep = [c for c in controls if while_context_of(c) is outer_loop]
        if keep:
            node._add_control_inputs(keep)
        for controls_level in graph.control_stack:
            controls_level.seen.add(node)
        self._own(node)
        return result

    def _own(self, op: Operation) -> None:
        outer: Context | None = self
        while outer is not None:
            outer.values.update(op.outputs)
            outer = outer.outer
        graph = self.graph
        graph.attachments.setdefault("unfetchable", set()).add(op)
        graph.attachments.setdefault("unfeedable", set()).update(op.outputs)

    def add_value(self, tensor: Tensor) -> Tensor:
        """``tensor``, through a constant Enter when it is from outside.

        In a gradient's loop, a tensor of the forward loop becomes its value in the round that is
        being differentiated.
        """
        if tensor in self.values:
            return self.external.get(tensor, tensor)
        if self.grad_state is not None:
            loop = while_context_of(tensor.op)
            if loop is not None and loop is self.grad_state.forward_context:
                real: Tensor = self.grad_state.real_value(tensor)
                self.values.add(tensor)
                self.external[tensor] = real
                return real
        result = tensor
        if self.outer is not None:
            result = self.outer.add_value(tensor)
        saved, self.graph.control_stack = self.graph.control_stack, []
        try:
            entered_value = self.enter(result, is_constant=True)
        finally:
            self.graph.control_stack = saved
        self.values.add(tensor)
        self.external[tensor] = entered_value
        return entered_value

    def exit(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """The value of a loop variable after the loop; made in this context."""
        op = control_flow.ref_exit_op if control_flow.by_reference(tensor) else control_flow.exit_op
        result: Tensor = op(tensor, name=name or op.type)
        attachments = self.graph.attachments
        if self.outer is None:
            attachments["unfetchable"].discard(result.op)
            attachments["unfeedable"].discard(result)
        # Not a value of this loop any more: only outer contexts may use it.
        self.values.discard(result)
        self.loop_exits.append(result)
        return result

    def add_variable(
        self, initial: Tensor, step: Callable[[Tensor], Tensor], name: str
    ) -> tuple[Tensor, Tensor]:
        """A further loop variable: ``initial`` (outside), then ``step(value)`` in each round.

        Returns the value after the loop, and the next value inside it.
        """
        with in_context(self.graph, self):
            enter = self.enter(initial, name=name)
            self.loop_enters.append(enter)
            head = control_flow.merge([enter, enter], name=name)
            assert self.pivot is not None
            leave, stay = control_flow.switch(head, self.pivot)
            value = step(stay)
            back = control_flow.next_iteration_op(value)
            head.op._update_input(1, back)
            return self.exit(leave, name=name), value
