"""Pictures that are damaged, or claim to be huge, are refused before they are decoded."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest

import dataflow as tf

LIMIT = "DATAFLOW_MAX_IMAGE_PIXELS"


def png(width: int, height: int, body: bytes = b"") -> bytes:
    """A file that says it is a picture of this size."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(body)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(b)) + t + b + struct.pack(">I", zlib.crc32(t + b)) for t, b in chunks
    )


def run(build: Any, contents: bytes) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(contents))


def encoded(format: str, **options: Any) -> bytes:
    from PIL import Image

    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (30, 40, 3), np.uint8))
    out = io.BytesIO()
    picture.save(out, format, **options)
    return out.getvalue()


@pytest.mark.parametrize("size", [(15_000, 10_000), (5_001, 5_000), (2**31 - 1, 2**31 - 1)])
def test_too_many_pixels(size: tuple[int, int]) -> None:
    for build in (tf.image.decode_png, tf.image.decode_image):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"DecodePng|DecodeImage"
        ) as caught:
            run(build, png(*size))
        assert LIMIT in str(caught.value) or "MAX_IMAGE_PIXELS" in str(caught.value)


def test_the_limit_can_be_raised_and_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    small = encoded("PNG")
    monkeypatch.setenv(LIMIT, "1200")
    assert run(tf.image.decode_png, small).shape == (30, 40, 3)
    monkeypatch.setenv(LIMIT, "1199")
    with pytest.raises(tf.errors.InvalidArgumentError, match="40 x 30 pixels, more than 1,199"):
        run(tf.image.decode_png, small)
    monkeypatch.setenv(LIMIT, "many")
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a number"):
        run(tf.image.decode_png, small)


def test_frames_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    frames = [Image.new("RGB", (10, 10), (50 * n, 0, 0)) for n in range(5)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    monkeypatch.setenv(LIMIT, "499")
    with pytest.raises(tf.errors.InvalidArgumentError, match="5 frames of 10 x 10 pixels"):
        run(tf.image.decode_gif, out.getvalue())
    first = run(lambda x: tf.image.decode_image(x, expand_animations=False), out.getvalue())
    assert first.shape == (10, 10, 3)
    monkeypatch.setenv(LIMIT, "500")
    assert run(tf.image.decode_gif, out.getvalue()).shape == (5, 10, 10, 3)


def test_a_later_frame_that_is_larger() -> None:
    from PIL import Image

    frames = [Image.new("RGB", (10, 10), (50 * n, 0, 0)) for n in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    contents = out.getvalue()
    descriptors = [i for i in range(len(contents)) if contents[i : i + 5] == b",\0\0\0\0"]
    assert len(descriptors) == 3
    at = descriptors[1] + 5
    larger = contents[:at] + struct.pack("<HH", 13_000, 12_000) + contents[at + 4 :]
    with pytest.raises(tf.errors.InvalidArgumentError, match="frame 1 reaches to 13000 x 12000"):
        run(tf.image.decode_gif, larger)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP"])
def test_damage_is_an_invalid_argument(format: str) -> None:
    contents = encoded(format)
    num_refused = 0
    for length in range(0, len(contents), max(1, len(contents) // 40)):
        try:
            run(tf.image.decode_image, contents[:length])
        except tf.errors.InvalidArgumentError:
            num_refused += 1
    assert num_refused > 20


def test_large_pictures_are_put_together_from_strips() -> None:
    rows = np.random.default_rng(0).integers(0, 255, (1500, 1400, 3), np.uint8)
    with tf.Graph().as_default(), tf.Session() as session:
        again = session.run(tf.image.decode_png(tf.image.encode_png(rows)))
    assert np.array_equal(again, rows)
