"""Named arrays in one safetensors file: written in one step, checked when read.

A file is the length of its header (8 bytes, little-endian), the header (JSON: for each name its
dtype, shape and place), and the arrays' bytes. No code is stored, so a file from elsewhere is safe
to open. Any reader of safetensors can read these files, and `read_arrays` reads any other's.

What safetensors has no dtype for is stored as numbers, and the header's metadata ``dataflow`` says
how to turn them back: strings as uint8 (the lengths as uint64, then the bytes), complex128 as pairs
of float64. The metadata also holds a CRC-32 of each array's bytes.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflow.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from dataflow.formats.atomic_files import replace_with
from dataflow.formats.local_paths import local_path

_METADATA = "__metadata__"
_OURS = "dataflow"
_FORMAT = 1
# The safetensors package refuses larger headers too.
_MAX_HEADER_BYTES = 100_000_000

_DTYPES = {
    "BOOL": "?",
    "U8": "<u1",
    "I8": "<i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "BF16": "<u2",
    "F32": "<f4",
    "F64": "<f8",
    "C64": "<c8",
}
#: What is written: as the reader's table; the dtype that NumPy has not is written as its bits.
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items() if name != "BF16"}

_Array = np.ndarray[Any, Any]
Path = str | os.PathLike[str]


@dataclass(frozen=True)
class ArrayInfo:
    """What a file says of one array: its dtype's name, as dataflow calls it, and its shape."""

    dtype: str
    shape: tuple[int, ...]


def write_arrays(
    path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> None:
    """Write the arrays to the file ``path``, replacing it in one step.

    Strings are arrays of dtype object (bytes or str), ``S`` or ``U``; str is stored as UTF-8 and
    read back as bytes.

    Args:
        path: the file.
        arrays: name to array, or to anything NumPy makes an array of.
        metadata: more text to keep in the header.

    Raises:
        UnimplementedError: an array's dtype cannot be stored; the message names it.
        ResourceExhaustedError: the disk is full. The old file is unchanged.
        NotFoundError: the folder does not exist.
    """
    stored, encodings, brain_floats = _stored(arrays)
    # Wide numbers first, as other writers do, so that each array starts where its dtype may.
    order = sorted(stored, key=lambda name: (-stored[name].itemsize, name))
    header = _header(stored, order, brain_floats)
    note = {
        "format": _FORMAT,
        "encodings": encodings,
        "crc32": {name: zlib.crc32(_raw(array)) for name, array in stored.items()},
    }
    ours = {**(metadata or {}), _OURS: json.dumps(note, separators=(",", ":"))}
    text = json.dumps(
        {_METADATA: ours, **header}, separators=(",", ":"), ensure_ascii=False
    ).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER_BYTES:
        raise InvalidArgumentError(
            message=f"{local_path(path)}: the names and shapes of {len(stored)} arrays take {len(text):,} bytes; "
            f"a safetensors file has room for {_MAX_HEADER_BYTES:,}. Save them in several files."
        )

    def write(temporary: str) -> None:
        with open(temporary, "wb") as opened:
            opened.write(len(text).to_bytes(8, "little") + text)
            for name in order:
                opened.write(_raw(stored[name]))

    replace_with(local_path(path), write)


def _stored(
    arrays: Mapping[str, Any],
) -> tuple[dict[str, _Array], dict[str, Any], set[str]]:
    """The arrays as they lie in the file, how some of them are encoded, and which are bfloat16."""
    stored: dict[str, _Array] = {}
    encodings: dict[str, Any] = {}
    brain_floats: set[str] = set()
    for name, value in arrays.items():
        if name == _METADATA:
            raise InvalidArgumentError(message=f"An array cannot be called {name!r}.")
        array = np.asarray(value, order="C")
        if array.dtype.name == "bfloat16":
            array = array.view(np.uint16)
            brain_floats.add(name)
        encoding = _encoding(name, array)
        if encoding:
            encodings[name] = encoding
            array = _encode(name, array, encoding["kind"])
        # Little-endian here, so that the CRC is of the bytes that will be in the file.
        stored[name] = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return stored, encodings, brain_floats


def _header(
    stored: dict[str, _Array], order: list[str], brain_floats: set[str]
) -> dict[str, dict[str, Any]]:
    """Dtype, shape and place of each array, which lie in this order."""
    header: dict[str, dict[str, Any]] = {}
    position = 0
    for name in order:
        array = stored[name]
        header[name] = {
            "dtype": "BF16" if name in brain_floats else _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
    return header


def _raw(array: _Array) -> Any:
    return array.reshape(-1).view(np.uint8).data


def _encoding(name: str, array: _Array) -> dict[str, Any] | None:
    if array.dtype.kind in "OSU":
        return {"kind": "string", "shape": list(array.shape)}
    if array.dtype == np.complex128:
        return {"kind": "complex128"}
    if array.dtype.newbyteorder("<") not in _NAMES:
        raise UnimplementedError(
            message=f"Array {name!r} has dtype {array.dtype}, which cannot be stored in a "
            "safetensors file. Cast it to one of bool, (u)int8 to 64, bfloat16, float16 to 64, complex64, "
            "complex128, or strings."
        )
    return None


def _encode(name: str, array: _Array, kind: str) -> _Array:
    if kind == "complex128":
        return array.reshape(*array.shape, 1).view(np.float64)
    values = []
    for value in array.reshape(-1).tolist():
        if isinstance(value, str):
            value = value.encode("utf-8")
        if not isinstance(value, bytes):
            raise UnimplementedError(
                message=f"Array {name!r} has dtype object and holds a {type(value).__name__}; "
                "only bytes and str can be stored."
            )
        values.append(value)
    lengths = np.array([len(value) for value in values], "<u8")
    return np.frombuffer(lengths.tobytes() + b"".join(values), np.uint8)


def list_arrays(path: Path) -> dict[str, ArrayInfo]:
    """Names, dtypes and shapes of the arrays in a file, without reading them; raises as
    `read_arrays`."""
    header = _Header.read(local_path(path))
    return {name: header.info(name) for name in header.places}


def read_metadata(path: Path) -> dict[str, str]:
    """The text that `write_arrays` was given as metadata, or another writer's."""
    metadata = dict(_Header.read(local_path(path)).metadata)
    metadata.pop(_OURS, None)
    return metadata


def read_arrays(path: Path, names: Iterable[str] | None = None) -> dict[str, _Array]:
    """The arrays of a file, or those of ``names``, each checked against its CRC.

    Strings come as object arrays of bytes, bfloat16 as float32 (exact).

    Raises:
        NotFoundError: there is no such file, or a name is not in it.
        DataLossError: the file is truncated, damaged, or no safetensors file.
        UnimplementedError: an array has a dtype that NumPy cannot hold.
    """
    path = local_path(path)
    header = _Header.read(path)
    wanted = list(header.places) if names is None else list(names)
    missing = [name for name in wanted if name not in header.places]
    if missing:
        raise NotFoundError(
            message=f"{path}: it does not hold {_some(missing)}.\n"
            f"  it holds: {_some(list(header.places))}"
        )
    with open(path, "rb") as opened:
        return {name: header.load(opened, name) for name in wanted}


def _some(names: list[str], limit: int = 10) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    rest = len(names) - limit
    return (shown or "nothing") + (f" and {rest} more" if rest > 0 else "")


@dataclass
class _Place:
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass
class _Encoding:
    """How an array that safetensors has no dtype for is stored, and its own shape."""

    kind: str
    shape: tuple[int, ...]

    @classmethod
    def read(cls, entry: Any, place: _Place) -> _Encoding:
        kind = entry["kind"]
        if kind == "string" and place.dtype == "U8":
            return cls(kind, tuple(map(_number, entry["shape"])))
        if kind == "complex128" and place.dtype == "F64" and place.shape[-1:] == (2,):
            return cls(kind, place.shape[:-1])
        raise ValueError(f"{kind!r} does not fit {place.dtype} of shape {list(place.shape)}")


#: What reading JSON of another form than expected raises.
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError)


def _number(value: Any) -> int:
    """A size, place or checksum of a header; raises `ValueError` for anything else."""
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"expected a non-negative number, got {repr(value)[:60]}")
    return value


def _object(value: Any) -> dict[str, Any]:
    """An object of JSON; raises `TypeError` for anything else."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {repr(value)[:60]}")
    return value


def _reason(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


class _Header:
    """A file's header, checked against itself and against the size of the file."""

    def __init__(self, path: str, places: dict[str, _Place], metadata: dict[str, str]) -> None:
        self.path = path
        self.places = places
        self.metadata = metadata
        try:
            note = json.loads(metadata.get(_OURS, "{}"))
            self.encodings = {
                name: _Encoding.read(entry, places[name])
                for name, entry in _object(note.get("encodings", {})).items()
            }
            self.crcs = {name: _number(crc) for name, crc in _object(note.get("crc32", {})).items()}
            version = note.get("format", _FORMAT)
        except _DAMAGED as error:
            raise DataLossError(
                message=f"{path}: its metadata {_OURS!r} is damaged: {_reason(error)}."
            ) from error
        if version != _FORMAT:
            raise UnimplementedError(
                message=f"{path}: written in format {version} by a newer version of dataflow; "
                f"this one reads format {_FORMAT}."
            )

    @classmethod
    def read(cls, path: str) -> _Header:
        try:
            with open(path, "rb") as opened:
                file_bytes = os.fstat(opened.fileno()).st_size
                header_bytes = int.from_bytes(opened.read(8), "little")
                if file_bytes < 8 or header_bytes > min(file_bytes - 8, _MAX_HEADER_BYTES):
                    raise _foreign(
                        path,
                        f"its header would be {header_bytes} bytes long, the file has {file_bytes}",
                    )
                text = opened.read(header_bytes)
        except (FileNotFoundError, IsADirectoryError) as error:
            raise NotFoundError(message=f"{path}: there is no such file.") from error
        try:
            content = json.loads(text.decode("utf-8"))
            metadata = _object(content.pop(_METADATA, {}))
            places = {
                name: _Place(
                    str(entry["dtype"]),
                    tuple(map(_number, entry["shape"])),
                    *(8 + header_bytes + _number(n) for n in entry["data_offsets"]),
                )
                for name, entry in content.items()
            }
        except (*_DAMAGED, RecursionError) as error:
            raise _foreign(path, f"its header cannot be read ({_reason(error)})") from error
        _check_places(path, places, 8 + header_bytes, file_bytes)
        return cls(path, places, metadata)

    def info(self, name: str) -> ArrayInfo:
        place, encoding = self.places[name], self.encodings.get(name)
        if encoding is not None:
            return ArrayInfo(encoding.kind, encoding.shape)
        if place.dtype == "BF16":
            return ArrayInfo("bfloat16", place.shape)
        if place.dtype not in _DTYPES:
            return ArrayInfo(place.dtype, place.shape)
        return ArrayInfo(np.dtype(_DTYPES[place.dtype]).name, place.shape)

    def load(self, opened: Any, name: str) -> _Array:
        place = self.places[name]
        if place.dtype not in _DTYPES:
            raise UnimplementedError(
                message=f"{self.path}: array {name!r} has dtype {place.dtype}, which NumPy cannot "
                "hold."
            )
        opened.seek(place.start)
        raw = bytearray(place.end - place.start)
        opened.readinto(raw)
        crc = zlib.crc32(raw)
        if crc != self.crcs.get(name, crc):
            raise DataLossError(
                message=f"{self.path}: array {name!r} is damaged: its CRC is 0x{crc:08x}, stored "
                f"is 0x{self.crcs[name]:08x}."
            )
        dtype = np.dtype(_DTYPES[place.dtype])
        array = np.frombuffer(raw, dtype).reshape(place.shape)
        array = array.astype(dtype.newbyteorder("="), copy=False)
        encoding = self.encodings.get(name)
        if encoding is not None:
            if encoding.kind == "string":
                return self._strings(name, bytes(raw))
            return array.view(np.complex128).reshape(encoding.shape)
        if place.dtype == "BF16":
            return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return array

    def _strings(self, name: str, raw: bytes) -> _Array:
        shape = self.encodings[name].shape
        count = math.prod(shape)
        lengths = np.frombuffer(raw[: 8 * count], "<u8").tolist()
        if len(lengths) != count or 8 * count + sum(lengths) != len(raw):
            raise DataLossError(
                message=f"{self.path}: the {count} strings of {name!r} do not fill its "
                f"{len(raw)} bytes."
            )
        array = np.empty(count, object)
        position = 8 * count
        for i, length in enumerate(lengths):
            array[i] = raw[position : position + length]
            position += length
        return array.reshape(shape)


def _check_places(path: str, places: dict[str, _Place], start: int, file_bytes: int) -> None:
    """The arrays must lie one after the other and end where the file does."""
    position = start
    for name, place in sorted(places.items(), key=lambda item: (item[1].start, item[1].end)):
        if place.start != position or place.end < place.start:
            raise _foreign(path, f"array {name!r} starts at byte {place.start}, not {position}")
        if place.dtype in _DTYPES:
            needed = math.prod(place.shape) * np.dtype(_DTYPES[place.dtype]).itemsize
            if place.end - place.start != needed:
                raise _foreign(
                    path,
                    f"array {name!r} has {place.end - place.start} bytes, {place.dtype} of shape "
                    f"{list(place.shape)} is {needed}",
                )
        position = place.end
    if position != file_bytes:
        what = "truncated" if file_bytes < position else "longer than its arrays"
        raise DataLossError(
            message=f"{path}: the file is {what}: the header speaks of {position:,} bytes, "
            f"{file_bytes:,} are there. Restore from another checkpoint."
        )


def _foreign(path: str, reason: str) -> DataLossError:
    return DataLossError(message=f"{path}: not a whole safetensors file: {reason}.")
