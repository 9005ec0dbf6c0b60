"""Summary messages made from arrays: what the ops ``tf.summary.*`` put into an event file.

The numbers in them (bucket limits, scaling of images) are TensorFlow 1's, so that TensorBoard shows
the same. The messages are the ``tensorboard`` package's; it is imported when the first is made.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.formats.wave_files import wave_file

_Array = np.ndarray[Any, Any]


def scalar_summary(tag: str, value: Any) -> Any:
    """A ``Summary`` with one number, stored as float32. A NaN is kept: TensorBoard marks it.

    Raises `InvalidArgumentError` for more than one number.
    """
    array = np.asarray(value)
    if array.size != 1:
        raise InvalidArgumentError(
            message=f"scalar summary {tag!r}: needs one number, got shape {list(array.shape)}. "
            "Reduce it first (tf.reduce_mean), or use tf.summary.histogram."
        )
    summary = _summary()
    summary.value.add(tag=tag, simple_value=float(array.reshape(())))
    return summary


def histogram_summary(tag: str, values: Any) -> Any:
    """A ``Summary`` with the histogram of all values, in TensorFlow's buckets.

    The limits grow by a tenth from 1e-12 to 1e20 on both sides of 0; runs of empty buckets are
    joined. Raises `InvalidArgumentError` for a NaN or an infinity.
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    wrong = np.flatnonzero(~np.isfinite(flat))
    if wrong.size:
        raise InvalidArgumentError(
            message=f"histogram summary {tag!r}: value {wrong[0]} of {flat.size} is "
            f"{flat[wrong[0]]} ({wrong.size} are not finite). Find where it arises with "
            "tf.check_numerics."
        )
    summary = _summary()
    proto = summary.value.add(tag=tag).histo
    largest = float(np.finfo(np.float64).max)
    proto.min = float(flat.min()) if flat.size else largest
    proto.max = float(flat.max()) if flat.size else -largest
    proto.num = flat.size
    proto.sum = float(flat.sum())
    proto.sum_squares = float(np.square(flat).sum())
    limits = _bucket_limits()
    counts = np.bincount(_buckets(flat), minlength=len(limits))
    # A bucket is kept if it holds something, or is the last of a run of empty ones.
    full = counts > 0
    kept = full | np.append(full[1:], True)
    proto.bucket_limit.extend(limits[kept].tolist())
    proto.bucket.extend(counts[kept].astype(np.float64).tolist())
    return summary


@functools.cache
def _bucket_limits() -> _Array:
    """Upper limits of the buckets, ascending, the largest double at both ends."""
    positive = []
    limit = 1.0e-12
    while limit < 1.0e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(float(np.finfo(np.float64).max))
    return np.array([-v for v in reversed(positive)] + [0.0] + positive)


#: A double's sign, exponent and first four digits: limits are further apart than neighbors here.
_PREFIX_BITS = 16
#: Values are taken in blocks that stay in the cache.
_BLOCK = 1 << 13


def _buckets(values: _Array) -> _Array:
    """The number of the bucket of each finite value.

    The first bits of a value say between which two limits it lies, or on which sides of one: a
    look into a table and a comparison, where a binary search takes ten steps.
    """
    limits = _bucket_limits()
    first = _first_buckets()
    found = np.empty(values.shape, np.int64)
    for at in range(0, len(values), _BLOCK):
        block = values[at : at + _BLOCK]
        prefix = (block.view(np.uint64) >> np.uint64(64 - _PREFIX_BITS)).view(np.int64)
        bucket = first.take(prefix)
        bucket += block >= limits.take(bucket)
        np.minimum(bucket, len(limits) - 1, out=found[at : at + _BLOCK])
    return found


@functools.cache
def _first_buckets() -> _Array:
    """For each prefix of a double the bucket of the least value that begins with it.

    Compared as integers, not as doubles: the first call may be one of a run, where subnormal
    numbers count as zero, and the table serves all later calls.
    """
    sign, rest = np.uint64(1 << 63), np.uint64((1 << (64 - _PREFIX_BITS)) - 1)
    bits = np.arange(1 << _PREFIX_BITS, dtype=np.uint64) << np.uint64(64 - _PREFIX_BITS)
    least = np.where(bits & sign, bits | rest, bits)  # of negative values that with all other bits
    limits = _bucket_limits()
    limit_bits, least_bits = (
        np.where(b & sign, ~b, b | sign) for b in (limits.view(np.uint64), least)
    )
    buckets = np.searchsorted(limit_bits, least_bits, side="right")
    return np.minimum(buckets, len(limits) - 1)


def image_summary(
    tag: str, images: Any, max_outputs: int = 3, bad_color: Iterable[int] = (255, 0, 0, 255)
) -> Any:
    """A ``Summary`` with up to ``max_outputs`` images as PNG.

    Args:
        tag: the images are called ``tag/image``, or ``tag/image/0`` and so on where ``max_outputs``
            is more than 1.
        images: ``[n, height, width, channels]``, with 1 (gray), 3 (RGB) or 4 (RGBA) channels. uint8
            is kept. Of floats each image is scaled by itself: so that its largest value is 255
            where none is negative, else so that 0 becomes 128 and the farthest value is 1 or 255.
        max_outputs: how many images to keep at most.
        bad_color: what a pixel that is not finite becomes.

    Raises `InvalidArgumentError` for another shape.
    """
    array = np.asarray(images)
    if array.ndim != 4 or array.shape[3] not in (1, 3, 4) or 0 in array.shape[1:]:
        raise InvalidArgumentError(
            message=f"image summary {tag!r}: needs [n, height, width, channels] with 1, 3 or 4 "
            f"channels, got {list(array.shape)}. tf.reshape or tf.expand_dims gives a batch."
        )
    if max_outputs < 1:
        raise InvalidArgumentError(
            message=f"image summary {tag!r}: max_outputs must be 1 or more, got {max_outputs}."
        )
    color = np.array(list(bad_color), np.uint8)
    summary = _summary()
    for i, image in enumerate(array[:max_outputs]):
        pixels = image if image.dtype == np.uint8 else _scaled(image, color)
        value = summary.value.add(tag=_numbered(tag, "image", i, max_outputs))
        value.image.height, value.image.width, value.image.colorspace = image.shape
        value.image.encoded_image_string = _png(pixels)
    return summary


def _scaled(image: _Array, bad_color: _Array) -> _Array:
    pixels = image.astype(np.float32)
    bad = ~np.isfinite(pixels).all(axis=2)
    good = pixels[~bad]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 0.0)
    smallest = 1e-6  # below it an image counts as black rather than being blown up
    if low < 0:
        farthest = max(abs(low), abs(high))
        scale, offset = (0.0 if farthest < smallest else 127.0 / farthest), 128.0
    else:
        scale, offset = (0.0 if high < smallest else 255.0 / high), 0.0
    pixels[bad] = 0
    result = (pixels * np.float32(scale) + np.float32(offset)).astype(np.uint8)
    result[bad] = np.resize(bad_color, image.shape[2])
    return result


def _png(pixels: _Array) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(out, format="PNG")
    return out.getvalue()


def audio_summary(tag: str, audio: Any, sample_rate: float, max_outputs: int = 3) -> Any:
    """A ``Summary`` with up to ``max_outputs`` sounds as 16-bit WAV.

    Args:
        tag: the sounds are called ``tag/audio``, or ``tag/audio/0`` and so on where ``max_outputs``
            is more than 1.
        audio: ``[n, frames]`` or ``[n, frames, channels]``, in -1 to 1; what is beyond is cut off.
        sample_rate: frames per second.
        max_outputs: how many sounds to keep at most.

    Raises `InvalidArgumentError` for another shape or a rate that is not positive.
    """
    array = np.asarray(audio, np.float32)
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    rate = float(np.asarray(sample_rate))
    if array.ndim != 3 or array.shape[2] == 0:
        raise InvalidArgumentError(
            message=f"audio summary {tag!r}: needs [n, frames] or [n, frames, channels], got "
            f"{list(array.shape)}."
        )
    if not (rate > 0 and math.isfinite(rate)) or max_outputs < 1:
        raise InvalidArgumentError(
            message=f"audio summary {tag!r}: sample_rate and max_outputs must be positive, got "
            f"{rate} and {max_outputs}."
        )
    summary = _summary()
    for i, sound in enumerate(array[:max_outputs]):
        value = summary.value.add(tag=_numbered(tag, "audio", i, max_outputs))
        value.audio.sample_rate = rate
        value.audio.length_frames, value.audio.num_channels = sound.shape
        value.audio.content_type = "audio/wav"
        value.audio.encoded_audio_string = wave_file(sound, rate)
    return summary


def merge_summaries(summaries: Iterable[Any]) -> Any:
    """One ``Summary`` with the values of all, which may be messages or serialized messages.

    Raises `InvalidArgumentError` where two values have the same tag, as TensorFlow does.
    """
    merged = _summary()
    seen: set[str] = set()
    for item in summaries:
        for value in parse_summary(item).value:
            if value.tag in seen:
                raise InvalidArgumentError(
                    message=f"Two summaries to be merged have the tag {value.tag!r}. Give one "
                    "another name."
                )
            seen.add(value.tag)
            merged.value.add().CopyFrom(value)
    return merged


def parse_summary(summary: Any) -> Any:
    """The ``Summary`` message of a message or of its serialized bytes."""
    if not isinstance(summary, bytes | bytearray | np.bytes_):
        return summary
    from google.protobuf.message import DecodeError

    try:
        return type(_summary()).FromString(bytes(summary))
    except DecodeError as error:
        raise InvalidArgumentError(
            message=f"{bytes(summary)[:20]!r}... is not a serialized Summary: {error}. Pass what "
            "session.run returns for a summary op."
        ) from error


def _numbered(tag: str, kind: str, number: int, max_outputs: int) -> str:
    return f"{tag}/{kind}" if max_outputs == 1 else f"{tag}/{kind}/{number}"


def _summary() -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary

    return Summary()


def new_summary() -> Any:
    """An empty ``Summary`` message."""
    return _summary()


_NUMBER_OF_DTYPE = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}


def fill_tensor_proto(proto: Any, value: Any) -> None:
    """Writes an array (numbers, or an object array of bytes) into a ``TensorProto``."""
    array = np.asarray(value)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if array.dtype.kind in "OSU":
        proto.dtype = 7  # DT_STRING
        for item in array.reshape(-1).tolist():
            proto.string_val.append(item.encode() if isinstance(item, str) else bytes(item))
        return
    proto.dtype = _NUMBER_OF_DTYPE[array.dtype.name]
    proto.tensor_content = array.astype(array.dtype.newbyteorder("<")).tobytes()
