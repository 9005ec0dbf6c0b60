"""gzip and zlib: unpacked in pieces, and no further than to a limit.

A thousand bytes can unpack to a million, and 2 MB to 2 GB. Files are streams, of which any length may be
read; what must be whole in memory (a string, a line, a record) may have `max_unpacked_bytes` at most:
64 MiB, or what the environment variable ``DATAFLOW_MAX_UNPACKED_BYTES`` says.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

from dataflow.errors import DataLossError, InvalidArgumentError

VARIABLE = "DATAFLOW_MAX_UNPACKED_BYTES"
_DEFAULT_BYTES = 64 << 20
_PIECE_BYTES = 1 << 16
#: zlib's name of each format (``wbits``).
_WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}


def max_unpacked_bytes() -> int:
    """The largest string, line or record that compressed data may become, in bytes."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return _DEFAULT_BYTES
    if not (text.isascii() and text.isdecimal()):
        raise InvalidArgumentError(message=f"{VARIABLE} must be a number of bytes, got {text!r}.")
    return int(text)


def too_large(what: str) -> str:
    """The sentence that refuses ``what``."""
    return (
        f"{what} is larger than {max_unpacked_bytes():,} bytes when it is unpacked. If it is to be, "
        f"set the environment variable {VARIABLE} to what it may have"
    )


class _Unpacker:
    """The data of a compressed stream, piece by piece."""

    def __init__(self, source: IO[bytes], kind: str) -> None:
        self._source = source
        self._kind = kind
        self._waiting = b""
        self._stream: Any = None
        self._num_streams = 0

    def piece(self, most: int) -> bytes:
        """Up to ``most`` bytes, none at the end.

        Raises `EOFError` where the stream ends early, and `zlib.error` where it is damaged.
        """
        while True:
            if self._stream is None or self._stream.eof:
                if not self._next_stream():
                    return b""
            packed = self._waiting or self._source.read(_PIECE_BYTES)
            if not packed:
                raise EOFError("the compressed data ends early")
            data: bytes = self._stream.decompress(packed, most)
            self._waiting = (
                self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            )
            if data:
                return data

    def _next_stream(self) -> bool:
        """Begins the first stream, or the next where a gzip file holds several."""
        if self._num_streams:
            if self._kind != "GZIP":
                return False
            # Zeros may fill the end of a file.
            self._waiting = self._waiting.lstrip(b"\0")
            while not self._waiting:
                more = self._source.read(_PIECE_BYTES)
                if not more:
                    return False
                self._waiting = more.lstrip(b"\0")
        elif self._kind == "GZIP":  # an empty file unpacks to nothing
            self._waiting = self._source.read(_PIECE_BYTES)
            if not self._waiting:
                return False
        self._stream = zlib.decompressobj(_WINDOW_BITS[self._kind])
        self._num_streams += 1
        return True


def unpack(data: bytes, kind: str) -> bytes:
    """All that ``data`` unpacks to; ``kind`` is "GZIP" or "ZLIB".

    Raises `InvalidArgumentError` for damaged data, and for more than `max_unpacked_bytes`.
    """
    limit = max_unpacked_bytes()
    unpacker = _Unpacker(io.BytesIO(data), kind)
    pieces: list[bytes] = []
    total = 0
    try:
        while piece := unpacker.piece(limit + 1 - total):
            pieces.append(piece)
            total += len(piece)
            if total > limit:
                raise InvalidArgumentError(
                    message=f"{too_large(f'what {len(data):,} bytes hold')}."
                )
    except (EOFError, zlib.error) as error:
        raise InvalidArgumentError(
            message=f"cannot unpack {len(data):,} bytes as {kind}: {error}."
        ) from error
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class _UnpackedFile(io.RawIOBase):
    def __init__(self, source: IO[bytes], kind: str) -> None:
        super().__init__()
        self._source = source
        self._unpacker = _Unpacker(source, kind)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._unpacker.piece(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()


def unpacked_file(source: IO[bytes], kind: str) -> IO[bytes]:
    """What is in the open file ``source``, as a file; with "" the file itself.

    Reading raises `EOFError` or `zlib.error` where it is damaged. Closing closes ``source`` too.
    """
    if not kind:
        return source
    return io.BufferedReader(_UnpackedFile(source, kind), 1 << 17)


def lines(path: str, file: IO[bytes], kind: str) -> Iterator[bytes]:
    """The lines of `unpacked_file`; raises `DataLossError` for a damaged file or an endless line."""
    if not kind:
        yield from file
        return
    limit = max_unpacked_bytes()
    number = 0
    while True:
        number += 1
        try:
            line = file.readline(limit + 1)
        except (EOFError, zlib.error) as error:
            raise DataLossError(
                message=f"{path}: cannot unpack line {number} as {kind}: {error}."
            ) from error
        if not line:
            return
        if len(line) > limit:
            raise DataLossError(message=f"{path}: {too_large(f'line {number}')}.")
        yield line
