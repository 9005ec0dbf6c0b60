"""Kernels that read bytes: raw numbers, CSV, serialized examples and tensors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.formats.compression import unpack
from dataflow.formats.example_table import scan_table
from dataflow.formats.example_wire import read_example, scan_example, unpacked
from dataflow.formats.protobuf_wire import WireError, packed_int64
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.csv_records import Layout
from dataflow.kernels.index_arrays import as_intp
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import each, one, strings, text_array
from dataflow.kernels.tensor_messages import tensor_bytes, tensor_from_bytes

_REASON = "bytes are read on the host"


@kernel("DecodeRaw", cpu_only=_REASON, any_dtype=True)
def decode_raw_kernel(xp: Module, x: Array, *, out_type: DType, little_endian: bool) -> Any:
    array = strings(x)
    flat = array.reshape(-1).tolist()
    dtype = out_type.numpy
    size = len(flat[0]) if flat else 0
    if len(flat) > 1 and len(set(map(len, flat))) > 1:
        i = next(i for i, text in enumerate(flat) if len(text) != size)
        raise ValueError(
            "DecodeRaw requires input strings to all be the same size, but element "
            f"{i} has size {len(flat[i])} != {size}"
        )
    if size % dtype.itemsize:
        raise ValueError(
            f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.itemsize}, "
            f"the size of {out_type.name}"
        )
    stored = dtype.newbyteorder("<" if little_endian else ">")
    out = np.frombuffer(b"".join(flat), stored).astype(dtype)
    return out.reshape(*array.shape, size // dtype.itemsize)


@kernel("DecodeCompressed", cpu_only=_REASON)
def decode_compressed_kernel(xp: Module, x: Array, *, compression_type: str) -> Any:
    if compression_type == "":
        return strings(x).copy()
    return each(lambda data: unpack(data, compression_type), x)


@kernel("DecodeJSONExample", cpu_only=_REASON)
def decode_json_example_kernel(xp: Module, x: Array) -> Any:
    from google.protobuf import json_format

    from dataflow.formats import example_protos

    def binary(text: bytes) -> bytes:
        try:
            message = json_format.Parse(text, example_protos.Example())
        except json_format.ParseError as error:
            raise ValueError(f"Error while parsing JSON {text[:200]!r}: {error}") from error
        return bytes(message.SerializeToString(deterministic=True))

    return each(binary, x)


@kernel("DecodeCSV", cpu_only=_REASON)
def decode_csv_kernel(
    xp: Module,
    records: Array,
    defaults: list[Array],
    *,
    OUT_TYPE: Any,
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: Any,
) -> Any:
    layout = Layout(
        defaults, OUT_TYPE, field_delim.encode(), use_quote_delim, na_value.encode(), select_cols
    )
    array = strings(records)
    columns = layout.decode(array.reshape(-1).tolist())
    return tuple([column.reshape(array.shape) for column in columns])


@kernel("SerializeTensor", cpu_only=_REASON, any_dtype=True)
def serialize_tensor_kernel(xp: Module, tensor: Array) -> Any:
    return text_array([tensor_bytes(tensor)], ())


@kernel("ParseTensor", cpu_only=_REASON, any_dtype=True)
def parse_tensor_kernel(xp: Module, serialized: Array, *, out_type: DType) -> Any:
    array = tensor_from_bytes(one(serialized))
    if array.dtype != out_type.numpy:
        raise ValueError(
            f"Type mismatch between parsed tensor ({array.dtype}) and dtype ({out_type.name})"
        )
    return array


@kernel("ParseExampleV2", cpu_only=_REASON)
def parse_example_kernel(
    xp: Module,
    serialized: Array,
    names: Array,
    sparse_keys: Array,
    dense_keys: Array,
    ragged_keys: Array,
    dense_defaults: list[Array],
    *,
    sparse_types: Any,
    Tdense: Any,
    dense_shapes: Any,
) -> Any:
    keys = strings(sparse_keys).tolist(), strings(dense_keys).tolist()
    types = sparse_types, Tdense
    return _parsed(strings(serialized), names, keys, types, dense_defaults, dense_shapes)


@kernel("ParseExample", cpu_only=_REASON)
def parse_example_v1_kernel(
    xp: Module,
    serialized: Array,
    names: Array,
    sparse_keys: list[Array],
    dense_keys: list[Array],
    dense_defaults: list[Array],
    *,
    sparse_types: Any,
    Tdense: Any,
    dense_shapes: Any,
) -> Any:
    keys = [strings(k).item() for k in sparse_keys], [strings(k).item() for k in dense_keys]
    types = sparse_types, Tdense
    return _parsed(strings(serialized), names, keys, types, dense_defaults, dense_shapes)


@kernel("ParseSingleExample", cpu_only=_REASON)
def parse_single_example_kernel(
    xp: Any,
    serialized: Array,
    dense_defaults: list[Array],
    *,
    sparse_keys: Any,
    dense_keys: Any,
    sparse_types: Any,
    Tdense: Any,
    dense_shapes: Any,
) -> Any:
    sparse, dense = (
        [k if isinstance(k, bytes) else k.encode("utf-8", "surrogateescape") for k in keys]
        for keys in (sparse_keys, dense_keys)
    )
    names = np.empty(0, object)
    keys, types = (sparse, dense), (sparse_types, Tdense)
    return _parsed(strings(serialized), names, keys, types, dense_defaults, dense_shapes)


class _Columns:
    """The rows of features, from a table of all examples, or from examples that were read one by one."""

    def __init__(self, table: Any, examples: list[Any], labels: list[bytes]) -> None:
        self._table = table
        self._examples = examples
        self._labels = labels

    def label(self, i: int) -> str:
        """The name of an example, for errors."""
        return self._labels[i].decode("utf-8", "replace") if i < len(self._labels) else "<unknown>"

    def of(self, key: bytes, dtype: DType) -> list[Any]:
        """The values of each example; raises `ValueError` for others than of this dtype."""
        rows = [self._values(i, key, dtype) for i in range(len(self._examples))]
        try:
            if self._table is not None:
                return self._table[key].rows()  # type: ignore[no-any-return]
            return [unpacked(dtype.name, values) for values in rows]
        except ValueError as e:
            raise ValueError(f"Could not parse example input: Key: {key.decode()}. ({e})") from e

    def _values(self, i: int, key: bytes, dtype: DType) -> Any:
        kind, values = self._examples[i].get(key, ("", None))
        if values is None:
            return None
        if kind != dtype.name:
            raise ValueError(
                f"Name: {self.label(i)}, Key: {key.decode()}, Index: {i}.  Data types don't match. "
                f"Data type: {kind} but expected type: {dtype.name}"
            )
        return values


def _parsed(
    batch: Any,
    names: Array,
    keys: tuple[list[bytes], list[bytes]],
    types: tuple[Any, Any],
    dense_defaults: list[Array],
    dense_shapes: Any,
) -> Any:
    """The features ``keys`` of the Examples ``batch``: sparse ones, then dense ones, of ``types``."""
    (sparse, dense), (sparse_types, Tdense) = keys, types
    wanted = dict(zip((*sparse, *dense), [t.name for t in (*sparse_types, *Tdense)], strict=True))
    if batch.ndim == 0 and not sparse:
        made = _dense_of_one(batch.item(), wanted, dense_shapes)
        if made is not None:
            return made
    labels = strings(names).reshape(-1).tolist()
    texts = batch.reshape(-1).tolist()
    table = scan_table(texts, wanted) if len(wanted) == len(sparse) + len(dense) else None
    examples = _one_by_one(texts, wanted) if table is None else []
    columns = _Columns(table, examples, labels)
    single = batch.ndim == 0
    indices, sparse_values, sparse_shapes = [], [], []
    for key, dtype in zip(sparse, sparse_types, strict=True):
        lists = None if table is None else table[key].lists()
        if lists is None:
            lists = _joined_rows(columns.of(key, dtype), dtype)
        at, values, shape = _sparse(*lists)
        indices.append(at[:, 1:] if single else at)
        sparse_values.append(values)
        sparse_shapes.append(shape[1:] if single else shape)
    outputs = []
    for key, dtype, default, dims in zip(dense, Tdense, dense_defaults, dense_shapes, strict=True):
        made = None
        if None not in dims and table is not None:
            made = table[key].dense(math.prod(dims))
        if made is None:
            made = dense_rows(columns.of(key, dtype), dtype, default, dims, key, columns.label)
        else:
            made = made.reshape(len(texts), *dims)
        outputs.append(made.reshape(made.shape[1:]) if single else made)
    return (*indices, *sparse_values, *sparse_shapes, *outputs)


def _dense_of_one(
    text: bytes, wanted: Mapping[bytes, str], shapes: Sequence[Any]
) -> tuple[Any, ...] | None:
    """The features ``wanted`` (name -> dtype name) of one Example, each an array of its shape.

    ``None`` where one is missing or of another dtype or size, or the Example is not laid out as
    today's writers do: for the general way, which knows defaults and errors.
    """
    found = scan_example(text, wanted)
    if found is None or len(found) != len(shapes):
        return None
    made = []
    for (key, name), dims in zip(wanted.items(), shapes, strict=True):
        kind, values = found[key]
        if kind != name or None in dims:
            return None
        size = math.prod(dims)
        if kind == "float32":
            if len(values) != 4 * size:
                return None
            array = np.frombuffer(values, "<f4").copy()
        elif kind == "int64":
            try:
                array = packed_int64(values)
            except WireError:
                return None
        else:
            array = text_array(values, (len(values),))
        if len(array) != size:
            return None
        made.append(array.reshape(dims))
    return tuple(made)


def _one_by_one(texts: list[bytes], wanted: Container[bytes]) -> list[dict[bytes, Any]]:
    """The features of each Example; `ValueError` for one that is damaged."""
    examples = []
    for text in texts:
        try:
            found = scan_example(text, wanted)
            examples.append(read_example(text, wanted) if found is None else found)
        except ValueError as e:
            raise ValueError(f"Could not parse example input, value: {text[:60]!r} ({e})") from e
    return examples


def _joined_rows(rows: list[Any], dtype: DType) -> tuple[Any, Any]:
    """The values of all rows one after the other, and how many each row has."""
    rows = [() if r is None else r for r in rows]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    if dtype.kind == "S":
        values = text_array(itertools.chain.from_iterable(rows), (int(lengths.sum()),))
    else:
        parts = [np.asarray(r, dtype.numpy) for r in rows] or [np.zeros(0, dtype.numpy)]
        values = np.concatenate(parts)
    return values, lengths


def sparse_rows(rows: list[Any], dtype: DType) -> tuple[Any, Any, Any]:
    """Indices, values and dense shape of rows of different lengths; ``None`` is an empty row."""
    return _sparse(*_joined_rows(rows, dtype))


def _sparse(values: Any, lengths: Any) -> tuple[Any, Any, Any]:
    """Indices, values and shape of rows of these lengths."""
    total = len(values)
    at = np.empty((total, 2), np.int64)
    lengths = as_intp(lengths)
    at[:, 0] = np.repeat(np.arange(len(lengths)), lengths)
    at[:, 1] = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return at, values, np.array([len(lengths), lengths.max(initial=0)], np.int64)


def dense_rows(
    rows: list[Any], dtype: DType, default: Any, dims: Any, key: bytes, label: Any
) -> Any:
    """Rows as one array of the entry's shape, with the default where a row is missing.

    Raises `ValueError`, with the example's ``label``, for a row of another size.
    """
    filler = strings(default) if dtype.kind == "S" else np.asarray(default)
    rest = dims[1:] if dims and dims[0] is None else dims
    size = math.prod(rest)
    if dims and dims[0] is None:  # padded to the longest
        counts = [0 if r is None else len(r) for r in rows]
        for i, count in enumerate(counts):
            if size == 0 or count % size:
                raise ValueError(
                    f"Name: {label(i)}, Key: {key.decode()}, Index: {i}.  Number of values "
                    f"({count}) is not a multiple of the entry's size {size}"
                )
        longest = max(counts, default=0)
        out = np.empty((len(rows), longest), dtype.numpy)
        out[...] = filler.reshape(-1)[0]
        for i, row in enumerate(rows):
            if row is not None:
                out[i, : len(row)] = row
        return out.reshape(len(rows), longest // size, *rest)
    out = np.empty((len(rows), size), dtype.numpy)
    for i, row in enumerate(rows):
        if row is None:
            if filler.size == 0 and size:
                raise ValueError(
                    f"Name: {label(i)}, Feature: {key.decode()} (data type: {_called(dtype)}) is required "
                    "but could not be found.\n  Give the FixedLenFeature a default_value if it may "
                    "be missing."
                )
            out[i] = filler.reshape(-1)
        elif len(row) != size:
            raise ValueError(
                f"Name: {label(i)}, Key: {key.decode()}, Index: {i}.  Number of {_called(dtype)} values "
                f"!= expected.  values size: {len(row)} but output shape: {list(dims)}"
            )
        else:
            out[i] = row
    return out.reshape(len(rows), *dims)


def _called(dtype: Any) -> str:
    """A dtype as TensorFlow's messages call it: ``float`` is that of 32 bits."""
    return "float" if dtype.name == "float32" else str(dtype.name)
