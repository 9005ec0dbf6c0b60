"""Read serialized `Example` and `SequenceExample` messages straight into NumPy arrays.

For where the protobuf package is not installed; where it is, `Example.FromString` is quicker.
"""

from __future__ import annotations

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


def decode_example(serialized: bytes) -> dict[str, Values]:
    """The features of a serialized `Example` by name.

    Values are a float32 or int64 array of one dimension, a list of bytes, or ``None`` where the
    feature has no kind. Of a name that occurs twice the last counts, as in a protobuf map.

    Raises `WireError` (a `ValueError`) for bytes that are no `Example`.
    """
    result: dict[str, Values] = {}
    for number, kind, value in fields(serialized):
        if number == 1 and kind == BYTES:
            result.update(_features(value))
    return result


def decode_sequence_example(
    serialized: bytes,
) -> tuple[dict[str, Values], dict[str, list[Values]]]:
    """The context features and the feature lists (one entry per step) of a `SequenceExample`."""
    context: dict[str, Values] = {}
    lists: dict[str, list[Values]] = {}
    for number, kind, value in fields(serialized):
        if kind != BYTES:
            continue
        if number == 1:
            context.update(_features(value))
        elif number == 2:
            for name, entry in _map_entries(value):
                lists[name] = [_feature(v) for n, k, v in fields(entry) if n == 1 and k == BYTES]
    return context, lists


def _features(data: bytes) -> dict[str, Values]:
    return {name: _feature(entry) for name, entry in _map_entries(data)}


def _map_entries(data: bytes) -> Any:
    for number, kind, entry in fields(data):
        if number != 1 or kind != BYTES:
            continue
        name, value = "", b""
        for part, part_kind, content in fields(entry):
            if part_kind == BYTES and part == 1:
                try:
                    name = bytes(content).decode("utf-8")
                except UnicodeDecodeError as error:
                    raise WireError(f"a feature's name is not UTF-8: {error}") from error
            elif part_kind == BYTES and part == 2:
                value = content
        yield name, value


def _feature(data: bytes) -> Values:
    result: Values = None
    for number, kind, content in fields(data):
        if kind == BYTES and number in _LISTS:
            result = _LISTS[number](content)
    return result


def _bytes_list(data: bytes) -> list[bytes]:
    return [bytes(value) for number, kind, value in fields(data) if number == 1 and kind == BYTES]


def _float_list(data: bytes) -> Any:
    parts = []
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            if len(value) % 4:
                raise WireError("a packed list of floats is cut short")
            parts.append(np.frombuffer(value, "<f4"))
        elif number == 1 and kind == FIXED32:  # a writer that does not pack
            parts.append(np.array([value], "<u4").view("<f4"))
    return np.concatenate(parts).astype(np.float32) if parts else np.empty(0, np.float32)


def _int64_list(data: bytes) -> Any:
    parts = []
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            parts.append(packed_int64(value))
        elif number == 1 and kind == VARINT:
            parts.append(np.array([signed(value)], np.int64))
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


_LISTS = {1: _bytes_list, 2: _float_list, 3: _int64_list}
