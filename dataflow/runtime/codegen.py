"""From pruned nodes to one flat Python function.

Each node becomes one line ``t7 = k7(t3, c5)``: kernels, constants and variables are globals of the
generated function, values are its local variables, deleted after their last use. Nodes that only
pass a value on (Identity, a variable's read) cost nothing: their consumers use the value itself.
Loops and conditionals become Python's ``while`` and ``if`` (see `control_structure`).

A variable is read *late*: by the line that uses the value. So do TensorFlow's reference variables,
whose read shares the buffer that assignments change (but see `read_order`).
"""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.graph.printing import describe_tensor
from dataflow.graph.tensor import Tensor
from dataflow.kernels.parallel import Future
from dataflow.rewrites.effects import variable_behind
from dataflow.rewrites.gradual import Steps, finish, in_steps
from dataflow.runtime import control_structure, output_allocator
from dataflow.runtime.read_order import reads_before_changes, reads_before_reshaping

if TYPE_CHECKING:
    from dataflow.runtime import concurrency
    from dataflow.runtime.time_limits import LoopEnd
    from dataflow.runtime.waiting import Overlap

_LISTS = frozenset(
    {"EmptyTensorList", "TensorListPushBack", "TensorListPopBack", "TensorListReserve"}
)
_BLOCKS = ("if ", "elif ", "else", "while ")
_NO_CODE = frozenset({"NoOp", "ControlTrigger"})
#: The types whose arithmetic is faster by a kernel than by Python's operators.
_BY_KERNEL = frozenset({"float16", "bfloat16"})
#: Names that lines of a plan use themselves, so that no fed value may have them.
_OWN = re.compile(r"[cfgkloprtuv]\d+(_\d+)?|_.*|(nonfinite|block|list|plain)\d+")
#: Matches the locals that a plan computes, and drops after their last use; what is fed stays.
is_computed = re.compile(r"t\d+(_\d+)?").fullmatch
_RESERVED = frozenset(
    {
        *keyword.kwlist,
        *dir(builtins),
        "DEAD",
        "contiguous",
        "error",
        "feed",
        "future",
        "hook",
        "int32",
        "isfinite",
        "run",
        "stop",
        "value",
        output_allocator.ALLOCATOR,
    }
)


def _is_minus_one(tensor: Tensor) -> bool:
    """Whether a tensor is the constant by which a list says that it has no limit."""
    return tensor.op.type == "Const" and np.array_equal(tensor.op.attrs["value"], -1)


class Dead:
    """The value of a tensor in a branch that was not taken."""

    def __repr__(self) -> str:
        return "DEAD"


DEAD = Dead()


class Value(NamedTuple):
    """How the generated code names a value: an expression, and whether it is a variable."""

    text: str
    is_ref: bool = False


class Line(NamedTuple):
    """One line of generated code, the node it computes, and the locals it sets and reads.

    ``operands`` are the expressions of all inputs, in order, where a kernel is called.
    """

    indent: int
    text: str
    op: Operation | None
    sets: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()

    @property
    def has_one_result(self) -> bool:
        """Whether it computes one value from its operands, and no tuple of values."""
        return bool(self.operands) and self.op is not None and self.op.op_def.single_output


class GeneratedPlan(NamedTuple):
    """A compiled function with its source and the node behind each line.

    ``lines`` are those of the source that nodes wrote, in order; ``drops`` maps a line's index to
    the locals that are deleted after it, ``reused`` a local to the one whose buffer it takes over.
    """

    function: Callable[..., Any]
    source: str
    line_ops: dict[int, Operation]
    values: dict[Tensor, str]
    filename: str
    lines: list[Line]
    drops: dict[int, list[str]]
    reused: dict[str, str]


class Generator:
    """Writes the function for one plan.

    ``bind_kernel(op)`` returns the callable for a node, ``bind_variable(op)`` its
    `VariableResource`; with ``trace`` the function takes a hook first, called after each node as
    ``hook(node number, outputs)``; with ``reuse`` a result may take the buffer of a value after its
    last use (see `buffers`). Independent regions are shared by ``threads`` threads where that pays (see
    `concurrency`), each of whose kernels uses at most ``kernel_threads``, if that is not 0; ``records``: and pays
    more than lists of calls would.
    """

    _count = 0

    def __init__(
        self,
        ops: Sequence[Operation],
        fetches: Sequence[Tensor],
        feeds: Sequence[Tensor],
        bind_kernel: Callable[[Operation], Callable[..., Any]],
        bind_variable: Callable[[Operation], Any],
        trace: bool = False,
        bind_constant: Callable[[Operation, Any], Any] | None = None,
        reuse: bool = False,
        threads: int = 1,
        kernel_threads: int = 0,
        preallocated: Sequence[bool] | None = None,
        check: Callable[[Generator], None] | None = None,
        overlap: Overlap | None = None,
        loop_end: LoopEnd | None = None,
        records: bool = False,
    ) -> None:
        self.ops = list(ops)
        self.fetches = list(fetches)
        self.feeds = list(feeds)
        self._bind_kernel = bind_kernel
        self._bind_variable = bind_variable
        self._bind_constant = bind_constant
        self.trace = trace
        self._reuse = reuse
        self._threads, self._limit = threads, kernel_threads
        #: Whether the plan's lines may become lists of calls (`plan_recorder`), which have no parallel regions.
        self._records = records
        #: Adds lines that check values, once all others have been written.
        self._check = check
        #: Lets the other lines continue while an op waits, if the plan has such ops.
        self._overlap = overlap
        #: Ends loops when their session is closed or the time of their run is up.
        self.loop_end = loop_end
        #: Which fetches may be written into a buffer of the caller (adds the argument `allocator`).
        self._preallocated = preallocated
        self.values: dict[Tensor, Value] = {}
        self.globals: dict[str, Any] = {"DEAD": DEAD}
        self.lines: list[Line] = []
        self.indent = 1
        self.numbers: dict[Operation, int] = {op: i for i, op in enumerate(self.ops)}
        #: The function's parameters: a name for each of the feeds.
        self.parameters: list[str] = []
        self._fed_names: set[str] = set()
        self._unfed: dict[str, Tensor] = {}
        self._assigned: set[str] = set()
        self._limits_lists = False
        self._taken_at_once: set[Operation] = set()
        self._checked: dict[str, Operation] = {}  # variables read before the step sets them
        #: Names read by the line that is being written.
        self.reads: list[str] = []
        self.reused: dict[str, str] = {}
        self.structured = any(op.op_def.control_flow for op in self.ops)

    def generate(self) -> GeneratedPlan:
        """Writes, compiles and returns the function."""
        return finish(self.generate_gradually())

    def generate_gradually(self) -> Steps[GeneratedPlan]:
        """As `generate`, in steps (`rewrites.gradual.Steps`)."""
        for i, tensor in enumerate(self.feeds):
            self.parameters.append(self._name_of_feed(tensor, f"f{i}"))
            self.values[tensor] = Value(self.parameters[-1])
        if any(op.op_def.is_assignment for op in self.ops):
            self._find_assigned()
        self._taken_at_once |= reads_before_changes(self.ops, self.fetches, not self.structured)
        dead_fetches: list[str] = []
        if self.structured:
            dead_fetches = control_structure.emit(self)
        else:
            for some in in_steps(self.ops):
                for op in some:
                    self.emit_op(op)
                yield 2 * len(some)
        self.reads = []
        preallocated = self._preallocated or [False] * len(self.fetches)
        results = [
            self._read_into_allocated(i, t) if allocates and self.values[t].is_ref else self.use(t)
            for i, (t, allocates) in enumerate(zip(self.fetches, preallocated, strict=True))
        ]
        comma = "," if len(results) == 1 else ""
        self.indent = 1
        self.lines.append(
            Line(1, f"return ({', '.join(results)}{comma})", None, (), tuple(self.reads))
        )
        return (yield from self._compile(dead_fetches))

    def _name_of_feed(self, tensor: Tensor, otherwise: str) -> str:
        """The graph's own name of a fed tensor, where it cannot clash with another name of the plan."""
        name = tensor.op.name.rpartition("/")[2]
        taken = name in _RESERVED or name in self._fed_names or _OWN.fullmatch(name)
        if taken or not name.isidentifier():
            return otherwise
        self._fed_names.add(name)
        return name

    def _read_into_allocated(self, position: int, tensor: Tensor) -> str:
        """The expression for a variable's value, copied to memory of the allocator."""
        variable = self.use(tensor).partition(".")[0]
        self.globals[f"r{position}"] = output_allocator.reader(tensor)
        return f"r{position}({output_allocator.ALLOCATOR}, {variable})"

    def _find_assigned(self) -> None:
        """Finds variables that this plan itself initializes: they are read when used, not up front."""
        for op in self.ops:
            if op.op_def.is_assignment:
                variable = variable_behind(op)
                self._assigned.add(variable.attrs.get("shared_name") or variable.name)
        self._taken_at_once = reads_before_reshaping(self.ops, self.feeds)

    # ---- values ---------------------------------------------------------------------------

    def use(self, tensor: Tensor) -> str:
        """The expression for a tensor's value."""
        value = self.values.get(tensor)
        if value is None:
            raise InvalidArgumentError(
                None, tensor.op, f"Retval: {tensor.name!r} is never computed in this run."
            )
        if not value.is_ref:
            self.reads.append(value.text)
            return value.text
        name = value.text
        if name not in self.globals:  # a local that holds the variable: see `control_structure`
            self.reads.append(name)
        if self.structured or self.globals[name].name in self._assigned:
            return f"{name}.read()"
        self._checked[name] = tensor.op
        return f"{name}.array"

    def use_ref(self, tensor: Tensor) -> str:
        """The expression for the variable behind a reference tensor."""
        value = self.values[tensor]
        if not value.is_ref:
            raise InvalidArgumentError(
                None,
                tensor.op,
                f"{tensor.name!r} is fed in this run, so it cannot be assigned to in the same run.",
            )
        if value.text not in self.globals:
            self.reads.append(value.text)
        return value.text

    def is_reference(self, tensor: Tensor) -> bool:
        """Whether a variable stands behind a tensor in this run, whose value is read by whoever uses it."""
        value = self.values.get(tensor)
        return tensor.dtype.is_ref and value is not None and value.is_ref

    def output_name(self, tensor: Tensor) -> str:
        """The local variable for an output."""
        number = self.numbers[tensor.op]
        return f"t{number}" if len(tensor.op.outputs) == 1 else f"t{number}_{tensor.value_index}"

    def insert(self, place: int, line: Line) -> None:
        """Inserts a line before line number ``place``."""
        self.lines.insert(place, line)

    def add_line(
        self,
        text: str,
        op: Operation | None = None,
        sets: tuple[str, ...] = (),
        operands: Sequence[str] = (),
    ) -> None:
        """Appends a line that reads the values `use`d since the last one."""
        self.lines.append(Line(self.indent, text, op, sets, tuple(self.reads), tuple(operands)))
        self.reads = []

    # ---- nodes ----------------------------------------------------------------------------

    def emit_op(self, op: Operation) -> None:
        """Writes the line for one node."""
        fed = [t for t in op.outputs if t in self.values]
        if op.outputs and len(fed) == len(op.outputs):
            return
        kind = op.type
        if kind == "Const":
            self._emit_const(op)
        elif kind in _NO_CODE:
            pass
        elif op.op_def.is_variable:
            name = f"v{self.numbers[op]}"
            self.globals[name] = self._bind_variable(op)
            self.values[op.outputs[0]] = Value(name, True)
            return
        elif op.op_def.is_alias:
            self.emit_alias(op)
        elif kind == "IdentityN":
            for source, output in zip(op.inputs, op.outputs, strict=True):
                self.values.setdefault(output, self.values[source])
        elif kind in _LISTS and self._emit_list(op):
            pass
        elif kind == "Placeholder":
            name = self._name_of_feed(op.outputs[0], f"u{self.numbers[op]}")
            self._unfed[name] = op.outputs[0]
            self.globals["feed"] = functools.partial(_unfed, self._unfed)
            self.values[op.outputs[0]] = Value(name)
            self.add_line(f'{name} = feed("{name}")', op, (name,))
        else:
            self._emit_kernel(op)
        self.emit_trace(op)

    def emit_alias(self, op: Operation) -> None:
        """The output is the input; a variable's value is taken now unless the input is its ref."""
        source = op.inputs[0]
        value = self.values[source]
        if value.is_ref and (not source.dtype.is_ref or op in self._taken_at_once):
            name = self.output_name(op.outputs[0])
            self.add_line(f"{name} = {self.use(source)}", op, (name,))
            value = Value(name)
        self.values.setdefault(op.outputs[0], value)

    def _emit_const(self, op: Operation) -> None:
        name = f"c{self.numbers[op]}"
        value = op.attrs["value"]
        if not value.shape and value.dtype != object:
            value = value[()]
        if self._bind_constant is not None:
            value = self._bind_constant(op, value)
        self.globals[name] = value
        self.values[op.outputs[0]] = Value(name)

    def _emit_list(self, op: Operation) -> bool:
        """Lists of tensors are pairs (rest, last), written in place; False: the kernel is needed.

        So it is from the first list on whose elements, or whose length, are limited.
        """
        if op.type == "EmptyTensorList":
            self._limits_lists = self._limits_lists or not all(map(_is_minus_one, op.inputs))
            if not self._limits_lists:
                self.values[op.outputs[0]] = Value("()")
            return not self._limits_lists
        if op.type == "TensorListReserve":
            self._limits_lists = True
        if (
            self._limits_lists
            or op.inputs[0].op.type == "Placeholder"
            or any(t in self.values for t in op.outputs)
        ):
            return False
        if op.type == "TensorListPushBack":
            name = self.output_name(op.outputs[0])
            pair = ", ".join(self.use(t) for t in op.inputs)
            self.values[op.outputs[0]] = Value(name)
            self.add_line(f"{name} = ({pair})", op, (name,))
            return True
        shape = op.inputs[1].op
        if shape.type != "Const" or shape.attrs["value"].shape:
            return False  # may be the empty list of zeros
        names = tuple(self.output_name(t) for t in op.outputs)
        source = self.use(op.inputs[0])
        for tensor, name in zip(op.outputs, names, strict=True):
            self.values[tensor] = Value(name)
        self.add_line(f"{', '.join(names)} = {source}", op, names)
        return True

    def _emit_kernel(self, op: Operation) -> None:
        if op.op_def.operator is not None:
            operator, kinds = op.op_def.operator
            dtype = op.inputs[0].dtype.base_dtype
            by_operator = dtype.kind in kinds and dtype.name not in _BY_KERNEL
            if by_operator and op.outputs[0] not in self.values:
                self._bind_kernel(op)  # raises for a device that has no kernel
                left, right = (self.use(t) for t in op.inputs)
                name = self.output_name(op.outputs[0])
                self.values[op.outputs[0]] = Value(name)
                self.add_line(f"{name} = {left} {operator} {right}", op, (name,), (left, right))
                return
        number = self.numbers[op]
        self.globals[f"k{number}"] = self._bind_kernel(op)
        arguments: list[str] = []
        flat: list[str] = []
        inputs = iter(op.inputs)
        for arg in op.op_def.inputs:
            use = self.use_ref if arg.is_ref else self.use
            if arg.number_attr is not None:
                items = [use(next(inputs)) for _ in range(op.attrs[arg.number_attr])]
                flat += items
                arguments.append(f"[{', '.join(items)}]")
            elif arg.type_list_attr is not None:
                items = [use(next(inputs)) for _ in op.attrs[arg.type_list_attr]]
                flat += items
                arguments.append(f"[{', '.join(items)}]")
            else:
                arguments.append(use(next(inputs)))
                flat.append(arguments[-1])
        call = f"k{number}({', '.join(arguments)})"
        names: list[str] = []
        refs = [a for a in op.op_def.outputs if a.is_ref]
        if refs:  # a reference output is the variable that was passed in
            self.add_line(call, op)
            for tensor in op.outputs:
                self.values.setdefault(tensor, self.values[op.inputs[0]])
            return
        for tensor in op.outputs:
            if tensor in self.values:
                names.append("_")
            else:
                name = self.output_name(tensor)
                self.values[tensor] = Value(name)
                names.append(name)
        if not names:
            self.add_line(call, op, (), flat)
        elif op.op_def.single_output:
            self.add_line(f"{names[0]} = {call}", op, (names[0],), flat)
        else:
            comma = "," if len(names) == 1 else ""
            self.add_line(f"{', '.join(names)}{comma} = {call}", op, tuple(names), flat)

    def emit_trace(self, op: Operation, taken: str | None = None) -> None:
        """With ``trace``: calls the hook when a node is done, with its outputs.

        ``taken``, for a Switch, is the expression of its predicate: output 0 is dead where it is
        true, output 1 where it is false.
        """
        if not self.trace:
            return
        items = []
        for tensor in op.outputs:
            value = self.values.get(tensor)
            if value is None or value.text == "None" or tensor.dtype.base_dtype.kind == "x":
                items.append("None")  # not computed, or a resource or list, which cannot be shown
            elif value.is_ref:
                items.append(f"{value.text}.array")
                if value.text not in self.globals:
                    self.reads.append(value.text)
            else:
                items.append(value.text)
                self.reads.append(value.text)
        if taken is not None:
            items = [f"DEAD if {taken} else {items[0]}", f"{items[1]} if {taken} else DEAD"]
        comma = "," if len(items) == 1 else ""
        self.add_line(f"hook({self.numbers[op]}, ({', '.join(items)}{comma}))")

    # ---- the function ---------------------------------------------------------------------

    def _compile(self, dead_fetches: list[str]) -> Steps[GeneratedPlan]:
        if self._check is not None:
            self._check(self)
        parameters = ["hook"] if self.trace else []
        parameters += self.parameters
        parameters += [output_allocator.ALLOCATOR] if self._preallocated else []
        overlap = self._overlap
        if overlap is not None and not overlap.prepare(self):
            overlap = None
        text: list[str] = []
        line_ops: dict[int, Operation] = {}
        for function in overlap.functions if overlap is not None else ():
            _write(function, {}, text, line_ops)
        text.append(f"def run({', '.join(parameters)}):")
        for name, op in self._checked.items():
            text.append(f"    if {name}.array is None: raise {name}.uninitialized()")
            line_ops[len(text)] = op
        for name in dead_fetches:
            text.append(f"    {name} = DEAD")
        drops = self._last_uses_between_blocks() if self.structured else self._last_uses()
        regions: Sequence[concurrency.ParallelRegion] = ()
        if not self.structured and not self.trace:
            if self._threads > 1:
                from dataflow.runtime import concurrency

                regions = concurrency.find(self.lines, self._threads - 1, self._limit == 1)
                may_be_lists = self._records and overlap is None
                if regions and may_be_lists and self._saves_more_as_lists(regions):
                    regions = ()
                yield len(self.lines)
            if self._preallocated:
                wanted = {
                    t
                    for t, allocates in zip(self.fetches, self._preallocated, strict=True)
                    if allocates
                }
                output_allocator.write_to_allocated(self, wanted)
            if self._reuse:
                from dataflow.runtime import buffers

                self.reused = buffers.write_in_place(self, drops, regions)
        self._write_lines(drops, regions, text, line_ops)
        Generator._count += 1
        filename = f"<dataflow plan {Generator._count}>"
        source = "\n".join(text) + "\n"
        exec(compile(source, filename, "exec"), self.globals)
        values = {t: v.text for t, v in self.values.items()}
        generated = GeneratedPlan(
            self.globals["run"],
            source,
            line_ops,
            values,
            filename,
            self.lines,
            drops,
            self.reused,
        )
        if overlap is not None:
            overlap.wrap_blocks(self.globals)
            overlap.generated, overlap.regions = generated, regions
        return generated

    def _saves_more_as_lists(self, regions: Sequence[concurrency.ParallelRegion]) -> bool:
        """Whether the plan gains more as lists of calls than by a second thread: many small kernels beside a large one."""
        from dataflow.runtime import concurrency, plan_recorder

        beside = concurrency.microseconds_beside(self.lines, regions, self._limit == 1)
        return plan_recorder.microseconds_saved(self.lines, self.globals) > beside

    def _write_lines(
        self,
        drops: dict[int, list[str]],
        regions: Sequence[concurrency.ParallelRegion],
        text: list[str],
        line_ops: dict[int, Operation],
    ) -> None:
        """Appends all lines to ``text``, each with the locals that it drops; ``line_ops``: by line number."""
        if regions:
            from dataflow.runtime import concurrency

            self.globals["future"] = functools.partial(Future, limit=self._limit)
            concurrency.write(self.lines, drops, regions, text, line_ops)
            return
        _write(self.lines, drops, text, line_ops)

    def _last_uses_between_blocks(self) -> dict[int, list[str]]:
        """As `_last_uses`, for a plan with loops or branches.

        Only locals that are certainly set are dropped, and only by statements outside all blocks, at
        or after their last use.
        """

        def plain(line: Line) -> bool:
            return line.indent == 1 and not line.text.startswith(_BLOCKS)

        sure: dict[str, bool] = {}
        last_use: dict[str, int] = {}
        for i, line in enumerate(self.lines):
            for name in line.sets:
                sure[name] = sure.get(name, True) and plain(line)
                last_use[name] = i
            for name in line.reads:
                last_use[name] = i
        drops: dict[int, list[str]] = {}
        pending: list[str] = []
        by_line: dict[int, list[str]] = {}
        for name, i in last_use.items():
            if sure.get(name) and name != "_":
                by_line.setdefault(i, []).append(name)
        for i, line in enumerate(self.lines[:-1]):
            pending.extend(by_line.get(i, ()))
            if pending and plain(line):
                drops[i], pending = pending, []
        return drops

    def _last_uses(self) -> dict[int, list[str]]:
        """For each line, the locals that nothing after it reads."""
        drops: dict[int, list[str]] = {}
        seen: set[str] = set()
        for i in range(len(self.lines) - 1, -1, -1):
            line = self.lines[i]
            dead = [n for n in line.sets if n not in seen and n != "_"]
            for name in line.reads:
                if name not in seen:
                    seen.add(name)
                    if is_computed(name):
                        dead.append(name)
            seen.update(line.sets)
            if dead and i < len(self.lines) - 1:
                drops[i] = list(dict.fromkeys(dead))
        return drops


def _write(
    lines: Sequence[Line],
    drops: dict[int, list[str]],
    text: list[str],
    line_ops: dict[int, Operation],
) -> None:
    for i, line in enumerate(lines):
        drop = drops.get(i)
        suffix = f"; del {', '.join(drop)}" if drop else ""
        text.append("    " * line.indent + line.text + suffix)
        if line.op is not None:
            line_ops[len(text)] = line.op


def _unfed(tensors: dict[str, Tensor], name: str) -> None:
    """Raises the error for a placeholder that was not fed."""
    tensor = tensors[name]
    # A name that no variable of Python can have is given as a string.
    key = tensor.op.name if tensor.op.name.isidentifier() else repr(tensor.name)
    raise InvalidArgumentError(
        None,
        tensor.op,
        f"You must feed a value for placeholder tensor {tensor.op.name!r} with dtype "
        f"{tensor.dtype.name} and shape {describe_tensor(tensor)[len(tensor.dtype.name) :]}.\n"
        f"  Give it in the feed_dict: sess.run(fetches, feed_dict={{{key}: value}}).",
    )
