"""`Example` and `TensorProto` messages read and written in protocol buffers' wire format.

Source of the format: the encoding chapter of the protocol buffers documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.dtypes import as_dtype


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field; raises `ValueError` for bytes that are cut short."""
    at, end = 0, len(data)
    try:
        while at < end:
            tag, at = _varint(data, at)
            kind = tag & 7
            if kind == 2:
                size, at = _varint(data, at)
                if at + size > end:
                    raise ValueError("the message is cut short")
                yield tag >> 3, kind, data[at : at + size]
                at += size
            elif kind == 0:
                value, at = _varint(data, at)
                yield tag >> 3, kind, value
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
                if at + size > end:
                    raise ValueError("the message is cut short")
                yield tag >> 3, kind, data[at : at + size]
                at += size
            else:
                raise ValueError(f"wire type {kind} does not exist")
    except IndexError:
        raise ValueError("the message is cut short") from None


def packed_varints(data: bytes) -> Any:
    """A packed list of varints as int64, without a loop over them."""
    raw = np.frombuffer(data, np.uint8)
    if not raw.size:
        return np.zeros(0, np.int64)
    last = raw < 128
    if not last[-1]:
        raise ValueError("the message is cut short")
    if last.all():
        return raw.astype(np.int64)
    ends = np.flatnonzero(last)
    starts = np.r_[0, ends[:-1] + 1]
    if int((ends - starts).max()) > 9:
        raise ValueError("a number is too long")
    shifts = (np.arange(raw.size) - np.repeat(starts, ends - starts + 1)) * 7
    parts = (raw & 0x7F).astype(np.uint64) << shifts.astype(np.uint64)
    return np.add.reduceat(parts, starts).view(np.int64)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def feature_values(data: bytes) -> tuple[str, Any]:
    """A ``Feature`` as (dtype name, values); ("", None) where no kind is set."""
    for number, kind, value in fields(data):
        if kind != 2:
            continue
        if number == 1:
            return "string", [v for n, k, v in fields(value) if n == 1 and k == 2]
        if number == 2:
            parts = [v for n, k, v in fields(value) if n == 1 and k in (2, 5)]
            raw = b"".join(parts)
            if len(raw) % 4:
                raise ValueError("a list of floats is cut short")
            return "float32", np.frombuffer(raw, "<f4")
        if number == 3:
            numbers = [np.zeros(0, np.int64)]
            for n, k, v in fields(value):
                if n == 1:
                    numbers.append(
                        packed_varints(v) if k == 2 else np.array([_signed(v)], np.int64)
                    )
            return "int64", np.concatenate(numbers) if len(numbers) != 2 else numbers[1]
    return "", None


def _map_entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    for number, kind, entry in fields(data):
        if number == 1 and kind == 2:
            key, value = b"", b""
            for n, _, v in fields(entry):
                if n == 1:
                    key = v
                elif n == 2:
                    value = v
            yield key, value


def read_example(data: bytes, wanted: Any) -> dict[bytes, tuple[str, Any]]:
    """The features of a serialized ``Example`` whose names are in ``wanted``."""
    found: dict[bytes, tuple[str, Any]] = {}
    for number, kind, value in fields(data):
        if number == 1 and kind == 2:
            for key, feature in _map_entries(value):
                if key in wanted:
                    found[key] = feature_values(feature)
    return found


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _write_bytes(number: int, value: bytes) -> bytes:
    return _write_varint(number << 3 | 2) + _write_varint(len(value)) + value


def tensor_bytes(value: Any) -> bytes:
    """An array as a serialized ``TensorProto``."""
    array = np.asarray(value) if not isinstance(value, bytes) else np.asarray(value, object)
    dtype = as_dtype(array.dtype)
    shape = b"".join(_write_bytes(2, b"\x08" + _write_varint(size)) for size in array.shape)
    out = b"\x08" + _write_varint(dtype.as_datatype_enum) + _write_bytes(2, shape)
    if array.dtype.kind == "O":
        return out + b"".join(_write_bytes(8, text) for text in array.reshape(-1).tolist())
    raw = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()
    return out + (_write_bytes(4, raw) if raw else b"")


#: Fields of a TensorProto that list values one by one: number -> how to read a packed list.
_LISTS = {
    5: lambda raw: np.frombuffer(raw, "<f4"),
    6: lambda raw: np.frombuffer(raw, "<f8"),
    7: packed_varints,
    9: lambda raw: np.frombuffer(raw, "<f4").view("<c8"),
    10: packed_varints,
    11: packed_varints,
    12: lambda raw: np.frombuffer(raw, "<f8").view("<c16"),
    13: packed_varints,
    16: packed_varints,
    17: packed_varints,
}


def tensor_from_bytes(data: bytes) -> Any:
    """The array of a serialized ``TensorProto``; raises `ValueError` for other bytes."""
    enum, sizes, content, texts, lists = 0, [], None, [], []
    for number, kind, value in fields(data):
        if number == 1 and kind == 0:
            enum = value
        elif number == 2 and kind == 2:
            for n, k, dim in fields(value):
                if n == 2 and k == 2:
                    size = next((v for m, j, v in fields(dim) if m == 1 and j == 0), 0)
                    if size >= 1 << 63:
                        raise ValueError("a size is not known")
                    sizes.append(size)
        elif number == 4 and kind == 2:
            content = value
        elif number == 8 and kind == 2:
            texts.append(value)
        elif number in _LISTS:
            if kind == 0:
                lists.append(np.array([_signed(value)], np.int64))
            else:
                lists.append(_LISTS[number](value))
    try:
        dtype = as_dtype(enum)
        target = dtype.numpy
    except TypeError:
        raise ValueError(f"the bytes are no TensorProto of a known dtype (number {enum})") from None
    count = int(np.prod(sizes, dtype=np.int64))
    if dtype.kind == "S":
        flat = np.empty(len(texts), object)
        flat[:] = texts
        return _filled(flat, count, b"").reshape(sizes)
    if content is not None:
        if len(content) != count * target.itemsize:
            raise ValueError(f"{len(content)} bytes for {count} elements of {dtype.name}")
        return np.frombuffer(content, target.newbyteorder("<")).astype(target).reshape(sizes)
    flat = np.concatenate(lists) if lists else np.zeros(0, target)
    if dtype.name == "float16" and lists:
        flat = flat.astype(np.uint16).view(np.float16)
    return _filled(flat.astype(target), count, target.type(0)).reshape(sizes)


def _filled(flat: Any, count: int, zero: Any) -> Any:
    """A TensorProto may leave out values that repeat the last one."""
    if len(flat) == count:
        return flat
    if len(flat) > count:
        raise ValueError(f"{len(flat)} values for {count} elements")
    out = np.empty(count, flat.dtype)
    out[: len(flat)] = flat
    out[len(flat) :] = flat[-1] if len(flat) else zero
    return out
