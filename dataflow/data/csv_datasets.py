"""`tf.data.experimental.CsvDataset`, and `make_csv_dataset`: columns by name, their dtypes inferred from the files."""

from __future__ import annotations

import collections
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes, gfile
from dataflow.data.arguments import int64_tensor
from dataflow.data.dataset import AUTOTUNE, Dataset
from dataflow.data.structure import Structure, leaf_tensor
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import dataset as ops
from dataflow.ops.parsing import check_csv_layout
from dataflow.ops.sources import constant
from dataflow.shapes import Dims

#: The dtypes that a column may be found to have, the narrowest first.
_INFERRED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)


class CsvDataset(Dataset):
    """The rows of CSV files, each a tuple of scalars, one for each of ``record_defaults``.

    An entry of ``record_defaults`` is the value of an empty field (a scalar, or ``[value]``), or a dtype
    (or an empty vector), for a column in which no field may be empty. Dtypes are float32, float64,
    int32, int64 and string. ``select_cols``: the numbers of the columns, which must grow; all where
    it is None. ``header``: the first record of each file is left out. A field in quotes may hold
    delimiters, quotes written twice, and ends of lines.

    A record that does not fit is an `InvalidArgumentError` in its place, and the next ones follow.
    Raises `ValueError` where the columns and ``field_delim`` are not as said here.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
    ) -> None:
        names = leaf_tensor(filenames)
        defaults = [
            constant([], as_dtype(d)) if _is_dtype(d) else leaf_tensor(d) for d in record_defaults
        ]
        columns = list(select_cols or ())
        check_csv_layout(field_delim, defaults, columns)
        kinds = [d.dtype.base_dtype for d in defaults]
        shapes: list[Dims] = [()] * len(kinds)

        def read() -> Tensor:
            return ops.csv_dataset_op(  # type: ignore[no-any-return]
                names,
                compression_type or "",
                int64_tensor(_size_of(buffer_size)),
                header,
                field_delim,
                use_quote_delim,
                na_value,
                constant(columns, dtypes.int64),
                defaults,
                output_shapes=shapes,
            )

        nest = tuple(range(len(kinds)))
        super().__init__(Structure.of_tensors(nest, kinds, shapes), read)


def _size_of(buffer_size: Any) -> Any:
    """The value passed to the op, where 0 stands for the default; so a caller's 0 becomes -1, which the op refuses."""
    if buffer_size is None:
        return 0
    return buffer_size or -1 if isinstance(buffer_size, int) else buffer_size


def _lines(name: str, compression_type: Any) -> Iterator[str]:
    """The text of a file, line by line."""
    if not compression_type:
        with gfile.GFile(name, "r") as text:
            yield from text
        return
    with gfile.GFile(name, "rb") as packed:
        data = packed.read()
    if compression_type not in ("GZIP", "ZLIB"):
        raise ValueError(f"compression_type must be '', 'GZIP' or 'ZLIB', got {compression_type!r}")
    unpack = gzip.decompress if compression_type == "GZIP" else zlib.decompress
    yield from io.StringIO(unpack(data).decode(), newline="")


def _files(file_pattern: Any) -> list[str]:
    """The files that a pattern, or a list of patterns, names (`ValueError` for none)."""
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    found = sorted(name for pattern in patterns for name in gfile.Glob(pattern))
    if not found:
        raise ValueError(f"No files match {file_pattern!r}.")
    return found


def _rows(
    names: Sequence[str], field_delim: str, use_quote_delim: bool, header: bool, compression: Any
) -> Iterator[list[str]]:
    """The rows of all files, without their headers."""
    for name in names:
        lines = _lines(name, compression)
        if use_quote_delim:
            reader = csv.reader(lines, delimiter=field_delim)
        else:
            reader = csv.reader(lines, delimiter=field_delim, quoting=csv.QUOTE_NONE)
        if header:
            next(reader, None)
        yield from (row for row in reader if row)


def _header(
    names: Sequence[str], field_delim: str, use_quote_delim: bool, compression: Any
) -> list[str]:
    """The first line, which all files must share."""
    first: list[str] | None = None
    for name in names:
        row = next(_rows([name], field_delim, use_quote_delim, False, compression), None)
        if row is None:
            raise ValueError(f"{name} is empty: it has no line of column names.")
        if first is not None and row != first:
            raise ValueError(
                f"Files have different column names in the header row: {names[0]} has {first}, "
                f"{name} has {row}"
            )
        first = row
    assert first is not None
    return first


def _dtype_of(text: str, na_value: str, lowest: DType) -> DType:
    """The narrowest dtype from ``lowest`` on that holds a value; a missing one changes nothing."""
    if text in ("", na_value):
        return lowest
    for dtype in _INFERRED[_INFERRED.index(lowest) :]:
        if dtype is dtypes.string:
            return dtype
        try:
            if dtype.is_integer:
                if dtype.min <= int(text) <= dtype.max:
                    return dtype
            elif dtype is dtypes.float64 or abs(float(text)) <= dtypes.float32.max:
                float(text)
                return dtype
        except ValueError:
            continue
    return dtypes.string


def _inferred(
    rows: Iterator[list[str]], width: int, columns: Sequence[int], na_value: str, most: int | None
) -> list[Any]:
    """For each column its default, of the dtype that holds all of the first ``most`` rows."""
    found = [_INFERRED[0]] * len(columns)
    for number, row in enumerate(rows):
        if most is not None and number >= most:
            break
        if len(row) != width:
            raise ValueError(
                f"Problem inferring types: CSV row {row} has {len(row)} fields, expected {width}."
            )
        found = [_dtype_of(row[c], na_value, d) for c, d in zip(columns, found, strict=True)]
    return ["" if d is dtypes.string else np.zeros((), d.as_numpy_dtype) for d in found]


def _selected(select_columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    """The numbers of the columns that are given by number or by name, in order."""
    chosen = []
    for column in select_columns:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"Value {column!r} of select_columns is not one of {list(names)}.")
            column = names.index(column)
        if not 0 <= column < len(names):
            raise ValueError(f"select_columns has {column}, and there are {len(names)} columns.")
        chosen.append(int(column))
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"select_columns names a column twice: {list(select_columns)}")
    return sorted(chosen)


def make_csv_dataset(
    file_pattern: Any,
    batch_size: TensorLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = AUTOTUNE,
    num_parallel_reads: int = 1,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of the rows of CSV files: ordered dicts from a column's name to a vector [batch_size].

    With ``label_name`` an element is a pair of it, without that column, and the labels.
    ``column_names`` come from the first line (``header=True``) unless they are given.
    ``column_defaults`` holds a dtype for each (selected) column that must not be empty, or the value
    of an empty one; without it dtypes are found from the first ``num_rows_for_inference`` rows
    (None: all): int32, int64, float32, float64 or string, with defaults 0 and "". ``num_epochs``
    None: for ever, and then all batches are whole.

    Raises `ValueError` where the files do not match, have other headers, or an option names a column
    that is not there.
    """
    names = _files(file_pattern)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line: give column_names.")
        column_names = _header(names, field_delim, use_quote_delim, compression_type)
    column_names = list(column_names)
    if len(set(column_names)) != len(column_names):
        raise ValueError("Cannot have duplicate column names.")
    columns = list(range(len(column_names)))
    if select_columns is not None:
        columns = _selected(select_columns, column_names)
    if column_defaults is None:
        rows = _rows(names, field_delim, use_quote_delim, header, compression_type)
        defaults = _inferred(rows, len(column_names), columns, na_value, num_rows_for_inference)
    else:
        defaults = _given_defaults(column_defaults, len(columns))
    chosen = [column_names[c] for c in columns]
    if label_name is not None and label_name not in chosen:
        raise ValueError(f"`label_name` provided must be one of the columns: {label_name!r}")

    def read(name: str) -> Dataset:
        rows = CsvDataset(
            name,
            defaults,
            compression_type=compression_type,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=columns if select_columns is not None else None,
        )
        return rows.ignore_errors() if ignore_errors else rows

    files = Dataset.from_tensor_slices(names)
    if shuffle:
        files = files.shuffle(len(names), shuffle_seed)
    dataset = files.interleave(read, cycle_length=num_parallel_reads)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None)

    def by_name(*values: Any) -> Any:
        return _by_name(chosen, label_name, values)

    return dataset.map(by_name).prefetch(prefetch_buffer_size)


def _given_defaults(column_defaults: Sequence[Any], num_columns: int) -> list[Any]:
    """The defaults, or dtypes, as they are given; raises `ValueError` for another number of them."""
    defaults = [as_dtype(d) if _is_dtype(d) else d for d in column_defaults]
    if len(defaults) != num_columns:
        raise ValueError(
            f"column_defaults must have a value for each of {num_columns} columns, got {len(defaults)}"
        )
    return defaults


def _by_name(names: list[str], label_name: str | None, values: Any) -> Any:
    """The values of a batch by their columns' names, beside the label's where there is one."""
    features = collections.OrderedDict(zip(names, values, strict=True))
    if label_name is None:
        return features
    label = features.pop(label_name)
    return features, label


def _is_dtype(value: Any) -> bool:
    return isinstance(value, DType | type)
