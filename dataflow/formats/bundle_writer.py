"""Write checkpoints as TensorFlow does (format V2): ``<prefix>.index`` and ``<prefix>.data-*``.

What `tensor_bundle` reads, the other way round; see there and in `sstable` for the layout.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.formats.atomic_files import replace_together
from dataflow.formats.crc32c import crc32c, mask, masked_crc32c
from dataflow.formats.local_paths import local_path
from dataflow.formats.ordered_code import Extent, slice_key
from dataflow.formats.protobuf_wire import bytes_field, varint_field, write_varint
from dataflow.formats.sstable import MAGIC
from dataflow.formats.tensor_bundle import Entry, TensorBundleReader, data_file

_BLOCK_BYTES = 4096
_RESTART_INTERVAL = 16
_STRING, _BFLOAT16 = 7, 14
_NUMBERS = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8,
    "int64": 9, "bool": 10, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip


@dataclass
class Slices:
    """Parts of a tensor that lie in a checkpoint each by itself: where each is, and its array."""

    shape: tuple[int, ...]
    parts: list[tuple[tuple[Extent, ...], Any]]


def write_bundle(prefix: str | os.PathLike[str], tensors: Mapping[str, Any]) -> None:
    """Writes arrays (numbers, or texts as bytes), or `Slices` of them, under their names.

    Both files are whole before either takes its place, the index last: a write that is interrupted
    leaves no checkpoint that looks whole. Raises `TypeError` for an array that is neither numbers nor
    texts, `ResourceExhaustedError` for a full disk, `NotFoundError` for a folder that does not exist.
    """
    path = local_path(prefix)
    entries: dict[bytes, Entry] = {}

    def write_data(temporary: str) -> None:
        with open(temporary, "wb") as opened:
            for name in sorted(tensors, key=lambda n: n.encode()):
                value = tensors[name]
                if not isinstance(value, Slices):
                    entries[name.encode()] = _put(opened, name, value)
                    continue
                for extents, array in value.parts:
                    entry = _put(opened, name, array)
                    entries[slice_key(name, extents)] = entry
                entries[name.encode()] = Entry(
                    entry.dtype, value.shape, slices=[extents for extents, _ in value.parts]
                )

    replace_together(
        {
            data_file(path, 0, 1): write_data,
            f"{path}.index": lambda temporary: _write_index(temporary, entries, 1),
        }
    )


def merge_bundles(prefixes: Iterable[str], destination: str | os.PathLike[str]) -> int:
    """Makes one checkpoint of several: their data files become its shards, and are not copied.

    The indexes of the others are removed. Returns the number of shards. Raises `InvalidArgumentError` for two tensors of one name,
    unless they are slices of one.
    """
    path = local_path(destination)
    entries: dict[bytes, Entry] = {}
    sources: list[str] = []
    indexes: list[str] = []
    for prefix in prefixes:
        reader = TensorBundleReader(prefix)
        for key, entry in reader.entries():
            entry.shard += len(sources)
            other = entries.setdefault(key, entry)
            if other is entry:
                continue
            if not (other.slices and entry.slices) or other.shape != entry.shape:
                raise InvalidArgumentError(
                    message=f"Two tensors to save are called {key.decode(errors='replace')!r}."
                )
            other.slices += entry.slices
        sources += reader.data_files()
        indexes.append(local_path(prefix) + ".index")
    count = len(sources)
    replace_together(
        {f"{path}.index": lambda temporary: _write_index(temporary, entries, count)},
        {data_file(path, i, count): source for i, source in enumerate(sources)},
    )
    for index in indexes:
        os.remove(index)
    return count


def _write_index(path: str, entries: Mapping[bytes, Entry], num_shards: int) -> None:
    # Little-endian, version 1 of the format.
    header = varint_field(1, num_shards) + bytes_field(3, varint_field(1, 1))
    rows = [(b"", header), *((key, _message(entry)) for key, entry in sorted(entries.items()))]
    with open(path, "wb") as opened:
        opened.write(_table(rows))


def _message(entry: Entry) -> bytes:
    """A BundleEntryProto; fields of 0 are left out, as protobuf does."""
    shape = b"".join(bytes_field(2, varint_field(1, size)) for size in entry.shape)
    message = varint_field(1, entry.dtype) + bytes_field(2, shape)
    for number, value in ((3, entry.shard), (4, entry.offset), (5, entry.num_bytes)):
        if value:
            message += varint_field(number, value)
    if not entry.slices:
        message += b"\x35" + entry.crc.to_bytes(4, "little")
    for extents in entry.slices:
        message += bytes_field(7, b"".join(bytes_field(1, _extent(*e)) for e in extents))
    return message


def _extent(start: int, length: int | None) -> bytes:
    message = varint_field(1, start) if start else b""
    return message if length is None else message + varint_field(2, length)


def _put(opened: BinaryIO, name: str, value: Any) -> Entry:
    """Writes an array where the file is; says where that was."""
    array = np.asarray(value)
    offset = opened.tell()
    if array.dtype.kind in "OSU":
        raw, crc = _texts(name, array)
        opened.write(raw)
        return Entry(_STRING, array.shape, 0, offset, len(raw), mask(crc))
    number = _BFLOAT16 if array.dtype.name == "bfloat16" else _NUMBERS.get(array.dtype.name)
    if number is None:
        raise TypeError(f"{name!r} has dtype {array.dtype}, which checkpoints do not hold.")
    if number != _BFLOAT16:
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    raw_bytes = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    opened.write(raw_bytes.data)
    return Entry(number, array.shape, 0, offset, raw_bytes.nbytes, mask(crc32c(raw_bytes)))


def _texts(name: str, array: Any) -> tuple[bytes, int]:
    items = [t.encode() if isinstance(t, str) else t for t in array.ravel().tolist()]
    wrong = [t for t in items if not isinstance(t, bytes)]
    if wrong:
        raise TypeError(f"{name!r} holds {wrong[0]!r}; it must hold numbers, or strings only.")
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
