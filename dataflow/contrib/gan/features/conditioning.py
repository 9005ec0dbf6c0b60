"""Tensors that depend on a condition, as on the class that an image shall be of."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.layers import flatten, linear
from dataflow.ops import array
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.reduce import argmax
from dataflow.ops.variable_scope import get_variable


def condition_tensor(tensor: Any, conditioning: Any) -> Any:
    """``tensor`` plus a linear layer of ``conditioning`` (van den Oord et al., "WaveNet", 2016).

    ``tensor``: shape [batch, ...], all known but the batch; ``conditioning``: shape [batch, ...] of at
    least two dimensions; else a `ValueError`.
    """
    tensor.shape[1:].assert_is_fully_defined()
    if conditioning.shape.ndims < 2:
        raise ValueError(f"conditioning must be at least 2D, but saw shape: {conditioning.shape}")
    mapped = linear(flatten(conditioning), tensor.shape[1:].num_elements())
    if not mapped.shape.is_compatible_with(tensor.shape):
        mapped = array.reshape(mapped, array.shape(tensor))
    return tensor + mapped


def condition_tensor_from_onehot(
    tensor: Any, one_hot_labels: Any, embedding_size: int = 256
) -> Any:
    """`condition_tensor` by an embedding of classes; ``one_hot_labels``: shape [batch, classes]."""
    one_hot_labels.shape.assert_has_rank(2)
    one_hot_labels.shape[1:].assert_is_fully_defined()
    embedding = get_variable("embedding", [one_hot_labels.shape.as_list()[1], embedding_size])
    rows = embedding_lookup(embedding, argmax(one_hot_labels, axis=1), name="token_to_embedding")
    return condition_tensor(tensor, rows)
