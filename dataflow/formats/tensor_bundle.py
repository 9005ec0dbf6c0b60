"""Read checkpoints that TensorFlow wrote (format V2): ``<prefix>.index`` and ``<prefix>.data-*``.

The index is a sorted table from tensor name to where in which data file its bytes are, their dtype,
shape and checksum; a variable in partitions has an entry without bytes that lists its slices, and
one entry for each slice. Sources: tensor_bundle.proto, and the comments of TensorFlow's
tensor_bundle.cc. Needs NumPy only.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataflow.errors import DataLossError, NotFoundError, UnimplementedError
from dataflow.formats.crc32c import crc32c, mask
from dataflow.formats.local_paths import local_path
from dataflow.formats.ordered_code import Extent, slice_key
from dataflow.formats.protobuf_wire import BYTES, VARINT, WireError, fields, read_varint, signed
from dataflow.formats.sstable import read_table

_Array = np.ndarray[Any, Any]

_STRING, _BFLOAT16 = 7, 14
# Numbers of tensorflow/core/framework/types.proto; the quantized types are stored as integers.
_DTYPES: dict[int, tuple[str, str | None]] = {
    1: ("float32", "f4"),
    2: ("float64", "f8"),
    3: ("int32", "i4"),
    4: ("uint8", "u1"),
    5: ("int16", "i2"),
    6: ("int8", "i1"),
    _STRING: ("string", None),
    8: ("complex64", "c8"),
    9: ("int64", "i8"),
    10: ("bool", "?"),
    11: ("qint8", "i1"),
    12: ("quint8", "u1"),
    13: ("qint32", "i4"),
    _BFLOAT16: ("bfloat16", "u2"),
    15: ("qint16", "i2"),
    16: ("quint16", "u2"),
    17: ("uint16", "u2"),
    18: ("complex128", "c16"),
    19: ("float16", "f2"),
    22: ("uint32", "u4"),
    23: ("uint64", "u8"),
}

#: First and last index (exclusive) along each axis.
_Bounds = list[tuple[int, int]]


@dataclass
class Entry:
    """What an index says of a tensor, or of a slice of one (a BundleEntryProto)."""

    dtype: int = 0
    shape: tuple[int, ...] = ()
    shard: int = 0
    offset: int = 0
    num_bytes: int = 0
    crc: int = 0
    slices: list[tuple[Extent, ...]] = field(default_factory=list)

    @property
    def dtype_name(self) -> str:
        """As dataflow calls it."""
        return _DTYPES[self.dtype][0] if self.dtype in _DTYPES else f"dtype {self.dtype}"

    @property
    def array_dtype(self) -> np.dtype[Any]:
        """Of the array that is read."""
        if self.dtype == _STRING:
            return np.dtype(object)
        return np.dtype("f4" if self.dtype == _BFLOAT16 else _DTYPES[self.dtype][1])


def data_file(prefix: str, shard: int, num_shards: int) -> str:
    """The file with the bytes of one shard."""
    return f"{prefix}.data-{shard:05d}-of-{num_shards:05d}"


def is_tensor_bundle(prefix: str | os.PathLike[str]) -> bool:
    """Whether TensorFlow's Saver wrote a checkpoint under this prefix."""
    return os.path.isfile(local_path(prefix) + ".index")


class TensorBundleReader:
    """The tensors of a TensorFlow checkpoint, read one by one; a context manager.

    Args:
        prefix: the path without ``.index``, as `latest_checkpoint` returns it.

    Raises:
        NotFoundError: there is no ``<prefix>.index``.
        DataLossError: it is damaged or is no checkpoint.
    """

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        self._prefix = local_path(prefix).removesuffix(".index")
        path = self._prefix + ".index"
        if not os.path.isfile(path):
            raise NotFoundError(
                message=f"{self._prefix}: no such TensorFlow checkpoint: {path} does not exist."
            )
        table = read_table(path)
        try:
            self._num_shards, self._byte_order = self._header(path, table.pop(b"", None))
            self._slices = {key: value for key, value in table.items() if key.startswith(b"\0")}
            self._entries = {
                key.decode("utf-8"): _entry(value)
                for key, value in table.items()
                if not key.startswith(b"\0")
            }
        except (WireError, UnicodeDecodeError) as error:
            raise DataLossError(message=f"{path}: an entry is damaged: {error}.") from error

    @staticmethod
    def _header(path: str, data: bytes | None) -> tuple[int, str]:
        if data is None:
            raise DataLossError(message=f"{path}: a table, but no checkpoint: it has no header.")
        num_shards, endianness = 1, 0
        for number, kind, value in fields(data):
            if kind != VARINT:
                continue
            if number == 1:
                num_shards = value
            elif number == 2:
                endianness = value
        return num_shards, "big" if endianness == 1 else "little"

    def __enter__(self) -> TensorBundleReader:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open between reads."""

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def keys(self) -> list[str]:
        """The names of all tensors, sorted."""
        return list(self._entries)

    def has_tensor(self, name: str) -> bool:
        """Whether the checkpoint holds a tensor of this name."""
        return name in self._entries

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Name to shape; a partitioned variable has the shape of the whole."""
        return {name: list(entry.shape) for name, entry in self._entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, str]:
        """Name to the name of the dtype as stored, for example ``"float32"``."""
        return {name: entry.dtype_name for name, entry in self._entries.items()}

    def get_tensor(self, name: str) -> _Array:
        """The tensor as an array; the parts of a partitioned variable are put together.

        bfloat16 comes as float32 (exact); strings as an object array of bytes.

        Raises:
            NotFoundError: there is no tensor of this name.
            DataLossError: its bytes are damaged or missing.
            UnimplementedError: its dtype cannot be represented in NumPy.
        """
        # A saver's own keys may end so: `Saver({v.name: v})`.
        name = name if name in self._entries else name.removesuffix(":0")
        if name not in self._entries:
            close = ", ".join(self._similar(name)) or "none with a name like it"
            raise NotFoundError(
                message=f"{self._prefix}: there is no tensor {name!r} among the "
                f"{len(self._entries)} of the checkpoint; there is: {close}."
            )
        entry = self._entries[name]
        return self._part(name, entry, tuple(slice(0, size) for size in entry.shape))

    def get_part(self, name: str, part: tuple[slice, ...]) -> _Array:
        """The elements ``part`` of a tensor that is there: a slice with start and stop for each axis.

        Of a variable in partitions, only the slices that have some of them are read. Raises as
        `get_tensor`.
        """
        return self._part(name, self._entries[name], part)

    def stored_parts(self, name: str) -> list[tuple[Extent, ...]]:
        """Which slices of a tensor the checkpoint has; empty for a tensor that is stored as a whole."""
        return list(self._entries[name].slices)

    def entries(self) -> Iterator[tuple[bytes, Entry]]:
        """The keys of the index and what is there, slices included."""
        for name, entry in self._entries.items():
            yield name.encode(), entry
        for key, value in self._slices.items():
            yield key, _entry(value)

    def data_files(self) -> list[str]:
        """The files with the bytes, by the number of the shard."""
        return [self._data_file(i) for i in range(self._num_shards)]

    def _data_file(self, shard: int) -> str:
        return data_file(self._prefix, shard, self._num_shards)

    def _part(self, name: str, entry: Entry, part: tuple[slice, ...]) -> _Array:
        if entry.dtype not in _DTYPES:
            raise UnimplementedError(
                message=f"{self._prefix}: tensor {name!r} has {entry.dtype_name} of types.proto, "
                "which NumPy cannot hold."
            )
        shape = tuple(s.stop - s.start for s in part)
        if not entry.slices:
            whole = self._read(name, entry)
            return whole if shape == whole.shape else np.ascontiguousarray(whole[part])
        overlaps = self._overlaps(name, entry, part)
        covered = sum(math.prod(b - a for a, b in common) for _, _, common in overlaps)
        if covered != math.prod(shape):  # before memory is taken for what an index may claim
            raise DataLossError(
                message=f"{self._prefix}: of {name!r} only {covered:,} of {math.prod(shape):,} elements "
                f"are there, in {len(entry.slices)} parts."
            )
        result = np.empty(shape, entry.array_dtype)
        for extents, bounds, common in overlaps:
            stored = self._read_slice(name, extents)
            if stored.shape != tuple(b - a for a, b in bounds) or stored.dtype != result.dtype:
                raise DataLossError(
                    message=f"{self._prefix}: the part {extents} of {name!r} is {stored.dtype} of shape "
                    f"{list(stored.shape)}."
                )
            if len(overlaps) == 1 and stored.shape == shape:
                return stored
            source, target = [], []
            for (start, stop), (first, _), whole_axis in zip(common, bounds, part, strict=True):
                source.append(slice(start - first, stop - first))
                target.append(slice(start - whole_axis.start, stop - whole_axis.start))
            result[tuple(target)] = stored[tuple(source)]
        return result

    def _overlaps(
        self, name: str, entry: Entry, part: tuple[slice, ...]
    ) -> list[tuple[tuple[Extent, ...], _Bounds, _Bounds]]:
        """The stored slices that have elements of ``part``: where each is, and what is common."""
        found = []
        for extents in entry.slices:
            if len(extents) != len(part):
                raise DataLossError(
                    message=f"{self._prefix}: a part of {name!r} has {len(extents)} axes, the "
                    f"tensor {len(part)}."
                )
            bounds = [
                (start, size if length is None else start + length)
                for (start, length), size in zip(extents, entry.shape, strict=True)
            ]
            common = [
                (max(a, s.start), min(b, s.stop)) for (a, b), s in zip(bounds, part, strict=True)
            ]
            if all(a < b for a, b in common):
                found.append((extents, bounds, common))
        return found

    def _similar(self, name: str) -> list[str]:
        import difflib

        return [repr(other) for other in difflib.get_close_matches(name, self._entries, n=3)]

    def _read_slice(self, name: str, extents: tuple[Extent, ...]) -> _Array:
        key = slice_key(name, extents)
        if key not in self._slices:
            raise DataLossError(
                message=f"{self._prefix}: tensor {name!r} lacks its part {extents}."
            )
        return self._read(f"{name} (part {extents})", _entry(self._slices[key]))

    def _read(self, name: str, entry: Entry) -> _Array:
        path = self._data_file(entry.shard)
        end = entry.offset + entry.num_bytes
        try:
            with open(path, "rb") as opened:
                file_bytes = os.fstat(opened.fileno()).st_size
                if end > file_bytes:
                    raise DataLossError(
                        message=f"{path}: tensor {name!r} needs bytes {entry.offset} to {end}, but the "
                        f"file has {file_bytes}. It was truncated."
                    )
                opened.seek(entry.offset)
                raw = bytearray(entry.num_bytes)
                opened.readinto(raw)
        except FileNotFoundError as error:
            raise DataLossError(
                message=f"{path}: this part of the checkpoint is missing; {name!r} is in it. "
                "Copy the .data files along with the .index file."
            ) from error
        if entry.dtype == _STRING:
            return self._strings(path, name, entry, bytes(raw))
        self._check(path, name, entry, crc32c(raw))
        stored = np.dtype(str(_DTYPES[entry.dtype][1]))
        num_needed = int(np.prod(entry.shape, dtype=np.int64)) * stored.itemsize
        if num_needed != entry.num_bytes:
            raise DataLossError(
                message=f"{path}: tensor {name!r} has {entry.num_bytes} bytes, but {stored} of "
                f"shape {list(entry.shape)} is {num_needed}."
            )
        array = np.frombuffer(raw, stored).reshape(entry.shape)
        if self._byte_order != sys.byteorder:
            array = array.byteswap()
        if entry.dtype == _BFLOAT16:
            return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return array

    def _strings(self, path: str, name: str, entry: Entry, raw: bytes) -> _Array:
        """Varint lengths, a checksum of them as fixed-size integers, then the bytes."""
        count = int(np.prod(entry.shape, dtype=np.int64))
        lengths, position = [], 0
        try:
            for _ in range(count):
                length, position = read_varint(raw, position)
                lengths.append(length)
        except WireError as error:
            raise DataLossError(
                message=f"{path}: the lengths of the strings of {name!r} are damaged: {error}."
            ) from error
        crc = 0
        for length in lengths:
            size = 4 if length < 1 << 32 else 8
            crc = crc32c(length.to_bytes(size, self._byte_order), crc)  # type: ignore[arg-type]
        self._check(path, name, entry, crc32c(raw[position:], crc))
        position += 4
        array = np.empty(count, object)
        for i, length in enumerate(lengths):
            array[i] = raw[position : position + length]
            position += length
        return array.reshape(entry.shape)

    @staticmethod
    def _check(path: str, name: str, entry: Entry, crc: int) -> None:
        if mask(crc) != entry.crc:
            raise DataLossError(
                message=f"{path}: tensor {name!r} is damaged: its CRC is 0x{mask(crc):08x}, stored "
                f"is 0x{entry.crc:08x}."
            )


def _entry(data: bytes) -> Entry:
    """A BundleEntryProto."""
    entry = Entry()
    names = {1: "dtype", 3: "shard", 4: "offset", 5: "num_bytes", 6: "crc"}
    for number, kind, value in fields(data):
        if number in names and kind != BYTES:
            setattr(entry, names[number], value)
        elif number == 2 and kind == BYTES:
            entry.shape = tuple(_dimensions(value))
        elif number == 7 and kind == BYTES:
            entry.slices.append(tuple(_extents(value)))
    return entry


def _dimensions(shape: bytes) -> Iterator[int]:
    for number, kind, value in fields(shape):
        if number == 2 and kind == BYTES:
            yield next((signed(n) for i, k, n in fields(value) if i == 1 and k == VARINT), 0)


def _extents(slice_proto: bytes) -> Iterator[Extent]:
    for number, kind, value in fields(slice_proto):
        if number == 1 and kind == BYTES:
            parts = {n: signed(v) for n, k, v in fields(value) if k == VARINT}
            yield parts.get(1, 0), parts.get(2)
