"""Columns of sequences: a number, or a category, for every step; and the layer that reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.feature_column.base import (
    CategoricalColumn,
    FeatureColumn,
    Features,
    IdsAndWeights,
    to_sparse,
)
from dataflow.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from dataflow.feature_column.embedding import EmbeddingColumn, IndicatorColumn
from dataflow.feature_column.layers import model_collections, ordered_columns
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_equal
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import floordiv
from dataflow.ops.parsing import VarLenFeature
from dataflow.ops.segment import unsorted_segment_max
from dataflow.ops.sparse import sparse_reshape, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import variable_scope


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """A categorical column whose feature [batch, steps] has a category for every step."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The column's."""
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The column's."""
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        """The column's."""
        return self.categorical_column.num_buckets

    def categories(self, features: Features) -> IdsAndWeights:
        """Raises `ValueError`: a sequence is no input of `input_layer` or `linear_model`."""
        raise ValueError(
            f"The column {self.name!r} is a sequence, which input_layer and linear_model do not "
            "take: use tf.contrib.feature_column.sequence_input_layer, or a categorical column that "
            "is none (categorical_column_with_*)."
        )

    def steps(self, features: Features) -> IdsAndWeights:
        """The ids as the column gives them: [batch, steps] (or [batch, steps, n])."""
        return self.categorical_column.categories(features)


@dataclass(frozen=True)
class _Steps(CategoricalColumn):
    """The steps of all sequences as examples of their own: ids [batch * steps, n]."""

    column: SequenceCategoricalColumn

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def num_buckets(self) -> int:
        return self.column.num_buckets

    def categories(self, features: Features) -> IdsAndWeights:
        def flat(sparse: SparseTensor | None) -> Any:
            if sparse is None:
                return None
            shape = sparse.dense_shape
            width = shape[2] if shape.shape.num_elements() == 3 else np.int64(1)
            return sparse_reshape(sparse, array.stack([shape[0] * shape[1], width]))

        ids, weights = self.column.steps(features)
        return IdsAndWeights(flat(ids), flat(weights))


@dataclass(frozen=True)
class SequenceNumericColumn(FeatureColumn):
    """See `sequence_numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The feature's key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of a step."""
        return self.shape

    def sequence(self, features: Features) -> tuple[Tensor, Tensor]:
        """(numbers [batch, steps, *shape] float32, lengths int64 [batch])."""
        sparse = to_sparse(features.raw(self.key), keep_all=True)
        if self.normalizer_fn is not None:
            sparse = self.normalizer_fn(sparse)
        per_step = int(np.prod(self.shape))
        default = np.asarray(self.default_value, sparse.values.dtype.numpy)[()]
        dense = sparse_tensor_to_dense(sparse, default_value=default)
        rows = sparse.dense_shape[0]
        dense = array.reshape(dense, array.stack([rows, np.int64(-1), *map(np.int64, self.shape)]))
        # A feature of rank 3 has the numbers of a step on its last axis.
        rank = sparse.dense_shape.shape.num_elements()
        lengths = _lengths(sparse, per_step if rank == 2 else 1)
        return cast(dense, dtypes.float32), lengths


def _lengths(sparse: SparseTensor, per_step: int) -> Tensor:
    """How many steps each row [batch] has, up to its last value; int64."""
    rows, columns = sparse.indices[:, 0], sparse.indices[:, 1]
    # Rows without values get the lowest int64 from the maximum: no step, not less than none.
    last = unsorted_segment_max(columns + np.int64(1), rows, cast(sparse.dense_shape[0], "int32"))
    none = array.zeros_like(last)
    last = array.where(last > none, last, none)
    return floordiv(last + np.int64(per_step - 1), np.int64(per_step))


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
    dims = tuple(int(d) for d in ([shape] if isinstance(shape, (int, np.integer)) else shape))
    if any(d < 1 for d in dims):
        raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, dims, default_value, dtype, normalizer_fn)


def _sequence_of(
    column: Any, features: Features, collections: Iterable[str], trainable: bool
) -> tuple[Tensor, Tensor]:
    """(numbers [batch, steps, ...], lengths) of a column."""
    if isinstance(column, SequenceNumericColumn):
        return column.sequence(features)
    inner = column.categorical_column
    ids = inner.steps(features).ids
    flat = dataclasses.replace(column, categorical_column=_Steps(inner))
    numbers = flat.dense(features, collections, trainable)
    shape = array.stack(
        [ids.dense_shape[0], ids.dense_shape[1], *map(np.int64, column.variable_shape)]
    )
    return array.reshape(numbers, shape), _lengths(ids, 1)


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
        is_dense = isinstance(column, (EmbeddingColumn, IndicatorColumn)) and isinstance(
            column.categorical_column, SequenceCategoricalColumn
        )
        if not is_dense and not isinstance(column, SequenceNumericColumn):
            raise ValueError(
                "All feature_columns must be columns of sequences: sequence_numeric_column, or an "
                "embedding_column or indicator_column of a sequence_categorical_column_with_*. "
                f"Given: {column}"
            )
    known = Features(features)
    collections = model_collections(weight_collections)
    outputs, lengths = [], []
    with variable_scope(None, default_name="sequence_input_layer", values=list(features.values())):
        for column in columns:
            name = getattr(column, "var_scope_name", column.name)
            with variable_scope(None, default_name=name):
                numbers, length = _sequence_of(column, known, collections, trainable)
                size = int(np.prod(column.variable_shape))
                shape = array.shape(numbers)
                output = array.reshape(numbers, array.stack([shape[0], shape[1], size]))
                output.set_shape([None, None, size])
                outputs.append(output)
                lengths.append(length)
        message = "the columns' sequences are not of the same lengths"
        checks = [assert_equal(lengths[0], length, message=message) for length in lengths[1:]]
        with control_dependencies([check for check in checks if check is not None]):
            length = array.identity(lengths[0], name="sequence_length")
        return (array.concat(outputs, -1) if len(outputs) > 1 else outputs[0]), length


def concatenate_context_input(context_input: Any, sequence_input: Any) -> Tensor:
    """``context_input`` [batch, n] beside every step of ``sequence_input`` [batch, steps, m]."""
    steps = array.shape(sequence_input)[1]
    repeated = array.tile(array.expand_dims(context_input, 1), array.stack([1, steps, 1]))
    return array.concat([sequence_input, repeated], 2)
