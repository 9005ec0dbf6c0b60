"""Tables of named columns: pandas' where it is, a small one of our own where it is not.

In a page of the site, Python comes without pandas. `Frame` and `Column` have those of its methods that
the lessons use, under the same names and with the same results; what else is asked of them is an
error that says so.
"""

from __future__ import annotations

import csv
import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

Array = np.ndarray[Any, Any]

#: How a table without pandas says that it is one.
NOTE = "pandas is not here; this small table stands in for it"


def has_pandas() -> bool:
    """Whether `pandas` can be imported."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def make_frame(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """A pandas frame of columns of equal length, by name; a `Frame` where there is no pandas."""
    if not has_pandas():
        return Frame(columns)
    import pandas

    return pandas.DataFrame(dict(columns))


class Column(np.ndarray[Any, Any]):
    """An array of one axis that has a `name` and the methods of a pandas series that lessons use."""

    name: str | None = None

    def __array_finalize__(self, other: Any) -> None:
        self.name = getattr(other, "name", None)

    def to_numpy(self, dtype: Any = None) -> Array:
        """A plain array, converted to ``dtype`` where one is given."""
        return np.array(self, dtype=dtype, subok=False)

    @property
    def values(self) -> Array:
        """The column as a plain array."""
        return np.asarray(self)

    @property
    def iloc(self) -> Column:
        """Rows by number; here that is all that ``column[...]`` does as well."""
        return self

    def unique(self) -> Array:
        """Each value once, in the order in which they come."""
        _, first = np.unique(self.values, return_index=True)
        return self.values[np.sort(first)]

    def std(  # type: ignore[override]  # pandas' default
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 1
    ) -> Any:
        """The standard deviation, of a sample (``ddof=1``) unless told, as pandas computes it."""
        return np.asarray(self).std(axis, dtype, out, ddof)


def column(values: Any, name: str | None = None) -> Column:
    """``values`` as a `Column`."""
    made = np.array(values, subok=False).view(Column)
    made.name = name
    return made


class Names(tuple[str, ...]):
    """The names of the columns."""

    def get_loc(self, name: str) -> int:
        """The place of the column ``name``. Raises `KeyError` for one that is not there."""
        if name not in self:
            raise KeyError(name)
        return self.index(name)

    def tolist(self) -> list[str]:
        """The names as a list."""
        return list(self)


class _Rows:
    """What ``frame.iloc`` is: rows of a frame by their numbers."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, (int, np.integer)):
            columns = [values for _, values in self._frame.items()]
            numbers = all(values.dtype.kind in "biuf" for values in columns)
            return column(np.array([v[rows] for v in columns], dtype=None if numbers else object))
        return self._frame.rows(rows)


class Frame:
    """A table in place of a pandas frame: columns of equal length, by name.

    Raises `ValueError` for columns of different lengths.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {str(name): column(values, str(name)) for name, values in columns.items()}
        if len({len(values) for values in self._columns.values()}) > 1:
            lengths = ", ".join(f"{name}: {len(v)}" for name, v in self._columns.items())
            raise ValueError(f"the columns of a table must have the same length, got {lengths}")

    # ---- what it is ----------------------------------------------------------------------------

    @property
    def columns(self) -> Names:
        """The names of the columns, in order."""
        return Names(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self), len(self._columns)

    @property
    def iloc(self) -> _Rows:
        """Rows by number: one as a column of its values, several as a `Frame`."""
        return _Rows(self)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def keys(self) -> Names:
        """The names of the columns, in order."""
        return self.columns

    def items(self) -> Iterator[tuple[str, Column]]:
        """Each column with its name."""
        return iter(self._columns.items())

    # ---- parts of it ---------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """A column by its name, columns by a list of names, or rows by an array of booleans."""
        if isinstance(key, str):
            return self._columns[key]
        chosen = np.asarray(key)
        if chosen.dtype == bool:
            return self.rows(chosen)
        return Frame({name: self._columns[name] for name in key})

    def __setitem__(self, name: str, values: Any) -> None:
        spread = np.broadcast_to(np.asarray(values), (len(self),))
        self._columns[name] = column(spread, name)

    def rows(self, which: Any) -> Frame:
        """The rows that an index of an array chooses."""
        return Frame({name: values[which] for name, values in self.items()})

    def head(self, n: int = 5) -> Frame:
        """The first ``n`` rows."""
        return self.rows(slice(n))

    def tail(self, n: int = 5) -> Frame:
        """The last ``n`` rows."""
        return self.rows(slice(max(len(self) - n, 0), None))

    def pop(self, name: str) -> Column:
        """Takes a column out and returns it. Raises `KeyError` for one that is not there."""
        return self._columns.pop(name)

    # ---- others made of it ---------------------------------------------------------------------

    def assign(self, **columns: Any) -> Frame:
        """A copy with these columns, new or instead of old ones."""
        made = self.copy()
        for name, values in columns.items():
            made[name] = values
        return made

    def copy(self) -> Frame:
        """A frame of its own with the same values."""
        return Frame(self._columns)

    def reset_index(self, drop: bool = True) -> Frame:
        """A copy; rows have no names here, but numbers."""
        return self.copy()

    def to_numpy(self, dtype: Any = None) -> Array:
        """An array of the shape of the table, of ``dtype`` or the one that holds all columns."""
        found = np.column_stack([np.asarray(values) for _, values in self.items()])
        return found if dtype is None else found.astype(dtype)

    @property
    def values(self) -> Array:
        """The table as an array."""
        return self.to_numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.to_numpy(dtype)

    def to_csv(self, path: str | Path, index: bool = True) -> None:
        """Writes the table as comma-separated values under a line of names."""
        with Path(path).open("w", encoding="utf-8", newline="") as opened:
            writer = csv.writer(opened, lineterminator="\n")
            writer.writerow([*([""] if index else []), *self._columns])
            for number, cells in enumerate(self._tuples()):
                writer.writerow([*([number] if index else []), *cells])

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        return zip(*(values.tolist() for values in self._columns.values()), strict=True)

    # ---- how it is shown -----------------------------------------------------------------------

    def _shown(self) -> list[Sequence[str]]:
        """The cells as text: the names, and some twenty rows at most."""
        numbers = range(len(self))
        some = [*numbers] if len(self) <= 20 else [*numbers[:5], None, *numbers[-5:]]
        lines: list[Sequence[str]] = [["", *self._columns]]
        for number in some:
            if number is None:
                lines.append(["..."] * (1 + len(self._columns)))
            else:
                lines.append([str(number), *(str(v[number]) for v in self._columns.values())])
        return lines

    def _size(self) -> str:
        return f"{len(self)} rows x {len(self._columns)} columns ({NOTE})"

    def __repr__(self) -> str:
        lines = self._shown()
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*text, "", self._size()])

    def _repr_html_(self) -> str:
        names, *body = [[html.escape(cell) for cell in line] for line in self._shown()]
        head = "".join(f"<th>{cell}</th>" for cell in names)
        rows = "".join(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>" for cells in body)
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{html.escape(self._size())}</p>"
        )

    def __getattr__(self, name: str) -> Any:
        """A column as an attribute. Raises `AttributeError`, which says why, for all else."""
        columns = self.__dict__.get("_columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(
            f"{NOTE}, and has no {name!r}. frame.to_numpy() is an array; for all of "
            "pandas run the notebook on a computer: pip install pandas"
        )
