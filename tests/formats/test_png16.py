"""PNG files of 16 bits a channel, written and read."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest

from dataflow.formats import png16

PIXELS = np.random.RandomState(0).randint(0, 65536, [5, 4, 4]).astype(np.uint16)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_what_was_written_is_read(channels) -> None:
    pixels = PIXELS[..., :channels]
    np.testing.assert_array_equal(png16.decode(png16.encode(pixels, 6)), pixels)


def test_pillow_reads_the_high_bytes() -> None:
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(png16.encode(PIXELS[..., :3], 6)))
    assert image.size == (4, 5)
    np.testing.assert_array_equal(np.asarray(image), PIXELS[..., :3] >> 8)


def filtered(raw: bytes, kinds: list[int], width: int, pixel: int) -> bytes:
    """Rows of bytes as an encoder filters them, straight from the specification's table."""
    rows = [raw[i : i + width] for i in range(0, len(raw), width)]
    out = b""
    above = bytes(width)
    for kind, row in zip(kinds, rows, strict=True):
        out += bytes([kind])
        for i, value in enumerate(row):
            a = row[i - pixel] if i >= pixel else 0
            b = above[i]
            c = above[i - pixel] if i >= pixel else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            out += bytes([(value - (0, a, b, (a + b) // 2, nearest)[kind]) % 256])
        above = row
    return out


def test_every_filter() -> None:
    pixels = PIXELS[..., :3]
    raw = pixels.astype(">u2").tobytes()
    packed = zlib.compress(filtered(raw, [4, 3, 2, 1, 4], 24, 6))
    header = struct.pack(">IIBBBBB", 4, 5, 16, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", packed[:50]), (b"IDAT", packed[50:]), (b"IEND", b"")]
    data = png16.encode(pixels, 0)[:8]
    for kind, body in chunks:
        data += (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )
    np.testing.assert_array_equal(png16.decode(data), pixels)


def test_other_files_are_left_to_pillow() -> None:
    image = pytest.importorskip("PIL.Image").fromarray(np.zeros([2, 2, 3], np.uint8))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    assert png16.decode(buffer.getvalue()) is None
    assert png16.decode(b"GIF89a") is None


def test_a_file_that_is_cut_short() -> None:
    data = png16.encode(PIXELS, 6)
    for length in (20, 60, len(data) // 2):
        with pytest.raises(ValueError, match="cut short|damaged|without a header"):
            png16.decode(data[:length])
