"""JPEG files by simplejpeg and PNG files by machine code have the pixels that Pillow finds; the rest is Pillow's."""

from __future__ import annotations

import io
import itertools
import struct
import zlib
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats import png16
from dataflow.kernels import image_files
from tests.results_of import results_of

needs_simplejpeg = pytest.mark.usefixtures("simplejpeg")
Image = pytest.importorskip("PIL.Image", reason="pip install 'dataflow-learn[train]'")


@pytest.fixture
def simplejpeg() -> None:
    pytest.importorskip("simplejpeg", reason="pip install 'dataflow-learn[fast]'")


def _file(mode: str, shape: tuple[int, int], **how: Any) -> bytes:
    rows, columns = np.indices(shape)
    bands = [(rows * 7 + columns * (3 + i)) % 256 for i in range(len(mode) if mode != "L" else 1)]
    image = Image.merge(mode, [Image.fromarray(b.astype(np.uint8)) for b in bands])
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **how)
    return buffer.getvalue()


def _decoded(contents: bytes, channels: int) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.decode_jpeg(contents, channels))


@needs_simplejpeg
@pytest.mark.parametrize("channels", [0, 1, 3])
@pytest.mark.parametrize(
    "how", [{}, {"quality": 30}, {"subsampling": 0}, {"progressive": True}], ids=str
)
@pytest.mark.parametrize("shape", [(96, 96), (33, 47), (1, 1)], ids=str)
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_the_pixels_are_those_of_pillow(
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    shape: tuple[int, int],
    how: dict[str, Any],
    channels: int,
) -> None:
    contents = _file(mode, shape, **how)
    found = results_of(monkeypatch, image_files, "_by_simplejpeg")
    got = _decoded(contents, channels)
    left_to_pillow = mode == "CMYK" or (mode == "RGB" and channels == 1)
    assert len(found) == 1 and (found[0] is None) == left_to_pillow
    monkeypatch.setattr(image_files, "_simplejpeg", lambda: None)
    wanted = _decoded(contents, channels)
    assert got.dtype == np.uint8
    np.testing.assert_array_equal(got, wanted)


@needs_simplejpeg
def test_what_is_damaged_or_huge_is_refused_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = _file("RGB", (96, 96))
    with pytest.raises(tf.errors.InvalidArgumentError, match="cut short or damaged"):
        _decoded(contents[:700], 3)
    monkeypatch.setenv(image_files.MAX_PIXELS_VARIABLE, "9000")
    with pytest.raises(tf.errors.InvalidArgumentError, match="96 x 96 pixels, more than 9,000"):
        _decoded(contents, 3)


@needs_simplejpeg
def test_a_smaller_picture_is_pillows(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results_of(monkeypatch, image_files, "_by_simplejpeg")
    with tf.Session() as session:
        image = tf.image.decode_jpeg(_file("RGB", (96, 96)), 3, ratio=2)
        assert session.run(image).shape == (48, 48, 3)
    assert not found


def _png(filtered: bytes, shape: tuple[int, int, int], interlaced: bool = False) -> bytes:
    """A file of 8 bits a channel with these filtered rows."""
    height, width, channels = shape
    color = next(color for color, count in png16.CHANNELS.items() if count == channels)
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, interlaced)
    found = png16.SIGNATURE
    halves = zlib.compress(filtered)
    middle = len(halves) // 2
    parts = ((b"IDAT", halves[:middle]), (b"IDAT", halves[middle:]))
    for kind, body in ((b"IHDR", header), *parts, (b"IEND", b"")):
        found += struct.pack(">I", len(body)) + kind + body
        found += struct.pack(">I", zlib.crc32(kind + body))
    return found


def _rows(shape: tuple[int, int, int], filters: list[int]) -> bytes:
    """Rows of random bytes: whatever the filter, some pixels come out."""
    height, width, channels = shape
    rows = np.random.default_rng(0).integers(0, 256, (height, 1 + width * channels), np.uint8)
    rows[:, 0] = list(itertools.islice(itertools.cycle(filters), height))
    return rows.tobytes()


def _decoded_png(contents: bytes, channels: int, dtype: tf.DType = tf.uint8) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.decode_png(contents, channels, dtype))


@pytest.fixture
def machine_code(at_once: None) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")


@pytest.mark.parametrize("filters", [[0], [1], [2], [3], [4], [0, 1, 2, 3, 4], [4, 3, 2]], ids=str)
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (40, 33), (3, 200)], ids=str)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_filters(
    machine_code: None,
    monkeypatch: pytest.MonkeyPatch,
    channels: int,
    size: tuple[int, int],
    filters: list[int],
) -> None:
    contents = _png(_rows((*size, channels), filters), (*size, channels))
    found = results_of(monkeypatch, image_files, "_by_machine_code")
    got = _decoded_png(contents, channels)
    assert found[0] is not None
    monkeypatch.setattr(image_files, "unfiltered", lambda *arguments: None)
    np.testing.assert_array_equal(got, _decoded_png(contents, channels))


@pytest.mark.parametrize("dtype", [tf.uint8, tf.uint16], ids=str)
@pytest.mark.parametrize("wanted", [0, 1, 3, 4])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels(
    machine_code: None,
    monkeypatch: pytest.MonkeyPatch,
    channels: int,
    wanted: int,
    dtype: tf.DType,
) -> None:
    contents = _png(_rows((9, 9, channels), [1, 4]), (9, 9, channels))
    got = _decoded_png(contents, wanted, dtype)
    monkeypatch.setattr(image_files, "unfiltered", lambda *arguments: None)
    np.testing.assert_array_equal(got, _decoded_png(contents, wanted, dtype))


@pytest.mark.parametrize(
    "contents",
    [
        _png(_rows((9, 9, 3), [5]), (9, 9, 3)),
        _png(_rows((9, 9, 3), [1])[:-1], (9, 9, 3)),
        _png(_rows((9, 9, 3), [1]), (9, 9, 3))[:200],
        _png(b"", (9, 9, 3)),
    ],
    ids=["no such filter", "short", "cut", "empty"],
)
def test_damaged_files_are_left_to_pillow(
    machine_code: None, monkeypatch: pytest.MonkeyPatch, contents: bytes
) -> None:
    found = results_of(monkeypatch, image_files, "_by_machine_code")
    with pytest.raises(tf.errors.InvalidArgumentError, match="cut short or damaged"):
        _decoded_png(contents, 3)
    assert found == [None]


def test_a_huge_picture_is_refused(machine_code: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(image_files.MAX_PIXELS_VARIABLE, "80")
    with pytest.raises(tf.errors.InvalidArgumentError, match="9 x 9 pixels, more than 80"):
        _decoded_png(_png(_rows((9, 9, 3), [0]), (9, 9, 3)), 3)
