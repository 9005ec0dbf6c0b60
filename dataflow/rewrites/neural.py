"""Patterns of neural networks."""

from __future__ import annotations

from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.activation import relu_grad_op
from dataflow.ops.bias import bias_add_grad_op
from dataflow.ops.fused import mat_mul_sum_op
from dataflow.ops.pooling import max_pool_grad_op
from dataflow.ops.reduce import sum_op
from dataflow.rewrites.engine import rewrite


@rewrite("Relu")
def relu_of_relu(t: Tensor) -> Tensor | None:
    """relu(relu(x)) -> relu(x)"""
    (x,) = t.op._inputs
    return x if x.op.type == "Relu" else None


@rewrite("ReluGrad")
def relu_gradient_before_pooling(t: Tensor) -> Tensor | None:
    """relu_grad(max_pool_grad(x, y, dy), x) -> max_pool_grad(x, y, relu_grad(dy, y))

    A gradient reaches an element of x only where that is its window's maximum y, so that the two
    are positive together; and y has a fraction of the elements.
    """
    pooled, x = t.op._inputs
    op = pooled.op
    if op.type != "MaxPoolGrad" or op._inputs[0] is not x or len(pooled._consumers) != 1:
        return None
    if op._control_inputs or op._control_outputs:
        return None
    _, y, grad = op._inputs
    names = ("ksize", "strides", "padding", "explicit_paddings", "data_format")
    attrs = {name: op.attrs[name] for name in names}
    return max_pool_grad_op(x, y, relu_grad_op(grad, y), **attrs)  # type: ignore[no-any-return]


def _before_pooling(t: Tensor) -> Tensor | None:
    """What was pooled to give the gradient ``t``, if each of its numbers reached one element.

    A rectifier has made zeros of those whose window had no maximum (but NaN).
    """
    op = t.op
    if op.type != "MaxPoolGrad" or op._control_inputs:
        return None
    _, y, grad = op._inputs
    is_rectified = grad.op.type == "ReluGrad" and grad.op._inputs[1] is y
    lies_on_image = op.attrs["padding"] in ("SAME", "VALID")
    windows = [*op.attrs["ksize"], *op.attrs["strides"]]
    by_channel = windows[0] == windows[3] == windows[4] == windows[7] == 1
    if is_rectified and lies_on_image and by_channel and op.attrs["data_format"] == "NHWC":
        return grad
    return None


@rewrite("Sum", "BiasAddGrad")
def sum_before_pooling(t: Tensor) -> Tensor | None:
    """sum(max_pool_grad(x, y, relu_grad(dy, y))) -> sum(relu_grad(dy, y)), for each channel

    The gradient of a bias: pooling's gradient only moves numbers within their channel.
    """
    op = t.op
    grad = _before_pooling(op._inputs[0])
    if grad is None:
        return None
    if op.type == "BiasAddGrad":
        same = op.attrs["data_format"] == "NHWC"
        return bias_add_grad_op(grad) if same else None
    axes = op._inputs[1].op
    if axes.type != "Const" or sorted(axes.attrs["value"].reshape(-1).tolist()) != [0, 1, 2]:
        return None
    return sum_op(grad, op._inputs[1], keep_dims=op.attrs["keep_dims"])  # type: ignore[no-any-return]


@rewrite("AddN")
def sum_of_products(t: Tensor) -> Tensor | None:
    """a1 b1 + a2 b2 + ... -> one matrix that all products are added to.

    The gradient of a weight that is used in every step of an unrolled loop.
    """
    products: list[Tensor] = []
    others: list[Tensor] = []
    flags = None
    for x in t.op._inputs:
        op = x.op
        fits = (
            op.type == "MatMul"
            and x.dtype.name in ("float32", "float64")
            and len(x._consumers) == 1
            and not op._control_inputs
            and not op._control_outputs
        )
        if fits:
            here = (op.attrs["transpose_a"], op.attrs["transpose_b"])
            flags = here if flags is None else flags
            fits = here == flags
        (products if fits else others).append(x)
    if len(products) < 2 or flags is None:
        return None
    total = mat_mul_sum_op(
        [x.op._inputs[0] for x in products],
        [x.op._inputs[1] for x in products],
        transpose_a=flags[0],
        transpose_b=flags[1],
    )
    return get_op("AddN")([*others, total]) if others else total  # type: ignore[no-any-return]
