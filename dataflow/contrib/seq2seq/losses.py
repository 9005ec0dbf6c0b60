"""Losses of sequences: weighted cross entropy over steps and batch."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array, loss as loss_ops
from dataflow.ops.math import cast, reduce_sum


def sequence_loss(
    logits: TensorLike,
    targets: Any,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropy of sequences.

    ``logits`` [batch, steps, classes], ``targets`` [batch, steps] (class numbers), ``weights``
    [batch, steps]. Averaged over steps and batch as asked; [batch, steps] when over neither.
    """
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
        if average_across_timesteps and average_across_batch:
            return reduce_sum(crossent) / (reduce_sum(weights) + 1e-12)
        crossent = array.reshape(crossent, array.shape(logits)[:2])
        if average_across_timesteps:
            return reduce_sum(crossent, 1) / (reduce_sum(weights, 1) + 1e-12)
        if average_across_batch:
            return reduce_sum(crossent, 0) / (reduce_sum(weights, 0) + 1e-12)
        return crossent


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
        total: Any = 0
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            target = array.reshape(convert_to_tensor(target), [-1])
            if softmax_loss_function is None:
                crossent = loss_ops.sparse_softmax_cross_entropy_with_logits(
                    labels=target, logits=logit
                )
            else:
                crossent = softmax_loss_function(labels=target, logits=logit)
            total = total + crossent * weight
        if average_across_timesteps:
            size: Any = 1e-12
            for weight in weights:
                size = size + convert_to_tensor(weight)
            total = total / cast(size, total.dtype.base_dtype)
        return total
