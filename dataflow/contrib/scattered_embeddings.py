"""Embeddings without a vocabulary: each number of a row is found by a hash of the value and its place."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array, embedding
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.sequences import unique
from dataflow.ops.sparse_cross import sparse_feature_cross
from dataflow.ops.sparse_dense import sparse_tensor_to_dense
from dataflow.ops.sparse_reshape import sparse_fill_empty_rows
from dataflow.ops.sparse_segment import (
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from dataflow.ops.sparse_tensor import SparseTensor

_COMBINERS = {
    "mean": sparse_segment_mean,
    "sqrtn": sparse_segment_sqrt_n,
    "sum": sparse_segment_sum,
}
#: What stands for a row without values.
_NOTHING = {True: "6ZxWzWOHxZ", False: 1288896567}


def scattered_embedding_lookup(
    params: Any,
    values: TensorLike,
    dimension: int,
    name: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """An embedding of each of ``values``, [d0, ..., dn, dimension]: number i is the weight at a hash of (value, i).

    ``params`` is a vector, or a list of vectors that are the parts of one: each as long as the next, or longer by
    one. Raises `ValueError` where they are not, and for a ``dimension`` that is not positive.
    """
    if dimension is None or dimension <= 0:
        raise ValueError(f"scattered_embedding_lookup needs a dimension above 0, got {dimension}.")
    weights = _parts(params)
    with name_scope(name or "scattered_embedding_lookup"):
        values = convert_to_tensor(values)
        column = array.reshape(values, [-1, 1])
        places = array.tile([list(range(dimension))], [array.shape(column)[0], 1])
        ids = sparse_feature_cross(
            [places, column], hashed_output=True, num_buckets=_size(weights), hash_key=hash_key
        )
        rows = embedding.embedding_lookup(
            weights, sparse_tensor_to_dense(ids), partition_strategy="div"
        )
        return array.reshape(rows, array.concat([array.shape(values), [dimension]], 0))


def scattered_embedding_lookup_sparse(
    params: Any,
    sparse_values: SparseTensor,
    dimension: int,
    combiner: str | None = None,
    default_value: Any = None,
    name: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """`scattered_embedding_lookup` of rows of a SparseTensor [batch, n], combined in each row: [batch, dimension].

    ``combiner`` is "mean", "sqrtn" or "sum"; a row without values has the embedding of ``default_value``. Raises
    `TypeError` for anything but a SparseTensor, `ValueError` for another combiner.
    """
    if not isinstance(sparse_values, SparseTensor):
        raise TypeError(f"sparse_values must be a SparseTensor, got {sparse_values!r}.")
    combiner = combiner or "mean"
    if combiner not in _COMBINERS:
        raise ValueError(f"Combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}.")
    with name_scope(name or "scattered_embedding_lookup_sparse"):
        if default_value is None:
            default_value = _NOTHING[sparse_values.dtype == dtypes.string]
        filled, _ = sparse_fill_empty_rows(sparse_values, default_value)
        once, where = unique(filled.values)
        rows = scattered_embedding_lookup(params, once, dimension, hash_key=hash_key)
        return _COMBINERS[combiner](rows, where, filled.indices[:, 0])


def _parts(params: Any) -> list[Any]:
    if isinstance(params, PartitionedVariable):
        return list(params)
    return list(params) if isinstance(params, (list, tuple)) else [params]


def _size(weights: list[Any]) -> int:
    """How many weights there are in all parts."""
    sizes = [part.get_shape().as_list() for part in weights]
    if any(len(size) != 1 or size[0] is None for size in sizes):
        raise ValueError(f"params must be vectors of known length, got the shapes {sizes}.")
    total = sum(size[0] for size in sizes)
    for i, (size,) in enumerate(sizes):
        expected = (total - i - 1) // len(sizes) + 1
        if size != expected:
            raise ValueError(f"Tensor {i} in params has size {size}, expected {expected}.")
    return int(total)
