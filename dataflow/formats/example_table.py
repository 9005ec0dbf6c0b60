"""Read many serialized `Example` messages at once: each step of the scan is taken in all of them.

For what writers of today leave: a list of numbers is packed, each feature is there once. Where the
messages hold anything else `scan_table` gives up, and they are read one by one (`example_wire`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from dataflow.formats.example_wire import KINDS, packed_column, packed_lists, unpacked
from dataflow.formats.object_arrays import object_array

#: With fewer messages one after the other is quicker.
LEAST_MESSAGES = 12
_LIST, _KEY, _VALUE = 0x0A, 0x0A, 0x12
_TAGS = {name: tag for tag, name in KINDS.items()}
#: Strings are cut out by their size where at least so many have the same, on average.
_ALIKE = 16
#: Lengths have as many bytes at most.
_LENGTH_BYTES = 4


class _OtherLayoutError(Exception):
    """The messages are not as this scan takes them."""


# Whether all or any of some hundred truth values hold: NumPy's `all` and `any` take four times as long.
def _all(condition: Any) -> bool:
    return bool(np.count_nonzero(condition) == condition.size)


def _any(condition: Any) -> bool:
    return bool(np.count_nonzero(condition))


def _need(condition: Any) -> None:
    if not _all(condition):
        raise _OtherLayoutError


class Column:
    """A feature of all messages: whether each has it, and where its values are."""

    def __init__(self, table: _Table, name: str) -> None:
        count = len(table.starts)
        self._table = table
        self.name = name
        self.present = np.zeros(count, bool)
        self.starts = np.zeros(count, np.int64)
        self.ends = np.zeros(count, np.int64)

    def _packed(self) -> list[bytes]:
        return self._table.slices(self.starts, self.ends)

    def _of_one_size(self) -> Any:
        """The bytes of all lists as an array [messages, bytes], or ``None`` where they differ in size."""
        sizes = self.ends - self.starts
        size = int(sizes[0])
        if not size or _any(sizes != size):
            return None
        return self._table.windows(self.starts, size).view(np.uint8).reshape(-1, size)

    @functools.cached_property
    def _strings(self) -> tuple[list[bytes], Any]:
        """All strings, message by message, and how many each has."""
        table = self._table
        rows = np.flatnonzero(self.starts < self.ends)
        at, ends = self.starts[rows], self.ends[rows]
        found = []
        while len(rows):
            _need(table.bytes.take(at) == _LIST)
            length, at = table.length(at + 1)
            following = at + length
            _need(following <= ends)
            found.append((rows, at, following))
            left = following < ends
            if _all(left):
                at = following
            else:
                rows, at, ends = rows[left], following[left], ends[left]
        if not found:
            return [], np.zeros(len(self.starts), np.int64)
        of_row, begins, stops = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if len(found) > 1:
            order = np.argsort(of_row, kind="stable")
            begins, stops = begins[order], stops[order]
        return table.strings(begins, stops), np.bincount(of_row, minlength=len(self.starts))

    def lists(self) -> tuple[Any, Any] | None:
        """The values of all messages one after the other, and how many each has.

        ``None`` where a list of numbers is cut short.
        """
        if self.name != "string":
            return packed_lists(self.name, self._packed())
        strings, counts = self._strings
        return object_array(strings), counts

    def dense(self, size: int) -> Any:
        """An array [messages, size]; ``None`` where a message has another number of values."""
        if not _all(self.present):
            return None
        if self.name != "string":
            numbers = self._of_one_size()
            if numbers is not None and self.name == "float32" and numbers.shape[1] == 4 * size:
                return numbers.view("<f4")
            if (
                numbers is not None
                and numbers.shape[1] == size == 1
                and numbers.tobytes().isascii()
            ):
                return numbers.astype(np.int64)
            return packed_column(self.name, self._packed(), size)
        strings, counts = self._strings
        return object_array(strings).reshape(-1, size) if size and (counts == size).all() else None

    def rows(self) -> list[Any]:
        """The values of each message, ``None`` for one without this feature."""
        if self.name != "string":
            rows: list[Any] = [unpacked(self.name, row) for row in self._packed()]
        else:
            strings, counts = self._strings
            ends = np.cumsum(counts).tolist()
            rows = [strings[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        return [row if there else None for row, there in zip(rows, self.present, strict=True)]


class _Table:
    """The messages one after the other, with some bytes more, so that a scan may look beyond."""

    def __init__(self, texts: list[bytes]) -> None:
        self.text = b"".join(texts)
        self.bytes = np.frombuffer(self.text + bytes(4 * _LENGTH_BYTES), np.uint8)
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes

    def slices(self, starts: Any, ends: Any) -> list[bytes]:
        return list(map(self.text.__getitem__, map(slice, starts.tolist(), ends.tolist())))

    def windows(self, at: Any, size: int) -> Any:
        """The ``size`` bytes from each of these places on, each as one element."""
        count = len(self.bytes) - size + 1
        return np.ndarray((count,), f"V{size}", self.bytes, 0, (1,))[at]

    def strings(self, starts: Any, ends: Any) -> list[bytes]:
        """What lies there; quick where many have the same size."""
        sizes = ends - starts
        longest = int(sizes.max(initial=0))
        if longest >= len(sizes):
            return self.slices(starts, ends)
        kinds = np.flatnonzero(np.bincount(sizes))
        if len(kinds) > len(sizes) // _ALIKE:
            return self.slices(starts, ends)
        found = np.empty(len(sizes), object)
        for size in kinds.tolist():
            where = np.flatnonzero(sizes == size)
            found[where] = self.windows(starts[where], size).tolist() if size else b""
        return found.tolist()

    def length(self, at: Any) -> tuple[Any, Any]:
        """The lengths that stand at these places, and the places after them."""
        first = self.bytes.take(at)
        value, at = first.astype(np.int64), at + 1
        if first.tobytes().isascii():  # each is one byte below 0x80
            return value, at
        more = first >= 0x80
        value &= 0x7F
        for shift in range(7, 7 * _LENGTH_BYTES, 7):
            byte = self.bytes[np.minimum(at, len(self.bytes) - 1)]
            value += np.where(more, (byte & 0x7F).astype(np.int64) << shift, 0)
            at = at + more
            more = more & (byte >= 0x80)
            if not _any(more):
                return value, at
        raise _OtherLayoutError

    def within(self, at: Any, tag: int, ends: Any) -> Any:
        """The places of the contents of the last fields of messages that end at ``ends``."""
        _need(self.bytes.take(at) == tag)
        length, at = self.length(at + 1)
        _need(at + length == ends)
        return at


def scan_table(texts: list[bytes], wanted: Mapping[bytes, str]) -> dict[bytes, Column] | None:
    """The features of ``wanted`` (name -> dtype name) of all messages.

    ``None`` where the messages are few, or where one of them is laid out otherwise, damaged, or has a
    feature of another dtype: they are to be read one by one.
    """
    if len(texts) < LEAST_MESSAGES:
        return None
    table = _Table(texts)
    columns = {key: Column(table, name) for key, name in wanted.items()}
    try:
        _need(table.starts < table.ends)
        rows = np.arange(len(texts))
        _scan(table, rows, table.within(table.starts, _LIST, table.ends), columns)
        for column in columns.values():
            if column.name == "string":
                _ = column._strings  # they are to be whole
    except _OtherLayoutError:
        return None
    return columns


def _scan(table: _Table, rows: Any, at: Any, columns: dict[bytes, Column]) -> None:
    """Notes where the wanted features are, the next one of every message at a time."""
    ends = table.ends
    while True:
        left = at < ends
        if not _all(left):
            rows, at, ends = rows[left], at[left], ends[left]
            if not len(rows):
                return
        _need(table.bytes.take(at) == _LIST)
        length, at = table.length(at + 1)
        entry_ends = at + length
        _need(entry_ends <= ends)
        _need(table.bytes.take(at) == _KEY)
        length, keys = table.length(at + 1)
        at = keys + length
        _need(at < entry_ends)
        values = table.within(at, _VALUE, entry_ends)
        for key, here in _by_key(table, keys, length):
            if key in columns:
                _note(columns[key], rows[here], values[here], entry_ends[here])
        at = entry_ends


def _by_key(table: _Table, keys: Any, length: Any) -> list[tuple[bytes, Any]]:
    """The names at these places, each with those of the messages that have it there."""
    size = int(length[0])
    first = table.text[int(keys[0]) : int(keys[0]) + size]
    if size and _all(length == size):
        if table.windows(keys, size).tobytes() == first * len(keys):
            return [(first, slice(None))]
    found: dict[bytes, list[int]] = {}
    for i, name in enumerate(table.slices(keys, keys + length)):
        found.setdefault(name, []).append(i)
    return [(name, np.array(where)) for name, where in found.items()]


def _note(column: Column, rows: Any, at: Any, ends: Any) -> None:
    """Notes the values of a feature whose ``Feature`` messages lie there."""
    table = column._table
    _need(at < ends)
    _need(~column.present[rows])
    at = table.within(at, _TAGS[column.name], ends)
    if column.name != "string":
        is_empty = at == ends
        if _any(is_empty):
            some = ~is_empty
            at[some] = table.within(at[some], _LIST, ends[some])
        else:
            at = table.within(at, _LIST, ends)
    column.present[rows] = True
    column.starts[rows], column.ends[rows] = at, ends
