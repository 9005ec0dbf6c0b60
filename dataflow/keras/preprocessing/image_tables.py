"""Tables (pandas frames) that name image files and their labels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dataflow.keras.preprocessing.image_arrays import ENDINGS

_MODES = ("categorical", "binary", "sparse", "input", "raw", "multi_output", None)


def chosen_rows(
    table: Any,
    x_col: str,
    columns: list[str],
    weight_col: str | None,
    classes: Any,
    class_mode: str | None,
) -> tuple[Any, list[Any]]:
    """The rows of the wanted classes, and the names of the classes (none for other modes).

    Raises `ValueError` for an unknown mode, a column that is not there, or a number of classes that
    is not that of the mode.
    """
    if class_mode not in _MODES:
        raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {_MODES}")
    has_labels = class_mode not in ("input", None)
    needed = [x_col, *(columns if has_labels else []), *([weight_col] if weight_col else [])]
    missing = [c for c in needed if c not in table.columns]
    if missing:
        raise ValueError(
            f"flow_from_dataframe: the table has no column {missing[0]!r}. It has "
            f"{', '.join(map(repr, table.columns))}."
        )
    if not has_labels or class_mode in ("raw", "multi_output"):
        return table, []
    names = list(classes) if classes else sorted(set(table[columns[0]]))
    if class_mode == "binary" and len(names) != 2:
        raise ValueError(
            f'class_mode="binary" needs 2 classes, column {columns[0]!r} has {len(names)}.'
        )
    return table[table[columns[0]].isin(names)], names


def existing_files(table: Any, x_col: str, folder: Path) -> Any:
    """The rows whose image is there; warns of the others."""
    there = np.array(
        [name.lower().endswith(ENDINGS) and (folder / name).is_file() for name in table[x_col]],
        bool,
    )
    if not there.all():
        first = table[x_col][~there].iloc[0]
        warnings.warn(
            f"{(~there).sum()} of {len(there)} images are not there and are left out, the first of "
            f"them {folder / first}.",
            stacklevel=3,
        )
    return table[there]
