"""Sound: WAV files to numbers and back, spectrograms and their mel-frequency cepstrum."""

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


@define_op("AudioSpectrogram", "input: float32 -> spectrogram: float32")
def audio_spectrogram(
    input: Tensor, *, window_size: int, stride: int, magnitude_squared: bool = False
) -> Dims:
    """How much of each frequency ``input``, float32 [samples, channels], has in windows of ``window_size`` samples.

    The windows are ``stride`` samples apart, and tapered by a periodic Hann window. The result is float32
    [channels, windows, frequencies]: of the next power of two ``n`` the ``1 + n / 2`` frequencies from 0 to half the
    sample rate, as magnitudes, or as their squares with ``magnitude_squared``. Not differentiable.
    """
    need_rank(input, 2, "input")
    if window_size < 2:
        raise ValueError(f"audio_spectrogram: window_size must be at least 2, got {window_size}.")
    if stride < 1:
        raise ValueError(f"audio_spectrogram: stride must be at least 1, got {stride}.")
    samples, channels = input.dims or (None, None)
    windows = None if samples is None else max(0, 1 + (samples - window_size) // stride)
    length = 1 << (window_size - 1).bit_length()
    return channels, windows, 1 + length // 2


@define_op("Mfcc", "spectrogram: float32, sample_rate: int32 -> output: float32")
def mfcc(
    spectrogram: Tensor,
    sample_rate: Tensor,
    *,
    upper_frequency_limit: float = 4000.0,
    lower_frequency_limit: float = 20.0,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
) -> Dims:
    """The mel-frequency cepstrum of a ``spectrogram`` of squared magnitudes, [channels, windows, frequencies].

    Frequencies between both limits, in Hz, are gathered by ``filterbank_channel_count`` triangles that are evenly
    spaced as the ear hears them; the result, float32 [channels, windows, dct_coefficient_count], is the cosine
    transform of the logarithms of their sums. What is asked for above half the sample rate is silent. ``sample_rate``: samples per second, int32. Not differentiable.
    """
    need_rank(spectrogram, 3, "spectrogram")
    need_rank(sample_rate, 0, "sample_rate")
    for name, number in (
        ("filterbank_channel_count", filterbank_channel_count),
        ("dct_coefficient_count", dct_coefficient_count),
    ):
        if number < 1:
            raise ValueError(f"mfcc: {name} must be at least 1, got {number}.")
    channels, windows, _ = spectrogram.dims or (None, None, None)
    return channels, windows, dct_coefficient_count


not_differentiable(audio_spectrogram)
not_differentiable(encode_wav)
not_differentiable(mfcc)
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
