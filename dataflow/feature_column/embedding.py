"""Dense columns made of categories: indicators and embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    Features,
    check_categorical,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.comparison import greater_equal
from dataflow.ops.embedding import safe_embedding_lookup_sparse
from dataflow.ops.initializers import truncated_normal_initializer
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.sparse import sparse_retain, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import get_variable


@dataclass(frozen=True)
class IndicatorColumn(DenseColumn):
    """See `indicator_column`."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The column's name and ``_indicator``."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The column's."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """A number for each category."""
        return (self.categorical_column.num_buckets,)

    def dense(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        """How often each category occurs in an example; with weights, their sums."""
        ids, weights = self.categorical_column.categories(features)
        depth = self.categorical_column.num_buckets
        if weights is None:
            filled = sparse_tensor_to_dense(ids, default_value=np.int64(-1))
            return reduce_sum(array.one_hot(filled, depth, 1.0, 0.0), -2)
        known = greater_equal(ids.values, np.int64(0))
        weights = sparse_retain(SparseTensor(ids.indices, weights.values, ids.dense_shape), known)
        ids = sparse_retain(ids, known)
        places = array.stack([ids.indices[:, 0], ids.values], axis=1)
        shape = array.stack([ids.dense_shape[0], np.int64(depth)])
        dense: Tensor = array.scatter_nd(places, weights.values, shape)
        return dense


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Categories as one-hot (multi-hot) vectors."""
    check_categorical(categorical_column)
    return IndicatorColumn(categorical_column)


@dataclass(frozen=True)
class EmbeddingColumn(DenseColumn):
    """See `embedding_column`."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    shared_name: str | None = None

    @property
    def name(self) -> str:
        """The column's name and ``_embedding``."""
        kind = "embedding" if self.shared_name is None else "shared_embedding"
        return f"{self.categorical_column.name}_{kind}"

    @property
    def var_scope_name(self) -> str:
        """The name; for shared embeddings the one they share."""
        return self.shared_name or self.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The column's."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The dimension."""
        return (self.dimension,)

    def dense(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        """The embeddings of each example's categories, combined."""
        ids, weights = self.categorical_column.categories(features)
        return safe_embedding_lookup_sparse(
            self._table(weight_collections, trainable),
            ids,
            weights,
            combiner=self.combiner,
            name=f"{self.name}_weights",
            max_norm=self.max_norm,
        )

    def _table(self, weight_collections: Any, trainable: bool) -> Any:
        graph = default_graph()
        if self.shared_name is not None:
            found = graph.get_collection(self.shared_name)
            if found:
                return found[0]
        table = get_variable(
            "embedding_weights",
            shape=(self.categorical_column.num_buckets, self.dimension),
            dtype=dtypes.float32,
            initializer=self.initializer,
            trainable=self.trainable and trainable,
            collections=weight_collections,
        )
        if self.shared_name is not None:
            graph.add_to_collection(self.shared_name, table)
        if self.ckpt_to_load_from is not None:
            from dataflow.train.checkpoint_initializers import init_from_checkpoint

            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt or "": table})
        return table


def _checked(
    dimension: Any, combiner: str, initializer: Any, checkpoint: Any, tensor_name: Any
) -> Callable[..., Any]:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be 'mean', 'sqrtn' or 'sum', got {combiner!r}.")
    if (checkpoint is None) != (tensor_name is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")
    return initializer or truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension))


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """Categories as vectors that are learned: a table [num_buckets, dimension].

    Several categories of an example are combined: "mean", "sqrtn" or "sum". The table starts with
    truncated normal numbers of deviation 1/sqrt(dimension), or from a checkpoint.
    """
    check_categorical(categorical_column)
    initializer = _checked(dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    return EmbeddingColumn(
        categorical_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[EmbeddingColumn]:
    """Embedding columns that share one table; the columns need the same number of buckets."""
    initializer = _checked(dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    for column in categorical_columns:
        check_categorical(column)
    ordered = sorted(categorical_columns, key=lambda c: c.name)
    sizes = {c.num_buckets for c in ordered}
    if len(sizes) > 1:
        raise ValueError(
            "To use shared_embedding_columns, all categorical_columns must have the same number of "
            f"buckets, got {[(c.name, c.num_buckets) for c in ordered]}."
        )
    shared = shared_embedding_collection_name
    if not shared:
        shared = "_".join(c.name for c in ordered) + "_shared_embedding"
    return [
        EmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            shared,
        )
        for column in categorical_columns
    ]
