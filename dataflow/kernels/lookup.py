"""Kernels of lookup tables: dictionaries in the session's resources."""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.errors import FailedPreconditionError, NotFoundError
from dataflow.formats.local_paths import local_path
from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.item_list import is_list
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import one, parse_number, strings, text_array

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "tables are dictionaries of the host"
#: Fewer keys are looked up in the dictionary.
_FEW_KEYS = 32
#: A table becomes a row of values where it has at least one key for so many places.
_SPARSEST = 4


class LookupTable:
    """``entries`` maps keys (bytes or numbers) to values; ``ready`` once a static one is filled."""

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, mutable: bool, value_shape: Any
    ) -> None:
        self.name = name
        self.key_dtype, self.value_dtype = key_dtype, value_dtype
        self.mutable, self.value_shape = mutable, tuple(value_shape)
        self.ready = mutable
        self.entries: dict[Any, Any] = {}  # replaced as a whole, never changed
        self._row: tuple[Any, Any] = ({}, None)
        self.lock = threading.RLock()

    def need_ready(self) -> None:
        """Raises `FailedPreconditionError` until the table is filled."""
        if not self.ready:
            raise FailedPreconditionError(
                None,
                None,
                f"Table not initialized: {self.name!r} is empty. Run its initializer first: "
                "sess.run(tf.tables_initializer()).",
            )

    def pairs(self, keys: Any, values: Any) -> dict[Any, Any]:
        """Keys and values as a dictionary, shapes checked."""
        key_list = (
            strings(keys).reshape(-1).tolist()
            if self.key_dtype.kind == "S"
            else (np.reshape(keys, -1).tolist())
        )
        if self.value_dtype.kind == "x":
            lists = [values] if is_list(values) else values.reshape(-1).tolist()
            return dict(zip(key_list, lists, strict=True))
        array = strings(values) if self.value_dtype.kind == "S" else np.asarray(values)
        wanted = np.shape(keys) + self.value_shape
        if array.shape != wanted:
            raise ValueError(f"values have shape {list(array.shape)}, expected {list(wanted)}")
        if self.value_shape:
            return dict(zip(key_list, array.reshape(-1, *self.value_shape).copy(), strict=True))
        return dict(zip(key_list, array.reshape(-1).tolist(), strict=True))

    def array(self, values: Iterable[Any], count: int, shape: Any) -> Any:
        """``count`` values as an array of ``shape`` + a value's."""
        if self.value_dtype.kind == "x":
            lists = np.empty(count, object)
            for i, value in enumerate(values):
                lists[i] = value
            return lists.reshape(shape) if shape else lists[0]
        whole = (*shape, *self.value_shape)
        if self.value_shape or self.value_dtype.kind == "S":
            rows = list(values)
            if self.value_dtype.kind == "S":
                return text_array(rows, whole)
            return np.array(rows, self.value_dtype.numpy).reshape(whole)
        return np.fromiter(values, self.value_dtype.numpy, count).reshape(whole)

    def find(self, keys: Any, missing: Any) -> Any:
        """The values of ``keys``, and ``missing`` for those that are not there."""
        row = None
        if self.key_dtype.kind == "i" and keys.size > _FEW_KEYS and not self.value_shape:
            row = self._as_row()
        if row is None:
            flat = keys.reshape(-1).tolist()
            try:  # in a third less time, where all are there
                found = operator.itemgetter(*flat)(self.entries) if len(flat) > 1 else ()
            except KeyError:
                found = ()
            if not found:
                found = map(self.entries.get, flat, itertools.repeat(missing))
            return self.array(found, len(flat), keys.shape)
        low, values, there = row
        inside = (keys >= low) & (keys < low + len(values))
        places = np.where(inside, keys, low) - low
        result = values[places]
        result[~(inside & there[places])] = missing
        return result

    def _as_row(self) -> tuple[int, Any, Any] | None:
        """Where the keys are close together, as ids are: the lowest, values from there on, and
        which of them there are. Kept until the table changes."""
        entries, row = self._row
        if entries is not self.entries:
            entries, row = self.entries, None
            low, high = min(entries, default=0), max(entries, default=0)
            size = high - low + 1
            if entries and size <= _SPARSEST * len(entries):
                places = np.fromiter(entries, np.int64, len(entries)) - low
                values = np.zeros(size, self.value_dtype.numpy)
                values[places] = self.array(entries.values(), len(entries), (len(entries),))
                there = np.zeros(size, bool)
                there[places] = True
                row = low, values, there
            self._row = entries, row
        return row  # type: ignore[no-any-return]

    def fill(self, entries: dict[Any, Any]) -> None:
        """Fills a static table; once, or again with the same."""
        with self.lock:
            if self.ready and self.entries != entries:
                raise FailedPreconditionError(
                    None, None, f"Table {self.name!r} was initialized before with other data."
                )
            self.entries, self.ready = entries, True


def _table(context: KernelContext, mutable: bool, value_shape: Any = ()) -> LookupTable:
    attrs = context.attrs

    def create() -> LookupTable:
        return LookupTable(
            context.resource_name, attrs["key_dtype"], attrs["value_dtype"], mutable, value_shape
        )

    return context.resource("lookup_table", create)  # type: ignore[no-any-return]


@kernel("HashTableV2", stateful=True, cpu_only=_REASON)
def hash_table_kernel(context: KernelContext) -> Any:
    return _table(context, False)


@kernel("MutableHashTableV2", stateful=True, cpu_only=_REASON)
def mutable_hash_table_kernel(context: KernelContext) -> Any:
    return _table(context, True)


@kernel("MutableHashTableOfTensorsV2", stateful=True, cpu_only=_REASON)
def mutable_hash_table_of_tensors_kernel(context: KernelContext, *, value_shape: Any) -> Any:
    return _table(context, True, value_shape)


@kernel("InitializeTableV2", cpu_only=_REASON)
def initialize_table_kernel(xp: Module, table: LookupTable, keys: Array, values: Array) -> None:
    table.fill(_distinct(table, keys, values))


@kernel("LookupTableImportV2", cpu_only=_REASON)
def lookup_table_import_kernel(xp: Module, table: LookupTable, keys: Array, values: Array) -> None:
    if table.mutable:
        entries = table.pairs(keys, values)
        with table.lock:
            table.entries = entries
    else:
        table.fill(_distinct(table, keys, values))


def _distinct(table: LookupTable, keys: Any, values: Any) -> dict[Any, Any]:
    if not np.size(keys):
        raise ValueError("keys and values cannot be empty tensors.")
    entries = table.pairs(keys, values)
    if len(entries) != np.size(keys):
        flat = strings(keys).reshape(-1).tolist() if table.key_dtype.kind == "S" else keys.tolist()
        seen: dict[Any, Any] = {}
        for key, value in zip(flat, np.reshape(values, -1).tolist(), strict=True):
            if seen.setdefault(key, value) != value:
                raise FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {key!r} has {seen[key]!r} "
                    f"and trying to add value {value!r}",
                )
    return entries


def _line_part(line: bytes, columns: list[bytes], number: int, index: int, dtype: DType) -> Any:
    if index == -1:
        return number
    if index == -2:
        text = line
    elif index < len(columns):
        text = columns[index]
    else:
        raise ValueError(f"line {number + 1} has {len(columns)} columns, column {index} is wanted")
    return text if dtype.kind == "S" else parse_number(text, dtype.numpy)


@kernel("InitializeTableFromTextFileV2", cpu_only=_REASON)
def initialize_table_from_text_file_kernel(
    xp: Module,
    table: LookupTable,
    filename: Array,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
) -> None:
    path = one(filename).decode()
    try:
        with open(local_path(path), "rb") as file:
            lines = file.read().split(b"\n")
    except OSError as e:
        raise NotFoundError(None, None, f"{path}: {e.strerror}") from e
    if lines and not lines[-1]:
        lines.pop()
    if vocab_size != -1:
        if len(lines) < vocab_size:
            raise ValueError(
                f"Invalid vocab_size in {path}: expected {vocab_size} but got {len(lines)}"
            )
        lines = lines[:vocab_size]
    entries: dict[Any, Any] = {}
    between = delimiter.encode()
    for number, raw in enumerate(lines):
        line = raw.removesuffix(b"\r")
        columns = line.split(between)
        key = _line_part(line, columns, number, key_index, table.key_dtype)
        value = _line_part(line, columns, number + offset, value_index, table.value_dtype)
        if entries.setdefault(key, value) != value:
            raise FailedPreconditionError(
                None, None, f"HashTable has different value for same key: {key!r} in {path}"
            )
    table.fill(entries)


@kernel("LookupTableFindV2", cpu_only=_REASON)
def lookup_table_find_kernel(xp: Module, table: LookupTable, keys: Array, default: Array) -> Any:
    table.need_ready()
    array = strings(keys) if table.key_dtype.kind == "S" else np.asarray(keys)
    missing = one(default) if table.value_dtype.kind == "S" and not table.value_shape else default
    return table.find(array, missing)


@kernel("LookupTableInsertV2", cpu_only=_REASON)
def lookup_table_insert_kernel(xp: Module, table: LookupTable, keys: Array, values: Array) -> None:
    if not table.mutable:
        raise NotImplementedError(f"{table.name!r} is filled once; use a MutableHashTable")
    pairs = table.pairs(keys, values)
    with table.lock:
        table.entries = {**table.entries, **pairs}


@kernel("LookupTableRemoveV2", cpu_only=_REASON)
def lookup_table_remove_kernel(xp: Module, table: LookupTable, keys: Array) -> None:
    flat = (
        strings(keys).reshape(-1).tolist()
        if table.key_dtype.kind == "S"
        else (np.reshape(keys, -1).tolist())
    )
    with table.lock:
        entries = dict(table.entries)
        for key in flat:
            entries.pop(key, None)
        table.entries = entries


@kernel("LookupTableSizeV2", cpu_only=_REASON)
def lookup_table_size_kernel(xp: Module, table: LookupTable) -> Any:
    table.need_ready()
    return np.int64(len(table.entries))


@kernel("LookupTableExportV2", cpu_only=_REASON)
def lookup_table_export_kernel(xp: Module, table: LookupTable) -> Any:
    table.need_ready()
    entries = dict(table.entries)
    if table.key_dtype.kind == "S":
        keys = object_array(entries)
    else:
        keys = np.array(list(entries), table.key_dtype.numpy)
    return keys, table.array(entries.values(), len(entries), (len(entries),))
