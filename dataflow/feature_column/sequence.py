"""Columns of sequences: a number, or a category, for every step; and the layer that reads them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.feature_column.base import (
    SequenceDenseColumn,
    StepsAndLengths,
    check_shape,
)
from dataflow.feature_column.categorical import (
    SequenceCategoricalColumn,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from dataflow.feature_column.layers import model_collections, ordered_columns
from dataflow.feature_column.numeric import NumbersOfKey
from dataflow.feature_column.transformation import (
    FeatureTransformationCache,
    LazyBuilder,
    sequence_length_from_sparse_tensor,
    to_sparse_input,
)
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_equal
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.parsing import VarLenFeature
from dataflow.ops.sparse import sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import variable_scope


@dataclass(frozen=True)
class SequenceNumericColumn(NumbersOfKey, SequenceDenseColumn):
    """See `sequence_numeric_column`."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> SparseTensor:
        """The normalized numbers [batch, steps * numbers of a step]."""
        sparse = to_sparse_input(transformation_cache.get(self.key, state_manager), keep_all=True)
        return sparse if self.normalizer_fn is None else self.normalizer_fn(sparse)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> StepsAndLengths:
        """(numbers [batch, steps, *shape] float32, lengths int64 [batch])."""
        sparse = transformation_cache.get(self, state_manager)
        default = np.asarray(self.default_value, sparse.values.dtype.numpy)[()]
        dense = sparse_tensor_to_dense(sparse, default_value=default)
        rows = sparse.dense_shape[0]
        dense = array.reshape(dense, array.stack([rows, np.int64(-1), *map(np.int64, self.shape)]))
        # A feature of rank 3 has the numbers of a step on its last axis.
        rank = sparse.dense_shape.shape.num_elements()
        per_step = math.prod(self.shape) if rank == 2 else 1
        return StepsAndLengths(
            cast(dense, dtypes.float32), sequence_length_from_sparse_tensor(sparse, per_step)
        )


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """`categorical_column_with_identity` for every step of a sequence."""
    return SequenceCategoricalColumn(
        categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = dtypes.string
) -> SequenceCategoricalColumn:
    """`categorical_column_with_hash_bucket` for every step of a sequence."""
    return SequenceCategoricalColumn(
        categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """`categorical_column_with_vocabulary_list` for every step of a sequence."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = dtypes.string,
) -> SequenceCategoricalColumn:
    """`categorical_column_with_vocabulary_file` for every step of a sequence."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Numbers, ``shape`` for every step: a feature [batch, steps * numbers of a step].

    ``default_value`` fills shorter sequences. ``normalizer_fn`` takes and gives a SparseTensor.
    Raises `ValueError` for a shape that is not positive and a dtype that is no number, `TypeError`
    for a normalizer that cannot be called.
    """
    dims = check_shape(shape, key)
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, dims, default_value, dtype, normalizer_fn)


def sequence_input_layer(
    features: dict[str, Any],
    feature_columns: Sequence[Any],
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:
    """All columns side by side: (float32 [batch, steps, sum of their sizes], lengths int64 [batch]).

    The input of `tf.nn.dynamic_rnn`. Columns: `sequence_numeric_column`, and embeddings and
    indicators of ``sequence_categorical_column_with_*``. Raises `ValueError` for others;
    `InvalidArgumentError` when it runs, where the columns' sequences are not of the same lengths.
    """
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, SequenceDenseColumn):
            raise ValueError(
                "All feature_columns must be columns of sequences: sequence_numeric_column, or an "
                "embedding_column or indicator_column of a sequence_categorical_column_with_*. "
                f"Given: {column}"
            )
    known = LazyBuilder(features)
    collections = model_collections(weight_collections)
    outputs, lengths = [], []
    with variable_scope(None, default_name="sequence_input_layer", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                numbers, length = column._get_sequence_dense_tensor(known, collections, trainable)
                outputs.append(flat_steps(column, numbers))
                lengths.append(length)
        return array.concat(outputs, -1), same_lengths(lengths)


def flat_steps(column: Any, numbers: Tensor) -> Tensor:
    """The numbers of a column, [batch, steps, *variable_shape], as [batch, steps, size]."""
    size = column.variable_shape.num_elements()
    shape = array.shape(numbers)
    return array.reshape(numbers, array.stack([shape[0], shape[1], size]))


def same_lengths(lengths: Sequence[Tensor]) -> Tensor:
    """The first of ``lengths``; `InvalidArgumentError` when it runs, where another one differs."""
    message = "the columns' sequences are not of the same lengths"
    checks = [assert_equal(lengths[0], length, message=message) for length in lengths[1:]]
    with control_dependencies([check for check in checks if check is not None]):
        return array.identity(lengths[0], name="sequence_length")


def concatenate_context_input(context_input: Any, sequence_input: Any) -> Tensor:
    """``context_input`` [batch, n] beside every step of ``sequence_input`` [batch, steps, m]."""
    steps = array.shape(sequence_input)[1]
    repeated = array.tile(array.expand_dims(context_input, 1), array.stack([1, steps, 1]))
    return array.concat([sequence_input, repeated], 2)
