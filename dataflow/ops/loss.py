"""Losses between logits and labels, as ops and as the functions of `tf.nn`."""

from __future__ import annotations

import math
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import FLOATING, INDICES
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.activation import log_softmax_op, relu_op, softmax_op
from dataflow.ops.comparison import equal_op, greater_equal_op, less_equal_op, logical_and_op
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.elementary import abs_op, exp_op, log1p_op, log_op, neg_op
from dataflow.ops.logging_ops import Assert
from dataflow.ops.math import cast, reduce_all, reduce_sum
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.selection import select_op
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, broadcast, list_dims, merge, normalize_axis

# ---- softmax cross entropy ------------------------------------------------------------------------


def _logits_and_labels(features: Tensor, labels: Tensor) -> Dims:
    try:
        dims = broadcast(features.dims, labels.dims)
    except ValueError as e:
        raise ValueError(
            f"logits and labels must have the same shape: {list_dims(features.dims)} and "
            f"{list_dims(labels.dims)}\n"
            "Labels are one row of class probabilities for each row of logits; for class numbers "
            "use tf.nn.sparse_softmax_cross_entropy_with_logits."
        ) from e
    if dims is not None and len(dims) != 2:
        raise ValueError(f"logits and labels must be matrices, got {list_dims(dims)}")
    return dims


@define_op(
    "SoftmaxCrossEntropyWithLogits",
    "features: T, labels: T -> loss: T, backprop: T",
    T=FLOATING,
    keeps_nothing=True,
)
def softmax_cross_entropy_op(features: Tensor, labels: Tensor) -> list[Dims]:
    """The cross entropy ``-sum(labels * log(softmax(features)))`` of each row, and its gradient.

    Shape: features and labels [batch, classes]; loss [batch], backprop [batch, classes].
    Dtype: kept. Gradient: ``dloss * backprop`` to the features, ``-dloss * log_softmax`` to the
    labels; the second output is computed on the way and differentiable too.
    """
    dims = _logits_and_labels(features, labels)
    if dims is None:
        dims = (None, None)
    return [dims[:1], dims]


@define_op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels -> loss: T, backprop: T",
    T=FLOATING,
    Tlabels=Defaulted(dtypes.int64, INDICES),
    keeps_nothing=True,
)
def sparse_softmax_cross_entropy_op(features: Tensor, labels: Tensor) -> list[Dims]:
    """The cross entropy ``-log(softmax(features)[label])`` of each row, and its gradient.

    Shape: features [batch, classes], labels [batch] with class numbers; loss [batch], backprop
    [batch, classes]. Dtype: that of the features. Gradient: ``dloss * backprop`` to the features.
    """
    dims = features.dims if features.dims is not None else (None, None)
    if len(dims) != 2:
        raise ValueError(f"logits must be a matrix, got {list_dims(dims)}")
    if labels.dims is not None and len(labels.dims) != 1:
        raise ValueError(f"labels must be a vector, got {list_dims(labels.dims)}")
    try:
        batch = merge(dims[:1], labels.dims)
    except ValueError as e:
        raise ValueError(
            f"{dims[0]} rows of logits, {labels.dims[0]} labels"  # type: ignore[index]
        ) from e
    assert batch is not None
    return [batch, (batch[0], dims[1])]


def is_zero(grad: Tensor) -> bool:
    """True when a gradient is known to be zero: a node that fills in for no gradient."""
    op = grad.op
    if op.type == "ZerosLike":
        return True
    value = static_value(op.inputs[1] if op.type == "Fill" and op.inputs else grad)
    return value is not None and not value.any()


def _rows(vector: Tensor, matrix: Tensor) -> Tensor:
    return array_ops.expand_dims(vector, -1) * matrix  # type: ignore[no-any-return]


def _second_order(logits: Tensor, grad_grad: Tensor) -> Tensor:
    """The gradient that reaches the logits through ``backprop = softmax - labels``."""
    y = softmax_op(logits)
    return (grad_grad - reduce_sum(grad_grad * y, 1, keepdims=True)) * y  # type: ignore[no-any-return]


@softmax_cross_entropy_op.gradient
def softmax_cross_entropy_gradient(op: Operation, grad_loss: Any, grad_backprop: Any) -> list[Any]:
    features = op.inputs[0]
    if features.op.name != f"{op.name}/Reshape":
        count_left_out(2)  # of a reshape that is made for matrices there
    to_features = _rows(grad_loss, op.outputs[1])
    to_labels = _rows(grad_loss, neg_op(log_softmax_op(features)))
    if grad_backprop is not None and not is_zero(grad_backprop):
        to_features = to_features + _second_order(features, grad_backprop)
        to_labels = to_labels - grad_backprop
    return [to_features, to_labels]


@sparse_softmax_cross_entropy_op.gradient
def sparse_softmax_cross_entropy_gradient(
    op: Operation, grad_loss: Any, grad_backprop: Any
) -> list[Any]:
    count_left_out(1)  # a check that nothing flows to the second output
    to_features = _rows(grad_loss, op.outputs[1])
    if grad_backprop is not None and not is_zero(grad_backprop):
        to_features = to_features + _second_order(op.inputs[0], grad_backprop)
    return [to_features, None]


def _only_named(
    function: str, sentinel: Any, labels: TensorLike | None, logits: TensorLike | None
) -> None:
    """Early releases took the logits first: what is given by position might be the wrong way round."""
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...): an argument "
            "was given by its position. Before TensorFlow 1.0 their order was (logits, labels)."
        )
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")


def _flat(tensor: Tensor, name: str) -> Tensor:
    """[..., classes] as a matrix."""
    dims = tensor.dims
    if dims is not None and len(dims) == 2:
        return tensor
    if dims is not None and dims[-1] is not None:
        return array_ops.reshape(tensor, [-1, dims[-1]], name=name)
    shape = array_ops.shape(tensor)
    return array_ops.reshape(tensor, array_ops.concat([[-1], shape[-1:]], 0), name=name)


def _axis_last(axis: int, rank: Tensor) -> Tensor:
    """The order of the axes of a tensor of any rank that has ``axis`` at the end."""
    first = rank + axis if axis < 0 else convert_to_tensor(axis)
    rest = [array_ops.range_(first), array_ops.range_(first + 1, rank), [first]]
    return array_ops.concat(rest, 0)


def _softmax_cross_entropy(labels: Any, logits: TensorLike, axis: int, name: str | None) -> Tensor:
    with op_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        count_left_out(28)  # shapes are read and joined there
        labels = convert_to_tensor(labels, name="labels")
        precise = logits
        if logits.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16):
            precise = cast(logits, dtypes.float32)
        labels = cast(labels, precise.dtype.base_dtype)
        rank = None if precise.dims is None else len(precise.dims)
        if rank == 0:
            raise ValueError("Both `labels` and `logits` must have at least one axis, got a scalar")
        if rank is not None and normalize_axis(axis, rank) != rank - 1:
            order: Any = [i for i in range(rank) if i != normalize_axis(axis, rank)]
            order.append(normalize_axis(axis, rank))
            precise = array_ops.transpose(precise, order)
            labels = array_ops.transpose(labels, order)
            count_left_out(18)
        elif rank is None and axis != -1:
            order = _axis_last(axis, array_ops.rank(precise))
            precise = array_ops.transpose(precise, order)
            labels = array_ops.transpose(labels, order)
            count_left_out(8)
        dims = precise.dims
        with counted_as(3):
            loss, _ = softmax_cross_entropy_op(
                _flat(precise, "Reshape"), _flat(labels, "Reshape_1"), name=scope
            )
            if rank == 2:
                shape: Any = [-1]
            elif dims is not None and None not in dims:
                shape = list(dims[:-1])
            else:
                shape = array_ops.shape(precise)[:-1]
            loss = array_ops.reshape(loss, shape, name="Reshape_2")
        if dims is not None and loss.dims != dims[:-1]:
            loss.set_shape(dims[:-1])
        return cast(loss, logits.dtype.base_dtype)  # type: ignore[no-any-return]


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """``-sum(labels * log(softmax(logits)))`` along ``axis`` (the last).

    Shape: labels and logits of the same shape; the result lacks that axis. Gradients flow to both.
    """
    axis = _one_of(axis, dim)
    return _softmax_cross_entropy(labels, logits, axis, name)


def _one_of(axis: int | None, dim: int | None) -> int:
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'.")
    chosen = axis if axis is not None else dim
    return -1 if chosen is None else int(chosen)


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """``-sum(labels * log(softmax(logits)))`` along ``dim``; no gradient flows to the labels.

    Shape: labels and logits of the same shape; the result lacks that axis.
    """
    if axis is not None and dim != -1:
        raise ValueError("Cannot specify both 'axis' and 'dim'.")
    _only_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = array_ops.stop_gradient(labels, name="labels_stop_gradient")
        return _softmax_cross_entropy(labels, logits, dim if axis is None else axis, scope)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """``-log(softmax(logits)[label])`` for class numbers ``labels``.

    Shape: logits [..., classes], labels and result [...]. Raises
    `ValueError` when the ranks do not fit; a label outside [0, classes) fails at run time;
    on a GPU, which the host does not wait for, loss and gradient of its row are NaN.
    """
    _only_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        count_left_out(1)  # the shape of the labels
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        precise = logits
        if logits.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16):
            precise = cast(logits, dtypes.float32)
        if logits.dims == ():
            raise ValueError("`logits` cannot be a scalar.")
        if (
            logits.dims is not None
            and labels.dims is not None
            and len(labels.dims) != len(logits.dims) - 1
        ):
            raise ValueError(
                "Rank mismatch: `labels.shape.rank` should equal `logits.shape.rank - 1`. "
                f"Received: labels.shape={labels.shape} of rank {len(labels.dims)} and "
                f"logits.shape={logits.shape} of rank {len(logits.dims)}. For labels of the shape "
                "of the logits use tf.nn.softmax_cross_entropy_with_logits."
            )
        if logits.dims is not None and labels.dims is not None:
            try:
                merge(labels.dims, logits.dims[:-1])
            except ValueError as e:
                raise ValueError(
                    "`labels.shape` must equal `logits.shape` except for the last dimension. "
                    f"Received: labels.shape={labels.shape} and logits.shape={logits.shape}"
                ) from e
        if logits.dims is not None and len(logits.dims) == 2:
            loss, _ = sparse_softmax_cross_entropy_op(
                precise, labels, name="SparseSoftmaxCrossEntropyWithLogits"
            )
            return cast(loss, logits.dtype.base_dtype)  # type: ignore[no-any-return]
        # Shapes are joined there, and compared unless they are known.
        known = all(d is not None and None not in d for d in (labels.dims, logits.dims))
        with counted_as(17 if known else 33):
            labels_shape = array_ops.shape(labels)
            if not known:
                needed = array_ops.shape(logits)[:-1]
                same = equal_op(labels_shape, needed, incompatible_shape_error=False)
                text = "Labels need the shape of the logits without the last axis. Needed, and got:"
                check = Assert(reduce_all(same), [text, needed, labels_shape])
                labels = convert_to_tensor(with_dependencies([check], labels))
            loss, _ = sparse_softmax_cross_entropy_op(
                _flat(precise, "Reshape"),
                array_ops.reshape(labels, [-1], name="Reshape_1"),
                name="SparseSoftmaxCrossEntropyWithLogits",
            )
            loss = array_ops.reshape(loss, labels_shape, name="Reshape_2")
        loss.set_shape(labels.dims)
        return cast(loss, logits.dtype.base_dtype)  # type: ignore[no-any-return]


# ---- logistic and Poisson losses ------------------------------------------------------------------


def _same_shape(targets: Tensor, logits: Tensor, names: str) -> None:
    try:
        merge(targets.dims, logits.dims)
    except ValueError as e:
        raise ValueError(
            f"{names} must have the same shape, received ({logits.shape} vs {targets.shape})."
        ) from e


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of independent yes-or-no classes, element by element.

    ``max(x, 0) - x * z + log(1 + exp(-abs(x)))`` for logits x and labels z, which never overflows.
    Shape: labels and logits of the same shape, which the result has.
    """
    _only_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, logits.dtype.base_dtype, name="labels")
        _same_shape(labels, logits, "`logits` and `labels`")
        zeros = array_ops.zeros_like(logits)
        positive = greater_equal_op(logits, zeros)
        part = select_op(positive, logits, zeros)
        minus_abs = select_op(positive, neg_op(logits), logits)
        difference = part - logits * labels
        return _add(difference, log1p_op(exp_op(minus_abs)), scope)


def _add(x: TensorLike, y: TensorLike, name: str) -> Tensor:
    from dataflow.ops.arithmetic import add_v2_op

    return add_v2_op(x, y, name=name)  # type: ignore[no-any-return]


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` with the positive labels weighted by ``pos_weight``.

    Shape: labels and logits of the same shape, which the result has. Raises `ValueError` otherwise.
    """
    from dataflow.ops.renamed_arguments import renamed

    labels = renamed("targets", targets, "labels", labels)
    with op_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, logits.dtype.base_dtype, name="labels")
        _same_shape(labels, logits, "`logits` and `labels`")
        weight = 1 + (pos_weight - 1) * labels
        plain = (1 - labels) * logits
        tail = log1p_op(exp_op(neg_op(abs_op(logits)))) + relu_op(neg_op(logits))
        return _add(plain, weight * tail, scope)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """``exp(c) - z * c`` for the logarithm c of a Poisson rate and counts z.

    ``compute_full_loss`` adds Stirling's approximation of ``log(z!)`` where z > 1.
    Shape: both of the same shape, which the result has.
    """
    with op_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, log_input.dtype.base_dtype, name="targets")
        _same_shape(targets, log_input, "`log_input` and `targets`")
        result = exp_op(log_input) - log_input * targets
        if compute_full_loss:
            half, turn = 0.5, 2 * math.pi
            stirling = targets * log_op(targets) - targets + half * log_op(turn * targets)
            zeros, ones = array_ops.zeros_like(targets), array_ops.ones_like(targets)
            small = logical_and_op(greater_equal_op(targets, zeros), less_equal_op(targets, ones))
            result = result + select_op(small, zeros, stirling)
        return result  # type: ignore[no-any-return]
