"""Losses that bring embeddings of one class together and keep others apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.loss import softmax_cross_entropy_with_logits_v2
from dataflow.ops.math import (
    cast,
    equal,
    exp,
    log,
    logical_and,
    logical_not,
    matmul,
    maximum,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_sum,
    sqrt,
    square,
)
from dataflow.ops.matrix_diag import eye
from dataflow.ops.sparse_dense import sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor

#: The logarithm of what a negative counts that is none.
_NEVER = -1e30

__all__ = [
    "contrastive_loss",
    "lifted_struct_loss",
    "npairs_loss",
    "npairs_loss_multilabel",
    "triplet_semihard_loss",
]


def _same_class(labels: TensorLike) -> Any:
    """Which pairs of examples have one label: bool [batch, batch]."""
    column = array.reshape(convert_to_tensor(labels), [-1, 1])
    return equal(column, array.transpose(column))


def contrastive_loss(
    labels: TensorLike, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> Any:
    """``mean(y d^2 + (1 - y) max(margin - d, 0)^2)`` for the distances d of pairs, y in {0, 1} [batch].

    Hadsell, Chopra, LeCun, "Dimensionality Reduction by Learning an Invariant Mapping" (2006).
    """
    anchor, other = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
    distances = sqrt(reduce_sum(square(anchor - other), 1))
    alike = cast(labels, distances.dtype)
    apart = square(maximum(margin - distances, 0.0))
    return reduce_mean(alike * square(distances) + (1.0 - alike) * apart, name="contrastive_loss")


def npairs_loss(
    labels: TensorLike,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Any:
    """Cross-entropy of the similarities of each anchor to all positives, and a weight on their norms.

    Embeddings are [batch, size], labels [batch]. Sohn, "Improved Deep Metric Learning with Multi-class
    N-pair Loss Objective" (2016).
    """
    anchor, other = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
    return _npairs(cast(_same_class(labels), anchor.dtype), anchor, other, reg_lambda)


def npairs_loss_multilabel(
    sparse_labels: Sequence[SparseTensor],
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Any:
    """`npairs_loss` of examples with several labels: targets in proportion to the labels they share.

    ``sparse_labels`` is a list of one `SparseTensor` [classes] for each example.
    """
    if not all(isinstance(labels, SparseTensor) for labels in sparse_labels):
        raise TypeError(
            f"sparse_labels must be a list of SparseTensors, but got {sparse_labels!r}."
        )
    anchor, other = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
    rows = [cast(sparse_tensor_to_dense(labels), anchor.dtype) for labels in sparse_labels]
    table = array.stack(rows)
    return _npairs(matmul(table, table, transpose_b=True), anchor, other, reg_lambda)


def _npairs(alike: Any, anchor: Any, other: Any, reg_lambda: float) -> Any:
    """The loss for how much alike each pair is, [batch, batch]."""
    norms = sum(reduce_mean(reduce_sum(square(t), 1)) for t in (anchor, other))
    targets = alike / reduce_sum(alike, 1, keepdims=True)
    similarity = matmul(anchor, other, transpose_b=True)
    loss = softmax_cross_entropy_with_logits_v2(labels=targets, logits=similarity)
    return reduce_mean(loss) + 0.25 * reg_lambda * norms


def _squared_distances(embeddings: Any) -> Any:
    """Of all pairs, [batch, batch]; 0 from an example to itself."""
    squares = reduce_sum(square(embeddings), 1, keepdims=True)
    products = matmul(embeddings, embeddings, transpose_b=True)
    others = 1.0 - eye(array.shape(embeddings)[0], dtype=embeddings.dtype)
    return maximum(squares - 2.0 * products + array.transpose(squares), 0.0) * others


def lifted_struct_loss(labels: TensorLike, embeddings: Any, margin: float = 1.0) -> Any:
    """``mean(max(J, 0)^2) / 2`` over the pairs (i, j) of one class, with J = d(i, j) and the log of the
    sum of ``exp(margin - d)`` over all negatives of i and of j; d are distances.

    ``embeddings`` are [batch, size], labels [batch]. Song, Xiang, Jegelka, Savarese, "Deep Metric
    Learning via Lifted Structured Feature Embedding" (2016).
    """
    embeddings = convert_to_tensor(embeddings)
    squares = _squared_distances(embeddings)
    apart = squares > 0.0  # at 0 the root has no slope
    distances = array.where_v2(apart, sqrt(array.where_v2(apart, squares, 1.0)), 0.0)
    alike = _same_class(labels)
    closeness = array.where_v2(alike, _NEVER, margin - distances)
    of_one = reduce_logsumexp(closeness, 1, keepdims=True)
    of_other = array.transpose(of_one)
    top = maximum(of_one, of_other)
    of_both = top + log(exp(of_one - top) + exp(of_other - top))
    losses = square(maximum(of_both + distances, 0.0))
    pairs = cast(alike, embeddings.dtype) - eye(array.shape(embeddings)[0], dtype=embeddings.dtype)
    return 0.5 * reduce_sum(losses * pairs) / reduce_sum(pairs)


def triplet_semihard_loss(labels: TensorLike, embeddings: Any, margin: float = 1.0) -> Any:
    """``mean(max(margin + d(a, p) - d(a, n), 0))`` over the pairs (a, p) of one class.

    n is the nearest of another class that is farther than p, or, where there is none, the farthest; d are
    squared distances. ``embeddings`` are [batch, size] and should be normalized, labels [batch]. Schroff,
    Kalenichenko, Philbin, "FaceNet" (2015).
    """
    embeddings = convert_to_tensor(embeddings)
    distances = _squared_distances(embeddings)
    itself = eye(array.shape(embeddings)[0], dtype=embeddings.dtype)
    alike = _same_class(labels)
    others = cast(logical_not(alike), embeddings.dtype)
    lowest = reduce_min(distances, 1, keepdims=True)
    farthest = reduce_max((distances - lowest) * others, 1, keepdims=True) + lowest
    # [anchor, positive, negative]
    to_negative = distances[:, None, :] + array.zeros_like(distances)[:, :, None]
    beyond = logical_and(to_negative > distances[:, :, None], logical_not(alike)[:, None, :])
    far = reduce_max(distances) + 1.0
    nearest = reduce_min(array.where_v2(beyond, to_negative, far), 2)
    negative = array.where_v2(reduce_any(beyond, 2), nearest, farthest)
    pairs = cast(alike, embeddings.dtype) - itself
    losses = maximum(margin + distances - negative, 0.0) * pairs
    return reduce_sum(losses, name="triplet_semihard_loss") / reduce_sum(pairs)
