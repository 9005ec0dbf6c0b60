"""Categorical columns: from a feature to ids, by vocabulary, by value, by hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflow import dtypes, gfile
from dataflow.feature_column.base import (
    CategoricalColumn,
    IdsAndWeights,
    as_int64,
    check_categorical,
    check_dtype,
    check_key,
)
from dataflow.feature_column.transformation import FeatureTransformationCache, to_sparse_input
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_greater_equal, assert_less
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_equal, less, logical_and
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.parsing import VarLenFeature
from dataflow.ops.reduce import reduce_prod
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.sparse import sparse_reshape
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.string import as_string
from dataflow.ops.string_hash import string_to_hash_bucket_fast
from dataflow.ops.vocabulary_tables import index_table_from_file, index_table_from_tensor


@dataclass(frozen=True)
class KeyedCategoricalColumn(CategoricalColumn):
    """Base of the columns that read one feature."""

    key: str

    @property
    def name(self) -> str:
        """The feature's key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(getattr(self, "dtype", dtypes.int64))}

    @property
    def parents(self) -> list[Any]:
        """The feature's key."""
        return [self.key]

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> SparseTensor:
        """The ids of the feature's values; "" and -1 in a dense feature stand for nothing."""
        raw = to_sparse_input(transformation_cache.get(self.key, state_manager))
        ids = self._ids(raw.values, state_manager)
        return SparseTensor(raw.indices, ids, raw.dense_shape)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """The ids of the feature's values."""
        return IdsAndWeights(transformation_cache.get(self, state_manager), None)

    def _ids(self, values: Any, state_manager: Any) -> Any:
        raise NotImplementedError

    def _check_kind(self, values: Any, dtype: Any) -> None:
        check_dtype(values.dtype.base_dtype, self.key)
        if values.dtype.is_integer != dtype.is_integer:
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. "
                f"key: {self.key}, column dtype: {dtype}, tensor dtype: {values.dtype.name}"
            )


@dataclass(frozen=True)
class VocabularyListCategoricalColumn(KeyedCategoricalColumn):
    """See `categorical_column_with_vocabulary_list`."""

    vocabulary_list: tuple[Any, ...]
    dtype: Any
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The words and the buckets for unknown ones."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _ids(self, values: Any, state_manager: Any) -> Any:
        self._check_kind(values, self.dtype)
        kind = self.dtype
        if kind.is_integer:
            values, kind = as_int64(values), dtypes.int64
        table = index_table_from_tensor(
            list(self.vocabulary_list),
            self.num_oov_buckets,
            self.default_value,
            dtype=kind,
            name=f"{self.key}_lookup",
        )
        if state_manager is not None:
            state_manager.add_resource(self, f"{self.key}_lookup", table)
        return table.lookup(values)


@dataclass(frozen=True)
class VocabularyFileCategoricalColumn(KeyedCategoricalColumn):
    """See `categorical_column_with_vocabulary_file`."""

    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: Any
    default_value: int

    @property
    def num_buckets(self) -> int:
        """The words and the buckets for unknown ones."""
        return self.vocabulary_size + self.num_oov_buckets

    def _ids(self, values: Any, state_manager: Any) -> Any:
        self._check_kind(values, self.dtype)
        kind = self.dtype
        if kind.is_integer:
            values, kind = as_int64(values), dtypes.int64
        table = index_table_from_file(
            self.vocabulary_file,
            self.num_oov_buckets,
            self.vocabulary_size,
            self.default_value,
            key_dtype=kind,
            name=f"{self.key}_lookup",
        )
        if state_manager is not None:
            state_manager.add_resource(self, f"{self.key}_lookup", table)
        return table.lookup(values)


@dataclass(frozen=True)
class IdentityCategoricalColumn(KeyedCategoricalColumn):
    """See `categorical_column_with_identity`."""

    number_buckets: int
    default_value: int | None

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.number_buckets

    def _ids(self, values: Any, state_manager: Any) -> Any:
        if not values.dtype.is_integer:
            raise ValueError(
                f"Invalid input, not integer. key: {self.key} dtype: {values.dtype.name}"
            )
        ids = as_int64(values)
        if self.default_value is not None:
            inside = logical_and(
                greater_equal(ids, np.int64(0)), less(ids, np.int64(self.number_buckets))
            )
            other = array.fill(array.shape(ids), np.int64(self.default_value))
            count_left_out(3)  # the bounds and the default are cast there
            return array.where(inside, ids, other)
        message = f"Bucket index for categorical column '{self.key}' must be in [0, {self.number_buckets})"
        with (
            counted_as(38),
            control_dependencies(
                [
                    assert_greater_equal(ids, np.int64(0), message=message),
                    assert_less(ids, np.int64(self.number_buckets), message=message),
                ]
            ),
        ):
            return array.identity(ids)


@dataclass(frozen=True)
class HashedCategoricalColumn(KeyedCategoricalColumn):
    """See `categorical_column_with_hash_bucket`."""

    hash_bucket_size: int
    dtype: Any

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def _ids(self, values: Any, state_manager: Any) -> Any:
        self._check_kind(values, self.dtype)
        text = values if self.dtype is dtypes.string else as_string(values)
        return string_to_hash_bucket_fast(text, self.hash_bucket_size)


@dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """See `weighted_categorical_column`."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: Any

    @property
    def name(self) -> str:
        """The column's name and the weight's."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The column's feature and the weights."""
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config for the weight {self.weight_feature_key!r} already exists: the "
                "weights are a feature of their own."
            )
        spec[self.weight_feature_key] = VarLenFeature(self.dtype)
        return spec

    @property
    def num_buckets(self) -> int:
        """The column's."""
        return self.categorical_column.num_buckets

    @property
    def parents(self) -> list[Any]:
        """The column, and the weights' key."""
        return [self.categorical_column, self.weight_feature_key]

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> tuple[SparseTensor, SparseTensor]:
        """The column's ids, with the other feature's values as weights; 0 in a dense one is none."""
        raw = transformation_cache.get(self.weight_feature_key, state_manager)
        self._check_weights(raw.dtype)
        weights = to_sparse_input(raw, ignore_value=0)
        values = weights.values
        if not values.dtype.is_floating:
            values = cast(values, dtypes.float32)
        return (
            transformation_cache.get(self.categorical_column, state_manager),
            SparseTensor(weights.indices, values, weights.dense_shape),
        )

    def _check_weights(self, dtype: Any) -> None:
        if dtype.base_dtype is not self.dtype:
            raise ValueError(
                f"Bad dtype of the weights {self.weight_feature_key!r}: expected "
                f"{self.dtype}, but got {dtype}."
            )

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """The ids and the weights."""
        return IdsAndWeights(*transformation_cache.get(self, state_manager))


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """A categorical column whose feature [batch, steps] has a category for every step."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The column's."""
        return self.categorical_column.name

    @property
    def parents(self) -> list[Any]:
        """The column."""
        return [self.categorical_column]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The column's."""
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        """The column's."""
        return self.categorical_column.num_buckets

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Any:
        """What the column makes."""
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """The ids and weights [batch, steps, n]."""
        ids, weights = self.categorical_column.get_sparse_tensors(
            transformation_cache, state_manager
        )
        shape = ids.dense_shape
        target = array.concat([shape[:2], [reduce_prod(shape[2:])]], 0)
        ids = sparse_reshape(ids, target)
        return IdsAndWeights(ids, None if weights is None else sparse_reshape(weights, target))


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """The place of each value in ``vocabulary_list``.

    Unknown values get ``default_value`` (-1: nothing), or with ``num_oov_buckets`` one of so many
    more ids, by their hash. Raises `ValueError` for an empty list or one with duplicates.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    words = tuple(vocabulary_list)
    if len(set(words)) != len(words):
        raise ValueError(
            f"Duplicate keys in vocabulary_list {list(vocabulary_list)}, column_name: {key}"
        )
    array_kind = np.asarray(words).dtype
    kind = dtypes.int64 if np.issubdtype(array_kind, np.integer) else dtypes.string
    if not np.issubdtype(array_kind, np.integer) and array_kind.kind not in "USO":
        raise ValueError(
            f"vocabulary_list must be strings or integers, got {array_kind}, column_name: {key}"
        )
    dtype = kind if dtype is None else check_dtype(dtype, key)
    if dtype.is_integer != kind.is_integer:
        raise ValueError(
            f"dtype {dtype} and vocabulary dtype {kind} do not match, column_name: {key}"
        )
    _check_oov(key, num_oov_buckets, default_value, -1)
    check_key(key)
    return VocabularyListCategoricalColumn(key, words, dtype, default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = dtypes.string,
) -> VocabularyFileCategoricalColumn:
    """The line of each value in a file, one word a line; see the vocabulary list.

    Without ``vocabulary_size`` the lines are counted now.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist: {vocabulary_file}")
        with gfile.GFile(vocabulary_file, mode="rb") as file:
            vocabulary_size = sum(1 for _ in file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size {vocabulary_size} in {key}.")
    _check_oov(key, num_oov_buckets, default_value, None)
    check_key(key)
    return VocabularyFileCategoricalColumn(
        key,
        str(vocabulary_file),
        vocabulary_size,
        num_oov_buckets,
        check_dtype(dtype, key),
        -1 if default_value is None else default_value,
    )


def _check_oov(key: str, num_oov_buckets: int, default_value: Any, none: Any) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    if num_oov_buckets and default_value != none:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Integers that are ids already, in [0, num_buckets).

    Others get ``default_value``; without one they are an `InvalidArgumentError` at run time.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = dtypes.string
) -> HashedCategoricalColumn:
    """The FarmHash fingerprint of each value modulo ``hash_bucket_size``, as in TensorFlow."""
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    check_key(key)
    return HashedCategoricalColumn(key, hash_bucket_size, check_dtype(dtype, key))


def weighted_categorical_column(
    categorical_column: CategoricalColumn,
    weight_feature_key: str,
    dtype: DTypeLike = dtypes.float32,
) -> WeightedCategoricalColumn:
    """Categories with weights, which another feature of the same shape holds."""
    check_categorical(categorical_column)
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)
