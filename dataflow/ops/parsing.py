"""Reading bytes: raw numbers, CSV, serialized examples and tensors."""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops.example_parsing import (
    parse_example_op,
    parse_example_v1_op,
    parse_single_example_op,
)
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import need_rank
from dataflow.ops.sources import constant
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import Dims

_PARSED = frozenset({dtypes.float32, dtypes.int64, dtypes.string})
_CSV_TYPES = frozenset({dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string})


# ---- raw, compressed, CSV -----------------------------------------------------------------


@define_op("DecodeRaw", "bytes: string -> output: out_type")
def decode_raw_op(bytes: Tensor, *, out_type: DType, little_endian: bool = True) -> Dims:
    """Each string's bytes as numbers, which adds an axis. Not differentiable."""
    return None if bytes.dims is None else (*bytes.dims, None)


@define_op("DecodeCompressed", "bytes: string -> output: string")
def decode_compressed(bytes: Tensor, *, compression_type: str = "") -> Dims:
    """Each string unpacked: "" (as it is), "ZLIB" or "GZIP". Not differentiable."""
    if compression_type not in ("", "ZLIB", "GZIP"):
        raise ValueError(f"compression_type must be '', 'ZLIB' or 'GZIP', got {compression_type!r}")
    return bytes.dims


def check_csv_layout(
    field_delim: str, record_defaults: list[Tensor], select_cols: Sequence[int]
) -> None:
    """Raises `ValueError` for a delimiter, defaults or chosen columns that no record of CSV has."""
    if len(field_delim) != 1:
        raise ValueError(f"field_delim should be only 1 char, got {field_delim!r}")
    for i, default in enumerate(record_defaults):
        if default.dtype.base_dtype not in _CSV_TYPES:
            raise ValueError(
                f"record_defaults[{i}] has dtype {default.dtype.name}; columns may be float32, "
                "float64, int32, int64 or string"
            )
        if default.dims is not None and len(default.dims) > 1:
            raise ValueError(
                f"record_defaults[{i}] must be a scalar or a vector of one or no value"
            )
        if default.dims is not None and default.dims and default.dims[0] not in (0, 1, None):
            raise ValueError(f"record_defaults[{i}] has {default.dims[0]} values; one or none fits")
    if select_cols:
        if len(select_cols) != len(record_defaults):
            raise ValueError(
                f"{len(select_cols)} select_cols for {len(record_defaults)} record_defaults"
            )
        if list(select_cols) != sorted(set(select_cols)) or min(select_cols) < 0:
            raise ValueError("select_cols must grow strictly and not be negative")


@define_op(
    "DecodeCSV", "records: string, record_defaults: list(OUT_TYPE) -> output: list(OUT_TYPE)"
)
def decode_csv_op(
    records: Tensor,
    record_defaults: list[Tensor],
    *,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: list[int] = (),  # type: ignore[assignment]
) -> list[Dims]:
    """The columns of CSV records, each with the shape of ``records``. Not differentiable.

    A default is a scalar or [value]; an empty vector makes the column required.
    """
    check_csv_layout(field_delim, record_defaults, select_cols)
    return [records.dims] * len(record_defaults)


@define_op("DecodeJSONExample", "json_examples: string -> binary_examples: string")
def decode_json_example(json_examples: Tensor) -> Dims:
    """Each `tf.train.Example` written as JSON in its binary form, as records hold it.

    Shape: kept. JSON is protocol buffers': ``{"features": {"feature": {"age": {"int64List": {"value": [3]}}}}}``, text
    in base64. Not differentiable.
    """
    return json_examples.dims


not_differentiable(decode_raw_op, decode_compressed, decode_csv_op, decode_json_example)


def decode_raw(
    input_bytes: Any = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The bytes of each string as a vector of ``out_type``; all strings must be equally long."""
    source = renamed("input_bytes", input_bytes, "bytes", bytes)
    if out_type is None:
        raise ValueError("decode_raw needs out_type, the dtype of the numbers")
    return decode_raw_op(  # type: ignore[no-any-return]
        source, out_type=as_dtype(out_type), little_endian=little_endian, name=name
    )


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> list[Tensor]:
    """The columns of CSV records, one tensor for each entry of ``record_defaults``.

    An entry says the dtype, and the value of an empty field; ``[]`` of a dtype makes it required.
    Raises `InvalidArgumentError` at run time for records that do not fit.
    """
    if not isinstance(record_defaults, (list, tuple)):
        raise TypeError(
            f"decode_csv: record_defaults must be a list with an entry for each column, got a "
            f"{type(record_defaults).__name__}: write list(record_defaults)."
        )
    defaults = []
    for i, default in enumerate(record_defaults):
        if isinstance(default, (dtypes.DType, type)):
            default = constant([], as_dtype(default), name=f"record_defaults_{i}")
        defaults.append(default)
    return list(
        decode_csv_op(
            records,
            defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=select_cols or [],
            name=name,
        )
    )


# ---- tensors ------------------------------------------------------------------------------


@define_op("SerializeTensor", "tensor: T -> serialized: string")
def serialize_tensor(tensor: Tensor) -> Dims:
    """``tensor`` as a serialized ``TensorProto``, which `parse_tensor` reads. Not differentiable."""
    return ()


@define_op("ParseTensor", "serialized: string -> output: out_type")
def parse_tensor(serialized: Tensor, *, out_type: DType) -> Dims:
    """A serialized ``TensorProto`` of dtype ``out_type``, of unknown shape. Not differentiable."""
    need_rank(serialized, 0, "the serialized tensor")
    return None


not_differentiable(serialize_tensor, parse_tensor)


# ---- examples -----------------------------------------------------------------------------


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature with any number of values; parsed to a `SparseTensor`."""

    __slots__ = ()


class FixedLenFeature(
    collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])
):
    """A feature of one shape; where it is missing ``default_value`` stands, or it is an error."""

    __slots__ = ()

    def __new__(
        cls, shape: DynamicShapeLike, dtype: DTypeLike, default_value: Any = None
    ) -> FixedLenFeature:
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(
    collections.namedtuple(
        "FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"]
    )
):
    """Any number of entries of one shape; the batch is padded to the longest."""

    __slots__ = ()

    def __new__(
        cls,
        shape: DynamicShapeLike,
        dtype: DTypeLike,
        allow_missing: bool = False,
        default_value: Any = None,
    ) -> FixedLenSequenceFeature:
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class SparseFeature(
    collections.namedtuple(
        "SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"]
    )
):
    """A sparse vector of ``size``, whose indices and values are two features."""

    __slots__ = ()

    def __new__(
        cls,
        index_key: Any,
        value_key: Any,
        dtype: DTypeLike,
        size: TensorLike,
        already_sorted: bool = False,
    ) -> SparseFeature:
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


def _split_features(features: Any) -> tuple[dict[str, DType], dict[str, Any], dict[str, Any]]:
    """(sparse: key -> dtype, dense: key -> feature, combined: key -> SparseFeature), sorted."""
    if not features:
        raise ValueError("Missing: features was empty, so there is nothing to parse")
    sparse: dict[str, DType] = {}
    dense: dict[str, Any] = {}
    combined: dict[str, Any] = {}
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, VarLenFeature):
            sparse[key] = feature_dtype(key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            combined[key] = feature
            keys = feature.index_key
            for part in ("index_key", "value_key", "size"):
                if not getattr(feature, part) and getattr(feature, part) != 0:
                    raise ValueError(f"Missing {part} for SparseFeature {key!r}.")
            for index_key in keys if isinstance(keys, (list, tuple)) else [keys]:
                _agree(sparse, index_key, dtypes.int64)
            _agree(sparse, feature.value_key, feature_dtype(key, feature.dtype))
        elif isinstance(feature, FixedLenFeature):
            dims = shapes.as_dims(feature.shape)
            if dims is None or None in dims:
                raise ValueError(
                    f"{'Missing shape' if dims is None else 'Unknown sizes in the shape'} for feature {key}: a "
                    f"FixedLenFeature needs a fully known shape, got {feature.shape}.\n"
                    "For any number of entries use tf.FixedLenSequenceFeature or tf.VarLenFeature."
                )
            dense[key] = feature
        elif isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(
                    f"Unsupported: FixedLenSequenceFeature {key!r} requires allow_missing to be True."
                )
            dense[key] = feature
        else:
            raise ValueError(
                f"Unsupported: features[{key!r}] must be a FixedLenFeature, VarLenFeature, SparseFeature or "
                f"FixedLenSequenceFeature, got {type(feature).__name__}"
            )
    return dict(sorted(sparse.items())), dense, combined


def _agree(sparse: dict[str, DType], key: str, dtype: DType) -> None:
    if sparse.setdefault(key, dtype) is not dtype:
        raise ValueError(f"Conflicting type {sparse[key].name} vs {dtype.name} for feature {key}.")


def feature_dtype(key: str, dtype: Any) -> DType:
    """The dtype of a feature. Raises for one that examples do not hold, with its key."""
    if dtype is None:
        raise ValueError(f"Missing type for feature {key}.")
    dtype = as_dtype(dtype)
    if dtype not in _PARSED:
        raise TypeError(
            f"features[{key!r}] has dtype {dtype.name}; an Example holds float32, int64 and string"
        )
    return dtype  # type: ignore[no-any-return]


def default_of(key: str, feature: Any) -> tuple[Tensor, Dims]:
    """The default of a dense feature (empty: required), and its shape with a free first size."""
    dtype = feature_dtype(key, feature.dtype)
    dims = shapes.as_dims(feature.shape)
    assert dims is not None
    if isinstance(feature, FixedLenSequenceFeature):
        value = feature.default_value
        if value is None:
            value = b"" if dtype is dtypes.string else 0
        return constant(value, dtype), (None, *dims)
    if feature.default_value is None:
        return constant([], dtype), dims
    name = "key_" + re.sub("[^A-Za-z0-9_.\\-/]", "_", key)
    value = feature.default_value
    if not isinstance(value, Tensor):
        value = convert_to_tensor(value, dtype, name)
    return reshape(value, np.array(dims, np.int32)), dims


def _parse(
    serialized: Any, names: Any, features: Any, name: str | None, single: bool
) -> dict[str, Any]:
    sparse, dense, combined = _split_features(features)
    own = "ParseSingleExample" if single else "ParseExample"
    with op_scope(name, own, [serialized]):
        defaults, dims = [], []
        for key, feature in dense.items():
            default, shape = default_of(key, feature)
            defaults.append(default)
            dims.append(shape)
        serialized = convert_to_tensor(serialized, dtypes.string, "serialized")
        given = {"sparse_types": list(sparse.values()), "dense_shapes": dims, "name": name or own}
        if single and names is None:
            need_rank(serialized, 0, "the serialized example")
            keys = {
                "num_sparse": len(sparse),
                "sparse_keys": list(sparse),
                "dense_keys": list(dense),
            }
            result = parse_single_example_op(serialized, defaults, **keys, **given)
        else:
            result = _parse_batch(serialized, names, list(sparse), list(dense), defaults, given)
    found: dict[str, Any] = {}
    for i, key in enumerate(sparse):
        found[key] = SparseTensor(
            result.sparse_indices[i], result.sparse_values[i], result.sparse_shapes[i]
        )
    found.update(zip(dense, result.dense_values, strict=True))
    merged = {}
    for key, feature in combined.items():
        with op_scope(None, "SparseMerge", []):
            merged[key] = _combine(found, feature, single)
    return {k: v for k, v in found.items() if k in features} | merged


def _parse_batch(
    serialized: Tensor,
    names: Any,
    sparse: list[str],
    dense: list[str],
    defaults: list[Tensor],
    given: dict[str, Any],
) -> Any:
    """The node for a vector of examples; for a scalar with a name that of TensorFlow 2."""
    names = names if isinstance(names, Tensor) else np.array([] if names is None else names, object)
    if serialized.dims != ():
        keys = [[np.array(key.encode(), object) for key in group] for group in (sparse, dense)]
        return parse_example_v1_op(serialized, names, *keys, defaults, **given)
    return parse_example_op(
        serialized,
        names,
        *(np.array(group, object) for group in (sparse, dense, [])),
        defaults,
        num_sparse=len(sparse),
        ragged_value_types=[],
        ragged_split_types=[],
        **given,
    )


def _combine(found: dict[str, Any], feature: Any, single: bool) -> SparseTensor:
    """The SparseTensor of a `SparseFeature`: ids and values become coordinates and values."""
    from dataflow.ops.concat_split import concat
    from dataflow.ops.reshape import expand_dims
    from dataflow.ops.sparse import sparse_reorder

    keys, sizes = feature.index_key, feature.size
    keys = list(keys) if isinstance(keys, (list, tuple)) else [keys]
    sizes = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    columns = [expand_dims(found[k].values, 1) for k in keys]
    values = found[feature.value_key]
    outer = values.indices[:, :-1]
    indices = concat([outer, *columns], 1) if not single else concat([*columns], 1)
    limits = convert_to_tensor(np.array(sizes, np.int64))
    whole = limits if single else concat([values.dense_shape[:-1], limits], 0)
    result = SparseTensor(indices, values.values, whole)
    return result if feature.already_sorted else sparse_reorder(result)


def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """A batch of serialized ``Example`` messages as a dict of tensors and SparseTensors.

    ``features``: name -> `FixedLenFeature`, `VarLenFeature`, `FixedLenSequenceFeature` or
    `SparseFeature`. Raises `InvalidArgumentError` at run time for a feature that is missing without
    a default, or has another dtype or size.
    """
    return _parse(serialized, example_names, features, name, False)


def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """One serialized ``Example`` (a scalar string) as a dict of tensors and SparseTensors."""
    return _parse(serialized, example_names, features, name, True)
