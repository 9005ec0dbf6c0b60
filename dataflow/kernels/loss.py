"""Kernels of the softmax cross entropies: loss and gradient in one pass over the logits."""

from __future__ import annotations

from typing import Any

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.registry import kernel


def _shifted(xp: Any, features: Any) -> Any:
    """The logits with each row's maximum taken off, so that no exponential overflows."""
    if not features.size:
        return features.copy()
    return features - features.max(axis=1, keepdims=True)


@kernel("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy_kernel(xp: Any, features: Any, labels: Any) -> tuple[Any, Any]:
    if features.shape != labels.shape:
        try:
            features, labels = xp.broadcast_arrays(features, labels)
        except ValueError:
            raise InvalidArgumentError(
                None,
                None,
                "logits and labels must be broadcastable: "
                f"logits_size={list(features.shape)} labels_size={list(labels.shape)}",
            ) from None
    shifted = _shifted(xp, features)
    backprop = xp.exp(shifted)
    total = backprop.sum(axis=1, keepdims=True)
    xp.subtract(xp.log(total), shifted, out=shifted)
    shifted *= labels
    loss = shifted.sum(axis=1, dtype=features.dtype)
    backprop /= total
    backprop -= labels
    return loss, backprop


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy_kernel(xp: Any, features: Any, labels: Any) -> tuple[Any, Any]:
    rows, classes = features.shape
    if labels.shape != (rows,):
        raise InvalidArgumentError(
            None,
            None,
            "logits and labels must have the same first dimension, "
            f"got logits shape {list(features.shape)} and labels shape {list(labels.shape)}",
        )
    if rows and (int(labels.min()) < 0 or int(labels.max()) >= classes):
        bad = labels[(labels < 0) | (labels >= classes)]
        raise InvalidArgumentError(
            None,
            None,
            f"Received a label value of {int(bad[0])} which is outside the valid range of "
            f"[0, {classes}).  Label values: {' '.join(str(int(v)) for v in labels[:32])}",
        )
    shifted = _shifted(xp, features)
    places = xp.arange(rows)
    chosen = shifted[places, labels]
    backprop = xp.exp(shifted, out=shifted)
    total = backprop.sum(axis=1)
    loss = xp.log(total) - chosen
    backprop /= total[:, None]
    backprop[places, labels] -= 1
    return loss.astype(features.dtype, copy=False), backprop
