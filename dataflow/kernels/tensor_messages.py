"""`TensorProto` messages read and written in protocol buffers' wire format.

Source of the format: the encoding chapter of the protocol buffers documentation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.dtypes import as_dtype
from dataflow.formats.compression import max_unpacked_bytes, too_large
from dataflow.formats.object_arrays import object_array
from dataflow.formats.protobuf_wire import (
    BYTES,
    FIXED32,
    VARINT,
    bytes_field,
    fields,
    packed_int64,
    signed,
    varint_field,
)


def _packed(kind: int, value: Any) -> bytes:
    """A number of fixed size that stands alone as a packed list of one."""
    if kind == BYTES:
        return value  # type: ignore[no-any-return]
    return int(value).to_bytes(4 if kind == FIXED32 else 8, "little")


def tensor_bytes(value: Any) -> bytes:
    """An array as a serialized ``TensorProto``."""
    array = np.asarray(value) if not isinstance(value, bytes) else np.asarray(value, object)
    dtype = as_dtype(array.dtype)
    shape = b"".join(bytes_field(2, varint_field(1, size)) for size in array.shape)
    out = varint_field(1, dtype.as_datatype_enum) + bytes_field(2, shape)
    if array.dtype.kind == "O":
        return out + b"".join(bytes_field(8, text) for text in array.reshape(-1).tolist())
    raw = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()
    return out + (bytes_field(4, raw) if raw else b"")


#: Fields of a TensorProto that list values one by one: number -> how to read a packed list.
_LISTS = {
    5: lambda raw: np.frombuffer(raw, "<f4"),
    6: lambda raw: np.frombuffer(raw, "<f8"),
    7: packed_int64,
    9: lambda raw: np.frombuffer(raw, "<f4").view("<c8"),
    10: packed_int64,
    11: packed_int64,
    12: lambda raw: np.frombuffer(raw, "<f8").view("<c16"),
    13: packed_int64,
    16: packed_int64,
    17: packed_int64,
}


def tensor_from_bytes(data: bytes) -> Any:
    """The array of a serialized ``TensorProto``; raises `ValueError` for other bytes."""
    enum, sizes, content, texts, lists = 0, [], None, [], []
    for number, kind, value in fields(data):
        if number == 1 and kind == VARINT:
            enum = value
        elif number == 2 and kind == BYTES:
            for n, k, dim in fields(value):
                if n == 2 and k == BYTES:
                    size = next((v for m, j, v in fields(dim) if m == 1 and j == VARINT), 0)
                    if size >= 1 << 63:
                        raise ValueError("a size is not known")
                    sizes.append(size)
        elif number == 4 and kind == BYTES:
            content = value
        elif number == 8 and kind == BYTES:
            texts.append(value)
        elif number in _LISTS:
            if kind == VARINT:
                lists.append(np.array([signed(value)], np.int64))
            else:
                lists.append(_LISTS[number](_packed(kind, value)))
    try:
        dtype = as_dtype(enum)
        target = dtype.numpy
    except TypeError:
        raise ValueError(f"the bytes are no TensorProto of a known dtype (number {enum})") from None
    count = math.prod(sizes)
    if dtype.kind == "S":
        flat = object_array(texts)
        return _filled(flat, count, b"").reshape(sizes)
    if content is not None:
        if len(content) != count * target.itemsize:
            raise ValueError(f"{len(content)} bytes for {count} elements of {dtype.name}")
        return np.frombuffer(content, target.newbyteorder("<")).astype(target).reshape(sizes)
    flat = np.concatenate(lists) if lists else np.zeros(0, target)
    if dtype.name == "float16" and lists:
        flat = flat.astype(np.uint16).view(np.float16)
    if flat.dtype.kind == "c" and target.kind != "c":
        raise ValueError(f"a list of complex numbers in a TensorProto of {dtype.name}")
    return _filled(flat.astype(target), count, target.type(0)).reshape(sizes)


def _filled(flat: Any, count: int, zero: Any) -> Any:
    """A TensorProto may leave out values that repeat the last one."""
    if len(flat) == count:
        return flat
    if len(flat) > count:
        raise ValueError(f"{len(flat)} values for {count} elements")
    if count * flat.dtype.itemsize > max_unpacked_bytes():
        what = f"a tensor of {count:,} elements, of which {len(flat)} are there,"
        raise ValueError(too_large(what))
    out = np.empty(count, flat.dtype)
    out[: len(flat)] = flat
    out[len(flat) :] = flat[-1] if len(flat) else zero
    return out
