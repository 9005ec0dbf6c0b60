"""Columns of `tf.contrib.layers` for features of any length, and for values without a vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataflow import dtypes
from dataflow.contrib.column_classes import ContribColumn
from dataflow.contrib.scattered_embeddings import scattered_embedding_lookup_sparse
from dataflow.feature_column.base import DenseColumn
from dataflow.feature_column.transformation import FeatureTransformationCache, to_sparse_input
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.initializers import truncated_normal_initializer
from dataflow.ops.parsing import FixedLenSequenceFeature, VarLenFeature
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape


@dataclass(frozen=True)
class RealValuedVarLenColumn(ContribColumn, DenseColumn):
    """See `real_valued_var_len_column`."""

    column_name: str
    default_value: Any
    dtype: Any
    normalizer: Callable[[Any], Any] | None
    is_sparse: bool

    @property
    def name(self) -> str:
        """The feature's key."""
        return self.column_name

    @property
    def parents(self) -> list[Any]:
        """The feature's key."""
        return [self.column_name]

    @property
    def normalizer_fn(self) -> Any:
        """The function that the numbers go through."""
        return self.normalizer

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length: sparse, or padded with the default."""
        if self.is_sparse:
            return {self.column_name: VarLenFeature(self.dtype)}
        return {
            self.column_name: FixedLenSequenceFeature(
                [], self.dtype, allow_missing=True, default_value=self.default_value
            )
        }

    @property
    def variable_shape(self) -> TensorShape:
        """One axis whose size is the feature's."""
        return TensorShape([None])

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Any:
        """The normalized numbers; of a sparse feature, its values."""
        made = transformation_cache.get(self.column_name, state_manager)
        if self.normalizer is None:
            return made
        if isinstance(made, SparseTensor):
            return SparseTensor(made.indices, self.normalizer(made.values), made.dense_shape)
        return self.normalizer(made)


def real_valued_var_len_column(
    column_name: str,
    default_value: Any = None,
    dtype: DTypeLike = dtypes.float32,
    normalizer: Callable[[Any], Any] | None = None,
    is_sparse: bool = False,
) -> RealValuedVarLenColumn:
    """Numbers, as many as an example has: sparse, or [batch, longest] padded with ``default_value``.

    Raises `TypeError` for a dtype that is no number or a default that is none, `ValueError` for several defaults.
    """
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise TypeError(
            f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}"
        )
    if default_value is not None:
        if isinstance(default_value, (list, tuple)):
            raise ValueError(
                f"Only scalar default value. default_value: {default_value}, column_name: {column_name}"
            )
        if isinstance(default_value, bool) or not isinstance(default_value, (int, float)):
            raise TypeError(
                f"default_value must be compatible with dtype. default_value: {default_value}, "
                f"dtype: {dtype}, column_name: {column_name}"
            )
        if dtype.is_floating:
            default_value = float(default_value)
    return RealValuedVarLenColumn(column_name, default_value, dtype, normalizer, is_sparse)


@dataclass(frozen=True)
class ScatteredEmbeddingColumn(ContribColumn, DenseColumn):
    """See `scattered_embedding_column`."""

    column_name: str
    size: int
    dimension: int
    hash_key: int | None
    combiner: str
    initializer: Callable[..., Any]

    @property
    def name(self) -> str:
        """The feature's key and ``_scattered_embedding``."""
        return f"{self.column_name}_scattered_embedding"

    @property
    def parents(self) -> list[Any]:
        """The feature's key."""
        return [self.column_name]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Strings, as many as an example has."""
        return {self.column_name: VarLenFeature(dtypes.string)}

    @property
    def variable_shape(self) -> TensorShape:
        """The dimension."""
        return TensorShape([self.dimension])

    def create_state(self, state_manager: Any) -> None:
        """Makes the pool of weights [size]."""
        state_manager.create_variable(
            self,
            name="weights",
            shape=[self.size],
            dtype=dtypes.float32,
            trainable=True,
            use_resource=True,
            initializer=self.initializer,
        )

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> SparseTensor:
        """The values, sparse."""
        return to_sparse_input(transformation_cache.get(self.column_name, state_manager))

    def lookup(self, values: SparseTensor, state_manager: Any) -> Tensor:
        """The embeddings of values [batch, n], combined: float32 [batch, dimension]."""
        pool = state_manager.get_variable(self, name="weights")
        found: Tensor = scattered_embedding_lookup_sparse(
            pool, values, self.dimension, self.combiner, hash_key=self.hash_key, name="lookup"
        )
        return found

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """The embeddings of each example's values, combined."""
        return self.lookup(transformation_cache.get(self, state_manager), state_manager)


def scattered_embedding_column(
    column_name: str,
    size: int,
    dimension: int,
    hash_key: int | None,
    combiner: str = "mean",
    initializer: Any = None,
) -> ScatteredEmbeddingColumn:
    """Strings as vectors whose ``dimension`` numbers are found by hashes in one pool of ``size`` weights.

    The pool starts with truncated normal numbers of deviation 0.1. ``hash_key`` chooses the hash, as for
    `crossed_column`. Raises `ValueError` where ``size`` or ``dimension`` is below 1.
    """
    if dimension < 1 or size < 1:
        raise ValueError(
            f"Dimension and size must be greater than 0. dimension: {dimension}, size: {size}, "
            f"column_name: {column_name}"
        )
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(
            f"Combiner must be one of 'mean', 'sqrtn' or 'sum'. combiner: {combiner}, "
            f"column_name: {column_name}"
        )
    initializer = initializer or truncated_normal_initializer(mean=0.0, stddev=0.1)
    return ScatteredEmbeddingColumn(column_name, size, dimension, hash_key, combiner, initializer)
