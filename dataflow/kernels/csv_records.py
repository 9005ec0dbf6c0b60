"""Records of CSV: their fields, and the columns of many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.located_lines import place_of
from dataflow.kernels.string import parse_number, parse_numbers, strings, text_array


class UnterminatedQuoteError(ValueError):
    """A quoted field that does not end in its record."""


class Layout(NamedTuple):
    """How records are read: what `tf.decode_csv` is told of them, texts as bytes.

    ``defaults``: for each column its value where a field is missing, none where it must not be.
    ``columns``: the numbers of those that are wanted, in order; all where it is empty.
    """

    defaults: Sequence[Any]
    dtypes: Sequence[DType]
    delimiter: bytes = b","
    quotes: bool = True
    na: bytes = b""
    columns: Sequence[int] = ()

    def decode(self, records: list[bytes], first: int = 0) -> tuple[Any, ...]:
        """The columns of the records as vectors.

        Raises `ValueError` for the record at fault; ``first`` is the number of the first one.
        """
        layout = records, self.delimiter, self.quotes, len(self.defaults), self.columns
        by_column = _plain_columns(*layout)
        if by_column is None:
            by_column = _columns(*layout, first)
        return tuple(
            [
                _column(column, default, dtype, self.na, j, records, first)
                for j, (column, default, dtype) in enumerate(
                    zip(by_column, self.defaults, self.dtypes, strict=True)
                )
            ]
        )

    def goes_on(self, record: bytes) -> bool:
        """Whether a field in quotes is still open at the end of ``record``."""
        if not self.quotes or record.count(b'"') % 2 == 0:
            return False
        try:
            _fields(record, self.delimiter, True)
        except ValueError as error:
            return isinstance(error, UnterminatedQuoteError)
        return False


def _fields(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    if not quotes or b'"' not in record:
        return record.rstrip(b"\r\n").split(delimiter) if quotes else record.split(delimiter)
    out, at, end = [], 0, len(record.rstrip(b"\r\n"))
    record = record[:end]
    while True:
        if at < end and record[at : at + 1] == b'"':
            text, at = b"", at + 1
            while True:
                close = record.find(b'"', at)
                if close < 0:
                    raise UnterminatedQuoteError(
                        "Quoted field has to end with quote followed by delim or end"
                    )
                text += record[at:close]
                at = close + 1
                if record[at : at + 1] != b'"':
                    break
                text += b'"'
                at += 1
            if at < end and record[at : at + 1] != delimiter:
                raise ValueError("Quoted field has to end with quote followed by delim or end")
            out.append(text)
            if at >= end:
                return out
            at += 1
        else:
            stop = record.find(delimiter, at)
            text = record[at:] if stop < 0 else record[at:stop]
            if b'"' in text:
                raise ValueError("Unquoted fields cannot have quotes/CRLFs inside")
            out.append(text)
            if stop < 0:
                return out
            at = stop + 1


def _plain_columns(
    records: list[bytes], delimiter: bytes, quotes: bool, wanted: int, select_cols: Sequence[int]
) -> Sequence[Sequence[bytes]] | None:
    """The fields of each column by one split of all records; ``None`` where `_columns` is needed: where
    there are quotes or ends of lines, or where a record has more or fewer fields than others."""
    mark = b"\0"
    text = (delimiter + mark + delimiter).join(records)
    if not records or text.count(mark) != len(records) - 1:
        return None
    if quotes and any(x in text for x in (b'"', b"\r", b"\n")):
        return None
    fields = text.split(delimiter)
    width = (len(fields) + 1) // len(records)  # the mark included
    if len(fields) + 1 != width * len(records):
        return None
    if fields[width - 1 :: width] != [mark] * (len(records) - 1):
        return None
    chosen = select_cols or range(width - 1)
    if len(chosen) != wanted or max(chosen, default=0) >= width - 1:
        return None
    return [fields[c::width] for c in chosen]


def _columns(
    records: list[bytes],
    delimiter: bytes,
    quotes: bool,
    wanted: int,
    select_cols: Sequence[int],
    first: int,
) -> Sequence[Sequence[bytes]]:
    """The fields of each column; an error names the record that is at fault."""
    rows = []
    for i, record in enumerate(records, first):
        try:
            found = _fields(record, delimiter, quotes)
        except ValueError as error:
            raise ValueError(f"{error}. In record {i}: {_quoted(record)}") from None
        if select_cols:
            if select_cols[-1] >= len(found):
                raise ValueError(
                    f"Expect {wanted} fields but have {len(found)} in record {i}: {_quoted(record)}"
                )
            found = [found[c] for c in select_cols]
        elif len(found) != wanted:
            raise ValueError(
                f"Expect {wanted} fields but have {len(found)} in record {i}: {_quoted(record)}"
            )
        rows.append(found)
    return list(zip(*rows, strict=True)) or [()] * wanted


def _quoted(record: bytes) -> str:
    """A record as an error shows it: in a dataset its text is what tells the row."""
    text = record.decode("utf-8", "replace")
    return repr(text if len(text) <= 200 else text[:200] + "...") + place_of(record)


def _column(
    column: Sequence[bytes],
    default: Any,
    dtype: DType,
    na: bytes,
    j: int,
    records: list[bytes],
    first: int,
) -> Any:
    missing: list[int] = []
    if b"" in column or (na and na in column):
        values = np.reshape(strings(default) if dtype.kind == "S" else default, -1)
        missing = [i for i, text in enumerate(column) if not text or (na and text == na)]
        if not len(values):
            raise ValueError(
                f"Field {j} is required but missing in record {first + missing[0]}! The record is "
                f"{_quoted(records[missing[0]])}"
            )
    if dtype.kind == "S":
        out = text_array(column, (len(column),))
        for i in missing:
            out[i] = values[0]
        return out
    if missing:
        column = list(column)
        for i in missing:
            column[i] = b"0"
    out = parse_numbers(column, dtype.numpy)
    if out is None:  # one after the other: blanks, hexadecimal numbers, and to say which is none
        out = np.zeros(len(column), dtype.numpy)
        for i, text in enumerate(column):
            try:
                out[i] = parse_number(text, dtype.numpy)
            except ValueError:
                raise ValueError(
                    f"Field {j} in record {first + i} is not a valid {dtype.name}: "
                    f"{text.decode('utf-8', 'replace')}. The record is {_quoted(records[i])}"
                ) from None
    if missing:
        out[missing] = values[0]
    return out
