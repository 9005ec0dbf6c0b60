"""Read checkpoints that TensorFlow wrote (format V2): ``<prefix>.index`` and ``<prefix>.data-*``.

The index is a sorted table from tensor name to where in which data file its bytes are, their dtype,
shape and checksum; a variable in partitions has an entry without bytes that lists its slices, and
one entry for each slice. Sources: tensor_bundle.proto, and the comments of TensorFlow's
tensor_bundle.cc and ordered_code.cc. Needs NumPy only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataflow.errors import DataLossError, NotFoundError, UnimplementedError
from dataflow.formats.crc32c import crc32c, mask
from dataflow.formats.local_paths import local_path
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

# One dimension of a slice: its first index, and its length (None for the whole dimension).
_Extent = tuple[int, int | None]


@dataclass
class _Entry:
    dtype: int = 0
    shape: tuple[int, ...] = ()
    shard: int = 0
    offset: int = 0
    num_bytes: int = 0
    crc: int = 0
    slices: list[tuple[_Extent, ...]] = field(default_factory=list)

    @property
    def dtype_name(self) -> str:
        return _DTYPES[self.dtype][0] if self.dtype in _DTYPES else f"dtype {self.dtype}"


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
        name = name.removesuffix(":0")
        if name not in self._entries:
            close = ", ".join(self._similar(name)) or "none with a name like it"
            raise NotFoundError(
                message=f"{self._prefix}: there is no tensor {name!r} among the "
                f"{len(self._entries)} of the checkpoint; there is: {close}."
            )
        entry = self._entries[name]
        if entry.dtype not in _DTYPES:
            raise UnimplementedError(
                message=f"{self._prefix}: tensor {name!r} has {entry.dtype_name} of types.proto, "
                "which NumPy cannot hold."
            )
        if not entry.slices:
            return self._read(name, entry)
        parts = [self._read_slice(name, extents) for extents in entry.slices]
        whole = np.empty(entry.shape, parts[0].dtype)
        for extents, part in zip(entry.slices, parts, strict=True):
            whole[tuple(_python_slice(extent) for extent in extents)] = part
        return whole

    def _similar(self, name: str) -> list[str]:
        import difflib

        return [repr(other) for other in difflib.get_close_matches(name, self._entries, n=3)]

    def _read_slice(self, name: str, extents: tuple[_Extent, ...]) -> _Array:
        key = _slice_key(name, extents)
        if key not in self._slices:
            raise DataLossError(
                message=f"{self._prefix}: tensor {name!r} lacks its part {extents}."
            )
        return self._read(f"{name} (part {extents})", _entry(self._slices[key]))

    def _read(self, name: str, entry: _Entry) -> _Array:
        path = f"{self._prefix}.data-{entry.shard:05d}-of-{self._num_shards:05d}"
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
                raw = opened.read(entry.num_bytes)
        except FileNotFoundError as error:
            raise DataLossError(
                message=f"{path}: this part of the checkpoint is missing; {name!r} is in it. "
                "Copy the .data files along with the .index file."
            ) from error
        if entry.dtype == _STRING:
            return self._strings(path, name, entry, raw)
        self._check(path, name, entry, crc32c(raw))
        stored = np.dtype(str(_DTYPES[entry.dtype][1]))
        num_needed = int(np.prod(entry.shape, dtype=np.int64)) * stored.itemsize
        if num_needed != entry.num_bytes:
            raise DataLossError(
                message=f"{path}: tensor {name!r} has {entry.num_bytes} bytes, but {stored} of "
                f"shape {list(entry.shape)} is {num_needed}."
            )
        array = np.frombuffer(raw, stored).reshape(entry.shape)
        array = array.byteswap() if self._byte_order != sys.byteorder else array.copy()
        if entry.dtype == _BFLOAT16:
            return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return array

    def _strings(self, path: str, name: str, entry: _Entry, raw: bytes) -> _Array:
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
    def _check(path: str, name: str, entry: _Entry, crc: int) -> None:
        if mask(crc) != entry.crc:
            raise DataLossError(
                message=f"{path}: tensor {name!r} is damaged: its CRC is 0x{mask(crc):08x}, stored "
                f"is 0x{entry.crc:08x}."
            )


def _entry(data: bytes) -> _Entry:
    """A BundleEntryProto."""
    entry = _Entry()
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


def _extents(slice_proto: bytes) -> Iterator[_Extent]:
    for number, kind, value in fields(slice_proto):
        if number == 1 and kind == BYTES:
            parts = {n: signed(v) for n, k, v in fields(value) if k == VARINT}
            yield parts.get(1, 0), parts.get(2)


def _python_slice(extent: _Extent) -> slice:
    start, length = extent
    return slice(None) if length is None else slice(start, start + length)


def _slice_key(name: str, extents: tuple[_Extent, ...]) -> bytes:
    """The key of one part: 0, the name, the rank, and (start, length) of each dimension.

    The numbers and the string are in "ordered code", whose bytes sort as the values do.
    """
    escaped = name.encode().replace(b"\0", b"\0\xff").replace(b"\xff", b"\xff\0")
    key = _ordered_unsigned(0) + escaped + b"\0\1" + _ordered_unsigned(len(extents))
    for start, length in extents:
        key += _ordered_signed(start) + _ordered_signed(-1 if length is None else length)
    return key


def _ordered_unsigned(value: int) -> bytes:
    """The number of bytes, then the bytes, big-endian, without leading zeros."""
    num_bytes = (value.bit_length() + 7) // 8
    return bytes([num_bytes]) + value.to_bytes(num_bytes, "big")


def _ordered_signed(value: int) -> bytes:
    """Big-endian in the fewest n bytes of 7 n bits, sign included, the first n bits flipped.

    Flipping the sign makes negative numbers sort before positive ones.
    """
    magnitude = ~value if value < 0 else value
    num_bytes = magnitude.bit_length() // 7 + 1
    bits = 8 * num_bytes
    header = ((1 << num_bytes) - 1) << (bits - num_bytes)
    return ((value & ((1 << bits) - 1)) ^ header).to_bytes(num_bytes, "big")
