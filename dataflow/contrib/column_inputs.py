"""What columns of `tf.contrib.layers` make of features, and how that becomes numbers of a given rank.

Features may be given under their names, or under a column, which stands for what the column makes of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib import column_classes as classes
from dataflow.contrib.feature_columns import sort_key
from dataflow.contrib.var_len_columns import RealValuedVarLenColumn, ScatteredEmbeddingColumn
from dataflow.feature_column.base import DenseColumn, FeatureColumn, IdsAndWeights
from dataflow.feature_column.layers import flat_rows, model_collections, ordered_columns
from dataflow.feature_column.state import ScopedState
from dataflow.feature_column.transformation import LazyBuilder
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sparse import sparse_reshape, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

#: Columns that hold the ids of the sparse column that they are made of.
_EMBEDDINGS = (classes.EmbeddingColumn, classes.SharedEmbeddingColumn)
_OF_IDS = (*_EMBEDDINGS, classes.OneHotColumn)
#: How many more nodes TensorFlow makes of a column before its table; seeds of what follows count them.
_LEFT_OUT: tuple[tuple[Any, int], ...] = (
    (_EMBEDDINGS, 16),
    (classes.OneHotColumn, 8),
    (classes.BucketizedColumn, -6),
)


class ColumnCache(LazyBuilder):
    """A `LazyBuilder` of features some of which are what a column makes of them already."""

    def __init__(self, features: dict[Any, Any]) -> None:
        super().__init__({k: v for k, v in features.items() if not isinstance(k, FeatureColumn)})
        for column, made in features.items():
            if isinstance(column, FeatureColumn):
                self._made.setdefault(_source(column), made)

    def transformed(self, column: Any) -> Any:
        """What TensorFlow calls the transformed feature: ids of an embedding or a one-hot column."""
        return self.get(_source(column))


def _source(column: Any) -> Any:
    """The column that a column's ids come from: itself, unless it is made of a sparse one."""
    return column.sparse_id_column if isinstance(column, _OF_IDS) else column


def input_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Sequence[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """All columns side by side: float32 [batch, sum of their sizes], kind by kind as TensorFlow has them.

    The embedding of a column ``a`` is the variable ``a_embedding/weights``. What a feature has behind the
    batch's axis is one row of numbers, however many a `real_valued_column` says. Raises `ValueError` for a
    sparse column, for none and for one that is given twice.
    """
    known = ColumnCache(columns_to_tensors)
    outputs = []
    with variable_scope(scope, "input_from_feature_columns"):
        for column in sorted(ordered_columns(feature_columns), key=sort_key):
            if not isinstance(column, DenseColumn):
                raise ValueError(
                    f"Error creating input layer for column: {column.name}. It is sparse: wrap it in "
                    "an embedding_column or a one_hot_column."
                )
            with variable_scope(None, default_name=column._var_scope_name):
                outputs.append(numbers_of(column, known, weight_collections, trainable))
        return array.concat(outputs, 1)


def numbers_of(
    column: Any,
    known: ColumnCache,
    weight_collections: Any = None,
    trainable: bool = True,
    output_rank: int = 2,
) -> Tensor:
    """A column's numbers, float32 of ``output_rank``: all axes but the first ``output_rank - 1`` made one.

    Raises `ValueError` for a column that has no numbers, or none of this rank.
    """
    for kinds, count in _LEFT_OUT:
        if isinstance(column, kinds):
            count_left_out(count)
    if output_rank == 2 and not _has_contribs_rule(column):
        collections = model_collections(weight_collections)
        return flat_rows(column, column._get_dense_tensor(known, collections, trainable))
    return as_numbers(column, known.transformed(column), weight_collections, trainable, output_rank)


def _has_contribs_rule(column: Any) -> bool:
    numbers = (classes.RealValuedColumn, RealValuedVarLenColumn)
    return isinstance(column, (*numbers, ScatteredEmbeddingColumn, *_EMBEDDINGS))


def as_numbers(
    column: Any,
    made: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    output_rank: int = 2,
) -> Tensor:
    """`numbers_of` of what the column made of the features, ``made``."""
    state: Any = ScopedState(model_collections(weight_collections), trainable)
    if isinstance(column, (classes.RealValuedColumn, RealValuedVarLenColumn)):
        if isinstance(made, SparseTensor):
            raise ValueError(
                f"Column {column.name!r} is sparse. Set is_sparse to False if you want a dense Tensor."
            )
        numbers: Tensor = cast(of_rank(made, output_rank), dtypes.float32)
        return numbers
    if isinstance(column, classes.BucketizedColumn):
        if output_rank != 2:
            raise ValueError(f"BucketizedColumn supports output_rank=2 alone, got {output_rank}.")
        width = column.length * column.source_column.shape[0]
        return array.reshape(array.one_hot(made, column.length, 1.0, 0.0), [-1, width])
    ids, weights = made if isinstance(made, tuple) else (made, None)
    if isinstance(column, classes.OneHotColumn):
        return _one_hot(column, ids, weights, output_rank)
    if isinstance(column, ScatteredEmbeddingColumn):
        return column.lookup(sparse_of_rank(ids, output_rank), state)
    if isinstance(column, _EMBEDDINGS):
        pair = IdsAndWeights(
            sparse_of_rank(ids, output_rank),
            None if weights is None else sparse_of_rank(weights, output_rank),
        )
        return column.lookup(pair, state)
    raise ValueError(
        f"Column {column.name} has no numbers: wrap it in an embedding_column or a one_hot_column."
    )


def _one_hot(column: Any, ids: SparseTensor, weights: Any, output_rank: int) -> Tensor:
    if weights is not None:
        if output_rank != 2:
            raise ValueError(
                f"one_hot_column of the weighted column {column.sparse_id_column.name!r} supports "
                f"output_rank=2 alone, got {output_rank}."
            )
        known = ColumnCache({column.sparse_id_column: (ids, weights)})
        dense: Tensor = column._get_dense_tensor(known)
        return dense
    filled = sparse_tensor_to_dense(
        sparse_of_rank(ids, output_rank), default_value=ids.dtype.as_numpy_dtype(-1)
    )
    counts: Tensor = reduce_sum(array.one_hot(filled, column.length, 1.0, 0.0), output_rank - 1)
    return counts


def of_rank(tensor: Tensor, rank: int) -> Tensor:
    """The tensor with the axes from ``rank - 1`` on made one; axes of size 1 are added where some lack."""
    known = tensor.shape.ndims
    if known == rank:
        return tensor
    if known is not None and known < rank:
        return array.reshape(
            tensor, array.concat([array.shape(tensor), np.ones(rank - known, np.int32)], 0)
        )
    flat = array.reshape(tensor, array.concat([array.shape(tensor)[: rank - 1], [-1]], 0))
    dims = tensor.dims
    if dims is not None:
        inner = [size for size in dims[rank - 1 :] if size is not None]
        all_known = len(inner) == len(dims) - rank + 1
        flat.set_shape([*dims[: rank - 1], math.prod(inner) if all_known else None])
    return flat


def sparse_of_rank(tensor: SparseTensor, rank: int) -> SparseTensor:
    """`of_rank` of a sparse tensor."""
    known = tensor.shape.ndims
    if known == rank:
        return tensor
    if known is not None and known < rank:
        more: Any = np.ones(rank - known, np.int64)
        return sparse_reshape(tensor, array.concat([tensor.dense_shape, more], 0))
    rest: Any = np.array([-1], np.int64)
    return sparse_reshape(tensor, array.concat([tensor.dense_shape[: rank - 1], rest], 0))
