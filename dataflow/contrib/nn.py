"""``tf.contrib.nn``: activations, dropout and losses that were not in `tf.nn`."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.activation import softplus
from dataflow.ops.casts import cast
from dataflow.ops.conv_functions import conv1d_transpose
from dataflow.ops.elementary import floor
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.math import minimum
from dataflow.ops.random import random_uniform
from dataflow.ops.sequences import nth_element
from dataflow.ops.shape import shape
from dataflow.ops.tensor_values import constant_value

__all__ = [
    "alpha_dropout",
    "conv1d_transpose",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "nth_element",
    "scaled_softplus",
]

#: What SELU gives for minus infinity: minus its scale times its alpha.
_SATURATED = -1.0507009873554805 * 1.6732632423543772


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None
) -> Tensor:
    """Dropout for SELU: dropped values become SELU's lowest, then mean and variance are restored.

    ``x``: floats, of which each is kept with probability ``keep_prob``, independently for each element of
    ``noise_shape`` (by default x's). Returns x's shape and dtype, x itself where ``keep_prob`` is 1. Raises
    `ValueError` for a ``keep_prob`` outside (0, 1].
    """
    with name_scope(name, "alpha_dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob must be a number in the range (0, 1], got {keep_prob}")
        kept = convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        if constant_value(kept) == 1:
            return x  # type: ignore[no-any-return]
        sizes = shape(x) if noise_shape is None else noise_shape
        mask = floor(random_uniform(sizes, seed=seed, dtype=x.dtype) + kept)
        result = x * mask + _SATURATED * (1 - mask)
        scale = (kept + _SATURATED**2 * kept * (1 - kept)) ** -0.5
        result = scale * result - scale * _SATURATED * (1 - kept)
        result.set_shape(x.get_shape())
        return result  # type: ignore[no-any-return]


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Tensor:
    """``alpha * softplus(x / alpha)``, of x's shape; at most ``clip`` where that is given."""
    with name_scope(name, "scaled_softplus", [x, alpha]):
        x = convert_to_tensor(x, name="x")
        alpha = cast(convert_to_tensor(alpha, dtype=x.dtype), x.dtype)
        result = alpha * softplus(x / alpha)
        if clip is not None:
            result = minimum(result, convert_to_tensor(clip, dtype=x.dtype))
        return result  # type: ignore[no-any-return]


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Tensor:
    """`tf.nn.softmax_cross_entropy_with_logits` of (logits, labels), its order before TensorFlow 1.0."""
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Tensor:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits` of (logits, labels)."""
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> Tensor:
    """`tf.nn.sigmoid_cross_entropy_with_logits` of (logits, targets)."""
    return sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


__getattr__ = explain_absent(__name__)
