"""Losses of sequences: weighted cross entropy over steps and batch."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array, loss as loss_ops
from dataflow.ops.math import add_n, cast, div_no_nan, not_equal, reduce_sum


def sequence_loss(
    logits: TensorLike,
    targets: Any,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
) -> Any:
    """The weighted cross entropy of sequences.

    ``logits`` [batch, steps, classes], ``targets`` [batch, steps] (class numbers), ``weights``
    [batch, steps]. Averaged over steps and batch as asked; [batch, steps] when over neither. Averages
    divide by the sum of the weights, sums by how many of them are not 0; where nothing counts it is 0.

    Raises `ValueError` for an average and a sum over the same axis.
    """
    for what, average, total in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if average and total:
            raise ValueError(
                f"average_across_{what} and sum_over_{what} cannot be set to True at same time."
            )
    logits, targets = convert_to_tensor(logits), convert_to_tensor(targets)
    weights = convert_to_tensor(weights)
    for tensor, rank, what in (
        (logits, 3, "Logits must be a [batch_size x sequence_length x logits] tensor"),
        (targets, 2, "Targets must be a [batch_size x sequence_length] tensor"),
        (weights, 2, "Weights must be a [batch_size x sequence_length] tensor"),
    ):
        if tensor.dims is not None and len(tensor.dims) != rank:
            raise ValueError(f"{what}, got shape {tensor.shape}")
    with default_graph().name_scope(name or "sequence_loss"):
        classes = array.shape(logits)[2]
        flat_logits = array.reshape(logits, array.stack([-1, classes]))
        flat_targets = array.reshape(targets, [-1])
        if softmax_loss_function is None:
            crossent = loss_ops.sparse_softmax_cross_entropy_with_logits(
                labels=flat_targets, logits=flat_logits
            )
        else:
            crossent = softmax_loss_function(labels=flat_targets, logits=flat_logits)
        crossent = crossent * array.reshape(weights, [-1])
        average = average_across_timesteps or average_across_batch
        if not (average or sum_over_timesteps or sum_over_batch):
            return array.reshape(crossent, array.shape(logits)[:2])
        if average:
            over_steps, over_batch = average_across_timesteps, average_across_batch
            counts = weights
        else:
            over_steps, over_batch = sum_over_timesteps, sum_over_batch
            counts = cast(not_equal(weights, 0), crossent.dtype.base_dtype)
        if over_steps and over_batch:
            return div_no_nan(reduce_sum(crossent), reduce_sum(counts))
        axis = 0 if over_batch else 1
        crossent = array.reshape(crossent, array.shape(logits)[:2])
        return div_no_nan(reduce_sum(crossent, axis), reduce_sum(counts, axis))


def sequence_loss_by_example(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The loss of each sequence, from lists of one tensor for each step; shape [batch]."""
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, "
            f"{len(weights)}, {len(targets)}."
        )
    with default_graph().name_scope(name or "sequence_loss_by_example"):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            target = array.reshape(convert_to_tensor(target), [-1])
            if softmax_loss_function is None:
                crossent = loss_ops.sparse_softmax_cross_entropy_with_logits(
                    labels=target, logits=logit
                )
            else:
                crossent = softmax_loss_function(labels=target, logits=logit)
            losses.append(crossent * weight)
        total = add_n(losses)
        if average_across_timesteps:
            size = add_n(weights) + 1e-12
            total = total / cast(size, total.dtype.base_dtype)
        return total
