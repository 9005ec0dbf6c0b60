"""The feature columns of `tf.contrib.layers`, made of those of `tf.feature_column`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.contrib import column_classes as classes
from dataflow.feature_column import categorical, embedding, layers, numeric, shared_embeddings
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.initializers import truncated_normal_initializer
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape

#: The column of an array that has no name (``real_valued_column("")``), and its key in features.
UNNAMED = ""


#: In which order TensorFlow puts columns side by side: the classes that they had there.
_ORDER: tuple[type, ...] = (
    numeric.BucketizedColumn,
    classes.CrossedColumn,
    embedding.EmbeddingColumn,
    shared_embeddings.CollectedEmbeddingColumn,
    embedding.IndicatorColumn,
    numeric.NumericColumn,
    categorical.HashedCategoricalColumn,
    categorical.IdentityCategoricalColumn,
    categorical.VocabularyListCategoricalColumn,
    categorical.VocabularyFileCategoricalColumn,
    categorical.WeightedCategoricalColumn,
)


def sort_key(column: Any) -> tuple[Any, ...]:
    """The place of a column: by its class, then that of the column it is made of, then its name."""
    place = next((i for i, kind in enumerate(_ORDER) if isinstance(column, kind)), len(_ORDER))
    source = getattr(column, "categorical_column", None)
    return (place, *(sort_key(source) if source is not None else ()), column.name)


def _fields(column: Any, **others: Any) -> dict[str, Any]:
    """The fields of a column of `tf.feature_column`, which checked them, and others."""
    return {f.name: getattr(column, f.name) for f in dataclasses.fields(column)} | others


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: DTypeLike = dtypes.float32,
    normalizer: Callable[[Any], Any] | None = None,
) -> Any:
    """`numeric_column` of ``dimension`` numbers; the name "" is for an array given as ``x``.

    Raises `TypeError` for a ``dimension`` that is no integer, `ValueError` for one below 1.
    """
    if not isinstance(dimension, int):
        raise TypeError(f"dimension must be an integer. dimension: {dimension}")
    if dimension < 1:
        raise ValueError(
            f"dimension must be greater than 0. dimension: {dimension}, column_name: {column_name}"
        )
    made = numeric.numeric_column(column_name, (dimension,), default_value, dtype, normalizer)
    default = made.default_value
    if default is not None and made.dtype.is_floating:
        default = tuple(float(number) for number in default)
    return classes.RealValuedColumn(**_fields(made, default_value=default))


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: DTypeLike = dtypes.string
) -> Any:
    """`categorical_column_with_hash_bucket`; sums of its weights in a linear model by ``combiner``."""
    made = categorical.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)
    return classes.SparseColumnHashed(**_fields(made, combiner=combiner))


def sparse_column_with_keys(
    column_name: str,
    keys: TensorLike,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: DTypeLike = dtypes.string,
) -> Any:
    """`categorical_column_with_vocabulary_list`."""
    made = categorical.categorical_column_with_vocabulary_list(
        column_name, keys, dtype, default_value
    )
    return classes.SparseColumnKeys(**_fields(made, combiner=combiner))


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: DTypeLike = dtypes.string,
) -> Any:
    """`categorical_column_with_vocabulary_file`."""
    made = categorical.categorical_column_with_vocabulary_file(
        column_name,
        vocabulary_file,
        vocab_size,
        num_oov_buckets,
        None if num_oov_buckets else default_value,
        dtype,
    )
    return classes.SparseColumnVocabulary(**_fields(made, combiner=combiner))


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: DTypeLike = dtypes.int64
) -> Any:
    """`categorical_column_with_identity`; ids are taken modulo ``bucket_size``."""
    made = categorical.categorical_column_with_identity(column_name, bucket_size)
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_integer:
        raise ValueError(f"dtype must be an integer. dtype: {dtype}, column_name: {column_name}")
    return classes.SparseColumnIntegerized(**_fields(made, combiner=combiner, dtype=dtype))


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: DTypeLike = dtypes.float32
) -> Any:
    """`weighted_categorical_column`."""
    made = categorical.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)
    return classes.WeightedSparseColumn(**_fields(made))


def one_hot_column(sparse_id_column: Any) -> Any:
    """`indicator_column`."""
    return classes.OneHotColumn(**_fields(embedding.indicator_column(sparse_id_column)))


def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """`tf.feature_column.embedding_column`; the table starts with deviation 1/sqrt(number of ids)."""
    made = embedding.embedding_column(
        sparse_id_column,
        dimension,
        combiner,
        initializer or _truncated(sparse_id_column.num_buckets),
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )
    return classes.EmbeddingColumn(**_fields(made))


def _truncated(num_buckets: int) -> Any:
    return truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(num_buckets))


def shared_embedding_columns(
    sparse_id_columns: Any,
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """`tf.feature_column.shared_embedding_columns`, a tuple; the table is called what they share.

    Of more than three columns the name has the first three and how many others there are.
    """
    if not isinstance(sparse_id_columns, (list, tuple)) or not sparse_id_columns:
        raise TypeError(
            "sparse_id_columns must be a list or a tuple of sparse columns, not empty. Given: "
            f"{sparse_id_columns}"
        )
    columns = list(sparse_id_columns)
    names = sorted(column.name for column in columns)
    if not shared_embedding_name and len(names) > 3:
        others = f"_plus_{len(names) - 3}_others_shared_embedding"
        shared_embedding_name = "_".join(names[:3]) + others
    made = shared_embeddings.shared_embedding_columns(
        columns,
        dimension,
        combiner,
        initializer or _truncated(columns[0].num_buckets),
        shared_embedding_name,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )
    return tuple(classes.SharedEmbeddingColumn(**_fields(column)) for column in made)


def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """`tf.feature_column.bucketized_column`; boundaries that come twice count once."""
    if not isinstance(source_column, numeric.NumericColumn):
        raise TypeError(
            f"source_column must be an instance of _RealValuedColumn. Given: {source_column}"
        )
    if list(boundaries) != sorted(boundaries):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries}")
    made = numeric.bucketized_column(source_column, list(dict.fromkeys(boundaries)))
    return classes.BucketizedColumn(**_fields(made))


def crossed_column(
    columns: Any,
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """All combinations of the columns' features, hashed into ``hash_bucket_size`` buckets.

    ``columns``: sparse columns (their features, not their ids, are crossed), bucketized ones and crosses.
    The weights of a linear model begin with the tensor ``tensor_name_in_ckpt`` of a checkpoint, where given.
    Without ``hash_key`` buckets are those of TensorFlow's first crosses, with
    ``SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY`` those of `tf.feature_column.crossed_column`. Raises
    `TypeError` for other columns, `ValueError` for fewer than two columns or buckets.
    """
    for column in columns:
        kinds = (classes.SparseColumn, classes.CrossedColumn, numeric.BucketizedColumn)
        if not isinstance(column, kinds):
            raise TypeError(
                "columns must be sparse columns, crossed_column or bucketized_column. Given: "
                f"{column}"
            )
    if len(columns) < 2 or hash_bucket_size < 2:
        raise ValueError(
            "crossed_column needs at least two columns and two buckets. "
            f"Given: {len(columns)} and {hash_bucket_size}"
        )
    ordered = tuple(sorted(columns, key=lambda column: column.name))
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    return classes.CrossedColumn(
        ordered, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt
    )


def infer_real_valued_columns(features: Any) -> list[Any]:
    """A real-valued column for a tensor or array [batch, ...], of its dtype, or for each of a dict of them.

    Raises `ValueError` for sparse tensors, for unknown shapes, and for what is no number.
    """
    if not isinstance(features, dict):
        return [_column_of("", features)]
    return [_column_of(name, features[name]) for name in sorted(features)]


def _column_of(name: str, values: Any) -> Any:
    if isinstance(values, SparseTensor):
        raise ValueError(
            f"SparseTensor is not supported for auto detection; make a column for {values}."
        )
    dtype = dtypes.as_dtype(values.dtype).base_dtype
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(
            "Non integer or non floating types are not supported for auto detection; make a column for "
            f"{name!r}, which is {dtype.name}."
        )
    shape = TensorShape(values.shape)
    if shape.ndims is None or not shape[1:].is_fully_defined():
        raise ValueError(f"Unknown shape {shape} of {name!r}; make a column for it.")
    return real_valued_column(name, dimension=math.prod(shape[1:].as_list()), dtype=dtype)


def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """`make_parse_example_spec` of columns, or of the values of a dict of them."""
    columns = feature_columns.values() if isinstance(feature_columns, dict) else feature_columns
    return layers.make_parse_example_spec(list(columns))
