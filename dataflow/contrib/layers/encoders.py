"""Embeddings of sequences of ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.contrib.layers.dense import dense_to_sparse
from dataflow.contrib.layers.parts import model_weights
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array, embedding
from dataflow.ops.gather_scatter import gather
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import reduce_mean
from dataflow.ops.sequences import unique
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | None = None,
) -> Any:
    """The embeddings of sequences of ids: [batch, steps] -> [batch, steps, embed_dim]."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError("Must specify vocab size and embedding dimension when not reusing.")
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        table = model_weights(
            "embeddings", shape, dtypes.float32, initializer, None, regularizer, trainable
        )
        return embedding.embedding_lookup(table, ids)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | None = None,
) -> Any:
    """The mean of the embeddings of a text's ids: [batch, steps] -> [batch, embed_dim].

    With ``sparse_lookup`` an id 0 in a tensor is padding and does not count, and a text without ids
    has the embedding of id 0. Without it every id counts, and ``ids`` must be a tensor: a sparse one
    raises `TypeError`.
    """
    sparse = isinstance(ids, SparseTensor)
    if sparse and not sparse_lookup:
        raise TypeError(
            f"bow_encoder: with sparse_lookup=False the ids must be a dense tensor, but got {ids}. "
            "Leave sparse_lookup out."
        )
    parts = [ids.values, ids.dense_shape] if sparse else [ids]
    with variable_scope(scope, "bow_encoder", parts, reuse=reuse):
        table = model_weights(
            "embeddings",
            [vocab_size, embed_dim],
            dtypes.float32,
            initializer,
            None,
            regularizer,
            trainable,
        )
        if not sparse_lookup:
            return reduce_mean(embedding.embedding_lookup(table, convert_to_tensor(ids)), 1)
        ids = ids if sparse else dense_to_sparse(ids)
        return embedding.safe_embedding_lookup_sparse([table], ids, combiner="mean", default_id=0)


def embedding_lookup_unique(
    params: Any, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None
) -> Any:
    """`tf.nn.embedding_lookup` that looks each id up once, however often it stands in ``ids``."""
    with name_scope(name or "EmbeddingLookupUnique"):
        ids = convert_to_tensor(ids)
        once, where = unique(array.reshape(ids, [-1]))
        rows = embedding.embedding_lookup(params, once, partition_strategy)
        found = gather(rows, where)
        shape = array.concat([array.shape(ids), array.shape(rows)[1:]], 0)
        outputs = array.reshape(found, shape)
        outputs.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return outputs
