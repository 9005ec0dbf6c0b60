"""In-place computation: which results reuse the buffer of a value after its last use.

A line may overwrite an input when nothing can see that input afterwards and the result fits:

- the local is last used on this line: no later line, no fetch, no alias by another name reads it;
- it was computed by an op whose kernel always returns memory of its own, so it is not a feed,
  constant or variable, or a view of one; or it is a view (Reshape, Transpose, ...) of such a value, which died there;
- no line that read it keeps a reference to it: no other view, list or queue;
- it has the result's dtype, and its shape for any feeds. Unknown dimensions are compared
  by their symbols (`rewrites.symbolic_shapes`).

Plans with loops or branches are left alone (those of a predicate that is fed are gone by then: `specialized_plans`),
and so are recorded runs, whose values are kept.

Measured (relu of a product plus another array, two cores): no gain at 128 x 256 floats, 7 % at
128 x 1024, 13 % at four million, where `out=` saves page faults and cache misses on a fresh buffer.
Small values therefore keep buffers of their own.

A single sum or product that may be large is computed by `large_arithmetic`, in place or not.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.jit.large_arithmetic import ARITHMETIC, arithmetic
from dataflow.kernels.jit.op_table import INSTRUCTIONS, names_of
from dataflow.kernels.state import assign
from dataflow.rewrites.symbolic_shapes import Shapes

if TYPE_CHECKING:
    from dataflow.runtime.codegen import Generator
    from dataflow.runtime.concurrency import ParallelRegion

#: Values with fewer elements keep their own buffer; next, the size assumed for unknown dimensions.
_WORTHWHILE_ELEMENTS = 65_536
_GUESSED_SIZE = 1024
_DTYPES = frozenset({"float32", "float64"})


def keeps_nothing(op: Operation) -> bool:
    """True when the kernel of ``op`` keeps nothing of its inputs and returns no view of one."""
    trait = op.op_def.keeps_nothing
    return trait if isinstance(trait, bool) else trait(op)


#: Ops whose kernels take, after the inputs, the index of the input to overwrite.
_TAKES_REUSED = frozenset({"ReluGrad"})


class InPlace(NamedTuple):
    """A line rewritten, to compute in place or by several threads: its function, and the text of the call."""

    function: Callable[..., Any] | None
    text: str


def write_in_place(
    generator: Generator, drops: dict[int, list[str]], regions: Sequence[ParallelRegion]
) -> dict[str, str]:
    """Rewrites lines whose result takes over the buffer of an input that dies there.

    Returns the local of each such result, with the local whose buffer it takes.
    """
    reused: dict[str, str] = {}
    if not any(is_large(t) for op in generator.ops for t in op.outputs):
        return reused
    shapes = Shapes(generator.ops, generator.feeds)
    free: set[str] = set()
    taken = {name for region in regions for name in region.takes}  # by another thread, at any time
    for i, line in enumerate(generator.lines):
        inherits = _is_last_view(generator, i, drops.get(i, ()), free - taken)
        # An assigned value is copied, or handed over below.
        if line.op is None or not (keeps_nothing(line.op) or line.op.op_def.is_assignment):
            free.difference_update(line.reads)
        if line.op is not None and line.op.op_def.own_memory and len(line.sets) == 1:
            free.update(line.sets)
        if line.op is not None and line.op.op_def.own_results:
            own = [line.op.outputs[i] for i in line.op.op_def.own_results]
            free.update({generator.output_name(t) for t in own}.intersection(line.sets))
        if inherits:
            free.update(line.sets)
    free -= taken
    for i, dying in drops.items():
        _hand_over(generator, i, dying, free)
    for i, line in enumerate(generator.lines):
        op, operands = line.op, line.operands
        if op is None or not line.has_one_result:
            continue
        number = generator.numbers[op]
        found = choose(op, number, operands, set(drops.get(i, ())), free, shapes)
        position, call = found or (None, _by_threads(op, number, operands))
        if call is None:
            continue
        if call.function is not None:
            generator.globals[f"o{number}"] = call.function
        generator.lines[i] = line._replace(text=f"{line.sets[0]} = {call.text}")
        if position is not None:
            reused[line.sets[0]] = operands[position]
    return reused


def _is_last_view(
    generator: Generator, i: int, dying: Container[str], free: Container[str]
) -> bool:
    """True if line ``i`` makes a view of a local that dies there, so that only the view refers to its array."""
    line = generator.lines[i]
    op, operands = line.op, line.operands
    if op is None or not line.has_one_result or op.op_def.view_of is None:
        return False
    viewed = operands[op.op_def.view_of]
    return viewed in dying and viewed in free


def _hand_over(generator: Generator, i: int, dying: list[str], free: set[str]) -> None:
    """Lets a variable keep the assigned array where nothing else refers to it."""
    line = generator.lines[i]
    op = line.op
    if op is None or not op.op_def.is_assignment or not is_large(op.inputs[1]):
        return
    value = generator.values[op.inputs[1]]
    if value.is_ref or value.text not in dying or value.text not in free:
        return
    name = f"o{generator.numbers[op]}"
    validate_shape = op.attrs.get("validate_shape", False)
    generator.globals[name] = lambda ref, array: assign(np, ref, array, validate_shape, own=True)
    variable = generator.use_ref(op.inputs[0])
    generator.lines[i] = line._replace(text=f"{name}({variable}, {value.text})")


def choose(
    op: Operation,
    number: int,
    items: Sequence[str],
    dying: set[str],
    free: set[str],
    shapes: Shapes,
) -> tuple[int, InPlace] | None:
    """How the line of ``op`` computes in place, and over which input.

    ``items`` are the expressions of its inputs, ``dying`` the locals that are last used on this line,
    ``free`` those to whose arrays nothing else refers.
    """
    if not _is_candidate(op):
        return None
    output = op.outputs[0]
    for i, (tensor, item) in enumerate(zip(op.inputs, items, strict=True)):
        if item in dying and item in free and tensor.dtype is output.dtype:
            if shapes.same(tensor, output) or op.op_def.equal_shapes:
                found = _in_place(op, number, items, i)
                if found is not None:
                    return i, found
    return None


def _is_candidate(op: Operation) -> bool:
    return len(op.outputs) == 1 and op.outputs[0].dtype.name in _DTYPES and is_large(op.outputs[0])


def _by_threads(op: Operation, number: int, items: Sequence[str]) -> InPlace | None:
    """The call for a large result that needs memory of its own."""
    if op.type not in ARITHMETIC or not _is_candidate(op) or not _adds_to_rows(op):
        return None
    return InPlace(arithmetic(op.type), f"o{number}({', '.join(items)})")


def _adds_to_rows(op: Operation) -> bool:
    """Whether a bias is known to be one for the last axis, so that there is nothing to check; true of other ops."""
    if op.type != "BiasAdd":
        return True
    bias, channels = op.inputs[1].dims, (op.inputs[0].dims or (None,))[-1]
    return op.attrs["data_format"] == "NHWC" and bias is not None and bias == (channels,)


def _in_place(op: Operation, number: int, items: Sequence[str], i: int) -> InPlace | None:
    arguments = ", ".join(items)
    if op.type == "_Fused":
        return InPlace(None, f"k{number}([{arguments}], {i})") if _ends_in_place(op) else None
    if op.type == "AddN":
        # The sum is computed in the order of the inputs, and after the first two nothing reads `i`.
        if len(items) < 2 or (len(items) > 2 and (i != 0 or items.count(items[0]) > 1)):
            return None
        return InPlace(_add_up, f"o{number}([{arguments}], {items[i]})")
    if not _adds_to_rows(op):
        return None
    if op.type in ARITHMETIC:
        return InPlace(arithmetic(op.type), f"o{number}({arguments}, {items[i]})")
    if op.type in _TAKES_REUSED:
        return InPlace(None, f"k{number}({arguments}, {i})")
    instruction = INSTRUCTIONS.get(op.type)
    if instruction is None or not instruction.in_place or instruction.is_bool:
        return None
    function = _function(op.type, output_type=op.outputs[0].dtype.as_numpy_dtype)
    return InPlace(function, f"o{number}({arguments}, {items[i]})")


def _ends_in_place(op: Operation) -> bool:
    """True when the fused kernel writes its result in one last statement."""
    program = op.attrs["program"]
    last = INSTRUCTIONS[program.steps[-1][0]]
    return not program.reduction and last.in_place and not last.is_bool


def _function(op_type: str, output_type: type[np.generic]) -> Callable[..., Any]:
    """``f(inputs..., out)`` for an instruction of one statement."""
    (statement,) = INSTRUCTIONS[op_type].statements
    names = ["a", "b"][: 2 if "{1}" in statement else 1]
    text = statement.format(*names, o="out")
    scope = {"xp": np, **names_of(output_type)}
    return eval(f"lambda {', '.join(names)}, out: {text}", scope)  # type: ignore[no-any-return]


def _add_up(inputs: list[Any], out: np.ndarray) -> Any:
    for other in inputs[1:]:
        if other.shape != inputs[0].shape:
            raise ValueError(
                f"all inputs must have the same shape: {inputs[0].shape}, {other.shape}"
            )
    np.add(inputs[0], inputs[1], out=out)
    for other in inputs[2:]:
        out += other
    return out


def is_large(tensor: Tensor) -> bool:
    """True for a value whose buffer is worth reusing."""
    if not tensor.dims:
        return False
    size = 1
    for d in tensor.dims:
        size *= _GUESSED_SIZE if d is None else d
    return size >= _WORTHWHILE_ELEMENTS
