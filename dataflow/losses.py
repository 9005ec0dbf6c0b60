"""`tf.losses`: losses with weights and reductions, collected in ``GraphKeys.LOSSES``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import activation as activation_ops, array, loss as loss_ops
from dataflow.ops.math import (
    abs_,
    add_n,
    cast,
    equal,
    greater,
    log,
    maximum,
    minimum,
    multiply,
    not_equal,
    reduce_sum,
    square,
    squared_difference,
    subtract,
)
from dataflow.ops.seeds import count_left_out, count_left_out_of_gradient, counted_as
from dataflow.ops.tensor_values import is_tensor
from dataflow.ops.weights import broadcast_weights, drop_last_one, require_broadcastable
from dataflow.shapes import compatible, format_dims

if TYPE_CHECKING:
    from dataflow.graph.type_aliases import AxisLike, TensorLike

_LAST_REDUCTION = "last_loss_reduction"


def last_reduction() -> str | None:
    """The reduction of the last loss of the default graph: strategies ask for it."""
    return default_graph().attachments.get(_LAST_REDUCTION)


class Reduction:
    """How the losses of single examples become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every reduction."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises `ValueError` for an unknown reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key!r}; use one of {cls.all()}.")


_DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to the collection."""
    if loss_collection:
        default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of the collection."""
    return default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The regularization losses."""
    return default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """The sum of the regularization losses; 0 when there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else array.zeros([])


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return add_n(losses, name=name)


def _safe_div(numerator: Any, denominator: Any) -> Any:
    """0 where the denominator is 0."""
    with counted_as(1):
        positive = greater(denominator, array.zeros_like(denominator))
        safe = array.where(positive, denominator, array.ones_like(denominator))
        return array.where(positive, numerator / safe, array.zeros_like(denominator), name="value")


def _safe_mean(total: Any, count: Any) -> Any:
    count_left_out(2)  # TensorFlow sums the sum once more
    mean = _safe_div(total, count)
    count_left_out_of_gradient(mean, (0, 1), gated=(0, -2))
    return mean


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """``losses * weights``, reduced.

    ``weights`` is a number, or broadcasts to ``losses``. By default the sum is divided by the
    number of losses whose weight is not 0.
    """
    Reduction.validate(reduction)
    default_graph().attachments[_LAST_REDUCTION] = reduction
    graph = default_graph()
    with graph.name_scope(scope or "weighted_loss"):
        losses = convert_to_tensor(losses)
        input_dtype = losses.dtype.base_dtype
        losses = cast(losses, dtypes.float32)
        count_left_out(not is_tensor(weights))  # once for the check, once as what they are
        weights = convert_to_tensor(cast(convert_to_tensor(weights), dtypes.float32))
        weights = require_broadcastable(weights, losses)
        weighted = multiply(losses, weights)
        if reduction == Reduction.NONE:
            loss = weighted
        else:
            loss = reduce_sum(weighted)
            if reduction == Reduction.MEAN:
                loss = _safe_mean(loss, reduce_sum(array.ones_like(losses) * weights))
            elif reduction == Reduction.SUM_OVER_NONZERO_WEIGHTS:
                loss = _safe_mean(loss, _num_present(losses, weights))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = _safe_mean(loss, cast(array.size(losses), dtypes.float32))
        loss = cast(loss, input_dtype)
        add_loss(loss, loss_collection)
        return loss  # type: ignore[no-any-return]


def _num_present(losses: Tensor, weights: Tensor) -> Tensor:
    """How many losses have a weight other than 0."""
    present = array.where(equal(weights, 0.0), array.zeros_like(weights), array.ones_like(weights))
    return reduce_sum(broadcast_weights(present, losses), name="num_present")


def _pair(labels: Any, predictions: Any, names: tuple[str, str] = ("labels", "predictions")) -> Any:
    if labels is None:
        raise ValueError(f"{names[0]} must not be None.")
    if predictions is None:
        raise ValueError(f"{names[1]} must not be None.")
    predictions = cast(convert_to_tensor(predictions), dtypes.float32)
    labels = cast(convert_to_tensor(labels), dtypes.float32)
    if not compatible(predictions.dims, labels.dims):
        raise ValueError(
            f"Shapes {format_dims(predictions.dims)} and {format_dims(labels.dims)} are incompatible"
        )
    return labels, predictions


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """``|predictions - labels|``."""
    with default_graph().name_scope(scope or "absolute_difference") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = abs_(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """``(predictions - labels) ** 2``."""
    with default_graph().name_scope(scope or "mean_squared_error") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """Half the squared error up to ``delta``, linear beyond."""
    with default_graph().name_scope(scope or "huber_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        error = abs_(subtract(predictions, labels))
        quadratic = minimum(error, delta)
        linear = subtract(error, quadratic)
        losses = 0.5 * multiply(quadratic, quadratic) + delta * linear
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """The cross entropy of probabilities for two classes."""
    with default_graph().name_scope(scope or "log_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = -multiply(labels, log(predictions + epsilon)) - multiply(
            1.0 - labels, log(1.0 - predictions + epsilon)
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """``max(0, 1 - y * logits)`` with y = -1 or 1 for labels 0 or 1."""
    with default_graph().name_scope(scope or "hinge_loss") as scope:
        labels, logits = _pair(labels, logits, ("labels", "logits"))
        ones = array.ones_like(labels)
        signs = subtract(2.0 * labels, ones)
        losses = activation_ops.relu(subtract(ones, multiply(signs, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: AxisLike | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
    dim: Any = None,
) -> Tensor:
    """``1 - sum(labels * predictions)`` of unit vectors along ``axis``."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with default_graph().name_scope(scope or "cosine_distance_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = 1 - reduce_sum(multiply(predictions, labels), axis, keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """The mean over pairs of elements of the squared difference of their differences."""
    return pairwise_loss(labels, predictions, weights, scope, loss_collection, with_itself=False)


def pairwise_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike,
    scope: str | None,
    loss_collection: str | None,
    with_itself: bool,
) -> Tensor:
    """`mean_pairwise_squared_error`; ``with_itself``: an element makes a pair with itself, too."""
    with default_graph().name_scope(scope or "mean_pairwise_squared_error"):
        labels, predictions = _pair(labels, predictions)
        weights = cast(convert_to_tensor(weights), dtypes.float32)
        weights = require_broadcastable(convert_to_tensor(weights), convert_to_tensor(labels))
        delta = subtract(predictions, labels)
        if weights.dims == ():
            count_left_out(15)
        rank = len(delta.dims or ())
        axes = list(range(1, rank))
        present = array.ones_like(reduce_sum(delta, axes, keepdims=True))
        per_batch = reduce_sum(array.ones_like(delta), axes, keepdims=True)
        pairs = per_batch if with_itself else maximum(per_batch - 1, 0)
        squares = reduce_sum(square(delta), axes, keepdims=True)
        term1 = 2.0 * _safe_div(squares, pairs)
        sums = reduce_sum(delta, axes, keepdims=True)
        term2 = 2.0 * _safe_div(square(sums), multiply(per_batch, pairs))
        weighted = multiply(term1 - term2, weights * present)
        loss = reduce_sum(weighted)
        nonzero = cast(not_equal(reduce_sum(present * weights), 0.0), dtypes.float32)
        loss = multiply(loss, nonzero, name="value")
        add_loss(loss, loss_collection)
        return loss  # type: ignore[no-any-return]


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """The cross entropy of independent classes; ``label_smoothing`` moves labels towards 1/2."""
    with default_graph().name_scope(scope or "sigmoid_cross_entropy_loss") as scope:
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(multi_class_labels), logits.dtype.base_dtype)
        if not compatible(logits.dims, labels.dims):
            raise ValueError(
                f"Shapes {format_dims(logits.dims)} and {format_dims(labels.dims)} are incompatible"
            )
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = loss_ops.sigmoid_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """The cross entropy of exclusive classes given as one-hot rows."""
    with default_graph().name_scope(scope or "softmax_cross_entropy_loss") as scope:
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(onehot_labels), logits.dtype.base_dtype)
        if not compatible(logits.dims, labels.dims):
            raise ValueError(
                f"Shapes {format_dims(logits.dims)} and {format_dims(labels.dims)} are incompatible"
            )
        if label_smoothing > 0:
            classes = cast(array.shape(labels)[-1], logits.dtype.base_dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = array.stop_gradient(labels)
        losses = loss_ops.softmax_cross_entropy_with_logits_v2(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Tensor:
    """The cross entropy of exclusive classes given as numbers."""
    with default_graph().name_scope(scope or "sparse_softmax_cross_entropy_loss") as scope:
        logits = convert_to_tensor(logits)
        labels = convert_to_tensor(labels)
        labels = drop_last_one(labels, logits, excess=0)
        weights = drop_last_one(convert_to_tensor(weights), labels)
        losses = loss_ops.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
