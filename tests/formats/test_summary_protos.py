"""Summary messages; tests/oracle/test_file_formats.py compares them with TensorFlow's."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image

from dataflow.errors import InvalidArgumentError
from dataflow.formats import summary_protos
from dataflow.formats.summary_protos import (
    audio_summary,
    histogram_summary,
    image_summary,
    merge_summaries,
    parse_summary,
    scalar_summary,
)
from dataflow.kernels.subnormals import Computing, as_outside


def pixels(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))


def test_scalar() -> None:
    (value,) = scalar_summary("loss", np.float64([[0.1]])).value
    assert value.tag == "loss"
    assert value.simple_value == np.float32(0.1)
    assert np.isnan(scalar_summary("loss", np.nan).value[0].simple_value)
    with pytest.raises(InvalidArgumentError, match=r"'loss': needs one number, got shape \[2\]"):
        scalar_summary("loss", [1, 2])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=30))
def test_histogram_counts_every_value_once(values: list[float]) -> None:
    histogram = histogram_summary("h", values).value[0].histo
    limits, counts = list(histogram.bucket_limit), list(histogram.bucket)
    assert histogram.num == sum(counts) == len(values)
    assert limits == sorted(set(limits))
    lower = -np.inf
    for limit, count in zip(limits, counts, strict=True):
        assert count == sum(lower <= value < limit for value in values)
        lower = limit
    if values:
        assert (histogram.min, histogram.max) == (min(values), max(values))


@pytest.mark.parametrize("first", [as_outside, Computing])
def test_buckets_at_their_limits(first: Any) -> None:
    summary_protos._first_buckets.cache_clear()
    with first():
        summary_protos._first_buckets()  # what later calls find does not depend on who was first
    limits = summary_protos._bucket_limits()
    inner = limits[1:-1]
    values = np.concatenate(
        [limits, np.nextafter(inner, np.inf), np.nextafter(inner, -np.inf), [5e-324, -5e-324, -0.0]]
    )
    with as_outside():  # where subnormal numbers are no zeros
        wanted = np.minimum(np.searchsorted(limits, values, side="right"), len(limits) - 1)
        np.testing.assert_array_equal(summary_protos._buckets(values), wanted)


def test_histogram_of_what_is_not_finite() -> None:
    with pytest.raises(InvalidArgumentError, match=r"value 2 of 4 is nan \(2 are not finite\)"):
        histogram_summary("h", [[0, 1], [np.nan, np.inf]])


def test_image_names() -> None:
    images = np.zeros((5, 2, 3, 1), np.uint8)
    assert [v.tag for v in image_summary("x", images).value] == [f"x/image/{i}" for i in range(3)]
    (value,) = image_summary("x", images, max_outputs=1).value
    assert value.tag == "x/image"
    assert (value.image.height, value.image.width, value.image.colorspace) == (2, 3, 1)
    assert len(image_summary("x", images[:2], max_outputs=9).value) == 2


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_bytes_are_kept(channels: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (1, 4, 5, channels)).astype(np.uint8)
    back = pixels(image_summary("x", images).value[0])
    assert np.array_equal(back.reshape(4, 5, channels), images[0])


def test_floats_are_scaled_image_by_image() -> None:
    images = np.array([[0, 1, 2], [0, 0.1, 0.2], [-1, 0, 0.5], [0, 0, 0]])[:, None, :, None]
    values = image_summary("x", images, max_outputs=4).value
    assert [pixels(value)[0].tolist() for value in values] == [
        [0, 127, 255],
        [0, 127, 255],
        [1, 128, 191],
        [0, 0, 0],
    ]


def test_bad_pixels_get_their_color() -> None:
    image = np.ones((1, 1, 2, 3))
    image[0, 0, 1, 2] = np.inf
    assert pixels(image_summary("x", image).value[0]).tolist() == [[[255] * 3, [255, 0, 0]]]
    back = pixels(image_summary("x", image, bad_color=(1, 2, 3)).value[0])
    assert back[0, 1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("shape", [(4, 4), (1, 4, 4), (1, 4, 4, 2), (1, 0, 4, 1)])
def test_image_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="1, 3 or 4 channels, got"):
        image_summary("x", np.zeros(shape))


def test_audio() -> None:
    sound = np.array([[0.0, 0.5, -1.0, 2.0]])
    (value,) = audio_summary("a", sound, 8000, max_outputs=1).value
    assert value.tag == "a/audio"
    assert (value.audio.sample_rate, value.audio.num_channels) == (8000, 1)
    assert value.audio.length_frames == 4
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as reader:
        assert (reader.getframerate(), reader.getsampwidth()) == (8000, 2)
        samples = np.frombuffer(reader.readframes(4), "<i2")
    assert samples.tolist() == [0, 16384, -32768, 32767]
    for wrong in ({"sample_rate": 0}, {"sample_rate": 1, "max_outputs": 0}):
        with pytest.raises(InvalidArgumentError, match="must be positive"):
            audio_summary("a", sound, **wrong)
    with pytest.raises(InvalidArgumentError, match=r"\[n, frames\]"):
        audio_summary("a", sound[0], 8000)


def test_merge() -> None:
    one, two = scalar_summary("a", 1), scalar_summary("b", 2)
    merged = merge_summaries([one.SerializeToString(), two])
    assert [(v.tag, v.simple_value) for v in merged.value] == [("a", 1), ("b", 2)]
    assert parse_summary(merged.SerializeToString()) == merged
    with pytest.raises(InvalidArgumentError, match="have the tag 'a'"):
        merge_summaries([merged, one])
    with pytest.raises(InvalidArgumentError, match="not a serialized Summary"):
        parse_summary(b"\xff\xff")
