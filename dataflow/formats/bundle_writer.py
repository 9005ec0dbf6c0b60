"""Write checkpoints as TensorFlow does (format V2): ``<prefix>.index`` and ``<prefix>.data-00000-of-00001``.

What `tensor_bundle` reads, the other way round; see there and in `sstable` for the layout.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dataflow.formats.atomic_files import write_atomically
from dataflow.formats.crc32c import crc32c, mask, masked_crc32c
from dataflow.formats.local_paths import local_path
from dataflow.formats.protobuf_wire import bytes_field, varint_field, write_varint
from dataflow.formats.sstable import MAGIC

_BLOCK_BYTES = 4096
_RESTART_INTERVAL = 16
_STRING, _BFLOAT16 = 7, 14
_NUMBERS = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8,
    "int64": 9, "bool": 10, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip


def write_bundle(prefix: str | os.PathLike[str], tensors: Mapping[str, Any]) -> None:
    """Writes arrays (numbers, or texts as bytes) under their names; the index last.

    So a write that is interrupted leaves no checkpoint that looks whole. Raises `TypeError` for an
    array that is neither numbers nor texts.
    """
    path = local_path(prefix)
    data, entries = bytearray(), [(b"", _header())]
    for name in sorted(tensors, key=lambda n: n.encode()):
        number, shape, raw, crc = _encoded(name, tensors[name])
        entry = varint_field(1, number) + bytes_field(2, _shape(shape))
        if data:
            entry += varint_field(4, len(data))
        entry += varint_field(5, len(raw)) + b"\x35" + mask(crc).to_bytes(4, "little")
        entries.append((name.encode(), entry))
        data += raw
    write_atomically(f"{path}.data-00000-of-00001", bytes(data))
    write_atomically(f"{path}.index", _table(entries))


def _header() -> bytes:
    """One data file, little-endian, version 1 of the format."""
    return varint_field(1, 1) + bytes_field(3, varint_field(1, 1))


def _shape(shape: tuple[int, ...]) -> bytes:
    return b"".join(bytes_field(2, varint_field(1, size)) for size in shape)


def _encoded(name: str, value: Any) -> tuple[int, tuple[int, ...], bytes, int]:
    """The number of the dtype, the shape, the bytes and their checksum."""
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return _STRING, array.shape, *_texts(name, array)
    number = _BFLOAT16 if array.dtype.name == "bfloat16" else _NUMBERS.get(array.dtype.name)
    if number is None:
        raise TypeError(f"{name!r} has dtype {array.dtype}, which checkpoints do not hold.")
    raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return number, array.shape, raw, crc32c(raw)


def _texts(name: str, array: Any) -> tuple[bytes, int]:
    items = [t.encode() if isinstance(t, str) else t for t in array.ravel().tolist()]
    wrong = [t for t in items if not isinstance(t, bytes)]
    if wrong:
        raise TypeError(f"{name!r} holds {wrong[0]!r}; needed are numbers, or texts only.")
    crc = 0
    for item in items:
        crc = crc32c(len(item).to_bytes(4, "little"), crc)
    check = mask(crc).to_bytes(4, "little")
    texts = b"".join(items)
    crc = crc32c(check + texts, crc)
    return b"".join(write_varint(len(item)) for item in items) + check + texts, crc


def _table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A sorted table of entries in order: data blocks, an empty metaindex, the index, the footer."""
    out, handles = bytearray(), []
    pending: list[tuple[bytes, bytes]] = []
    size = 0

    def put(block: bytes) -> bytes:
        handle = write_varint(len(out)) + write_varint(len(block))
        out.extend(block + b"\0" + masked_crc32c(block + b"\0").to_bytes(4, "little"))
        return handle

    for key, value in entries:
        pending.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK_BYTES:
            handles.append((pending[-1][0], put(_block(pending))))
            pending, size = [], 0
    if pending:
        handles.append((pending[-1][0], put(_block(pending))))
    meta = put(_block([]))
    footer = meta + put(_block(handles, restart_interval=1))
    return bytes(out) + footer.ljust(40, b"\0") + MAGIC.to_bytes(8, "little")


def _block(entries: list[tuple[bytes, bytes]], restart_interval: int = _RESTART_INTERVAL) -> bytes:
    out, restarts, last = bytearray(), [0], b""
    for i, (key, value) in enumerate(entries):
        shared = 0
        if i % restart_interval:
            shared = _shared(last, key)
        elif i:
            restarts.append(len(out))
        out += write_varint(shared) + write_varint(len(key) - shared) + write_varint(len(value))
        out += key[shared:] + value
        last = key
    for position in [*restarts, len(restarts)]:
        out += position.to_bytes(4, "little")
    return bytes(out)


def _shared(a: bytes, b: bytes) -> int:
    """How many bytes both begin with."""
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
