"""Kernels of the softmax cross entropies: loss and gradient in one pass over the logits.

A GPU has kernels of its own, in `cuda.rows`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.activation import divide_rows, powers
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda import softmax as cuda_rows
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.jit.row_mapping import cross_entropy, softmax_parts
from dataflow.kernels.reduce import is_tall
from dataflow.kernels.registry import kernel


def _largest(features: Any, axis: int) -> Any:
    """The largest logit of each row; of a row without classes, zero."""
    if not features.size:
        return features.sum(axis=axis, keepdims=True)
    return features.max(axis=axis, keepdims=True)


@kernel("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy_kernel(xp: Module, features: Array, labels: Array) -> tuple[Any, Any]:
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
    if can_run(xp, features, labels):
        return cuda_rows.cross_entropy(xp, features, labels)
    found = cross_entropy(features, labels) if xp is np else None
    if found is not None:
        return found  # type: ignore[no-any-return]
    tall = is_tall(xp, features)
    if tall:
        features, labels = np.ascontiguousarray(features.T), np.ascontiguousarray(labels.T)
    axis = 0 if tall else 1
    largest = _largest(features, axis)
    exponentials = powers(xp, features, largest)
    total = exponentials.sum(axis=axis, keepdims=True)
    terms = _terms(xp, features, largest, xp.log(total), labels)
    loss = terms.sum(axis=axis, dtype=features.dtype)
    backprop = _gradient(xp, exponentials, total, labels, reused=0)
    return loss, np.ascontiguousarray(backprop.T) if tall else backprop


@NativeUfunc
def _terms(xp: Module, features: Any, largest: Any, logarithm: Any, labels: Any) -> Any:
    """What the loss of each row is the sum of."""
    terms = features - largest
    terms = logarithm - terms
    terms *= labels
    return terms


@NativeUfunc
def _gradient(xp: Module, exponentials: Any, total: Any, labels: Any) -> Any:
    """Softmax less labels, in the place of the exponentials."""
    exponentials /= total
    exponentials -= labels
    return exponentials


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy_kernel(
    xp: Module, features: Array, labels: Array
) -> tuple[Any, Any]:
    rows, classes = features.shape
    if labels.shape != (rows,):
        raise InvalidArgumentError(
            None,
            None,
            "logits and labels must have the same first dimension, "
            f"got logits shape {list(features.shape)} and labels shape {list(labels.shape)}",
        )
    if can_run(xp, features):
        return cuda_rows.sparse_cross_entropy(xp, features, labels)
    bad = None
    if xp is not np:  # a GPU says NaN, as above: to look at the labels would make the host wait
        bad = (labels < 0) | (labels >= classes)
        labels = xp.where(bad, 0, labels)
    elif rows and (labels.min() < 0 or labels.max() >= classes):
        bad = labels[(labels < 0) | (labels >= classes)]
        raise InvalidArgumentError(
            None,
            None,
            f"Received a label value of {int(bad[0])} which is outside the valid range of "
            f"[0, {classes}).  Label values: {' '.join(str(int(v)) for v in labels[:32])}",
        )
    places = xp.arange(rows)
    parts = softmax_parts(features) if xp is np else None
    if parts is not None:
        largest, total, backprop = parts
        chosen = features[places, labels] - largest[:, 0]
        backprop[places, labels] -= 1
        return np.log(total[:, 0]) - chosen, backprop
    tall = is_tall(xp, features)
    if tall:
        features, where, axis = np.ascontiguousarray(features.T), (labels, places), 0
    else:
        where, axis = (places, labels), 1
    largest = _largest(features, axis)
    chosen = features[where] - largest.reshape(-1)
    exponentials = powers(xp, features, largest)
    total = exponentials.sum(axis=axis, keepdims=True)
    if bad is not None:
        total = xp.where(bad.reshape(total.shape), xp.nan, total)
    loss = xp.log(total.reshape(-1)) - chosen
    backprop = divide_rows(xp, exponentials, total)
    backprop[where] -= 1
    if tall:
        backprop = np.ascontiguousarray(backprop.T)
    return loss.astype(features.dtype, copy=False), backprop
