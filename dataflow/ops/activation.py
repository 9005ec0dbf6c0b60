"""Activation functions."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import FLOATING, REAL_NUMBERS
from dataflow.errors import ShapeError
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import maximum_op
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal_op, less_op
from dataflow.ops.elementary import (
    abs_op,
    exp_op,
    neg_op,
    reciprocal_op,
    sigmoid_op,
    sign_op,
    square_op,
    tanh_op,
)
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.seeds import count_left_out, count_left_out_of_gradient, counted_as
from dataflow.ops.sequences import range_op
from dataflow.ops.special import erf
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, normalize_axis, same_dims


def _activation(op_type: str, what: str, gradient: str, allowed: Any = FLOATING) -> OpDef:
    def rule(features: Tensor) -> Dims:
        return features.dims

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what}, element by element.\n\n"
        f"Shape: any; the result has that of the features. Dtype: kept.\nGradient: {gradient}\n"
    )
    return define_op(op_type, "features: T -> activations: T", T=allowed, elementwise=True)(rule)


relu_op = _activation("Relu", "max(x, 0)", "dy where x > 0, as ReluGrad.", REAL_NUMBERS)
relu6_op = _activation(
    "Relu6", "min(max(x, 0), 6)", "dy where 0 < x < 6, as Relu6Grad.", REAL_NUMBERS
)
elu_op = _activation("Elu", "x, or exp(x) - 1 where x < 0", "dy * (y + 1) where y < 0.")
selu_op = _activation(
    "Selu",
    "scale * x, or scale * alpha * (exp(x) - 1) where x < 0 (Klambauer et al. 2017)",
    "dy * scale, or dy * (y + scale * alpha) where y < 0.",
)
softplus_op = _activation("Softplus", "log(1 + exp(x))", "dy * sigmoid(x), as SoftplusGrad.")
softsign_op = _activation("Softsign", "x / (1 + abs(x))", "dy / (1 + abs(x))**2.")


@define_op("LeakyRelu", "features: T -> activations: T", T=FLOATING, elementwise=True)
def leaky_relu_op(
    features: Tensor,
    *,
    alpha: float = 0.20000000298023224,
) -> Dims:
    """x, or ``alpha * x`` where x < 0 (Maas et al. 2013).

    Shape: any; the result has that of the features. Dtype: kept.
    Gradient: dy where x > 0, else ``alpha * dy``.
    """
    return features.dims


def _from_features(op_type: str, formula: str, allowed: Any = FLOATING, **traits: Any) -> OpDef:
    def rule(gradients: Tensor, features: Tensor) -> Dims:
        return same_dims(gradients.dims, features.dims)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"The gradient of {op_type.removesuffix('Grad')} from its input: ``{formula}``.\n\n"
        "Shape and dtype: the same for both. Gradient: both inputs have one.\n"
    )
    return define_op(
        op_type,
        "gradients: T, features: T -> backprops: T",
        T=allowed,
        elementwise=True,
        **traits,
        shape_like=0,
        equal_shapes=True,
    )(rule)


def _from_outputs(op_type: str, formula: str) -> OpDef:
    def rule(gradients: Tensor, outputs: Tensor) -> Dims:
        return same_dims(gradients.dims, outputs.dims)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"The gradient of {op_type.removesuffix('Grad')} from its result y: ``{formula}``.\n\n"
        "Shape and dtype: the same for both. Gradient: both inputs have one.\n"
    )
    return define_op(
        op_type,
        "gradients: T, outputs: T -> backprops: T",
        T=FLOATING,
        elementwise=True,
        shape_like=0,
        equal_shapes=True,
    )(rule)


relu_grad_op = _from_features("ReluGrad", "dy * (x > 0)", REAL_NUMBERS, shares_work="large")
relu6_grad_op = _from_features("Relu6Grad", "dy * (0 < x < 6)", REAL_NUMBERS)
softplus_grad_op = _from_features("SoftplusGrad", "dy * sigmoid(x)")
softsign_grad_op = _from_features("SoftsignGrad", "dy / (1 + abs(x))**2")
elu_grad_op = _from_outputs("EluGrad", "dy * (y + 1 where y < 0, else 1)")
selu_grad_op = _from_outputs("SeluGrad", "dy * (y + scale * alpha where y < 0, else scale)")


@define_op(
    "LeakyReluGrad",
    "gradients: T, features: T -> backprops: T",
    T=FLOATING,
    elementwise=True,
    shape_like=0,
    equal_shapes=True,
)
def leaky_relu_grad_op(
    gradients: Tensor,
    features: Tensor,
    *,
    alpha: float = 0.20000000298023224,
) -> Dims:
    """The gradient of LeakyRelu: dy where x > 0, else ``alpha * dy``.

    Shape and dtype: the same for both. Gradient: to dy alone; x only chooses.
    """
    return same_dims(gradients.dims, features.dims)


@relu_op.gradient
def relu_gradient(op: Operation, grad: Tensor) -> list[Any]:
    # The result is positive where the input is; using it lets the input be dropped early.
    return [relu_grad_op(grad, op.outputs[0])]


@relu_grad_op.gradient
def relu_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [relu_grad_op(grad, op.inputs[1]), array_ops.zeros_like(op.inputs[1])]


@relu6_op.gradient
def relu6_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [relu6_grad_op(grad, op.outputs[0])]


@relu6_grad_op.gradient
def relu6_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [relu6_grad_op(grad, op.inputs[1]), array_ops.zeros_like(op.inputs[1])]


@leaky_relu_op.gradient
def leaky_relu_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [leaky_relu_grad_op(grad, op.inputs[0], alpha=op.attrs["alpha"])]


@leaky_relu_grad_op.gradient
def leaky_relu_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x = op.inputs[1]
    return [leaky_relu_grad_op(grad, x, alpha=op.attrs["alpha"]), array_ops.zeros_like(x)]


@elu_op.gradient
def elu_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [elu_grad_op(grad, op.outputs[0])]


@elu_grad_op.gradient
def elu_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    dy, y = op.inputs
    below = cast(less_op(y, 0), grad.dtype)
    return [elu_grad_op(grad, y), below * (dy * grad)]


@selu_op.gradient
def selu_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [selu_grad_op(grad, op.outputs[0])]


@selu_grad_op.gradient
def selu_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    dy, y = op.inputs
    below = cast(less_op(y, 0), grad.dtype)
    return [selu_grad_op(grad, y), below * (dy * grad)]


@softplus_op.gradient
def softplus_gradient(op: Operation, grad: Tensor) -> list[Any]:
    count_left_out(1)
    return [softplus_grad_op(grad, op.inputs[0])]


@softplus_grad_op.gradient
def softplus_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    dy, x = op.inputs
    y = sigmoid_op(x)
    return [grad * y, grad * dy * y * (1.0 - y)]


@softsign_op.gradient
def softsign_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [softsign_grad_op(grad, op.inputs[0])]


@softsign_grad_op.gradient
def softsign_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    dy, x = op.inputs
    inverse = reciprocal_op(1.0 + abs_op(x))
    squared = square_op(inverse)
    return [grad * squared, -2.0 * grad * dy * squared * inverse * sign_op(x)]


# ---- softmax -----------------------------------------------------------------------------------


def _at_least_a_vector(logits: Tensor) -> Dims:
    if logits.dims == ():
        raise ValueError("logits must have at least one axis, got a scalar")
    return logits.dims


@define_op(
    "Softmax", "logits: T -> softmax: T", T=FLOATING, shape_like=0, own_memory=True, cost=0.005
)
def softmax_op(logits: Tensor) -> Dims:
    """``exp(x) / sum(exp(x))`` along the last axis: positive numbers that sum to 1.

    Shape: at least one axis; kept. Dtype: kept.
    Gradient: ``y * (dy - sum(dy * y))``.
    """
    return _at_least_a_vector(logits)


@define_op("LogSoftmax", "logits: T -> logsoftmax: T", T=FLOATING, shape_like=0, own_memory=True)
def log_softmax_op(logits: Tensor) -> Dims:
    """``x - log(sum(exp(x)))`` along the last axis.

    Shape: at least one axis; kept. Dtype: kept.
    Gradient: ``dy - softmax(x) * sum(dy)``.
    """
    return _at_least_a_vector(logits)


@softmax_op.gradient
def softmax_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y = op.outputs[0]
    total = reduce_sum(grad * y, -1, keepdims=True)
    return [(grad - total) * y]


@log_softmax_op.gradient
def log_softmax_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad - reduce_sum(grad, -1, keepdims=True) * exp_op(op.outputs[0])]


def _along_axis(op: OpDef, logits: TensorLike, axis: Any, name: str | None) -> Tensor:
    """``op`` works along the last axis: another one is swapped there and back.

    Raises `ShapeError` for a scalar, and for an axis that ``logits`` have not.
    """
    logits = convert_to_tensor(logits, name="logits")
    if logits.dims == ():
        raise ShapeError(None, None, "softmax needs at least one axis, got a scalar")
    known = -1 if axis is None else static_value(axis) if isinstance(axis, Tensor) else int(axis)
    rank = None if logits.dims is None else len(logits.dims)
    if known is not None and rank is not None and not -rank <= int(known) < rank:
        needed = f"expected {-rank} to {rank - 1}"
        raise ShapeError(None, None, f"softmax along axis {known} of rank {rank}: {needed}")
    if known is None or (rank is None and known != -1):
        order: Any = _order_with_last(array_ops.rank(logits), axis)
    else:
        place = int(known) if rank is None else normalize_axis(int(known), rank)
        if rank is None or place == rank - 1:
            return op(logits, name=name)  # type: ignore[no-any-return]
        order = list(range(rank))
        order[place], order[-1] = order[-1], order[place]
    with counted_as(31):
        moved = op(array_ops.transpose(logits, order))
        result = array_ops.transpose(moved, order, name=name or "transpose")
    result.set_shape(logits.dims)
    return result


def _order_with_last(rank: Tensor, axis: Any) -> Tensor:
    """The axes of a tensor whose rank the run tells, with ``axis`` and the last one swapped."""
    axis = cast(convert_to_tensor(axis), dtypes.int32)
    axis += rank * cast(less_op(axis, 0), dtypes.int32)
    axes, last = range_op(0, rank, 1), rank - 1
    at_axis, at_last = (cast(equal_op(axes, a), dtypes.int32) for a in (axis, last))
    return axes + at_axis * (last - axis) + at_last * (axis - last)  # type: ignore[no-any-return]


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``axis`` (the last; ``dim`` is the older spelling)."""
    return _along_axis(softmax_op, logits, _axis(axis, dim), name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``log(softmax(x))`` along ``axis`` (the last; ``dim`` is the older spelling)."""
    return _along_axis(log_softmax_op, logits, _axis(axis, dim), name)


def _axis(axis: Any, dim: Any) -> Any:
    return renamed("axis", axis, "dim", dim)


relu = relu_op
relu6 = relu6_op
elu = elu_op
selu = selu_op
softplus = softplus_op
softsign = softsign_op


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """x, or ``alpha * x`` where x < 0; integers are converted to float32."""
    with default_graph().name_scope(name or "LeakyRelu") as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, dtypes.float32)
        if isinstance(alpha, Tensor):
            return maximum_op(alpha * features, features, name=scope)  # type: ignore[no-any-return]
        return leaky_relu_op(features, alpha=alpha, name=scope)  # type: ignore[no-any-return]


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """``relu`` of x and of -x, joined along ``axis``, which becomes twice as long."""
    with default_graph().name_scope(name or "CRelu") as scope:
        features = convert_to_tensor(features, name="features")
        joined = array_ops.concat([features, neg_op(features)], axis, name=scope)
        return relu_op(joined)  # type: ignore[no-any-return]


def swish(features: TensorLike, beta: TensorLike = 1.0, name: str | None = None) -> Tensor:
    """``x * sigmoid(beta * x)`` (Ramachandran et al. 2017); also called SiLU."""
    features = convert_to_tensor(features, name="features")
    with counted_as(3):
        beta = convert_to_tensor(beta, features.dtype.base_dtype, name="beta")
        product = features * sigmoid_op(beta * features)
    result: Tensor = array_ops.identity_n([product], name=name)[0]
    count_left_out_of_gradient(result, (-4,))
    return result


def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """``x * P(X <= x)`` for normal X (Hendrycks, Gimpel 2016); by a tanh when ``approximate``."""
    with default_graph().name_scope(name or "Gelu"):
        x = convert_to_tensor(features, name="features")
        if approximate:
            inner = 0.7978845608028654 * (x + 0.044715 * (x * x * x))
            return 0.5 * x * (1.0 + tanh_op(inner))  # type: ignore[no-any-return]
        return 0.5 * x * (1.0 + erf(x * 0.7071067811865476))  # type: ignore[no-any-return]


# ---- half the sum of squares -------------------------------------------------------------------


@define_op("L2Loss", "t: T -> output: T", T=FLOATING, keeps_nothing=True, calls_blas=True)
def l2_loss_op(t: Tensor) -> Dims:
    """Half the sum of all squares, ``sum(t**2) / 2``.

    Shape: any; the result is a scalar. Dtype: kept. Gradient: ``dy * t``.
    """
    return ()


@l2_loss_op.gradient
def l2_loss_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [op.inputs[0] * grad]


l2_loss = l2_loss_op


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))`` as ``-softplus(-x)``, exact where the sigmoid is nearly 0."""
    with default_graph().name_scope(name or "LogSigmoid") as scope:
        return neg_op(softplus_op(neg_op(convert_to_tensor(x, name="x"))), name=scope)  # type: ignore[no-any-return]
