"""Rows of SQLite databases for `tf.data.experimental.SqlDataset`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataflow.dtypes import DType
from dataflow.errors import InvalidArgumentError, UnknownError
from dataflow.kernels.text_decoding import text


def sql_rows(
    driver_name: Any, data_source_name: Any, query: Any, kinds: tuple[DType, ...]
) -> Iterator[tuple[Any, ...]]:
    """The rows that ``query`` finds, each value as its dtype wants it.

    Raises `InvalidArgumentError` for another driver and another number of columns, `UnknownError` for what
    SQLite refuses.
    """
    import sqlite3
    from pathlib import Path

    driver, path = text(driver_name), text(data_source_name)
    if driver != "sqlite":
        raise InvalidArgumentError(
            None,
            None,
            f"The database type, {driver}, is not supported by SqlDataset. The set of supported "
            "databases is: {'sqlite'}.",
        )
    try:
        database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        try:
            rows = database.execute(text(query))
            num_columns = len(rows.description or ())
            if num_columns != len(kinds):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"The number of columns in query ({num_columns}) must match the number of elements "
                    f"in output_types ({len(kinds)}).",
                )
            for row in rows:
                yield tuple(_value(cell, kind) for cell, kind in zip(row, kinds, strict=True))
        finally:
            database.close()
    except sqlite3.Error as error:
        raise UnknownError(
            None, None, f"SQLite, {path}: {error}. The query was: {text(query)}"
        ) from error


def _value(cell: Any, kind: DType) -> Any:
    """A cell as its column's dtype: NULL is 0 or an empty string, as SQLite converts it."""
    if kind.kind == "S":
        return b"" if cell is None else cell if isinstance(cell, bytes) else str(cell).encode()
    if isinstance(cell, (str, bytes)):
        try:
            cell = float(cell)
        except ValueError:
            cell = 0
    if kind.kind in "iu":
        return int(cell or 0)
    return cell or 0
