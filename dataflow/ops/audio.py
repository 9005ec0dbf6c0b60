"""Sound: WAV files to numbers and back."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.shape import need_rank
from dataflow.shapes import Dims

DecodeWav = namedtuple("DecodeWav", ["audio", "sample_rate"])


@define_op("EncodeWav", "audio: float32, sample_rate: int32 -> contents: string")
def encode_wav(audio: Tensor, sample_rate: Tensor) -> Dims:
    """Sound, float32 [samples, channels] between -1 and 1, as a WAV file of 16 bits: a string.

    ``sample_rate``: samples per second. Not differentiable.
    """
    need_rank(audio, 2, "audio")
    need_rank(sample_rate, 0, "sample_rate")
    return ()


@define_op("DecodeWav", "contents: string -> audio: float32, sample_rate: int32")
def decode_wav_op(
    contents: Tensor, *, desired_channels: int = -1, desired_samples: int = -1
) -> list[Dims]:
    """A WAV file as sound [samples, channels] and samples per second. Not differentiable."""
    need_rank(contents, 0, "contents")
    samples = None if desired_samples == -1 else desired_samples
    return [(samples, None if desired_channels == -1 else desired_channels), ()]


not_differentiable(encode_wav)
not_differentiable(decode_wav_op)


def decode_wav(
    contents: TensorLike,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> Any:
    """A WAV file of 16 bits as ``audio``, float32 [samples, channels], and ``sample_rate``, int32.

    ``desired_samples`` cuts the sound, or adds silence; ``desired_channels`` drops channels, or
    repeats the last one. Raises `InvalidArgumentError` for other bytes when it runs.
    """
    return DecodeWav(
        *decode_wav_op(
            contents,
            desired_channels=desired_channels,
            desired_samples=desired_samples,
            name=name,
        )
    )
