"""Read serialized `Example` and `SequenceExample` messages straight into NumPy arrays.

For the kernels that parse them, and for where the protobuf package is not installed; where it is,
`Example.FromString` is quicker for a whole message.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from dataflow.data.protobuf_wire import (
    BYTES,
    FIXED32,
    VARINT,
    WireError,
    fields,
    packed_int64,
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


class _Everything:
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def decode_example(serialized: bytes) -> dict[str, Values]:
    """The features of a serialized `Example` by name.

    Values are a float32 or int64 array of one dimension, a list of bytes, or ``None`` where the
    feature has no kind. Of a name that occurs twice the last counts, as in a protobuf map.

    Raises `WireError` (a `ValueError`) for bytes that are no `Example`.
    """
    found = read_example(serialized, _Everything())
    return {_name(key): values for key, (_, values) in found.items()}


def decode_sequence_example(
    serialized: bytes,
) -> tuple[dict[str, Values], dict[str, list[Values]]]:
    """The context features and the feature lists (one entry per step) of a `SequenceExample`."""
    context, lists = read_sequence_example(serialized, _Everything())
    return (
        {_name(key): values for key, (_, values) in context.items()},
        {_name(key): [values for _, values in steps] for key, steps in lists.items()},
    )


def _name(key: bytes) -> str:
    try:
        return bytes(key).decode("utf-8")
    except UnicodeDecodeError as error:
        raise WireError(f"a feature's name is not UTF-8: {error}") from error


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


#: Fields of a ``Feature``: number -> (dtype name, how to read the list).
_LISTS = {
    1: ("string", _bytes_list),
    2: ("float32", _float_list),
    3: ("int64", _int64_list),
}
