"""TFRecord files: byte strings one after the other, each with its length and two checksums.

A record is its length (8 bytes, little-endian), the masked CRC-32C of those 8 bytes, the data, and
the masked CRC-32C of the data. A file may be compressed as a whole with gzip or zlib.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any

from dataflow.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from dataflow.formats.compression import max_unpacked_bytes, too_large, unpacked_file
from dataflow.formats.crc32c import masked_crc32c
from dataflow.formats.local_paths import local_path

_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_PIECE_BYTES = 1 << 22

Path = str | os.PathLike[str]


class TFRecordCompressionType:
    """Numbers of the compressions, as TensorFlow 1 has them."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {
    TFRecordCompressionType.NONE: "",
    TFRecordCompressionType.ZLIB: "ZLIB",
    TFRecordCompressionType.GZIP: "GZIP",
}


class TFRecordOptions:
    """How a TFRecord file is compressed.

    ``compression_type`` is a `TFRecordCompressionType`, or one of ``""``, ``"ZLIB"``, ``"GZIP"``;
    ``compression_level`` is 0 to 9, or -1 for the library's choice. ``window_bits`` (9 to 15),
    ``mem_level`` (1 to 9) and ``compression_strategy`` are zlib's, and count for ``"ZLIB"``. The sizes of
    buffers, ``flush_mode`` and ``compression_method`` (deflate is the only one) change no file.

    Raises `ValueError` for a compression that there is not.
    """

    compression_type_map = _NAMES

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        try:
            compression_name(compression_type)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from error
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """``""``, ``"ZLIB"`` or ``"GZIP"`` for options, a number, a name, or ``None``."""
        return compression_name(options)


def compression_name(compression: Any) -> str:
    """``""``, ``"ZLIB"`` or ``"GZIP"``; raises `InvalidArgumentError` for anything else."""
    if isinstance(compression, TFRecordOptions):
        compression = compression.compression_type
    if compression is None:
        return ""
    if compression in _NAMES:
        return _NAMES[compression]
    if compression in _NAMES.values():
        return str(compression)
    raise InvalidArgumentError(
        message=f"Compression must be '', 'ZLIB' or 'GZIP' (or a TFRecordCompressionType), "
        f"got {compression!r}."
    )


class TFRecordWriter:
    """Writes records to a file; a context manager.

    Args:
        path: the file, which is overwritten.
        options: `TFRecordOptions`, or the compression itself, or ``None`` for none.
    """

    def __init__(self, path: Path, options: Any = None) -> None:
        self._path = local_path(path)
        settings = options if isinstance(options, TFRecordOptions) else TFRecordOptions()
        level = -1 if settings.compression_level is None else settings.compression_level
        name = compression_name(options)
        try:
            raw = open(self._path, "wb")  # noqa: SIM115  (closed by close)
        except FileNotFoundError as error:
            raise NotFoundError(message=f"{self._path}: its folder does not exist.") from error
        self._files: list[Any] = [raw]
        if name == "GZIP":
            self._files.insert(0, gzip.GzipFile("", "wb", 9 if level < 0 else level, raw, 0))
        elif name == "ZLIB":
            self._files.insert(0, _ZlibWriter(raw, level, settings))

    def write(self, record: bytes) -> None:
        """Append a record; `TypeError` for anything but bytes."""
        if not isinstance(record, bytes | bytearray | memoryview):
            raise TypeError(
                f"A record must be bytes, got {type(record).__name__}. "
                "Encode text, and call SerializeToString() on a message."
            )
        if not self._files:
            raise FailedPreconditionError(None, None, f"{self._path}: the writer is closed.")
        length = _LENGTH.pack(len(record))
        self._files[0].write(
            b"".join(
                (length, _CRC.pack(masked_crc32c(length)), record, _CRC.pack(masked_crc32c(record)))
            )
        )

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        for file in self._files:
            file.flush()

    def close(self) -> None:
        """Finish the file. Closing twice is allowed."""
        files, self._files = self._files, []
        with contextlib.ExitStack() as stack:
            for file in reversed(files):  # the outermost file is closed first
                stack.callback(file.close)

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _ZlibWriter:
    def __init__(self, file: IO[bytes], level: int, settings: TFRecordOptions) -> None:
        self._file = file
        self._compress = zlib.compressobj(
            level,
            zlib.DEFLATED,
            settings.window_bits or zlib.MAX_WBITS,
            settings.mem_level or zlib.DEF_MEM_LEVEL,
            settings.compression_strategy or zlib.Z_DEFAULT_STRATEGY,
        )

    def write(self, data: bytes) -> None:
        self._file.write(self._compress.compress(data))

    def flush(self) -> None:
        self._file.write(self._compress.flush(zlib.Z_SYNC_FLUSH))

    def close(self) -> None:
        self._file.write(self._compress.flush())


def tf_record_iterator(path: Path, options: Any = None) -> Iterator[bytes]:
    """The records of a TFRecord file, one by one, each checked against its checksums.

    Args:
        path: the file.
        options: `TFRecordOptions`, or the compression itself, or ``None`` for none.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: a checksum is wrong or the file ends inside a record. The message names the
            file, the record (from 0) and its byte in the uncompressed stream. Records before it
            have been given out.
    """
    name = compression_name(options)
    return _records(local_path(path), name)


def _records(path: str, compression: str) -> Iterator[bytes]:
    try:
        raw = open(path, "rb")  # noqa: SIM115  (closed by the with below)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFoundError(message=f"{path}: there is no such file.") from error
    with unpacked_file(raw, compression) as source:
        yield from RecordReader(source, path, compression)


class RecordReader:
    """Where in which file a record is read, for the messages."""

    def __init__(self, source: Any, path: str, compression: str) -> None:
        self._source = source
        self._path = path
        self._compression = compression
        self._number = 0
        self._offset_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        while header := self._read(_LENGTH.size + _CRC.size, "length", may_end=True):
            length_field, stored = header[: _LENGTH.size], header[_LENGTH.size :]
            self._check(length_field, stored, "length")
            (num_bytes,) = _LENGTH.unpack(length_field)
            if self._compression and num_bytes > max_unpacked_bytes():
                raise self._error(too_large(f"a record of {num_bytes:,} bytes"))
            if num_bytes < _PIECE_BYTES:  # with its checksum in one go
                both = self._read(num_bytes + _CRC.size, "data")
                data, stored = both[:num_bytes], both[num_bytes:]
            else:
                data, stored = self._read(num_bytes, "data"), self._read(_CRC.size, "checksum")
            self._check(data, stored, "data")
            yield data
            self._number += 1
            self._offset_bytes += len(header) + num_bytes + _CRC.size

    def _read(self, num_bytes: int, what: str, may_end: bool = False) -> bytes:
        pieces: list[bytes] = []
        have = 0
        try:
            if num_bytes < _PIECE_BYTES:
                piece = self._source.read(num_bytes)
                if len(piece) == num_bytes:
                    return piece  # type: ignore[no-any-return]
                pieces, have = [piece], len(piece)
            # In pieces: a damaged length must not ask for petabytes of memory at once.
            while have < num_bytes and (
                piece := self._source.read(min(num_bytes - have, _PIECE_BYTES))
            ):
                pieces.append(piece)
                have += len(piece)
        except (EOFError, OSError, zlib.error) as error:
            raise self._error(
                f"the file cannot be read as {self._compression or 'a plain file'}: {error}"
            ) from error
        if have < num_bytes and not (may_end and have == 0):
            raise self._error(
                f"the file ends inside the {what}: {have} of {num_bytes} bytes are there. "
                "It was truncated, or is still being written"
            )
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _check(self, data: bytes, stored: bytes, what: str) -> None:
        (needed,) = _CRC.unpack(stored)
        got = masked_crc32c(data)
        if got != needed:
            hint = ""
            if self._number == 0 and what == "length":
                hint = (
                    ". Is this a TFRecord file, and is its compression "
                    f"{self._compression or 'none'}?"
                )
            raise self._error(
                f"the CRC of its {what} is 0x{got:08x}, stored is 0x{needed:08x}" + hint
            )

    def _error(self, reason: str) -> DataLossError:
        return DataLossError(
            message=f"{self._path}: record {self._number} at byte {self._offset_bytes}: "
            f"{reason.rstrip('.')}" + ("" if reason.endswith("?") else ".")
        )
