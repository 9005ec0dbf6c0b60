"""Patterns of neural networks."""

from __future__ import annotations

from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.fused import mat_mul_sum_op
from dataflow.rewrites.rules import rewrite


@rewrite("Relu")
def relu_of_relu(t: Tensor) -> Tensor | None:
    """relu(relu(x)) -> relu(x)"""
    (x,) = t.op.inputs
    return x if x.op.type == "Relu" else None


@rewrite("ReluGrad")
def relu_gradient_before_pooling(t: Tensor) -> Tensor | None:
    """relu_grad(max_pool_grad(x, y, dy), x) -> max_pool_grad(x, y, relu_grad(dy, y))

    A gradient reaches an element of x only where it is the maximum y of its window, so x > 0 exactly
    where y > 0, and y has a fraction of the elements. Not where windows overlap: there an element
    may get a sum, and its sign decides which zero a product with 0 is.
    """
    pooled, x = t.op.inputs
    op = pooled.op
    if op.type != "MaxPoolGrad" or op.inputs[0] is not x or len(pooled.uses) != 1:
        return None
    if op.control_inputs or op.control_outputs:
        return None
    if any(t > s for t, s in zip(op.attrs["ksize"], op.attrs["strides"], strict=True)):
        return None
    _, y, grad = op.inputs
    names = ("ksize", "strides", "padding", "explicit_paddings", "data_format")
    attrs = {name: op.attrs[name] for name in names}
    return op.op_def(x, y, t.op.op_def(grad, y), **attrs)  # type: ignore[no-any-return]


@rewrite("AddN")
def sum_of_products(t: Tensor) -> Tensor | None:
    """a1 b1 + a2 b2 + ... -> one node that adds each product as soon as it is made.

    Such is the gradient of a weight that is used in every step of an unrolled loop. The products must
    be the first terms of the sum, as it is rounded after each term.
    """
    products: list[Tensor] = []
    others: list[Tensor] = []
    flags = None
    for x in t.op.inputs:
        op = x.op
        fits = (
            op.type == "MatMul"
            and x.dtype.name in ("float32", "float64")
            and len(x.uses) == 1
            and not op.control_inputs
            and not op.control_outputs
        )
        if fits:
            here = (op.attrs["transpose_a"], op.attrs["transpose_b"])
            flags = here if flags is None else flags
            fits = here == flags
        (products if fits and not others else others).append(x)
    if len(products) < 2 or flags is None:
        return None
    total = mat_mul_sum_op(
        [x.op.inputs[0] for x in products],
        [x.op.inputs[1] for x in products],
        transpose_a=flags[0],
        transpose_b=flags[1],
    )
    return get_op("AddN")([total, *others]) if others else total  # type: ignore[no-any-return]
