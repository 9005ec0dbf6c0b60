"""Crossed columns: combinations of categories, hashed into buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dataflow import dtypes
from dataflow.feature_column.base import (
    CategoricalColumn,
    IdsAndWeights,
    as_int64,
)
from dataflow.feature_column.categorical import HashedCategoricalColumn
from dataflow.feature_column.numeric import BucketizedColumn
from dataflow.feature_column.transformation import FeatureTransformationCache, to_sparse_input
from dataflow.ops.parsing import VarLenFeature
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.sparse_cross import sparse_cross_hashed
from dataflow.ops.sparse_tensor import SparseTensor


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """See `crossed_column`."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    def _leaves(self) -> list[Any]:
        leaves: list[Any] = []
        for key in self.keys:
            leaves += key._leaves() if isinstance(key, CrossedColumn) else [key]
        return leaves

    @property
    def name(self) -> str:
        """The crossed names, sorted, with ``_X_`` between them."""
        return "_X_".join(sorted(k if isinstance(k, str) else k.name for k in self._leaves()))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of all parts."""
        spec: dict[str, Any] = {}
        for key in self.keys:
            if isinstance(key, str):
                spec[key] = VarLenFeature(dtypes.string)
            else:
                spec.update(key.parse_example_spec)
        return spec

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    @property
    def parents(self) -> list[Any]:
        """The parts."""
        return list(self.keys)

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> SparseTensor:
        """The bucket of each combination."""
        # Sparse parts come first, as in TensorFlow: the order changes the hash.
        sparse: list[SparseTensor] = []
        dense: list[SparseTensor] = []
        for leaf in self._leaves():
            if isinstance(leaf, str):
                raw = transformation_cache.get(leaf, state_manager)
                known = isinstance(raw, SparseTensor)
                with counted_as(0):  # the op takes dense parts, too
                    (sparse if known else dense).append(to_sparse_input(raw, keep_all=True))
                continue
            ids, weights = leaf.get_sparse_tensors(transformation_cache, state_manager)
            if weights is not None:
                raise ValueError(
                    f"crossed_column does not support weight_tensor, but the given column "
                    f"populates weight_tensor. Given column: {leaf.name}"
                )
            count_left_out(isinstance(leaf, BucketizedColumn))  # its numbers have 32 bits there
            sparse.append(ids)
        inputs = [
            part
            if part.dtype.base_dtype is dtypes.string
            else SparseTensor(part.indices, as_int64(part.values), part.dense_shape)
            for part in sparse + dense
        ]
        return sparse_cross_hashed(inputs, self.hash_bucket_size, self.hash_key)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """The bucket of each combination."""
        return IdsAndWeights(transformation_cache.get(self, state_manager), None)


def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """All combinations of the categories of several features, hashed into buckets.

    ``keys``: names of features, or categorical columns (not hashed ones: hashing twice only
    collides more). Raises `ValueError` for fewer than two, or other things.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or isinstance(keys, str) or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name as "
                f"a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
