"""How many nodes TensorFlow 1.15 makes for a gradient where ours has others.

What is made afterwards takes its seed from that number, in programs that run as TensorFlow's (`seeds.counted_as`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.seeds import counted_as

#: The ops whose gradients are summed only where a shape asks for it.
_LOOK_AT_SHAPES = frozenset({"Add", "AddV2", "Mul", "Pow", "SquaredDifference", "Sub"})
#: A stack, what pushes and pops, and its way into both loops: for a value of a loop that its gradient needs.
NODES_OF_A_KEPT_VALUE = 6
#: Where a graph keeps the pairs of shapes, and the reductions, for which TensorFlow has made constants.
_SEEN = "shapes_of_gradients"


def _is_new(*key: Any) -> bool:
    seen = default_graph().attachments.setdefault(_SEEN, set())
    if key in seen:
        return False
    seen.add(key)
    return True


def _gradient_loop() -> Any:
    """The `LoopGradient` that nodes are being made for; None outside of loops."""
    context = default_graph().control_flow_context
    loop = None if context is None else context.while_context
    return None if loop is None else loop.grad_state


def _is_known(tensor: Tensor) -> bool:
    return tensor.dims is not None and None not in tensor.dims


def counted_as_broadcast(op: Operation) -> AbstractContextManager[None]:
    """For a block that sums the gradients of a binary op back to the shapes of its inputs."""
    x, y = op.inputs[:2]
    if op.type not in _LOOK_AT_SHAPES or not (_is_known(x) and _is_known(y)):
        loop = _gradient_loop()
        kept = 0 if loop is None else 2 * NODES_OF_A_KEPT_VALUE + loop.num_trigger_nodes()
        return counted_as(7 + kept)
    if x.dims == y.dims and op.type != "Pow":
        return counted_as(0)
    num_summed = sum(t.dims != op.outputs[0].dims for t in (x, y))
    return counted_as(4 * num_summed + 3 * _is_new(x.dims, y.dims))


def num_sum_nodes(op: Operation, axes: list[int] | None) -> int:
    """Those of the gradient of a sum along ``axes``, which are sorted (``None``: not known yet)."""
    x = op.inputs[0]
    if x.dims is None or axes is None:
        return 16
    if axes == list(range(len(x.dims))):
        return 4
    return 4 + 17 * _is_new(x.dims, *axes) if _is_known(x) else 16


def num_mean_nodes(op: Operation) -> int:
    """Those that the gradient of a mean has beside a sum's."""
    return 2 if _is_known(op.inputs[0]) and _is_known(op.outputs[0]) else 11


def num_product_nodes(op: Operation) -> int:
    """Those of the gradient of a product of stacks: sums too, unless both have one known shape."""
    x, y = op.inputs
    return 2 if _is_known(x) and x.dims == y.dims else 17


def num_concat_nodes(values: list[Tensor]) -> int:
    """Those of the gradient of a concatenation: one split from 17 parts on, slices before.

    In a loop the axis is a constant of the gradient's, and parts of unknown shape are kept for theirs.
    """
    are_known = all(map(_is_known, values))
    loop = _gradient_loop()
    in_loop = 0
    if loop is not None:
        in_loop = 1 + (0 if are_known else sum(map(loop.keep_for_shape, values)))
    if len(values) > 16:
        return in_loop + (len(values) + 9 if are_known else 11)
    return in_loop + len(values) + 3 + (len(values) if are_known else 2)
