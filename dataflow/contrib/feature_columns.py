"""The feature columns of `tf.contrib.layers`, made of those of `tf.feature_column`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.feature_column import categorical, crossed, embedding, layers, numeric
from dataflow.feature_column.base import DenseColumn
from dataflow.feature_column.transformation import LazyBuilder
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

#: The column of an array that has no name (``real_valued_column("")``), and its key in features.
UNNAMED = "x"


#: In which order TensorFlow puts columns side by side: the classes that they had there.
_ORDER: tuple[type, ...] = (
    numeric.BucketizedColumn,
    crossed.CrossedColumn,
    embedding.EmbeddingColumn,
    embedding.CollectedEmbeddingColumn,
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


def embedding_weights(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """A variable getter that calls ``embedding_weights`` ``weights``."""
    prefix, _, last = name.rpartition("/")
    last = "weights" if last == "embedding_weights" else last
    return getter(f"{prefix}/{last}", *args, **kwargs)


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: DTypeLike = dtypes.float32,
    normalizer: Callable[[Any], Any] | None = None,
) -> Any:
    """`numeric_column` of ``dimension`` numbers; the name "" is for an array given as ``x``."""
    if dimension is None:
        raise ValueError(
            "real_valued_column: columns of any length (dimension=None) are not part of dataflow."
        )
    return numeric.numeric_column(
        column_name or UNNAMED, (dimension,), default_value, dtype, normalizer
    )


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: DTypeLike = dtypes.string
) -> Any:
    """`categorical_column_with_hash_bucket`."""
    return categorical.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_keys(
    column_name: str,
    keys: TensorLike,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: DTypeLike = dtypes.string,
) -> Any:
    """`categorical_column_with_vocabulary_list`."""
    return categorical.categorical_column_with_vocabulary_list(
        column_name, keys, dtype, default_value
    )


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
    return categorical.categorical_column_with_vocabulary_file(
        column_name,
        vocabulary_file,
        vocab_size,
        num_oov_buckets,
        None if num_oov_buckets else default_value,
        dtype,
    )


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: DTypeLike = dtypes.int64
) -> Any:
    """`categorical_column_with_identity`."""
    return categorical.categorical_column_with_identity(column_name, bucket_size)


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: DTypeLike = dtypes.float32
) -> Any:
    """`weighted_categorical_column`."""
    return categorical.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def one_hot_column(sparse_id_column: Any) -> Any:
    """`indicator_column`."""
    return embedding.indicator_column(sparse_id_column)


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
    """`tf.feature_column.embedding_column`."""
    return embedding.embedding_column(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def shared_embedding_columns(
    sparse_id_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """`tf.feature_column.shared_embedding_columns`."""
    return embedding.shared_embedding_columns(
        sparse_id_columns,
        dimension,
        combiner,
        initializer,
        shared_embedding_name,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """`tf.feature_column.bucketized_column`."""
    return numeric.bucketized_column(source_column, boundaries)


def crossed_column(
    columns: Any,
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """`tf.feature_column.crossed_column`; a hashed column is crossed by its feature, hashed once."""
    keys = [c.key if isinstance(c, categorical.HashedCategoricalColumn) else c for c in columns]
    return crossed.crossed_column(keys, hash_bucket_size, hash_key)


def create_feature_spec_for_parsing(feature_columns: Sequence[Any]) -> dict[str, Any]:
    """`make_parse_example_spec`."""
    return layers.make_parse_example_spec(feature_columns)


def input_from_feature_columns(
    columns_to_tensors: dict[str, Any],
    feature_columns: Sequence[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Any:
    """All columns side by side: float32 [batch, sum of their sizes], kind by kind as TensorFlow has them.

    The embedding of a column ``a`` is the variable ``a_embedding/weights``.
    """
    known = LazyBuilder(columns_to_tensors)
    outputs = []
    with variable_scope(scope, "input_from_feature_columns", custom_getter=embedding_weights):
        for column in sorted(layers.ordered_columns(feature_columns), key=sort_key):
            if not isinstance(column, DenseColumn):
                raise ValueError(
                    f"Error creating input layer for column: {column.name}. It is sparse: wrap it in "
                    "an embedding_column or a one_hot_column."
                )
            with variable_scope(None, default_name=column._var_scope_name):
                outputs.append(layers.dense_rows(column, known, weight_collections, trainable))
        return array.concat(outputs, 1)
