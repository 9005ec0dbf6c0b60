"""The kernel of `SqlDataset`: rows of SQLite databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.errors import InvalidArgumentError, UnknownError
from dataflow.kernels.array_types import Array
from dataflow.kernels.dataset.elements import FromFunction
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


#: Rows that are read at once.
_BLOCK = 1024


@kernel("SqlDataset", stateful=True, cpu_only="files are read by the host")
def sql_dataset_kernel(
    ctx: KernelContext,
    driver_name: Array,
    data_source_name: Array,
    query: Array,
    *,
    output_types: Any,
) -> Any:
    kinds = [kind.base_dtype for kind in output_types]
    return FromFunction(lambda: _rows(driver_name, data_source_name, query, kinds))


def _rows(
    driver_name: Any, data_source_name: Any, query: Any, kinds: list[DType]
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
            while block := rows.fetchmany(_BLOCK):
                if len(block) < _BLOCK:
                    database.close()  # it stays locked as long as a query has rows left
                for row in block:
                    yield tuple(_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True))
                if len(block) < _BLOCK:
                    break
        finally:
            database.close()
    except sqlite3.Error as error:
        raise UnknownError(
            None, None, f"SQLite, {path}: {error}. The query was: {text(query)}"
        ) from error


def _cell(cell: Any, kind: DType) -> Any:
    """A cell as its column's dtype: NULL is 0 or an empty string, as SQLite converts it."""
    if kind.kind == "S":
        return b"" if cell is None else cell if isinstance(cell, bytes) else str(cell).encode()
    if isinstance(cell, (str, bytes)):
        try:
            cell = float(cell)
        except ValueError:
            cell = 0
    if kind.kind in "iu":
        cell = int(cell or 0)
    return np.asarray(cell or 0).astype(kind.numpy)[()]
