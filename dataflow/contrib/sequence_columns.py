"""Feature columns of `tf.contrib.layers` for sequences: input of a recurrent network, parsing, placeholders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.contrib import column_classes as classes
from dataflow.contrib.column_inputs import ColumnCache, numbers_of
from dataflow.contrib.feature_column_sums import check_feature_columns
from dataflow.contrib.feature_columns import create_feature_spec_for_parsing, sort_key
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.parsing import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from dataflow.ops.sequence_parsing import parse_single_sequence_example
from dataflow.ops.sources import placeholder
from dataflow.ops.sparse_tensor import sparse_placeholder
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

#: The columns that have no meaning for the steps of a sequence.
_NOT_OF_STEPS = {
    classes.BucketizedColumn: "_BucketizedColumn",
    classes.CrossedColumn: "_CrossedColumn",
}


def _check_sequence_columns(columns: Sequence[Any]) -> None:
    for column in columns:
        for kind, called in _NOT_OF_STEPS.items():
            if isinstance(column, kind):
                raise ValueError(
                    f"FeatureColumn type {called} is not currently supported for sequence data: "
                    f"{column.name}."
                )
            source = column
            while (source := getattr(source, "sparse_id_column", None)) is not None:
                if isinstance(source, kind):
                    raise ValueError(
                        f"Column {column.name} depends on a {called}, which is not supported for "
                        "sequence data."
                    )


def sequence_input_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Iterable[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """All columns of each step side by side: float32 [batch, steps, sum of their sizes].

    Numbers are given as [batch, steps, ...], categories as sparse [batch, steps, n] or [batch, steps]. Raises
    `ValueError` for bucketized and crossed columns, and as `check_feature_columns` does.
    """
    columns = feature_columns if isinstance(feature_columns, dict) else list(feature_columns)
    check_feature_columns(columns)
    columns = list(columns)
    _check_sequence_columns(columns)
    known = ColumnCache(columns_to_tensors)
    outputs = []
    with variable_scope(scope, "sequence_input_from_feature_columns"):
        for column in sorted(columns, key=sort_key):
            with variable_scope(None, default_name=column._var_scope_name):
                outputs.append(numbers_of(column, known, weight_collections, trainable, 3))
        return array.concat(outputs, 2)


def sequence_feature_spec_for_parsing(
    sequence_feature_columns: Iterable[Any], allow_missing_by_default: bool = False
) -> dict[str, Any]:
    """What parsing of sequences needs: a feature of fixed length becomes one for every step."""
    spec = {}
    for key, feature in create_feature_spec_for_parsing(sequence_feature_columns).items():
        if isinstance(feature, FixedLenFeature):
            missing = allow_missing_by_default or feature.default_value is not None
            feature = FixedLenSequenceFeature(feature.shape, feature.dtype, allow_missing=missing)
        spec[key] = feature
    return spec


def parse_feature_columns_from_sequence_examples(
    serialized: TensorLike,
    context_feature_columns: Iterable[Any] | None,
    sequence_feature_columns: Iterable[Any] | None,
    name: str | None = None,
    example_name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the columns need of one serialized SequenceExample: of its context, and of its steps, by key.

    Raises `ValueError` as `check_feature_columns` does.
    """
    context, steps = list(context_feature_columns or ()), list(sequence_feature_columns or ())
    if not context and not steps:
        return {}, {}
    check_feature_columns(context)
    check_feature_columns(steps)
    parsed: tuple[dict[str, Any], dict[str, Any]] = parse_single_sequence_example(
        serialized,
        create_feature_spec_for_parsing(context),
        sequence_feature_spec_for_parsing(steps),
        example_name,
        name,
    )
    return parsed


def make_place_holder_tensors_for_base_features(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Placeholders for the features that the columns need, by key: sparse where they are of any length."""
    made: dict[str, Any] = {}
    for key, feature in create_feature_spec_for_parsing(feature_columns).items():
        name = f"Placeholder_{key}"
        if isinstance(feature, VarLenFeature):
            made[key] = sparse_placeholder(feature.dtype, name=name)
        else:
            made[key] = placeholder(feature.dtype, [None, *feature.shape], name=name)
    return made
