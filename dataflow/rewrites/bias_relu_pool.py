"""Fuses adding a bias, ReLU and max pooling into one kernel, and their gradient into another.

The larger intermediate arrays are never written: the gradient adds the bias again to find the
element that gave the maximum. Every number is computed as by the three separate nodes, so among
equal maxima the same element gets the gradient. (Pooling first would be less work, but where two
sums round to the same number the gradient could reach the other element.)
"""

from __future__ import annotations

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.fused import bias_relu_max_pool_grad_op, bias_relu_max_pool_op
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

_ATTRS = ("ksize", "strides")
_DTYPES = ("float32", "float64")
#: For larger windows the separate kernels are faster.
_MOST_TAPS = 9


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Fuses them, with the pooling's gradients, wherever no other node needs the larger arrays."""
    ops = work.needed()
    needed = set(ops)
    fetched = work.fetched_values()
    for op in ops:
        if op.type != "MaxPool":
            continue
        found = _found(op, needed, fetched)
        if found is not None:
            _move(work, journal, op, *found)


def _found(
    pool: Operation, needed: set[Operation], fetched: set[Tensor]
) -> tuple[Operation, Tensor, list[Operation]] | None:
    """The node that adds the bias, the tensor it is added to, and the pooling's gradient nodes."""
    rectified = pool.inputs[0]
    relu = rectified.op
    if relu.type != "Relu" or relu.inputs[0].op.type not in ("BiasAdd", "Add", "AddV2"):
        return None
    biased = relu.inputs[0]
    x, bias = biased.op.inputs
    if bias.dims is None or len(bias.dims) != 1 or x.dims is None or len(x.dims) != 4:
        return None
    if x.dims[3] is None or bias.dims[0] not in (1, x.dims[3]):
        return None  # x may be broadcast
    formats = {node.attrs.get("data_format", "NHWC") for node in (pool, biased.op)}
    if formats != {"NHWC"} or not _is_tiled(pool, x.dims) or x.dtype.name not in _DTYPES:
        return None
    gradients = [c for c in dict.fromkeys(rectified.uses) if c in needed and c is not pool]
    if any(
        g.type != "MaxPoolGrad" or g.inputs[:2] != [rectified, pool.outputs[0]] for g in gradients
    ):
        return None
    if any(rectified in g.inputs[1:] for g in gradients):
        return None
    if [c for c in dict.fromkeys(biased.uses) if c in needed] != [relu]:
        return None
    if {rectified, biased} & fetched:
        return None
    for op in (pool, relu, biased.op, *gradients):
        if op.control_inputs or op.control_outputs or op.device != pool.device:
            return None
    return biased.op, x, gradients


def _is_tiled(pool: Operation, dims: tuple[int | None, ...]) -> bool:
    """True when small windows tile height and width without overlap, gap or padding."""
    taps, strides = pool.attrs["ksize"], pool.attrs["strides"]
    if taps != strides or taps[0] != 1 or taps[3] != 1 or not 1 < taps[1] * taps[2] <= _MOST_TAPS:
        return False
    if pool.attrs["padding"] not in ("SAME", "VALID"):
        return False
    return all(
        size is not None and size % t == 0 for size, t in zip(dims[1:3], taps[1:3], strict=True)
    )


def _move(
    work: WorkingGraph,
    journal: list[Hit],
    pool: Operation,
    add: Operation,
    x: Tensor,
    gradients: list[Operation],
) -> None:
    attrs = {name: pool.attrs[name] for name in _ATTRS}
    bias, old = add.inputs[1], pool.outputs[0]
    with use_graph(work.graph):
        work.begin(old)
        result = bias_relu_max_pool_op(x, bias, output_shape=old.dims, **attrs)
        work.origin[result.op] = work.origin[pool]
        work.replace(old, result)
        added = [result.op.name]
        for op in gradients:
            work.begin(op.outputs[0])
            gradient = bias_relu_max_pool_grad_op(x, bias, result, op.inputs[2], **attrs)
            work.replace(op.outputs[0], gradient)
            added.append(gradient.op.name)
    removed = (pool, pool.inputs[0].op, add, *gradients)
    journal.append(
        Hit(
            "pooling",
            "max_pool(relu(x + b)) -> one kernel, and one for its gradient",
            old.name,
            result.name,
            tuple(op.name for op in removed),
            tuple(added),
        )
    )
