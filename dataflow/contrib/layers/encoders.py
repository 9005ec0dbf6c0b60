"""Embeddings of sequences of ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array, embedding
from dataflow.ops.gather_scatter import gather
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import reduce_mean
from dataflow.ops.sequences import unique
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import get_variable, variable_scope

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
        table = get_variable(
            "embeddings",
            shape,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
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

    ``ids`` are a tensor or, for texts of several lengths, a sparse tensor; a text without ids gives
    zeros. ``sparse_lookup`` gathers as a sparse tensor in either case, which changes no value.
    """
    sparse = isinstance(ids, SparseTensor)
    parts = [ids.values, ids.dense_shape] if sparse else [ids]
    with variable_scope(scope, "BowEncoder", parts, reuse=reuse):
        table = get_variable(
            "embeddings",
            [vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse:
            return embedding.safe_embedding_lookup_sparse([table], ids, combiner="mean")
        return reduce_mean(embedding.embedding_lookup(table, convert_to_tensor(ids)), 1)


def embedding_lookup_unique(params: Any, ids: TensorLike, name: str | None = None) -> Any:
    """`tf.nn.embedding_lookup` that looks each id up once, however often it stands in ``ids``."""
    with name_scope(name or "EmbeddingLookupUnique"):
        ids = convert_to_tensor(ids)
        once, where = unique(array.reshape(ids, [-1]))
        rows = embedding.embedding_lookup(params, once)
        found = gather(rows, where)
        shape = array.concat([array.shape(ids), array.shape(rows)[1:]], 0)
        outputs = array.reshape(found, shape)
        outputs.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return outputs
