"""Embedding columns that share one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataflow import dtypes
from dataflow.feature_column.base import CategoricalColumn, IdsAndWeights, check_categorical
from dataflow.feature_column.categorical import WeightedCategoricalColumn
from dataflow.feature_column.embedding import (
    Embeddings,
    checked_embedding,
    looked_up,
    table_from_checkpoint,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.per_graph import PerGraph
from dataflow.graph.tensor import Tensor
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.variable_scope import get_variable
from dataflow.shapes import TensorShape


@dataclass(frozen=True)
class CollectedEmbeddingColumn(Embeddings):
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

    def lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        """The embeddings of ids [..., n], combined: float32 [..., dimension]."""
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
            table_from_checkpoint(table, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
            return looked_up(self, table, pair)


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
        self._tables: PerGraph[Any] = PerGraph()

    def __call__(
        self, categorical_column: CategoricalColumn, combiner: str, max_norm: float | None
    ) -> SharedEmbeddingColumn:
        """A column of the table."""
        return SharedEmbeddingColumn(categorical_column, self, combiner, max_norm)

    @property
    def embedding_weights(self) -> Any:
        """The table [num_buckets, dimension] of the default graph, made when it is first asked for."""
        return self._tables.get(default_graph(), self._table)

    def _table(self) -> Any:
        table = get_variable(
            self._name,
            shape=(self._num_buckets, self.dimension),
            dtype=dtypes.float32,
            initializer=self._initializer,
            trainable=self._trainable,
        )
        table_from_checkpoint(table, *self._checkpoint)
        return table


@dataclass(frozen=True)
class SharedEmbeddingColumn(Embeddings):
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

    def lookup(self, pair: IdsAndWeights, state_manager: Any) -> Tensor:
        """The embeddings of ids [..., n], combined: float32 [..., dimension]."""
        with name_scope(None, default_name=self.name):
            table = self.shared_embedding_column_creator.embedding_weights
            return looked_up(self, table, pair)


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
    initializer = checked_embedding(
        dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt
    )
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
    initializer = checked_embedding(
        dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt
    )
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
