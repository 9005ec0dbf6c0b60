"""What programs of 2016 to 2019 used of pandas and pandas of today lacks, or does in another way."""

from __future__ import annotations

import datetime
import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

#: Packages that are written for the pandas of today: for them it stays as it is.
_OF_TODAY = frozenset({"pandas", "scipy", "seaborn", "sklearn", "statsmodels"})

#: What left strings out of its result, and now refuses them.
_OVER_NUMBERS = ("corr", "cov", "kurt", "mean", "median", "sem", "skew", "std", "var")

#: Arguments that once had a place, and now need their name.
_POSITIONAL = {
    "drop": ("labels", "axis"),
    "drop_duplicates": ("subset", "keep", "inplace"),
    "dropna": ("axis", "how"),
    "fillna": ("value", "method", "axis", "inplace"),
    "interpolate": ("method", "axis"),
    "pivot": ("index", "columns", "values"),
    "replace": ("to_replace", "value", "inplace"),
    "reset_index": ("level", "drop", "inplace"),
    "set_index": ("keys", "drop"),
    "sort_values": ("by", "axis", "ascending", "inplace"),
}


def mend(pandas: types.ModuleType) -> None:
    """Gives ``pandas`` back what programs of the time used of it."""
    frame, series = pandas.DataFrame, pandas.Series
    if hasattr(pandas.options, "future"):
        pandas.options.future.infer_string = False  # text is of dtype object, as programs ask for
    _add(pandas, np=np, datetime=datetime.datetime, scatter_matrix=pandas.plotting.scatter_matrix)
    _add(pandas, value_counts=lambda values, **options: series(values).value_counts(**options))
    for name in ("read_csv", "read_table"):
        setattr(pandas, name, _reading(getattr(pandas, name)))
    pandas.__dict__["concat"] = _by_place(pandas.concat, ("objs", "axis", "join"))
    pandas.__dict__["get_dummies"] = _of_uint8(pandas.get_dummies)
    for owner in (frame, series):
        for name, places in _POSITIONAL.items():
            if (function := getattr(owner, name, None)) is not None:
                setattr(owner, name, _by_place(function, ("self", *places)))
        owner.fillna = _filling(owner.fillna)
        owner.replace = _replacing(owner.replace)
        owner.values = _writable(owner.values)
        _add(owner, iteritems=owner.items, as_matrix=_as_matrix, ix=property(_Ix))
        _add(owner, append=functools.partialmethod(_append, pandas))
    _add(frame, applymap=getattr(frame, "map", None))
    _add(frame, get_value=lambda self, index, column: self.at[index, column])
    _add(series, nonzero=lambda self: self.to_numpy().nonzero())
    frame.interpolate = _interpolating(frame.interpolate)
    for name in _OVER_NUMBERS:
        setattr(frame, name, _over_numbers(getattr(frame, name)))
    series.__getitem__ = _by_position(series.__getitem__)
    series.__setitem__ = _set_by_position(series.__setitem__)
    _write_columns_through(pandas)


def _add(owner: Any, **names: Any) -> None:
    for name, value in names.items():
        if value is not None and not hasattr(owner, name):
            setattr(owner, name, value)


def _is_of_today(depth: int = 2) -> bool:
    """Whether the caller of the caller belongs to a package that is written for the pandas of today."""
    name = sys._getframe(depth).f_globals.get("__name__", "")
    return name.partition(".")[0] in _OF_TODAY


def _by_place(function: Callable[..., Any], places: tuple[str, ...]) -> Callable[..., Any]:
    """``function`` whose arguments ``places`` may be given without their names again."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        named = dict(zip(places[1:], args[1:], strict=False))
        rest = args[len(places) :]
        return function(*args[:1], *rest, **named, **kwargs)

    accepted = inspect.signature(function).parameters
    return call if places[0] in accepted else function


def _of_uint8(get_dummies: Callable[..., Any]) -> Callable[..., Any]:
    """``get_dummies`` with uint8 for a dtype, where pandas 2 gives bool: mixed with numbers, an array of them."""

    @functools.wraps(get_dummies)
    def call(*args: Any, dtype: Any = np.uint8, **kwargs: Any) -> Any:
        return get_dummies(*args, dtype=np.uint8 if dtype is None else dtype, **kwargs)

    return call


def _replacing(replace: Callable[..., Any]) -> Callable[..., Any]:
    """``replace`` after which names of classes that became numbers are of a number's dtype, as before pandas 3."""

    @functools.wraps(replace)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        result = replace(self, *args, **options)
        if _is_of_today():
            return result
        if options.get("inplace"):
            self._update_inplace(self.infer_objects())
            return None
        return result.infer_objects()

    return call


def _reading(read: Callable[..., Any]) -> Callable[..., Any]:
    """``read_csv`` with the separator in the second place, and the options of its time."""

    @functools.wraps(read)
    def call(filepath_or_buffer: Any, *args: Any, **options: Any) -> Any:
        if args:
            options["sep"] = args[0]
        if options.pop("delim_whitespace", False):
            options["sep"] = r"\s+"
        bad_lines = options.pop("error_bad_lines", None), options.pop("warn_bad_lines", True)
        if bad_lines[0] is False:
            options["on_bad_lines"] = "warn" if bad_lines[1] else "skip"
        for name in ("infer_datetime_format", "mangle_dupe_cols", "tupleize_cols"):
            options.pop(name, None)
        squeeze = options.pop("squeeze", False)
        table = read(filepath_or_buffer, **options)
        return table.squeeze("columns") if squeeze else table

    return call


def _filling(fillna: Callable[..., Any]) -> Callable[..., Any]:
    """``fillna(method="ffill")``, which is a method of that name now."""

    @functools.wraps(fillna)
    def call(self: Any, value: Any = None, *, method: str | None = None, **options: Any) -> Any:
        if method is None:
            return fillna(self, value, **options)
        return getattr(self, {"pad": "ffill", "backfill": "bfill"}.get(method, method))(**options)

    return call


def _interpolating(interpolate: Callable[..., Any]) -> Callable[..., Any]:
    """``DataFrame.interpolate`` that leaves columns of text as they are."""

    @functools.wraps(interpolate)
    def call(self: Any, *args: Any, inplace: bool = False, **options: Any) -> Any:
        numbers = self.select_dtypes(include=[np.number]).columns
        if len(numbers) == len(self.columns):
            return interpolate(self, *args, inplace=inplace, **options)
        result = self if inplace else self.copy()
        result[numbers] = interpolate(self[numbers], *args, **options)
        return None if inplace else result

    return call


def _over_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A statistic that leaves out the columns it cannot take."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return function(self, *args, **options)
        except (TypeError, ValueError):
            if "numeric_only" in options:
                raise
            return function(self, *args, **options, numeric_only=True)

    return call


def _writable(values: property) -> Any:
    """``values`` that a program may write to, and that so changes the table, as before pandas 3."""

    def get(self: Any) -> Any:
        found = values.__get__(self)
        if isinstance(found, np.ndarray) and not found.flags.writeable and not _is_of_today():
            if _shares_memory_with_another_table(self):
                return found.copy()
            try:
                found.flags.writeable = True  # the array is a view of its own
            except ValueError:
                return found.copy()
        return found

    return property(get, doc=values.__doc__)


def _shares_memory_with_another_table(table: Any) -> bool:
    """Whether a write to the values would change a table that pandas has not copied yet.

    A column is not asked: it shares its memory with the table that it was taken from, as it did.
    """
    return table.ndim == 2 and any(block.refs.has_reference() for block in table._mgr.blocks)


def _as_matrix(self: Any, columns: Any = None) -> Any:
    """The values as an array, of some columns alone where they are given."""
    return (self if columns is None else self[columns]).values


def _append(
    self: Any, pandas: types.ModuleType, other: Any, ignore_index: bool = False, **kwargs: Any
) -> Any:
    """The rows of ``other`` below: a table, a row (Series or dict), or a list of these."""
    parts = list(other) if isinstance(other, (list, tuple)) else [other]
    if isinstance(self, pandas.DataFrame):
        parts = [pandas.Series(part) if isinstance(part, dict) else part for part in parts]
        parts = [
            part.to_frame().T.infer_objects() if isinstance(part, pandas.Series) else part
            for part in parts
        ]
    return pandas.concat([self, *parts], ignore_index=ignore_index, sort=kwargs.get("sort", False))


class _Ix:
    """``table.ix[rows, columns]``: by label, and by position where whole numbers are no labels."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def _labels(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        found = [self._labels_of(k, axis) for k, axis in zip(keys, self._table.axes, strict=False)]
        return tuple(found) if isinstance(key, tuple) else found[0]

    @staticmethod
    def _labels_of(key: Any, axis: Any) -> Any:
        if axis.dtype.kind in "iu":
            return key
        if isinstance(key, slice):
            ends = [x for x in (key.start, key.stop) if x is not None]
            return axis[key] if ends and all(map(_is_whole, ends)) else key
        if _is_whole(key):
            return axis[key]
        if isinstance(key, (list, np.ndarray)) and len(key) and all(map(_is_whole, key)):
            return axis[np.asarray(key)]
        return key

    def __getitem__(self, key: Any) -> Any:
        return self._table.loc[self._labels(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._table.loc[self._labels(key)] = value


def _is_whole(key: Any) -> bool:
    return isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_))


def _by_position(getitem: Callable[..., Any]) -> Callable[..., Any]:
    """``row[0]``, the first value where 0 is no label."""

    @functools.wraps(getitem)
    def call(self: Any, key: Any) -> Any:
        try:
            return getitem(self, key)
        except KeyError:
            if _is_whole(key) and self.index.dtype.kind not in "iufc":
                return self.iloc[key]
            raise

    return call


def _set_by_position(setitem: Callable[..., Any]) -> Callable[..., Any]:
    """``row[0] = x`` sets the first value where 0 is no label."""

    @functools.wraps(setitem)
    def call(self: Any, key: Any, value: Any) -> None:
        if _is_whole(key) and self.index.dtype.kind not in "iufc" and key not in self.index:
            self.iloc[key] = value
        else:
            setitem(self, key, value)

    return call


# ---- a column that knows its table ---------------------------------------------------------------


def _write_columns_through(pandas: types.ModuleType) -> None:
    """``table["age"][rows] = 0`` and ``table["age"].fillna(0, inplace=True)`` change the table again.

    Since pandas 3 a column that was taken out is a copy, and programs that fill gaps in this way would go
    on with the gaps. Here a column that the program takes remembers its table, and a change of
    the column is written back.
    """
    frame, series = pandas.DataFrame, pandas.Series

    def remembering(get: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(get)
        def call(self: Any, key: Any) -> Any:
            found = get(self, key)
            if isinstance(found, series) and not _is_of_today():
                found.__dict__["_taken_from"] = weakref.ref(self), key
            return found

        return call

    def write_back(column: Any) -> None:
        table, key = column.__dict__.get("_taken_from", (lambda: None, None))
        if (owner := table()) is not None and key in owner.columns and len(owner) == len(column):
            owner.isetitem(owner.columns.get_loc(key), column)

    def writing(change: Callable[..., Any], column_of: Callable[[Any], Any]) -> Callable[..., Any]:
        @functools.wraps(change)
        def call(self: Any, *args: Any) -> Any:
            result = change(self, *args)
            if isinstance(column := column_of(self), series):
                write_back(column)
            return result

        return call

    frame.__getitem__ = remembering(frame.__getitem__)
    frame.__getattr__ = remembering(frame.__getattr__)
    series.__setitem__ = writing(series.__setitem__, lambda self: self)
    series._update_inplace = writing(series._update_inplace, lambda self: self)
    for indexer in {type(series(dtype=float).loc), type(series(dtype=float).iloc)}:
        indexer.__setitem__ = writing(indexer.__setitem__, lambda self: self.obj)
