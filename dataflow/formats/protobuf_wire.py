"""The wire format of protocol buffers, read and written without the protobuf package.

So that `Example` messages and the index of a TensorFlow checkpoint can be read where that package is
not installed. Source: the encoding chapter of the protocol buffers documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """The bytes are no message: truncated, or of a wire type that does not exist."""


def read_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """The unsigned integer at ``position`` and the position after it; `WireError` if cut short."""
    result = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise WireError(f"a varint is cut short or too long at byte {position}")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, position
        shift += 7


def write_varint(value: int) -> bytes:
    """An unsigned integer as a varint."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def bytes_field(number: int, data: bytes) -> bytes:
    """A field of bytes: text, a nested message, or a packed list."""
    return write_varint(number << 3 | BYTES) + write_varint(len(data)) + data


def varint_field(number: int, value: int) -> bytes:
    """A field of one unsigned integer."""
    return write_varint(number << 3 | VARINT) + write_varint(value)


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int, Any]]:
    """The fields of a message in order: (number, wire type, value).

    A value is an int (unsigned) for varints and fixed numbers; for bytes a slice of ``data``.
    """
    position, size = 0, len(data)
    while position < size:
        # Most tags and lengths are one byte long, and the call would cost more than the reading.
        tag = data[position]
        if tag < 0x80:
            position += 1
        else:
            tag, position = read_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == VARINT:
            value, position = read_varint(data, position)
            yield number, wire_type, value
            continue
        if wire_type == BYTES:
            if position < size and data[position] < 0x80:
                length = data[position]
                position += 1
            else:
                length, position = read_varint(data, position)
        elif wire_type == FIXED32:
            length = 4
        elif wire_type == FIXED64:
            length = 8
        else:
            raise WireError(f"field {number} has wire type {wire_type}, which does not exist")
        end = position + length
        if end > size:
            raise WireError(f"field {number} needs {length} bytes, {size - position} are left")
        chunk = data[position:end]
        yield number, wire_type, chunk if wire_type == BYTES else int.from_bytes(chunk, "little")
        position = end


def signed(value: int) -> int:
    """The int64 that a varint of field type int64 or int32 stands for."""
    return value - (1 << 64) if value >= 1 << 63 else value


def packed_int64(data: bytes | bytearray | memoryview) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The int64 values of a packed field; `WireError` where the last one is cut short."""
    if len(data) == 1 and data[0] < 0x80:
        return np.array([data[0]], np.int64)
    raw = np.frombuffer(data, np.uint8)
    if raw.size == 0:
        return np.empty(0, np.int64)
    ends = np.flatnonzero(raw < 0x80)
    if ends.size == 0 or ends[-1] != raw.size - 1:
        raise WireError("a packed varint is cut short")
    if ends.size == raw.size:  # all below 128: one byte each
        return raw.astype(np.int64)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if (ends - starts).max() > 9:
        raise WireError("a packed varint is longer than ten bytes")
    places = np.arange(raw.size) - np.repeat(starts, ends - starts + 1)
    parts = (raw & 0x7F).astype(np.uint64) << (7 * places).astype(np.uint64)
    return np.bitwise_or.reduceat(parts, starts).view(np.int64)
