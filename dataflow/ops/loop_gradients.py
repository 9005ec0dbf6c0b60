"""The gradient of a loop is a loop that runs the rounds backwards.

It counts down the number of rounds of the forward loop; gradients of the loop variables are its own
variables; gradients of loop invariants are summed over the rounds; and values of the forward rounds
come off lists that the forward loop fills (`tensor_list`). TensorFlow 1 does the same with mutable
stacks; lists that are values make the result differentiable again.
"""

from __future__ import annotations

import contextlib
from typing import Any

from dataflow import dtypes
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow
from dataflow.ops.branch_guards import GuardFinder, Guards, merge_branches, same_predicate
from dataflow.ops.control_flow_context import (
    WhileContext,
    constant_enter,
    entered,
    in_context,
    is_loop_switch,
    output_context,
    while_context_of,
)
from dataflow.ops.gradient_counts import NODES_OF_A_KEPT_VALUE
from dataflow.ops.seeds import counted_as

EXITS = frozenset({"Exit", "RefExit"})


def _carries_gradient(tensor: Tensor) -> bool:
    dtype = tensor.dtype.value_dtype
    return dtype.kind in "fc" or dtype is dtypes.variant


class LoopGradient:
    """The gradient of one loop within one call of `gradients`.

    ``grad_context``: the loop that runs backwards. ``heads``: Switch of a forward variable -> the
    Merge of its gradient. ``waiting``: exits not visited yet. ``history``: forward value -> what
    stands for it in the backward loop.
    """

    def __init__(self, forward: WhileContext, outer: LoopGradient | None, exits: list[Tensor]):
        from dataflow.ops.arithmetic import subtract
        from dataflow.ops.comparison import greater_equal
        from dataflow.ops.sources import constant

        self.forward_context = forward
        self.outer = outer
        self.exits = exits
        self.waiting = len(exits)
        self.opened = False
        self.heads: dict[Operation, Tensor] = {}
        self.history: dict[Tensor, Tensor] = {}
        self.guards = GuardFinder(forward)
        graph = forward.graph
        count = self._count_rounds(graph, forward)
        around = outer.grad_context if outer is not None else forward.outer
        with in_context(graph, around):
            context = WhileContext(
                graph,
                name=forward.name,
                parallel_iterations=forward.parallel_iterations,
                back_prop=forward.back_prop,
                swap_memory=forward.swap_memory,
                grad_state=self,
            )
            self.grad_context: Any = context
            #: For `gradient_counts`: the values that TensorFlow keeps for their shapes alone, whether what keeps
            #: values has its trigger, and how many variables of the loop the gradient does not reach.
            self.kept_for_shape: set[Tensor] = set()
            self.has_trigger = forward.parallel_iterations == 1
            self.num_unused_exits = 0
            start = around.add_value(count) if around is not None else count
            one = constant(1, name="b_count")
        with in_context(graph, context):
            enter = context.enter(start, name="b_count")
            head = control_flow.merge([enter, enter])
            context.pivot_for_pred = head
            more = greater_equal(head, one)
            context.pivot = control_flow.loop_cond_op(more, name="b_count")
            leave, stay = control_flow.switch(head, context.pivot)
            left = subtract(stay, one)
            context.pivot_for_body = left
            head.op._update_input(1, control_flow.next_iteration_op(left))
            context.exit(leave, name="b_count")
        context.loop_enters.append(enter)

    @staticmethod
    def _count_rounds(graph: Graph, forward: WhileContext) -> Tensor:
        """A further variable of the forward loop that counts its rounds."""
        from dataflow.ops.arithmetic import add
        from dataflow.ops.sources import constant

        with in_context(graph, forward.outer):
            zero = constant(0, name="f_count")
        return forward.add_variable(zero, lambda n: add(n, 1), "f_count")[0]

    def real_value(self, value: Tensor) -> Tensor:
        """What a tensor of the forward loop was in the round that is being differentiated."""
        if value.dtype is dtypes.bool_:
            value = same_predicate(value, self.forward_context)
        found = self.history.get(value)
        if found is None:
            graph = value.graph
            with in_context(graph, self.grad_context):
                found = self.history[value] = self._recall(graph, value)
        return found

    def _recall(self, graph: Graph, value: Tensor) -> Tensor:
        from dataflow.ops.sources import constant
        from dataflow.ops.static_value import static_value

        invariant = constant_enter(value)
        if invariant is not None:
            # The same in every round: no need to keep it. Outer loops see to their own rounds.
            result: Tensor = self.grad_context.add_value(invariant.inputs[0])
            for pred, branch in self.guards.of(value):  # so that its own gradient is merged again
                result = control_flow.switch_beside(result, pred)[branch]
            return result
        if value.op.type == "Const" or (
            value.dtype.base_dtype in (dtypes.int32, dtypes.int64, dtypes.bool_)
            and static_value(value) is not None
        ):
            return constant(static_value(value), dtype=value.dtype.base_dtype)
        if value.op.type == "TensorArrayGradV3" and value.value_index == 0:
            # The array of gradients is found again by its name; its handle need not be kept.
            from dataflow.ops.tensor_array import tensor_array_grad_op

            handle = self.grad_context.add_value(value.op.inputs[0])
            return tensor_array_grad_op(  # type: ignore[no-any-return]
                handle, constant(0.0), source=value.op.attrs["source"]
            )[0]
        guards = self.guards.of(value)
        num_nodes = 0 if value in self.kept_for_shape else NODES_OF_A_KEPT_VALUE
        with counted_as(num_nodes + self.num_trigger_nodes()):
            return self._pop(value, self._keep(graph, value, guards), guards)

    def _keep(self, graph: Graph, value: Tensor, guards: Guards) -> Tensor:
        """Makes the forward loop push ``value`` in each round; returns the list after the loop."""
        from dataflow.ops.array import identity
        from dataflow.ops.tensor_list import empty_list, tensor_list_push_back_op

        forward = self.forward_context
        dtype = value.dtype.base_dtype
        kept = value
        with in_context(graph, forward):
            for pred, branch in reversed(guards):
                # Something must be pushed in rounds that do not take the branch, too.
                filler = control_flow.switch(_filler(value), pred)[not branch]
                kept = merge_branches(pred, *((filler, kept) if branch else (kept, filler)))
        with in_context(graph, forward.outer):
            start = empty_list(dtype, name="f_acc")

        def push(stack: Tensor) -> Tensor:
            element = identity(kept) if kept.dtype.is_ref else kept
            return tensor_list_push_back_op(stack, element)  # type: ignore[no-any-return]

        return forward.add_variable(start, push, "f_acc")[0]

    def _pop(self, value: Tensor, kept: Tensor, guards: Guards) -> Tensor:
        """Makes the backward loop pop the list that `_keep` returned; gives the element."""
        from dataflow.ops.tensor_list import tensor_list_pop_back_op

        context = self.grad_context
        dtype = value.dtype.base_dtype
        popped: list[Tensor] = []

        def pop(stack: Tensor) -> Tensor:
            rest, element = tensor_list_pop_back_op(stack, -1, element_dtype=dtype)
            popped.append(element)
            return rest  # type: ignore[no-any-return]

        start = kept if context.outer is None else context.outer.add_value(kept)
        context.add_variable(start, pop, "b_acc")
        result = popped[0]
        if not guards:
            result.dims = value.dims
        for pred, branch in guards:
            result = control_flow.switch_beside(result, pred)[branch]
            result.dims = value.dims
        return result

    def keep_for_shape(self, value: Tensor) -> int:
        """How many nodes TensorFlow makes to know the shape of a forward value: none for one that it keeps anyway."""
        if value in self.history or value in self.kept_for_shape:
            return 0
        self.kept_for_shape.add(value)
        return NODES_OF_A_KEPT_VALUE + self.num_trigger_nodes()

    def num_trigger_nodes(self) -> int:
        """1 when the first value is kept: what keeps values has one trigger in TensorFlow."""
        had, self.has_trigger = self.has_trigger, True
        return int(not had)

    @property
    def name(self) -> str:
        """The name of the forward loop."""
        return self.forward_context.name


def _filler(value: Tensor) -> Tensor:
    from dataflow.ops.sources import constant
    from dataflow.ops.tensor_list import zero_list

    dtype = value.dtype.base_dtype
    if dtype is dtypes.variant:
        return zero_list(value)
    if dtype is dtypes.string:
        return constant("")
    if dtype is dtypes.bool_:
        return constant(False)
    return constant(0, dtype=dtype)


class LoopGradients:
    """All loops that one call of `gradients` crosses."""

    def __init__(self) -> None:
        self.loops: dict[WhileContext, LoopGradient] = {}
        #: Switches of loop variables that were visited when their loop was entered.
        self.entered: set[Operation] = set()

    def find(self, op: Operation, before: bool = False) -> LoopGradient | None:
        """The loop whose gradient the gradient of ``op`` is part of.

        ``before``: for the gradients that arrive at ``op``; those of an Exit arrive outside.
        """
        if before and op.type in EXITS:
            context = while_context_of(op)
        else:
            own = op.control_flow_context
            context = None if own is None else own.while_context
        return None if context is None else self.loops.get(context)

    def add(self, op: Operation, between: Any, pending: Any) -> None:
        """Takes note of the loop that the Exit ``op`` leaves, and of all its other exits."""
        context: WhileContext = op.control_flow_context.while_context
        if context in self.loops:
            return
        outer = None
        if context.outer is not None and context.outer.while_context is not None:
            outer_context = context.outer.while_context
            outer = self.loops.get(outer_context)
        exits = []
        num_unused = 0
        for tensor in list(context.loop_exits):
            exit_op = tensor.op
            if exit_op not in between:
                # A variable whose last value is not used may matter to others all the same.
                if not _carries_gradient(tensor):
                    continue
                if not any(t.op in between for t in exit_op.inputs):
                    num_unused += (
                        tensor.dtype.kind != "x"
                    )  # what a gradient kept is no variable there
                    continue
                between.add(exit_op)
                for source in exit_op.inputs:
                    pending[source.op] = pending.get(source.op, 0) + 1
            exits.append(tensor)
        self.loops[context] = loop = LoopGradient(context, outer, exits)
        loop.num_unused_exits = num_unused

    # ---- hooks of the backward walk -------------------------------------------------------

    def start(self, walker: Any, ready: list[Operation]) -> list[Operation]:
        """Loops whose exits nothing uses further: their ``ys`` are exits themselves."""
        for loop in list(self.loops.values()):
            for tensor in loop.exits:
                if walker.pending.get(tensor.op, 0) == 0:
                    loop.waiting -= 1
            if loop.waiting == 0:
                self._open(walker, loop, ready)
        for op in [op for op in ready if op.type in EXITS and self.find(op) is not None]:
            ready.remove(op)  # visited when the loop is opened
        return []

    def is_ready(self, walker: Any, source: Operation, done: bool, ready: list[Operation]) -> bool:
        """Whether ``source`` may be visited; exits of a loop are visited all together."""
        if source.type not in EXITS:
            return done
        loop = self.find(source)
        if loop is None:
            return done
        if done:
            loop.waiting -= 1
            if loop.waiting == 0:
                self._open(walker, loop, ready)
        return False

    def _open(self, walker: Any, loop: LoopGradient, ready: list[Operation]) -> None:
        """Enters the gradient's loop with the gradients of all exits."""
        if loop.opened:
            return
        loop.opened = True
        used = any(walker.sum_in_context(t) is not None for t in loop.exits)
        if used:  # in TensorFlow zeros go through the others
            walker.graph.num_left_out += 2 * loop.num_unused_exits
        for tensor in loop.exits:
            if used and walker.sum_in_context(tensor) is None and _carries_gradient(tensor):
                walker.grads.setdefault(tensor, []).append(self._zeros_for_exit(loop, tensor))
        for tensor in loop.exits:
            switch_op = tensor.op.inputs[0].op
            for op in (tensor.op, switch_op):
                if op not in walker.stop_ops:
                    walker.visit(op)
            if tensor.op in walker.stop_ops or switch_op not in walker.between:
                continue
            walker.pending[switch_op] -= 1
            self.entered.add(switch_op)
            for source in {t.op for t in switch_op.inputs if t.op in walker.between}:
                walker.pending[source] -= 1
                if walker.pending[source] == 0:
                    ready.append(source)

    def _zeros_for_exit(self, loop: LoopGradient, tensor: Tensor) -> Tensor:
        from dataflow.ops.array import zeros

        graph = tensor.graph
        outer = loop.outer.grad_context if loop.outer is not None else loop.forward_context.outer
        with in_context(graph, outer):
            if tensor.dtype.base_dtype is dtypes.variant:
                from dataflow.ops.tensor_list import zero_list

                return zero_list(tensor)
            with counted_as(1):
                return zeros(shape_where_built(tensor), dtype=tensor.dtype.base_dtype)

    def complete(self, walker: Any, op: Operation, grads: list[Any]) -> list[Any]:
        """The gradients that arrive at ``op``, unchanged."""
        return grads

    def context(self, op: Operation, before: bool = False) -> Any:
        """Makes nodes in the gradient's loop of ``op``."""
        loop = self.find(op, before)
        if loop is None:
            return contextlib.nullcontext()
        return entered(op.graph, loop.grad_context)

    def zeros(self, walker: Any, tensor: Tensor) -> Any:
        """Zeros for an output without gradient, where that takes more than ``zeros_like``."""
        from dataflow.ops.array import zeros
        from dataflow.ops.sources import constant

        op = tensor.op
        if is_loop_switch(op):
            return None
        if not _carries_gradient(tensor):
            return None
        if tensor.dtype.base_dtype is dtypes.variant:
            from dataflow.ops.tensor_list import zero_list

            return zero_list(tensor)
        if op.type in ("Switch", "RefSwitch"):
            # The branch that was not taken has no use for the value: zeros, made there.
            data, pred = op.inputs
            dims = data.dims
            with counted_as(2 if self.find(op) is not None else 5):
                if dims is not None and None not in dims:
                    zero = constant(0, dtype=tensor.dtype.value_dtype, shape=dims)
                    return control_flow.switch(zero, pred)[tensor.value_index]
                shape = control_flow.switch(shape_where_built(data), pred)[tensor.value_index]
                return zeros(shape, dtype=tensor.dtype.value_dtype)
        if op.type in ("Merge", "RefMerge"):
            return NotImplemented
        if self.find(op) is None:
            return NotImplemented
        return zeros(shape_where_built(tensor), dtype=tensor.dtype.base_dtype)

    def finish(self, walker: Any) -> None:
        """Closes gradient variables that no round changes: zero from the second round on."""
        from dataflow.ops.array import zeros

        for loop in self.loops.values():
            context = loop.grad_context
            for forward, head in loop.heads.items():
                for op in head.uses:  # each variable leaves the loop: see `_open`
                    if not is_loop_switch(op):
                        continue
                    if not op.outputs[0].uses:
                        with in_context(head.graph, context):
                            context.exit(op.outputs[0], name=op.name.split("/")[-1] + "/Exit")
                    elif forward.inputs[0].op.inputs[0].op not in walker.between:
                        walker.graph.num_left_out += 1  # its way out in TensorFlow
                if head.op.inputs[0] is not head.op.inputs[1]:
                    continue
                graph = head.graph
                with in_context(graph, loop.grad_context):
                    if head.dtype.base_dtype is dtypes.variant:
                        from dataflow.ops.tensor_list import zero_list

                        value = zero_list(head)
                    else:
                        start = head.op.inputs[0].op.inputs[0]
                        value = zeros(shape_where_built(start), dtype=head.dtype.base_dtype)
                    head.op._update_input(1, control_flow.next_iteration_op(value))


def shape_where_built(tensor: Tensor) -> Any:
    """The shape of a tensor where its gradient is built; inside loops only the shape is kept."""
    from dataflow.ops.shape import shape_of_value

    dims = tensor.dims
    if dims is not None and None not in dims:
        return list(dims)
    graph = tensor.graph
    there = output_context(tensor.op)
    here = graph.control_flow_context
    if there is None or here is None or tensor in here.values:
        return shape_of_value(tensor)
    with in_context(graph, there):
        return shape_of_value(tensor)
