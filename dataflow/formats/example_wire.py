"""Read serialized `Example` and `SequenceExample` messages straight into NumPy arrays.

For the kernels that parse them, and for where the protobuf package is not installed; where it is,
`Example.FromString` is quicker for a whole message.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from dataflow.formats.protobuf_wire import (
    BYTES,
    FIXED32,
    VARINT,
    WireError,
    fields,
    packed_int64,
    read_varint,
    signed,
)

# A feature's values: int64 or float32 array of one dimension, or a list of byte strings;
# None for a feature that was set to no kind at all.
Values = Any

#: A feature as (dtype name, values); ("", None) where no kind is set.
Feature = tuple[str, Values]


def feature_values(data: bytes) -> Feature:
    """A serialized ``Feature``. Of a kind that is set twice the last counts, as in a oneof."""
    result: Feature = ("", None)
    for number, kind, content in fields(data):
        if kind == BYTES and number in _LISTS:
            name, read = _LISTS[number]
            result = name, read(content)
    return result


def map_entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The names and the serialized values of a ``Features`` or ``FeatureLists`` message."""
    for number, kind, entry in fields(data):
        if number == 1 and kind == BYTES:
            key, value = b"", b""
            for part, part_kind, content in fields(entry):
                if part_kind == BYTES and part == 1:
                    key = content
                elif part_kind == BYTES and part == 2:
                    value = content
            yield key, value


def feature_list(data: bytes) -> list[Feature]:
    """The features of a serialized ``FeatureList``, one for each step."""
    return [feature_values(v) for n, k, v in fields(data) if n == 1 and k == BYTES]


def read_example(data: bytes, wanted: Container[bytes]) -> dict[bytes, Feature]:
    """The features of a serialized ``Example`` whose names are in ``wanted``.

    Raises `WireError` (a `ValueError`) for bytes that are no `Example`.
    """
    found: dict[bytes, Feature] = {}
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            for key, feature in map_entries(value):
                if key in wanted:
                    found[key] = feature_values(feature)
    return found


def scan_example(data: bytes, wanted: Container[bytes]) -> dict[bytes, Feature] | None:
    """`read_example` of what writers of today leave; ``None`` for anything else.

    Lists of numbers are still packed: `unpacked` makes arrays of them.
    """
    found: dict[bytes, Feature] = {}
    try:
        if not data or data[0] != 0x0A:  # Example.features
            return None
        length, at = _length(data, 1)
        size = len(data)
        if at + length != size:
            return None
        while at < size:
            if data[at] != 0x0A:  # an entry of the map
                return None
            length, at = (data[at + 1], at + 2) if data[at + 1] < 128 else _length(data, at + 1)
            end = at + length
            if data[at] != 0x0A:  # its key
                return None
            length, at = (data[at + 1], at + 2) if data[at + 1] < 128 else _length(data, at + 1)
            key = data[at : at + length]
            at += length
            if data[at] != 0x12:  # its value: a Feature
                return None
            length, at = (data[at + 1], at + 2) if data[at + 1] < 128 else _length(data, at + 1)
            if at + length != end:
                return None
            if key not in wanted:
                at = end
                continue
            name = KINDS.get(data[at])
            if name is None or not length:
                return None
            length, at = (data[at + 1], at + 2) if data[at + 1] < 128 else _length(data, at + 1)
            if at + length != end:
                return None
            if name == "string":
                strings = []
                while at < end:
                    if data[at] != 0x0A:
                        return None
                    length, at = _length(data, at + 1)
                    strings.append(data[at : at + length])
                    at += length
                if at != end:
                    return None
                found[key] = name, strings
                continue
            if at < end:
                if data[at] != 0x0A:
                    return None
                length, at = (data[at + 1], at + 2) if data[at + 1] < 128 else _length(data, at + 1)
                if at + length != end:
                    return None
            found[key] = name, data[at:end]
            at = end
    except (IndexError, WireError):
        return None
    return found if at == size else None


def _length(data: bytes, at: int) -> tuple[int, int]:
    length = data[at]
    if length < 128:
        return length, at + 1
    more = data[at + 1]
    return (length & 127 | more << 7, at + 2) if more < 128 else read_varint(data, at)


def unpacked(name: str, values: Any) -> Any:
    """The values of a feature that `scan_example` found; `WireError` where a list is cut short."""
    if not isinstance(values, bytes):
        return values
    if name == "int64":
        return packed_int64(values)
    if len(values) % 4:
        raise WireError("a packed list of floats is cut short")
    return np.frombuffer(values, "<f4")


def packed_lists(name: str, rows: list[bytes]) -> tuple[Any, Any] | None:
    """The numbers of packed lists one after the other, and how many each holds.

    ``None`` where one of them is cut short.
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    joined = bytearray().join(rows)
    if name == "float32":
        return None if (lengths % 4).any() else (np.frombuffer(joined, "<f4"), lengths // 4)
    is_last = np.frombuffer(joined, np.uint8) < 0x80  # of a number's bytes
    ends = np.cumsum(lengths)
    if not is_last[ends[lengths > 0] - 1].all():
        return None
    numbers_before = np.concatenate([[0], np.cumsum(is_last)])
    return packed_int64(joined), numbers_before[ends] - numbers_before[ends - lengths]


def packed_column(name: str, rows: list[bytes], size: int) -> Any:
    """Packed lists as an array [rows, size]; ``None`` where not all of them have that size."""
    if not rows or not size:
        return None
    if len(rows) == 1:
        values = unpacked(name, rows[0])
        return np.array(values).reshape(1, size) if values.size == size else None
    found = packed_lists(name, rows)
    if found is None or (found[1] != size).any():
        return None
    return found[0].reshape(len(rows), size)


def read_sequence_example(
    data: bytes, wanted: Container[bytes]
) -> tuple[dict[bytes, Feature], dict[bytes, list[Feature]]]:
    """The context features and the feature lists whose names are in ``wanted``."""
    context: dict[bytes, Feature] = {}
    lists: dict[bytes, list[Feature]] = {}
    for number, kind, value in fields(data):
        if kind != BYTES:
            continue
        if number == 1:
            for key, feature in map_entries(value):
                if key in wanted:
                    context[key] = feature_values(feature)
        elif number == 2:
            for key, steps in map_entries(value):
                if key in wanted:
                    lists[key] = feature_list(steps)
    return context, lists


def _bytes_list(data: bytes) -> list[bytes]:
    return [bytes(value) for number, kind, value in fields(data) if number == 1 and kind == BYTES]


def _joined(parts: list[Any], dtype: Any) -> Any:
    if len(parts) == 1:  # a packed list, as all writers of today leave it
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _float_list(data: bytes) -> Any:
    parts = []
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            if len(value) % 4:
                raise WireError("a packed list of floats is cut short")
            parts.append(np.frombuffer(value, "<f4"))
        elif number == 1 and kind == FIXED32:  # a writer that does not pack
            parts.append(np.array([value], "<u4").view("<f4"))
    return _joined(parts, np.float32)


def _int64_list(data: bytes) -> Any:
    parts = []
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            parts.append(packed_int64(value))
        elif number == 1 and kind == VARINT:
            parts.append(np.array([signed(value)], np.int64))
    return _joined(parts, np.int64)


#: Tags of the lists in a ``Feature`` -> dtype name.
KINDS = {0x0A: "string", 0x12: "float32", 0x1A: "int64"}
#: Fields of a ``Feature``: number -> (dtype name, how to read the list).
_LISTS = {
    1: ("string", _bytes_list),
    2: ("float32", _float_list),
    3: ("int64", _int64_list),
}
