"""A bias and a rectifier after the pooling that follows them: on a fraction of the elements.

Both are the same for all elements of a window (of one channel) and keep their order, and so does
rounding: ``max(relu(c + b)) = relu(max(c) + b)``, bit for bit. The pooling's gradient then looks for
the largest c in place of the largest relu(c + b). Where several of the latter are equal, being zero,
nothing reaches them; being rounded alike, the gradient reaches another of them.
"""

from __future__ import annotations

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.pooling import max_pool_grad_op, max_pool_op
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

_ATTRS = ("ksize", "strides", "padding", "explicit_paddings", "data_format")


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Moves them, with the pooling's gradients, wherever nobody else needs the larger arrays."""
    ops = work.needed()
    needed = set(ops)
    fetched = {*work.fetch_tensors(), *(t for op in work.fetch_operation_set() for t in op.outputs)}
    for op in ops:
        if op.type != "MaxPool":
            continue
        found = _found(op, needed, fetched)
        if found is not None:
            _move(work, journal, op, *found)


def _found(
    pool: Operation, needed: set[Operation], fetched: set[Tensor]
) -> tuple[Operation, Tensor, list[Operation]] | None:
    """The node that adds a bias, what it is added to, and the gradients of the pooling."""
    rectified = pool._inputs[0]
    relu = rectified.op
    if relu.type != "Relu" or relu._inputs[0].op.type not in ("BiasAdd", "Add", "AddV2"):
        return None
    biased = relu._inputs[0]
    x, bias = biased.op._inputs
    if bias.dims is None or len(bias.dims) != 1 or x.dims is None or len(x.dims) != 4:
        return None
    if x.dims[3] is None or bias.dims[0] not in (1, x.dims[3]):
        return None  # x may be enlarged
    windows = [*pool.attrs["ksize"], *pool.attrs["strides"]]
    by_channel = windows[0] == windows[3] == windows[4] == windows[7] == 1
    formats = {node.attrs.get("data_format", "NHWC") for node in (pool, biased.op)}
    if not by_channel or formats != {"NHWC"} or pool.attrs["padding"] not in ("SAME", "VALID"):
        return None
    gradients = [c for c in dict.fromkeys(rectified._consumers) if c in needed and c is not pool]
    if any(not _is_rectified_gradient(g, rectified, pool.outputs[0]) for g in gradients):
        return None
    if [c for c in dict.fromkeys(biased._consumers) if c in needed] != [relu]:
        return None
    if {rectified, biased} & fetched:
        return None
    for op in (pool, relu, biased.op, *gradients):
        if op._control_inputs or op._control_outputs or op.device != pool.device:
            return None
    return biased.op, x, gradients


def _is_rectified_gradient(op: Operation, rectified: Tensor, pooled: Tensor) -> bool:
    """Whether ``op`` gives nothing to elements of windows without a positive one."""
    if op.type != "MaxPoolGrad" or op._inputs[0] is not rectified or op._inputs[1] is not pooled:
        return False
    gradient = op._inputs[2]
    return gradient.op.type == "ReluGrad" and gradient.op._inputs[1] is pooled


def _move(
    work: WorkingGraph,
    journal: list[Hit],
    pool: Operation,
    add: Operation,
    x: Tensor,
    gradients: list[Operation],
) -> None:
    with use_graph(work.graph):
        work.begin(pool.outputs[0])
        pooled = max_pool_op(x, **{name: pool.attrs[name] for name in _ATTRS})
        biased = get_op(add.type)(pooled, add._inputs[1])
        result = get_op("Relu")(biased)
        for new, old in ((biased.op, add), (result.op, pool._inputs[0].op)):
            work.origin[new] = work.origin[old]
            new._frames = work.origin[old]._frames
        work.replace(pool.outputs[0], result)
        added = [pooled.op.name, biased.op.name, result.op.name]
        for op in gradients:
            work.begin(op.outputs[0])
            attrs = {name: op.attrs[name] for name in _ATTRS}
            gradient = max_pool_grad_op(x, pooled, op._inputs[2], **attrs)
            work.replace(op.outputs[0], gradient)
            added.append(gradient.op.name)
    removed = (pool, pool._inputs[0].op, add, *gradients)
    journal.append(
        Hit(
            "pooling",
            "max_pool(relu(x + b)) -> relu(max_pool(x) + b)",
            pool.outputs[0].name,
            result.name,
            tuple(op.name for op in removed),
            tuple(added),
        )
    )
