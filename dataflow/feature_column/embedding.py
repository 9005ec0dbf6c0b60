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
    IdsAndWeights,
    SequenceDenseColumn,
    StepsAndLengths,
    check_categorical,
)
from dataflow.feature_column.categorical import SequenceCategoricalColumn
from dataflow.feature_column.transformation import (
    FeatureTransformationCache,
    sequence_length_from_sparse_tensor,
)
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.comparison import greater_equal
from dataflow.ops.embedding import safe_embedding_lookup_sparse
from dataflow.ops.initializers import truncated_normal_initializer
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.sparse import sparse_retain, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape


def _check_sequence(column: Any, wanted: bool) -> None:
    """Raises `ValueError` where the categories of ``column`` are steps of a sequence and must not, or must be."""
    inner = column.categorical_column
    if isinstance(inner, SequenceCategoricalColumn) is wanted:
        return
    raise ValueError(
        f"The column {column.name!r} is made of a categorical column that is "
        + (
            "no sequence, which sequence_input_layer and SequenceFeatures need: use a "
            "sequence_categorical_column_with_*."
            if wanted
            else "a sequence, which input_layer, linear_model and DenseFeatures do not take: use "
            "tf.contrib.feature_column.sequence_input_layer or SequenceFeatures, or a categorical "
            "column that is none (categorical_column_with_*)."
        )
        + f" Given: {inner}"
    )


@dataclass(frozen=True)
class IndicatorColumn(DenseColumn, SequenceDenseColumn):
    """See `indicator_column`."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The column's name and ``_indicator``."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parents(self) -> list[Any]:
        """The column."""
        return [self.categorical_column]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The column's."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """A row with a number for each category."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """How often each category occurs in an example; with weights, their sums."""
        ids, weights = self.categorical_column.get_sparse_tensors(
            transformation_cache, state_manager
        )
        depth = self.categorical_column.num_buckets
        if weights is None:
            filled = sparse_tensor_to_dense(ids, default_value=np.int64(-1))
            return reduce_sum(array.one_hot(filled, depth, 1.0, 0.0), -2)
        known = greater_equal(ids.values, np.int64(0))
        weights = sparse_retain(SparseTensor(ids.indices, weights.values, ids.dense_shape), known)
        ids = sparse_retain(ids, known)
        places = array.concat([ids.indices[:, :-1], array.expand_dims(ids.values, 1)], axis=1)
        shape = array.concat([ids.dense_shape[:-1], [np.int64(depth)]], 0)
        dense: Tensor = array.scatter_nd(places, weights.values, shape)
        return dense

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """The counts; raises `ValueError` where the categories are of a sequence."""
        _check_sequence(self, False)
        return transformation_cache.get(self, state_manager)  # type: ignore[no-any-return]

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> StepsAndLengths:
        """The counts of each step; raises `ValueError` where the categories are of no sequence."""
        _check_sequence(self, True)
        ids = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return StepsAndLengths(
            transformation_cache.get(self, state_manager),
            sequence_length_from_sparse_tensor(ids.id_tensor),
        )


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Categories as one-hot (multi-hot) vectors."""
    check_categorical(categorical_column)
    return IndicatorColumn(categorical_column)


def table_from_checkpoint(table: Any, checkpoint: str | None, tensor_name: str | None) -> None:
    """Lets ``table`` begin with a tensor of a checkpoint, where there is one."""
    if checkpoint is not None:
        from dataflow.train.checkpoint_initializers import init_from_checkpoint

        init_from_checkpoint(checkpoint, {tensor_name or "": table})


class Embeddings(DenseColumn, SequenceDenseColumn):
    """What columns of embeddings share; `_lookup` says in which table they look."""

    categorical_column: CategoricalColumn
    #: What the table is called.
    table_name = "embedding_weights"

    @property
    def parents(self) -> list[Any]:
        """The column."""
        return [self.categorical_column]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The column's."""
        return self.categorical_column.parse_example_spec

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Any:
        """What the column of categories makes."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """Each example's embeddings, combined; `ValueError` where the categories are of a sequence."""
        _check_sequence(self, False)
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return self.lookup(pair, state_manager)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> StepsAndLengths:
        """Each step's embeddings, combined; `ValueError` where the categories are of no sequence."""
        _check_sequence(self, True)
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return StepsAndLengths(
            self.lookup(pair, state_manager), sequence_length_from_sparse_tensor(pair.id_tensor)
        )

    def lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        """The embeddings of ids [..., n], combined: float32 [..., dimension]."""
        raise NotImplementedError


def looked_up(column: Any, table: Any, pair: IdsAndWeights) -> Tensor:
    return safe_embedding_lookup_sparse(
        table,
        pair.id_tensor,
        pair.weight_tensor,
        combiner=column.combiner,
        name=f"{column.name}_weights",
        max_norm=column.max_norm,
    )


@dataclass(frozen=True)
class EmbeddingColumn(Embeddings):
    """See `embedding_column`."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    @property
    def name(self) -> str:
        """The column's name and ``_embedding``."""
        return f"{self.categorical_column.name}_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        """The dimension."""
        return TensorShape([self.dimension])

    def create_state(self, state_manager: Any) -> None:
        """Makes the table [num_buckets, dimension]."""
        state_manager.create_variable(
            self,
            name=self.table_name,
            shape=(self.categorical_column.num_buckets, self.dimension),
            dtype=dtypes.float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=self.initializer,
        )

    def lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        """The embeddings of ids [..., n], combined: float32 [..., dimension]."""
        table = state_manager.get_variable(self, name=self.table_name)
        table_from_checkpoint(table, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
        return looked_up(self, table, pair)


def checked_embedding(
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
    initializer = checked_embedding(
        dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt
    )
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
