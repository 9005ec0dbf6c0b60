"""The columns of `tf.contrib.layers`: those of `tf.feature_column` with contrib's attributes.

A sparse column has a combiner of its own, crosses take the features themselves and hash them as
TensorFlow's first crosses did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.feature_column import categorical, embedding, numeric, shared_embeddings
from dataflow.feature_column.base import CategoricalColumn, IdsAndWeights, as_int64
from dataflow.feature_column.transformation import FeatureTransformationCache
from dataflow.ops.math import floormod
from dataflow.ops.parsing import FixedLenFeature
from dataflow.ops.sparse_cross import sparse_feature_cross
from dataflow.ops.sparse_tensor import SparseTensor


def _with_lists(spec: dict[str, Any]) -> dict[str, Any]:
    """A parsing spec whose `tf.FixedLenFeature`s have lists for shape and default, as TensorFlow's columns have."""

    def listed(feature: Any) -> Any:
        if not isinstance(feature, FixedLenFeature):
            return feature
        default = feature.default_value
        return feature._replace(
            shape=list(feature.shape),
            default_value=list(default) if isinstance(default, tuple) else default,
        )

    return {key: listed(feature) for key, feature in spec.items()}


class SparseIdLookupConfig(NamedTuple):
    """How a sparse column finds ids: in a file of words, or in a tuple of them."""

    vocabulary_file: str | None = None
    keys: tuple[Any, ...] | None = None
    num_oov_buckets: int = 0
    vocab_size: int | None = None
    default_value: int = -1


class ContribColumn:
    """What columns of `tf.contrib.layers` have beside those of `tf.feature_column`."""

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        """Puts what the column makes of the features beside them, under the column."""
        from dataflow.contrib.column_inputs import ColumnCache

        columns_to_tensors[self] = ColumnCache(columns_to_tensors).transformed(self)

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Any:
        from dataflow.contrib.column_inputs import as_numbers

        return as_numbers(self, input_tensor, weight_collections, trainable, output_rank)

    @property
    def config(self) -> dict[str, Any]:
        """The features that an example needs, for `tf.parse_example`."""
        return _with_lists(self.parse_example_spec)  # type: ignore[attr-defined]


class _Named(ContribColumn):
    key: str

    @property
    def column_name(self) -> str:
        """The feature's key."""
        return self.key


class SparseColumn(_Named):
    """What columns of one feature's categories share."""

    combiner: str
    num_buckets: int
    is_integerized = False

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.num_buckets


@dataclass(frozen=True)
class SparseColumnHashed(SparseColumn, categorical.HashedCategoricalColumn):
    """See `sparse_column_with_hash_bucket`."""

    combiner: str = "sum"

    @property
    def bucket_size(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size


@dataclass(frozen=True)
class SparseColumnIntegerized(SparseColumn, categorical.IdentityCategoricalColumn):
    """See `sparse_column_with_integerized_feature`."""

    combiner: str = "sum"
    dtype: Any = dtypes.int64
    is_integerized = True

    @property
    def bucket_size(self) -> int:
        """The number of ids."""
        return self.number_buckets

    def _ids(self, values: Any, state_manager: Any) -> Any:
        if not values.dtype.is_integer:
            raise ValueError(f"{self.key!r} must hold integers, got {values.dtype.name}.")
        return floormod(values, values.dtype.as_numpy_dtype(self.number_buckets))

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """The ids, int64; the transformed feature has them in the dtype of the feature."""
        ids = transformation_cache.get(self, state_manager)
        return IdsAndWeights(SparseTensor(ids.indices, as_int64(ids.values), ids.dense_shape), None)


@dataclass(frozen=True)
class SparseColumnKeys(SparseColumn, categorical.VocabularyListCategoricalColumn):
    """See `sparse_column_with_keys`."""

    combiner: str = "sum"

    @property
    def lookup_config(self) -> SparseIdLookupConfig:
        """The words, how many they are, and the id of others."""
        words = self.vocabulary_list
        return SparseIdLookupConfig(
            keys=words, vocab_size=len(words), default_value=self.default_value
        )


@dataclass(frozen=True)
class SparseColumnVocabulary(SparseColumn, categorical.VocabularyFileCategoricalColumn):
    """See `sparse_column_with_vocabulary_file`."""

    combiner: str = "sum"

    @property
    def lookup_config(self) -> SparseIdLookupConfig:
        """The file of words, how many they are, the buckets or the id of others."""
        return SparseIdLookupConfig(
            vocabulary_file=self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
        )


@dataclass(frozen=True)
class WeightedSparseColumn(ContribColumn, categorical.WeightedCategoricalColumn):
    """See `weighted_sparse_column`."""

    @property
    def sparse_id_column(self) -> Any:
        """The column of the ids."""
        return self.categorical_column

    def _check_weights(self, dtype: Any) -> None:
        """Any numbers are weights here, whatever dtype the column says."""

    @property
    def weight_column_name(self) -> str:
        """The feature that has the weights."""
        return self.weight_feature_key

    @property
    def combiner(self) -> str:
        """The combiner of the ids' column."""
        return self.sparse_id_column.combiner  # type: ignore[no-any-return]

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.num_buckets


@dataclass(frozen=True)
class RealValuedColumn(_Named, numeric.NumericColumn):
    """See `real_valued_column`."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of fixed length."""
        return _with_lists(super().parse_example_spec)

    @property
    def dimension(self) -> int:
        """How many numbers an example has."""
        return self.shape[0]

    @property
    def normalizer(self) -> Any:
        """The function that the numbers go through."""
        return self.normalizer_fn


@dataclass(frozen=True)
class BucketizedColumn(ContribColumn, numeric.BucketizedColumn):
    """See `bucketized_column`."""

    combiner = "sum"

    @property
    def length(self) -> int:
        """The number of buckets of one number."""
        return len(self.boundaries) + 1


@dataclass(frozen=True)
class CrossedColumn(ContribColumn, CategoricalColumn):
    """See `crossed_column`."""

    columns: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None
    combiner: str
    ckpt_to_load_from: str | None = None
    tensor_name_in_ckpt: str | None = None

    def _leaves(self) -> Iterator[Any]:
        for column in self.columns:
            yield from column._leaves() if isinstance(column, CrossedColumn) else [column]

    @property
    def name(self) -> str:
        """The columns' names, sorted, with ``_X_`` between them."""
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def parents(self) -> list[Any]:
        """The columns."""
        return list(self.columns)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of all columns."""
        spec: dict[str, Any] = {}
        for column in self.columns:
            spec.update(column.parse_example_spec)
        return spec

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    @property
    def length(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> SparseTensor:
        """The bucket of each combination of features; numbers that are cut count as their buckets."""
        parts = []
        for column in self._leaves():
            if isinstance(column, SparseColumn):
                parts.append(transformation_cache.get(column.key, state_manager))
            else:
                pair = column.get_sparse_tensors(transformation_cache, state_manager)
                parts.append(pair.id_tensor)
        return sparse_feature_cross(
            parts, True, self.hash_bucket_size, name="cross", hash_key=self.hash_key
        )

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """The bucket of each combination."""
        return IdsAndWeights(transformation_cache.get(self, state_manager), None)


@dataclass(frozen=True)
class OneHotColumn(ContribColumn, embedding.IndicatorColumn):
    """See `one_hot_column`."""

    @property
    def name(self) -> str:
        """The column's name and ``_one_hot``."""
        return f"{self.categorical_column.name}_one_hot"

    @property
    def sparse_id_column(self) -> Any:
        """The column of the ids."""
        return self.categorical_column

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.categorical_column.num_buckets


@dataclass(frozen=True)
class EmbeddingColumn(ContribColumn, embedding.EmbeddingColumn):
    """See `embedding_column`; its table is the variable ``weights``."""

    table_name = "weights"

    @property
    def sparse_id_column(self) -> Any:
        """The column of the ids."""
        return self.categorical_column

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.categorical_column.num_buckets

    @property
    def shared_embedding_name(self) -> None:
        """``None``: the table is this column's own."""
        return None


@dataclass(frozen=True)
class SharedEmbeddingColumn(ContribColumn, shared_embeddings.CollectedEmbeddingColumn):
    """See `shared_embedding_columns`; the table has the name that the columns share."""

    @property
    def sparse_id_column(self) -> Any:
        """The column of the ids."""
        return self.categorical_column

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.categorical_column.num_buckets

    @property
    def shared_embedding_name(self) -> str:
        """What the columns with this table call it."""
        return self.shared_embedding_collection_name

    @property
    def table_name(self) -> str:  # type: ignore[override]
        """What the table is called, in the scope of the column that is read first."""
        return self.shared_embedding_collection_name

    @property
    def _var_scope_name(self) -> str:
        return self.name
