"""Fusion: a cone of element-wise nodes with one result becomes one generated kernel."""

from __future__ import annotations

import warnings
from typing import Any

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.jit.elementwise import compile_program
from dataflow.kernels.jit.expression import Program, Region
from dataflow.kernels.jit.op_table import INSTRUCTIONS
from dataflow.kernels.jit.regions import small
from dataflow.ops.fused import fused_op
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import Changes
from dataflow.rewrites.gradual import NODES_PER_STEP, Steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

#: Assumed for unknown dimensions when estimating whether a result is large.
_GUESSED_SIZE = 256
_WORTHWHILE_ELEMENTS = 32_768
_MAX_STEPS = 32
_REDUCTIONS = ("Sum", "Mean")
#: Scalar exponents that the kernel of Pow treats specially.
_OTHER_POWERS = (1, 2, 3, 4)
#: The attribute of a fused node that lists the user's nodes, one for each step.
FUSED_NODES = "_nodes"
#: The cost of fusing one node, in nodes looked at.
_COST = 10
#: Programs that could not be compiled; each is warned about once.
_refused: set[Program] = set()


def run(
    work: WorkingGraph,
    journal: list[Hit],
    batch_size_hint: int | None = None,
    reductions: bool = False,
) -> Steps[None]:
    """Replaces each cone by a `_Fused` node.

    With ``reductions`` the kernel also computes a sum or mean of the result, which rounds differently
    from a separate Sum or Mean.
    """
    ops = work.needed()
    where = positions(ops, work.feed_tensors)
    needed = set(ops)
    changes = Changes(ops)
    fetched = set(work.fetch_tensors())
    roots: dict[Operation, Operation] = {}  # node -> root of its cone
    sizes: dict[Operation, int] = {}
    yield len(ops)
    for i, op in enumerate(reversed(ops), 1):
        if i % NODES_PER_STEP == 0:
            yield NODES_PER_STEP
        if not _fits(op, changes) or where.get(op, OUTSIDE).is_dead:
            continue
        consumers = [c for c in dict.fromkeys(op.outputs[0].uses) if c in needed]
        targets = {roots.get(c) for c in consumers}
        root = targets.pop() if len(targets) == 1 and consumers else None
        if (
            root is not None
            and op.outputs[0] not in fetched
            and not op.control_outputs
            and op.device == root.device
            and where.get(op) == where.get(root)
            and op.outputs[0].dims == root.outputs[0].dims
            and sizes[root] < _MAX_STEPS
        ):
            roots[op] = root
            sizes[root] += 1
        elif not op.control_inputs:
            roots[op] = op
            sizes[op] = 1
    cones: dict[Operation, list[Operation]] = {}
    for op in ops:
        if op in roots:
            cones.setdefault(roots[op], []).append(op)
    for root, members in cones.items():
        reduction = _reduction_of(root, needed, fetched) if reductions else None
        if reduction is not None and where.get(reduction) != where.get(root):
            reduction = None
        if reduction is None and _meets_a_mask(root, members):
            continue
        if len(members) < (1 if reduction is not None else 2) or not _worthwhile(
            root.outputs[0], batch_size_hint or _GUESSED_SIZE
        ):
            continue
        _fuse(work, journal, members, reduction)
        yield _COST * len(members)


def _meets_a_mask(root: Operation, members: list[Operation]) -> bool:
    """Whether a cone ends in a bool that is cast to numbers, or takes such numbers, as those before and behind
    dropout's mask: `multi_output_fusion` makes one kernel of both."""
    if root.outputs[0].dtype.name == "bool":
        return any(c.type == "Cast" for c in root.outputs[0].uses)
    return any(
        t.op.type == "Cast" and t.op.inputs[0].dtype.name == "bool"
        for op in members
        for t in op.inputs
    )


def _fits(op: Operation, changes: Changes) -> bool:
    if op.type not in INSTRUCTIONS or len(op.outputs) != 1 or op.control_inputs:
        return False
    if op.type == "BiasAdd" and op.attrs.get("data_format", "NHWC") not in ("NHWC", b"NHWC"):
        return False
    if op.type == "Pow" and not _is_general_power(op):
        return False
    output = op.outputs[0]
    instruction = INSTRUCTIONS[op.type]
    if any(t.dtype.is_ref and not changes.are_over(t) for t in op.inputs):
        return False
    value_types = {t.dtype.base_dtype for t in op.inputs if t.dtype.name != "bool"}
    if not instruction.is_bool:
        value_types.add(output.dtype)
    return len(value_types) == 1 and next(iter(value_types)).name in ("float32", "float64")


def _is_general_power(op: Operation) -> bool:
    """True where Pow is computed by NumPy's own function, for any exponent."""
    exponent = op.inputs[1]
    if exponent.op.type == "Const" and not exponent.op.control_inputs:
        return exponent.dims != () or exponent.op.attrs["value"].item() not in _OTHER_POWERS
    return bool(exponent.dims)


def _worthwhile(tensor: Tensor, batch_size_hint: int) -> bool:
    if tensor.dims is None:
        return True
    size = 1
    for d in tensor.dims:
        size *= batch_size_hint if d is None else d
    return size >= _WORTHWHILE_ELEMENTS


def _reduction_of(
    root: Operation, needed: set[Operation], fetched: set[Tensor]
) -> Operation | None:
    """A Sum or Mean of all elements, or of rows, that is the only consumer of the cone's result."""
    output = root.outputs[0]
    consumers = [c for c in dict.fromkeys(output.uses) if c in needed]
    if len(consumers) != 1 or output in fetched or root.control_outputs:
        return None
    (op,) = consumers
    if op.type not in _REDUCTIONS or op.control_inputs:
        return None
    axes = op.inputs[1]
    if op.inputs[0] is not output or output.dims is None or axes.op.type != "Const":
        return None
    covered = _axes(op, len(output.dims))
    if len(covered) == len(output.dims) and not op.attrs.get("keep_dims"):
        return op
    return op if covered == {len(output.dims) - 1} else None


def _axes(op: Operation, rank: int) -> set[int]:
    """The axes that a reduction with constant axes sums over."""
    axes = op.inputs[1].op.attrs["value"].reshape(-1)
    return {int(a) % rank for a in axes} if rank else set()


def _program(members: list[Operation], reduction: Operation | None) -> tuple[Program, list[Tensor]]:
    """The chain as one expression, and the tensors that come into it."""
    inputs: dict[Tensor, int] = {}
    inside = {op.outputs[0] for op in members}
    for op in members:
        for tensor in op.inputs:
            if tensor not in inside:
                inputs.setdefault(tensor, len(inputs))
    numbers: dict[Tensor, int] = dict(inputs)
    steps = []
    value_type: Any = None
    for i, op in enumerate(members):
        steps.append((op.type, tuple(numbers[t] for t in op.inputs)))
        numbers[op.outputs[0]] = len(inputs) + i
        for tensor in [*op.inputs, op.outputs[0]]:
            if tensor.dtype.name != "bool":
                value_type = tensor.dtype.base_dtype
    over_rows = keep_dims = False
    if reduction is not None:
        rank = len(members[-1].outputs[0].dims or ())
        keep_dims = bool(reduction.attrs.get("keep_dims"))
        over_rows = keep_dims or len(_axes(reduction, rank)) < rank
    program = Program(
        len(inputs),
        tuple(steps),
        value_type.name,
        "" if reduction is None else reduction.type,
        over_rows,
        keep_dims,
    )
    return program, list(inputs)


def _fuse(
    work: WorkingGraph, journal: list[Hit], members: list[Operation], reduction: Operation | None
) -> None:
    program, inputs = _program(members, reduction)
    last = members[-1] if reduction is None else reduction
    try:
        source = compile_program(program).source
    except Exception as e:  # the nodes stay as they are
        if program not in _refused:
            _refused.add(program)
            warnings.warn(
                f"A chain of {len(members)} nodes that ends in {last.name!r} could not be fused; "
                f"each runs on its own: {type(e).__name__}: {e}",
                stacklevel=2,
            )
        return
    target = last.outputs[0]
    with use_graph(work.graph):
        work.begin(target)
        replacement = fused_op(
            inputs, program=program, T=target.dtype, output_shape=target.dims, name="fused"
        )
        # The nodes that an error in the kernel is reported for.
        replacement.op._set_attr(FUSED_NODES, tuple(work.origin[op] for op in members))
        work.replace(target, replacement)
    names = tuple(op.name for op in members) + ((reduction.name,) if reduction else ())
    journal.append(
        Hit(
            "fusion",
            " . ".join([op.type for op in reversed(members)]) + " -> one kernel",
            target.name,
            replacement.name,
            names,
            (replacement.op.name,),
            source,
        )
    )


def failing_step(op: Operation, inputs: list[Any]) -> tuple[Operation, list[Any], Exception] | None:
    """The user's node whose step of a fused kernel fails, its operands, and the error.

    Computes the steps one by one; ``None`` when none of them fails by itself.
    """
    what, nodes = op.attrs.get("program") or op.attrs["region"], op.attrs.get(FUSED_NODES, ())
    values = list(inputs)
    for (op_type, operands), node in zip(what.steps, nodes, strict=False):
        arguments = [values[o] for o in operands]
        count = len(arguments)
        step = Region(count, ((op_type, tuple(range(count))),), (count,), what.dtype)
        try:
            values.append(small(step)(*arguments)[0])
        except Exception as e:
            return node, arguments, e
    return None
