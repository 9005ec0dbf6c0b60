"""Dense columns made of categories: indicators and embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

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
from dataflow.feature_column.categorical import (
    SequenceCategoricalColumn,
    WeightedCategoricalColumn,
)
from dataflow.feature_column.transformation import (
    FeatureTransformationCache,
    sequence_length_from_sparse_tensor,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.comparison import greater_equal
from dataflow.ops.embedding import safe_embedding_lookup_sparse
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import truncated_normal_initializer
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.sparse import sparse_retain, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import get_variable
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


def _table_from_checkpoint(table: Any, checkpoint: str | None, tensor_name: str | None) -> None:
    """Lets ``table`` begin with a tensor of a checkpoint, where there is one."""
    if checkpoint is not None:
        from dataflow.train.checkpoint_initializers import init_from_checkpoint

        init_from_checkpoint(checkpoint, {tensor_name or "": table})


class _Embeddings(DenseColumn, SequenceDenseColumn):
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
        return self._lookup(pair, state_manager)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> StepsAndLengths:
        """Each step's embeddings, combined; `ValueError` where the categories are of no sequence."""
        _check_sequence(self, True)
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return StepsAndLengths(
            self._lookup(pair, state_manager), sequence_length_from_sparse_tensor(pair.id_tensor)
        )

    def _lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        raise NotImplementedError


def _looked_up(column: Any, table: Any, pair: IdsAndWeights) -> Tensor:
    return safe_embedding_lookup_sparse(
        table,
        pair.id_tensor,
        pair.weight_tensor,
        combiner=column.combiner,
        name=f"{column.name}_weights",
        max_norm=column.max_norm,
    )


@dataclass(frozen=True)
class EmbeddingColumn(_Embeddings):
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

    def _lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        table = state_manager.get_variable(self, name=self.table_name)
        _table_from_checkpoint(table, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
        return _looked_up(self, table, pair)


@dataclass(frozen=True)
class CollectedEmbeddingColumn(_Embeddings):
    """See `shared_embedding_columns`: the table is kept in a collection of the graph."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    shared_embedding_collection_name: str
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    @property
    def name(self) -> str:
        """The column's name and ``_shared_embedding``."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    @property
    def _is_v2_column(self) -> bool:
        return False

    @property
    def variable_shape(self) -> TensorShape:
        """The dimension."""
        return TensorShape([self.dimension])

    def create_state(self, state_manager: Any) -> None:
        """Makes the table, unless another column has."""
        graph = default_graph()
        if not graph.get_collection(self.shared_embedding_collection_name):
            table = state_manager.create_variable(
                self,
                name=self.table_name,
                shape=(self.categorical_column.num_buckets, self.dimension),
                dtype=dtypes.float32,
                trainable=self.trainable,
                use_resource=True,
                initializer=self.initializer,
            )
            graph.add_to_collection(self.shared_embedding_collection_name, table)

    def _lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        collection = self.shared_embedding_collection_name
        with name_scope(None, default_name=self.name):
            self.create_state(state_manager)
            table, *others = default_graph().get_collection(collection)
            wanted = (self.categorical_column.num_buckets, self.dimension)
            if others or table.shape != TensorShape(wanted):
                raise ValueError(
                    f"The collection {collection!r} must hold the shared embedding of shape {wanted} "
                    f"and nothing else, but it has {[table, *others]}. Choose another "
                    "shared_embedding_collection_name."
                )
            _table_from_checkpoint(table, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
            return _looked_up(self, table, pair)


class SharedEmbeddingColumnCreator:
    """Makes `SharedEmbeddingColumn` objects of one table, which it keeps for each graph."""

    def __init__(
        self,
        dimension: int,
        initializer: Any,
        ckpt_to_load_from: str | None,
        tensor_name_in_ckpt: str | None,
        num_buckets: int,
        trainable: bool,
        name: str = "shared_embedding_column_creator",
    ) -> None:
        self.dimension = dimension
        self._initializer = initializer
        self._checkpoint = (ckpt_to_load_from, tensor_name_in_ckpt)
        self._num_buckets = num_buckets
        self._trainable = trainable
        self._name = name
        self._tables: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def __call__(
        self, categorical_column: CategoricalColumn, combiner: str, max_norm: float | None
    ) -> SharedEmbeddingColumn:
        """A column of the table."""
        return SharedEmbeddingColumn(categorical_column, self, combiner, max_norm)

    @property
    def embedding_weights(self) -> Any:
        """The table [num_buckets, dimension] of the default graph, made when it is first asked for."""
        graph = default_graph()
        if graph not in self._tables:
            table = get_variable(
                self._name,
                shape=(self._num_buckets, self.dimension),
                dtype=dtypes.float32,
                initializer=self._initializer,
                trainable=self._trainable,
            )
            _table_from_checkpoint(table, *self._checkpoint)
            self._tables[graph] = table
        return self._tables[graph]


@dataclass(frozen=True)
class SharedEmbeddingColumn(_Embeddings):
    """See `shared_embeddings`: the table is the creator's."""

    categorical_column: CategoricalColumn
    shared_embedding_column_creator: SharedEmbeddingColumnCreator
    combiner: str
    max_norm: float | None

    @property
    def name(self) -> str:
        """The column's name and ``_shared_embedding``."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def variable_shape(self) -> TensorShape:
        """The dimension."""
        return TensorShape([self.shared_embedding_column_creator.dimension])

    def _get_config(self) -> dict[str, Any]:
        raise NotImplementedError("a shared embedding cannot be described by itself")

    def _lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        with name_scope(None, default_name=self.name):
            table = self.shared_embedding_column_creator.embedding_weights
            return _looked_up(self, table, pair)


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


def _checked_together(categorical_columns: Any, shared_name: str | None) -> tuple[int, str]:
    """(the columns' number of buckets, the name of what they share).

    Raises `ValueError` unless they are categorical, of one type and of as many buckets.
    """
    ordered = sorted(categorical_columns, key=lambda c: c.name)
    for column in ordered:
        check_categorical(column)
    plain = [
        c.categorical_column if isinstance(c, WeightedCategoricalColumn) else c for c in ordered
    ]
    if len({type(c) for c in plain}) > 1:
        raise ValueError(
            "To use shared_embedding_columns, all categorical_columns must have the same type, or be "
            f"weighted ones of the same type, got {[(c.name, type(c).__name__) for c in plain]}."
        )
    if len({c.num_buckets for c in ordered}) > 1:
        raise ValueError(
            "To use shared_embedding_columns, all categorical_columns must have the same number of "
            f"buckets, got {[(c.name, c.num_buckets) for c in ordered]}."
        )
    name = shared_name or "_".join(c.name for c in ordered) + "_shared_embedding"
    return ordered[0].num_buckets, name


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
) -> list[CollectedEmbeddingColumn]:
    """Embedding columns that share one table; the columns need one type and as many buckets."""
    initializer = _checked(dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    _, shared = _checked_together(categorical_columns, shared_embedding_collection_name)
    return [
        CollectedEmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            shared,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
        )
        for column in categorical_columns
    ]


def shared_embeddings(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumn]:
    """`shared_embedding_columns` for `DenseFeatures`: the table is no variable of the layer's."""
    initializer = _checked(dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    num_buckets, shared = _checked_together(categorical_columns, shared_embedding_collection_name)
    creator = SharedEmbeddingColumnCreator(
        dimension,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        num_buckets,
        trainable,
        shared,
    )
    return [creator(column, combiner, max_norm) for column in categorical_columns]
