"""PNG files of 16 bits a channel, which Pillow reads and writes in one channel only.

Source: PNG specification, third edition, https://www.w3.org/TR/png-3 (chunks: section 5, filters: section 9).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: The number of channels of a color type, without the types that have a palette.
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
_COLOR_TYPES = {channels: color for color, channels in CHANNELS.items()}


def encode(pixels: Any, level: int) -> bytes:
    """uint16 [height, width, 1 to 4] as a PNG file; ``level``: 0 to 9, how hard to compress."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels * 2), np.uint8)  # byte 0: the row is not filtered
    big_endian = np.ascontiguousarray(pixels, ">u2").reshape(height, width * channels)
    rows[:, 1:] = big_endian.view(np.uint8)
    return png_file(rows, width, 16, _COLOR_TYPES[channels], level)


def png_file(rows: Any, width: int, bits: int, color_type: int, level: int) -> bytes:
    """A PNG file of ``rows``, uint8 [height, bytes of a row], each of which begins with its filter."""
    header = struct.pack(">IIBBBBB", width, len(rows), bits, color_type, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b"")
    return SIGNATURE + b"".join(_chunk(kind, body) for kind, body in chunks)


def is_gray_with_alpha(data: bytes) -> bool:
    """Whether a file has 16 bits of gray and of alpha, which Pillow takes for colors."""
    return data.startswith(SIGNATURE) and data[24:26] == b"\x10\x04"


def decode(data: bytes) -> Any:
    """The pixels, uint16 [height, width, channels]; None for what Pillow should read.

    That is a file of other than 16 bits a channel, an interlaced one, and one with a transparent
    color. Raises `ValueError` for a damaged file.
    """
    if not data.startswith(SIGNATURE):
        return None
    header, packed = b"", []
    for kind, body in chunks(data):
        if kind == b"IHDR":
            header = body
            if len(header) != 13 or header[8] != 16 or header[12] or header[9] not in CHANNELS:
                return None
        elif kind == b"tRNS":
            return None
        elif kind == b"IDAT":
            packed.append(body)
    if not header:
        raise ValueError("a PNG file without a header")
    width, height = struct.unpack(">II", header[:8])
    channels = CHANNELS[header[9]]
    size = height * (1 + width * channels * 2)
    try:
        rows = zlib.decompressobj().decompress(b"".join(packed), size)
    except zlib.error as e:
        raise ValueError(f"a damaged PNG file: {e}") from e
    if len(rows) != size:
        raise ValueError(f"a PNG file that is cut short: {len(rows)} of {size} bytes of pixels")
    filtered = np.frombuffer(rows, np.uint8).reshape(height, -1)
    bytes_ = _unfiltered(filtered, channels * 2)
    return bytes_.view(">u2").astype(np.uint16).reshape(height, width, channels)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kind and the contents of each chunk. Raises `ValueError` where the file ends within one."""
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if len(body) < length:
            raise ValueError("a PNG file that is cut short")
        yield kind, body
        at += 12 + length


def _unfiltered(rows: Any, pixel: int) -> Any:
    """The bytes of each row from its filter's; ``pixel`` is the number of bytes of one."""
    out = np.zeros((len(rows), rows.shape[1] - 1), np.uint8)
    above = np.zeros(out.shape[1], np.uint8)
    for y, row in enumerate(rows):
        kind, line = int(row[0]), row[1:]
        if kind == 0:
            out[y] = line
        elif kind == 1:
            out[y] = line.reshape(-1, pixel).cumsum(0, dtype=np.uint8).reshape(-1)
        elif kind == 2:
            out[y] = line + above
        elif kind in (3, 4):
            predict = _average if kind == 3 else _paeth
            out[y] = _predicted(line.tobytes(), above.tobytes(), pixel, predict)
        else:
            raise ValueError(f"a damaged PNG file: there is no filter {kind}")
        above = out[y]
    return out


def _predicted(line: bytes, above: bytes, pixel: int, predict: Any) -> Any:
    done = bytearray(pixel)  # the pixel to the left of the first one is 0
    over = bytes(pixel) + above
    for i, value in enumerate(line):
        done.append((value + predict(done[i], over[i + pixel], over[i])) & 255)
    return np.frombuffer(done, np.uint8)[pixel:]


def _average(left: int, up: int, _: int) -> int:
    return (left + up) >> 1


def _paeth(left: int, up: int, corner: int) -> int:
    """Whichever of the three neighbors is nearest to ``left + up - corner``."""
    by_left, by_up = abs(up - corner), abs(left - corner)
    by_corner = abs(left + up - 2 * corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner
