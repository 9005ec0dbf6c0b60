"""Multi-tensor updates: one node updates all variables to which an optimizer applies one rule.

For each of a dozen small updates the call costs more than the arithmetic. Together they are called
once, and the threads of the pool share them.
"""

from __future__ import annotations

from typing import Any

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.loader import get_kernel
from dataflow.ops.fused import update_all_op
from dataflow.rewrites.control_dependency_gates import variable_read
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions, sources, with_whole_loops
from dataflow.rewrites.effects import variable_behind
from dataflow.rewrites.fusion import FUSED_NODES
from dataflow.rewrites.gradual import Steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

#: The names of the inputs that are gradients.
_GRADIENTS = ("grad", "delta")
#: The name of the input that says which rows a gradient has.
_ROWS = "indices"
#: The most groups, as the search for each starts from the first node.
_MOST_GROUPS = 10


def run(work: WorkingGraph, journal: list[Hit]) -> Steps[None]:
    """Joins updates of one kind that do not depend on each other."""
    refused: set[Operation] = set()
    for _ in range(_MOST_GROUPS):
        group = _group(work, refused)
        if not group:
            return
        refused.update(group)
        if len(group) > 1:
            _join(work, journal, group)
        yield work.size


def _group(work: WorkingGraph, refused: set[Operation]) -> list[Operation]:
    """The next updates to be joined; ``refused`` gets each that was in a group."""
    ops = work.needed()
    where = positions(ops, work.feed_tensors)
    ops, waits = with_whole_loops(ops, set(work.feed_tensors), where)
    fetched = set(work.fetch_tensors())
    group: list[Operation] = []
    wanted: Any = None
    changed: set[Operation] = set()
    after: set[Operation] = set()  # nodes that depend on the group
    for op in ops:
        if not after.isdisjoint(sources(op, waits)):
            after.add(op)
            continue
        if not op.op_def.follows_rule or op in refused or where.get(op, OUTSIDE) != OUTSIDE:
            continue
        if any(t.uses or t in fetched for t in op.outputs):
            continue  # a node reads the variable right after this update
        key = _key(op)
        variables = {variable_behind(t.op) for t in _refs(op)}
        read = {v for t in op.inputs[len(_refs(op)) :] if (v := _variable_read(t)) is not None}
        if wanted is not None and key != wanted:
            continue
        # An input that is a variable is read when the node runs, and joined nodes run at another time.
        if len(variables) < len(_refs(op)) or variables & changed or read & (changed | variables):
            continue
        if any(_variable_read(t) in variables for g in group for t in g.inputs[len(_refs(g)) :]):
            continue
        wanted = key
        group.append(op)
        changed |= variables
        after.add(op)
    return group


def _refs(op: Operation) -> list[Tensor]:
    return [t for arg, t in zip(op.op_def.inputs, op.inputs, strict=True) if arg.is_ref]


def _gradient(op: Operation) -> int:
    """The index of the input that is the gradient."""
    return next(i for i, arg in enumerate(op.op_def.inputs) if arg.name in _GRADIENTS)


def _scalars(op: Operation) -> list[Tensor]:
    return [
        t
        for arg, t in zip(op.op_def.inputs, op.inputs, strict=True)
        if not arg.is_ref and arg.name not in (*_GRADIENTS, _ROWS)
    ]


def _rows(op: Operation) -> list[Tensor]:
    """The indices of the rows of the gradient; none where it is dense."""
    pairs = zip(op.op_def.inputs, op.inputs, strict=True)
    return [t for arg, t in pairs if arg.name == _ROWS]


def _key(op: Operation) -> Any:
    """The properties shared by all updates of a group."""
    return op.type, repr(_rule_attrs(op)), op.attrs["T"], op.device, tuple(_scalars(op))


def _rule_attrs(op: Operation) -> dict[str, Any]:
    """The attributes that determine the result."""
    found = get_kernel(op.type)
    assert found is not None
    return {name: op.attrs[name] for name in found.attrs}


def _variable_read(t: Tensor) -> Operation | None:
    """The variable that ``t`` is the value of, else ``None``."""
    return variable_behind(t.op) if t.dtype.is_ref else variable_read(t.op)


def _join(work: WorkingGraph, journal: list[Hit], group: list[Operation]) -> None:
    first = group[0]
    refs = [t for op in group for t in _refs(op)]
    with use_graph(work.graph):
        work.begin_node(first)
        out = update_all_op(
            refs,
            [op.inputs[_gradient(op)] for op in group],
            _scalars(first),
            [t for op in group for t in _rows(op)],
            update=first.type,
            update_attrs=_rule_attrs(first),
            name="together",
        )
        # The nodes that an error in the kernel is reported for.
        out.op.attrs[FUSED_NODES] = tuple(work.origin[op] for op in group)
        for op in group:
            for result in op.outputs:
                work.replace(result, out)
            if not op.outputs:
                work.replace_node(op, out.op)
    journal.append(
        Hit(
            "updates",
            f"{len(group)} x {first.type} -> one node",
            _shown(group[-1]),
            out.name,
            tuple(op.name for op in group),
            (out.op.name,),
        )
    )


def _shown(op: Operation) -> str:
    """The name of what a step makes: its output, or the node where it has none."""
    return op.outputs[0].name if op.outputs else op.name


def failing_update(op: Operation, values: list[Any]) -> tuple[Operation, list[Any]] | None:
    """The user's node in a group whose update fails, with the values of its inputs.

    ``None`` where each variable has the shape of its slots and its gradient, and all rows are there.
    """
    nodes = op.attrs[FUSED_NODES]
    num_refs = op.attrs["R"]
    number = num_refs // len(nodes)
    grads, others = values[num_refs:][: len(nodes)], values[num_refs + len(nodes) :]
    num_scalars = len(others) - (len(nodes) if _rows(nodes[0]) else 0)
    scalars, rows = others[:num_scalars], others[num_scalars:]
    for i, (node, grad) in enumerate(zip(nodes, grads, strict=True)):
        refs, indices = values[i * number :][:number], rows[i : i + 1]
        if _fails(refs, grad, *indices):
            place = _gradient(node) - number
            return node, [*refs, *scalars[:place], grad, *indices, *scalars[place:]]
    return None


def _fails(refs: list[Any], grad: Any, indices: Any = None) -> bool:
    shape = getattr(refs[0], "shape", None)
    if any(getattr(ref, "shape", None) != shape for ref in refs) or shape is None:
        return True
    if indices is None:
        return bool(getattr(grad, "shape", None) != shape)
    if grad.shape != (*indices.shape, *shape[1:]):
        return True
    return bool(indices.size and not 0 <= indices.min() <= indices.max() < shape[0])
