"""A private copy of a plan's nodes, in which tensors can be replaced by others."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.graph.graph import Graph
from dataflow.graph.op_traits import OpTraits
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.jit.op_table import INSTRUCTIONS
from dataflow.rewrites.effects import variable_behind
from dataflow.rewrites.gradual import Steps, finish, in_steps
from dataflow.rewrites.prune import needed_operations
from dataflow.shapes import BroadcastError, Dims, broadcast

if TYPE_CHECKING:
    from dataflow.graph.op_def import OpDef


class _Arg(OpTraits):
    """The definition of a node that stands for a fed tensor."""

    type = "Placeholder"
    family = ""
    stateful = False
    inputs: tuple[Any, ...] = ()
    outputs: tuple[Any, ...] = ()
    attrs: tuple[Any, ...] = ()
    differentiable = False
    gradient_function = None
    single_output = True


_ARG: Any = _Arg()
#: Ops whose result has the shape to which their operands are broadcast.
_ELEMENT_BY_ELEMENT = frozenset({*INSTRUCTIONS, "Cast", "Identity"})
#: With this many inputs their positions are indexed: a linear search for each takes too long.
_MANY_INPUTS = 64


class WorkingGraph:
    """The nodes of one plan, copied; names, places of origin and attributes are the originals'.

    ``fixed``: tensors that must stay (they are fed, or references to variables). ``origin`` maps a
    copied or new node to the user's node that it stems from, for error messages.
    """

    def __init__(
        self,
        ops: Sequence[Operation],
        fetches: Sequence[Tensor],
        fetch_operations: Iterable[Operation],
        feeds: Sequence[Tensor],
    ) -> None:
        finish(self._fill(ops, fetches, fetch_operations, feeds))

    @classmethod
    def made_gradually(
        cls,
        ops: Sequence[Operation],
        fetches: Sequence[Tensor],
        fetch_operations: Iterable[Operation],
        feeds: Sequence[Tensor],
        scalars: Collection[Tensor] = (),
    ) -> Steps[WorkingGraph]:
        """As the constructor, in steps (`gradual.Steps`); ``scalars`` are feeds of unknown rank that are known to be
        single numbers, from which the shapes of what is computed of them element by element follow."""
        work = cls.__new__(cls)
        yield from work._fill(ops, fetches, fetch_operations, feeds, scalars)
        return work

    def _fill(
        self,
        ops: Sequence[Operation],
        fetches: Sequence[Tensor],
        fetch_operations: Iterable[Operation],
        feeds: Sequence[Tensor],
        scalars: Collection[Tensor] = (),
    ) -> Steps[None]:
        self.graph = Graph()
        self.origin: dict[Operation, Operation] = {}
        self.fixed: set[Tensor] = set()
        self._new: dict[Tensor, Tensor] = {}
        self._ops: dict[Operation, Operation] = {}
        self._started = 0
        members = set(ops)
        computed = {op.name for op in ops}
        for tensor in feeds:
            name = tensor.op.name  # the fed node is not computed, its other outputs may be
            if name in computed or name in self.graph.op_by_name:
                name = f"{name}/fed_{tensor.value_index}"
            op = self._add(name, _ARG, [], {}, tensor.op)
            new = Tensor(op, 0, tensor.dtype, () if tensor in scalars else tensor.dims)
            op.outputs = [new]
            self._new[tensor] = new
            self.fixed.add(new)
            if tensor.op.type == "Placeholder":
                self._ops[tensor.op] = op  # control edges from it come from the feed
        self.feed_tensors = [self._new[t] for t in feeds]
        back_edges: list[tuple[Operation, int, Tensor]] = []
        for some in in_steps(ops):
            for op in some:
                if op not in self._ops:
                    self._copy(op, members, back_edges)
                    if scalars and op.type in _ELEMENT_BY_ELEMENT:
                        _tell_shape(self._ops[op])
            yield 2 * len(some)
        for new_op, index, tensor in back_edges:
            new_op.inputs[index].uses.remove(new_op)
            new_op.inputs[index] = self._new[tensor]
            self._new[tensor].uses.append(new_op)
        self._needed: list[Operation] | None = None
        self._forgotten: set[Operation] = set()
        #: The positions of each input, for nodes with very many.
        self._positions: dict[Operation, dict[Tensor, list[int]]] = {}
        self._fetches = [self._new[t] for t in fetches]
        self._fetch_operations = [self._ops[op] for op in fetch_operations]
        self._fetched = set(self._fetches)
        self._fetched_operations = set(self._fetch_operations)
        self.origin_ops = {op for op in self._ops.values() if op.op_def is not _ARG}

    def _add(
        self,
        name: str,
        op_def: OpDef,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        origin: Operation,
    ) -> Operation:
        graph = self.graph
        op = Operation(graph, name, op_def, inputs, [], attrs, origin.device, origin.frames)
        op.index = len(graph.operations)
        graph.operations.append(op)
        graph.op_by_name[name] = op
        graph.names_in_use[name.lower()] = 1
        self.origin[op] = origin
        return op

    def _copy(
        self,
        op: Operation,
        members: set[Operation],
        back_edges: list[tuple[Operation, int, Tensor]],
    ) -> None:
        inputs: list[Tensor] = []
        for i, tensor in enumerate(op.inputs):
            new = self._new.get(tensor)
            if new is None and tensor.dtype.is_ref and tensor.op not in members:
                # The node that passes the reference on runs before this plan: a task runs its nodes
                # as several plans, one for each message that it waits for.
                new = self._new.get(variable_behind(tensor.op).outputs[0])
            if new is None:  # the back edge of a loop: connected once its node exists
                back_edges.append((None, i, tensor))  # type: ignore[arg-type]
                new = inputs[0]
            inputs.append(new)
        made = self._add(op.name, op.op_def, inputs, op.attrs, op)
        for i, (waiting, index, tensor) in enumerate(back_edges):
            if waiting is None:
                back_edges[i] = (made, index, tensor)
        for control in op.control_inputs:
            copied = self._ops.get(control)
            if copied is not None:
                made.add_control_edge(copied)
        for tensor in op.outputs:
            new = Tensor(made, tensor.value_index, tensor.dtype, tensor.dims)
            made.outputs.append(new)
            self._new.setdefault(tensor, new)
            if tensor.dtype.is_ref:
                self.fixed.add(new)
        self._ops[op] = made

    # ---- changing -------------------------------------------------------------------------

    def begin(self, tensor: Tensor) -> None:
        """Starts a rewrite of ``tensor``: nodes that it adds have the same origin."""
        self.begin_node(tensor.op)

    def begin_node(self, op: Operation) -> None:
        """As `begin`, for a node that may have no output."""
        self._started = len(self.graph.operations)
        self.graph.current_device = op.device
        self.graph.name_stack = op.name + "/rewritten"

    def roll_back(self) -> None:
        """Removes the nodes that a rule added before it gave up."""
        graph = self.graph
        for op in reversed(graph.operations[self._started :]):
            for tensor in reversed(op.inputs):
                tensor.uses.pop()  # a new node is the last one
            graph.op_by_name.pop(op.name, None)
        del graph.operations[self._started :]

    def replace(self, old: Tensor, new: Tensor) -> None:
        """Gives the consumers of ``old`` to ``new``, whose new nodes inherit the control inputs of ``old``."""
        self._inherit(old.op, new.op)
        staying: list[Operation] = []
        for consumer in dict.fromkeys(old.uses):
            if consumer is new.op:
                staying = [consumer] * old.uses.count(consumer)
                continue
            for i in self._take_positions(consumer, old, new):
                consumer.inputs[i] = new
                new.uses.append(consumer)
        old.uses = staying
        self.set_fetch(old, new)
        if new.dims is None:
            new.dims = old.dims
        self._stand_in(old.op, new.op)

    def replace_node(self, old: Operation, new: Operation) -> None:
        """As `replace`, for a node without outputs, which others wait for."""
        self._inherit(old, new)
        self._stand_in(old, new)
        self.changed()

    def adopt(self, new: Operation, origin: Operation) -> None:
        """Gives a node that a rewrite added the origin of ``origin``; `replace` does so by itself."""
        self.origin[new] = self.origin[origin]
        new.frames = self.origin[origin].frames

    def _inherit(self, old: Operation, new: Operation) -> None:
        """Gives the origin of ``old`` to the nodes that the rewrite added, and its control inputs to ``new``."""
        origin = self.origin[old]
        for op in self.graph.operations[self._started :]:
            if op not in self.origin:
                self.origin[op] = origin
                op.frames = origin.frames
        if new is not old and old.control_inputs:
            for control in old.control_inputs:
                if control is not new and control not in new.control_inputs:
                    if new not in self.origin_ops:
                        new.add_control_edge(control)

    def _stand_in(self, old: Operation, new: Operation) -> None:
        """Lets ``new`` be fetched and waited for in place of ``old``, which goes unless it is still used."""
        for waiting in list(old.control_outputs):
            if waiting is not new and old in waiting.control_inputs:
                waiting.remove_control_edge(old)
                if new not in waiting.control_inputs and new is not waiting:
                    waiting.add_control_edge(new)
        if old in self._fetched_operations and new is not old:
            self._fetch_operations = [new if op is old else op for op in self._fetch_operations]
            self._fetched_operations = set(self._fetch_operations)
        self._forget(old)

    def _take_positions(self, op: Operation, old: Tensor, new: Tensor) -> list[int]:
        """Positions of ``old`` among the inputs of ``op``, which are noted as those of ``new`` from now on."""
        if len(op.inputs) < _MANY_INPUTS:
            return [i for i, tensor in enumerate(op.inputs) if tensor is old]
        positions = self._positions.get(op)
        if positions is None:
            positions = self._positions[op] = {}
            for i, tensor in enumerate(op.inputs):
                positions.setdefault(tensor, []).append(i)
        found = positions.pop(old, [])
        positions.setdefault(new, []).extend(found)
        return found

    def _forget(self, op: Operation) -> None:
        """Removes an unused node from its inputs' lists of consumers."""
        dead = [op]
        while dead:
            op = dead.pop()
            if (
                op in self._forgotten
                or op.control_outputs
                or any(t.uses or t in self.fixed or t in self._fetched for t in op.outputs)
                or op in self._fetched_operations
            ):
                continue
            self._forgotten.add(op)
            for tensor in op.inputs:
                tensor.uses.remove(op)
                dead.append(tensor.op)
            for control in op.control_inputs:
                control.control_outputs.remove(op)
                dead.append(control)

    def set_input(self, op: Operation, index: int, tensor: Tensor) -> None:
        """Sets input ``index`` of ``op`` to ``tensor``."""
        op.inputs[index].uses.remove(op)
        op.inputs[index] = tensor
        tensor.uses.append(op)
        self._positions.pop(op, None)
        self.changed()

    def set_fetch(self, old: Tensor, new: Tensor) -> None:
        """Fetches ``new`` instead of ``old``."""
        if old in self._fetched:
            self._fetches = [new if t is old else t for t in self._fetches]
            self._fetched = set(self._fetches)
        self.changed()

    def changed(self) -> None:
        """Drops cached orders; call it after changing an edge without `replace`."""
        self._needed = None

    def add_unary(self, op_def: OpDef, tensor: Tensor, name: str) -> Tensor:
        """Adds a node with one input and one output like it; its origin is the input's."""
        base = name
        while name.lower() in self.graph.names_in_use:
            self.graph.names_in_use[base.lower()] += 1
            name = f"{base}_{self.graph.names_in_use[base.lower()]}"
        dtype = tensor.dtype.base_dtype
        origin = self.origin.get(tensor.op, tensor.op)
        op = self._add(name, op_def, [tensor], {"T": dtype}, origin)
        op.outputs = [Tensor(op, 0, dtype, tensor.dims)]
        return op.outputs[0]

    # ---- reading --------------------------------------------------------------------------

    def copy_of(self, op: Operation) -> Operation:
        """The copy of one of the user's nodes."""
        return self._ops[op]

    def feed_of(self, tensor: Tensor) -> Tensor:
        """What stands for one of the user's fed tensors."""
        return self._new[tensor]

    def needed(self) -> list[Operation]:
        """The nodes that are still needed, in topological order; do not modify the list."""
        if self._needed is None:
            self._needed = needed_operations(
                self._fetches, self._fetch_operations, self.feed_tensors
            )
        return self._needed

    @property
    def size(self) -> int:
        """The approximate number of nodes."""
        return len(self.origin_ops)

    def fetch_operations(self) -> list[Operation]:
        """The fetched operations as they are now."""
        return list(self._fetch_operations)

    def fetch_operation_set(self) -> set[Operation]:
        """The fetched operations as they are now."""
        return self._fetched_operations

    def fetch_tensors(self) -> list[Tensor]:
        """The fetched tensors as they are now."""
        return list(self._fetches)

    def fetched_values(self) -> set[Tensor]:
        """What must stay: the fetched tensors, and the outputs of fetched operations."""
        return {*self._fetches, *(t for op in self._fetched_operations for t in op.outputs)}


def _tell_shape(op: Operation) -> None:
    """Notes the shape of the result of an op that works element by element, where its operands tell it."""
    (output,) = op.outputs
    if output.dims is not None:
        return
    found: Dims = ()
    with contextlib.suppress(BroadcastError):  # the kernel says so
        for tensor in op.inputs:
            found = broadcast(found, tensor.dims)
        output.dims = found
