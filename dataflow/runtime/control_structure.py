"""Control flow: Switch, Merge, Enter, Exit and NextIteration become Python's ``if`` and ``while``.

A *frame* is a loop: the nodes between its Enters and its Exits. Inside a frame, Merge nodes are
the loop variables; what LoopCond needs is computed before the test, the rest after it::

    m1, m2 = enter1, enter2
    while True:
        <what the condition needs>
        if not cond: break
        <body>
        m1, m2 = next1, next2

The code of a node stands under an ``if`` for each of its guards (`control_frames`), and a Merge takes the
value of the branch that ran. Untaken branches are therefore not computed at all. The local of a Merge of
references holds the variable itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.loop_frames import Frame, is_head
from dataflow.runtime.control_frames import ControlFlow, Guard, Item, Path, members

if TYPE_CHECKING:
    from dataflow.runtime.codegen import Generator


class Emitter:
    """Writes structured code for one plan through its `Generator`."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.flow = ControlFlow(generator.ops, set(generator.feeds))
        self.open: list[Guard] = []
        self.dead_fetches: list[str] = []
        #: Predicates that are variables, whose value is kept in a local, and below which guards.
        self.kept: dict[Tensor, Path] = {}

    def emit(self) -> list[str]:
        """Writes everything; returns the fetched locals that a branch may leave unset."""
        self.emit_items(self.flow.order(self.flow.root), self.flow.root)
        for tensor in self.generator.fetches:
            path = self.flow.guards_from(tensor, self.flow.root)
            if path is None:  # can never run
                from dataflow.runtime.codegen import Value

                self.generator.values[tensor] = Value("DEAD")
            elif path:
                self.fetch_from_branch(tensor, path)
        self.close_guards(0)
        return self.dead_fetches

    def fetch_from_branch(self, tensor: Tensor, path: Path) -> None:
        """Gives a fetch below guards a local of its own: a value that is passed on is there in any case."""
        from dataflow.runtime.codegen import Value

        generator = self.generator
        name = generator.output_name(tensor)
        if generator.values[tensor] != Value(name):
            self.open_guards(path, 0)
            generator.add_line(f"{name} = {generator.use(tensor)}", tensor.op, (name,))
            generator.values[tensor] = Value(name)
        self.dead_fetches.append(name)

    def emit_items(self, items: list[Item], frame: Frame) -> None:
        """Writes the items of a frame, each under its guards."""
        base = len(self.open)
        for item in items:
            if isinstance(item, Frame):
                path = self.flow.loop_guards(item, frame)
                for op in members(item):
                    self.flow.guards.setdefault(op, path)
                if path is None:
                    continue
                self.open_guards(path, base)
                self.emit_loop(item, path)
                continue
            path = self.flow.guards_of(item, frame)
            self.flow.guards[item] = path
            if path is None or (all(t in self.flow.fed for t in item.outputs) and item.outputs):
                continue
            if item.op_def.control_flow == "switch" and not self.flow.is_loop_switch(item):
                self.keep_predicate(self.flow.predicate(item.inputs[1]), path, base)
                if self.generator.trace:  # its step is not part of the branch that is open
                    self.open_guards(path, base)
                self.emit_switch(item)
            elif item.op_def.control_flow == "merge":
                self.emit_merge(item, frame, path, base)
            else:
                if item.type not in ("Const",):
                    self.open_guards(path, base)
                self.generator.emit_op(item)
        self.close_guards(base)

    def open_guards(self, path: Path, base: int) -> None:
        """Makes the open ``if`` blocks those of ``path``."""
        current = self.open[base:]
        same = 0
        while same < len(current) and same < len(path) and current[same] == path[same]:
            same += 1
        self.close_guards(base + same)
        for predicate, branch in path[same:]:
            text = self.test_of(predicate)
            self.generator.add_line(f"if {text}:" if branch else f"if not {text}:")
            self.generator.indent += 1
            self.open.append((predicate, branch))

    def close_guards(self, depth: int) -> None:
        """Closes ``if`` blocks down to ``depth``."""
        while len(self.open) > depth:
            self.generator.indent -= 1
            last = self.generator.lines[-1]
            if last.indent == self.generator.indent and last.text.endswith(":"):
                self.generator.lines.pop()  # nothing was written in this block
            self.open.pop()

    def keep_predicate(self, predicate: Tensor, path: Path, base: int) -> None:
        """Reads a variable that decides once: a branch may assign it, and the Merge looks again."""
        generator = self.generator
        if not generator.values[predicate].is_ref:
            return
        kept = self.kept.get(predicate)
        if kept is not None and path[: len(kept)] == kept:
            return
        self.open_guards(path, base)
        name = f"g{generator.numbers[predicate.op]}"
        generator.add_line(f"{name} = {generator.use(predicate)}", predicate.op, (name,))
        self.kept[predicate] = path

    def test_of(self, predicate: Tensor) -> str:
        """The expression for a predicate's value."""
        if predicate not in self.kept:
            return self.generator.use(predicate)
        name = f"g{self.generator.numbers[predicate.op]}"
        self.generator.reads.append(name)
        return name

    def emit_switch(self, op: Operation) -> None:
        """Both outputs are the input; the guards keep them apart."""
        generator = self.generator
        value = generator.values[op.inputs[0]]
        for output in op.outputs:
            generator.values.setdefault(output, value)
        if generator.trace:
            generator.emit_trace(op, taken=self.test_of(op.inputs[1]))

    def emit_merge(self, op: Operation, frame: Frame, path: Path, base: int) -> None:
        """Takes the value of the branch that ran, and its number."""
        generator = self.generator
        self.open_guards(path, base)
        output, index = op.outputs[0], op.outputs[1]
        name, index_name = generator.output_name(output), generator.output_name(index)
        branches = []
        for i, tensor in enumerate(op.inputs):
            found = self.flow.guards_from(tensor, frame)
            if found is not None:
                branches.append((i, tensor, [g for g in found if g not in path]))
        wants_index = index not in self.flow.fed and (
            generator.trace
            or index in generator.fetches
            or any(c in generator.numbers for c in index.uses)
        )
        generator.globals.setdefault("int32", _int32)
        by_reference = all(generator.is_reference(tensor) for _, tensor, _ in branches)
        use = generator.use_ref if by_reference else generator.use
        for position, (i, tensor, guards) in enumerate(branches):
            assign = f"{name} = {use(tensor)}"
            if wants_index:
                assign += f"; {index_name} = int32({i})"
            if len(branches) == 1:
                generator.add_line(assign, op, (name, index_name))
                break
            test = " and ".join(
                self.test_of(p) if branch else f"not {self.test_of(p)}" for p, branch in guards
            )
            if position == 0:
                generator.add_line(f"if {test or 'True'}: {assign}", op, (name, index_name))
            elif position < len(branches) - 1:
                generator.add_line(f"elif {test or 'True'}: {assign}", op, (name, index_name))
            else:
                generator.add_line(f"else: {assign}", op, (name, index_name))
        from dataflow.runtime.codegen import Value

        generator.values.setdefault(output, Value(name, by_reference))
        if wants_index:
            generator.values.setdefault(index, Value(index_name))
        generator.emit_trace(op)

    def emit_loop(self, frame: Frame, path: Path) -> None:
        """Writes one ``while`` loop."""
        generator = self.generator
        heads = [op for op in frame.nodes if op.op_def.control_flow == "merge" and is_head(op)]
        condition = _condition(frame)
        self._emit_enters(frame)
        names, starts = self._name_variables(heads)
        for op in frame.nodes:  # outside this loop nothing may be renamed by later iterations
            self.flow.guards[op] = ()
        if names:
            generator.add_line(f"{', '.join(names)} = {', '.join(starts)}", heads[0], tuple(names))
        skip = ("enter", "exit", "next_iteration", "loop_cond")
        items = [
            i
            for i in self.flow.order(frame)
            if isinstance(i, Frame) or (i.op_def.control_flow not in skip and i not in heads)
        ]
        before = self.flow.ancestors(condition, frame)
        generator.add_line("while True:")
        generator.indent += 1
        if generator.loop_end is not None:
            generator.globals["stop"] = generator.loop_end
            generator.add_line(generator.loop_end.line, condition)
        for op in heads:
            generator.emit_trace(op)
        saved, self.open = self.open, []
        self.emit_items([i for i in items if i in before], frame)
        generator.values[condition.outputs[0]] = generator.values[condition.inputs[0]]
        generator.add_line(f"if not {generator.use(condition.inputs[0])}: break", condition)
        switches = self._pass_switches(frame)
        body = [i for i in items if i not in before and i not in switches]
        if len(switches) == sum(op.op_def.control_flow == "switch" for op in frame.nodes):
            body.sort(key=_comes_later)  # there is no condition for which anything has to wait
        self.emit_items(body, frame)
        nexts = [self._next_of(op) for op in heads]
        if names:
            generator.add_line(f"{', '.join(names)} = {', '.join(nexts)}", heads[0], tuple(names))
        self.open = saved
        generator.indent -= 1
        for op in frame.exits:
            if op.outputs[0] not in generator.values:
                generator.values[op.outputs[0]] = generator.values[op.inputs[0]]
            self.flow.guards[op] = path
            generator.emit_trace(op)

    def _emit_enters(self, frame: Frame) -> None:
        """What enters a loop is read once, in front of it, where the loop cannot change it.

        A loop that may assign to variables reads them again in each iteration, as TensorFlow's
        references do. A transposed array that each iteration reads is laid out in order first: kernels take
        several times as long over the others.
        """
        from dataflow.runtime.codegen import Value

        generator = self.generator
        assigns = any(
            op.op_def.control_flow == "enter" and op.inputs[0].dtype.is_ref for op in members(frame)
        )
        for op in frame.enters:
            if op.outputs[0] not in generator.values:
                value = generator.values[op.inputs[0]]
                if assigns and value.is_ref and op.attrs["is_constant"]:
                    generator.values[op.outputs[0]] = value
                elif op.attrs["is_constant"] and op.inputs[0].op.type == "Transpose":
                    name = generator.output_name(op.outputs[0])
                    generator.globals["contiguous"] = contiguous
                    text = f"{name} = contiguous({generator.use(op.inputs[0])})"
                    generator.add_line(text, op, (name,))
                    generator.values[op.outputs[0]] = Value(name)
                else:
                    generator.emit_alias(op)
                generator.emit_trace(op)

    def _name_variables(self, heads: list[Operation]) -> tuple[list[str], list[str]]:
        """The names of the loop's variables in the plan, and what they start as."""
        from dataflow.runtime.codegen import Value

        generator = self.generator
        names, starts = [], []
        for op in heads:
            enter = next(t for t in op.inputs if t.op.op_def.control_flow != "next_iteration")
            name = generator.output_name(op.outputs[0])
            names.append(name)
            by_reference = generator.is_reference(enter)
            starts.append(generator.use_ref(enter) if by_reference else generator.use(enter))
            generator.values[op.outputs[0]] = Value(name, by_reference)
            generator.values[op.outputs[1]] = Value("None")
        return names, starts

    def _next_of(self, head: Operation) -> str:
        """The expression for a variable of the loop in the next iteration."""
        generator, tensor = self.generator, _next_value(head)
        by_reference = generator.is_reference(head.outputs[0])
        return generator.use_ref(tensor) if by_reference else generator.use(tensor)

    def _pass_switches(self, frame: Frame) -> list[Operation]:
        """The loop's own Switch nodes, which pass their value on: Python's ``while`` chooses."""
        values = self.generator.values
        switches = [
            op
            for op in frame.nodes
            if op.op_def.control_flow == "switch" and self.flow.is_loop_switch(op)
        ]
        for op in switches:
            for output in op.outputs:
                values.setdefault(output, values[op.inputs[0]])
        return switches


def contiguous(x: Any) -> Any:
    """``x`` with its elements in order in memory: itself, or a copy."""
    return x if x.flags.c_contiguous else x.copy()


def _comes_later(item: Item) -> bool:
    """False for constants, and for what takes the last element of a list that is a variable of the loop: first of all,
    so that what computes stands together, and lists of calls are long."""
    if isinstance(item, Frame) or item.type == "Const":
        return isinstance(item, Frame)
    if item.type != "TensorListPopBack" or item.control_inputs:
        return True
    elements, shape = (t.op for t in item.inputs)
    is_variable = elements.op_def.control_flow == "switch"
    return not (is_variable and shape.type == "Const")


def _int32(value: int) -> Any:
    import numpy as np

    return np.int32(value)


def emit(generator: Generator) -> list[str]:
    """Writes the nodes of a plan that has control flow; returns locals that may stay unset."""
    return Emitter(generator).emit()


def _condition(frame: Frame) -> Operation:
    """The one LoopCond of a loop; raises `InvalidArgumentError` where there is another number."""
    conditions = [op for op in frame.nodes if op.op_def.control_flow == "loop_cond"]
    if len(conditions) != 1:
        raise InvalidArgumentError(
            None,
            None,
            f"The loop {frame.name!r} has {len(conditions)} LoopCond nodes, needs one.",
        )
    return conditions[0]


def _next_value(head: Operation) -> Tensor:
    """The value of a loop's variable in the next iteration."""
    is_next = (t for t in head.inputs if t.op.op_def.control_flow == "next_iteration")
    return next(is_next).op.inputs[0]
