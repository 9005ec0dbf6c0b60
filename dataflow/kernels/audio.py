"""Sound from WAV files and back, spectrograms and their mel-frequency cepstrum."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.formats.wave_files import read_wave, wave_file
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import one, text_array

#: The least sum of a filter whose logarithm is taken.
_FLOOR = 1e-12
_REASON = "sound files are read on the host"


@kernel("EncodeWav", cpu_only=_REASON)
def encode_wav_kernel(xp: Module, audio: Array, sample_rate: Array) -> Any:
    rate = int(sample_rate)
    if rate <= 0:
        raise ValueError(f"EncodeWav: sample_rate must be positive, got {rate}")
    if 0 in audio.shape:
        raise ValueError(f"EncodeWav: audio must hold samples, got shape {list(audio.shape)}")
    return text_array([wave_file(audio, rate)], ())


@kernel("DecodeWav", cpu_only=_REASON)
def decode_wav_kernel(
    xp: Module, contents: Array, *, desired_channels: int, desired_samples: int
) -> list[Any]:
    data = one(contents)
    try:
        sound, rate = read_wave(data)
    except ValueError as error:
        raise ValueError(f"DecodeWav: {error}") from error
    channels = sound.shape[1]
    if desired_samples >= 0:
        missing = max(0, desired_samples - len(sound))
        sound = np.pad(sound, [(0, missing), (0, 0)])[:desired_samples]
    if desired_channels > 0:
        sound = sound[:, np.minimum(np.arange(desired_channels), channels - 1)]
    return [sound, np.int32(rate)]


@kernel("AudioSpectrogram")
def audio_spectrogram_kernel(
    xp: Module, input: Array, *, window_size: int, stride: int, magnitude_squared: bool
) -> Any:
    samples, channels = input.shape
    windows = max(0, 1 + (samples - window_size) // stride)
    length = 1 << (window_size - 1).bit_length()
    places = xp.arange(windows)[:, None] * stride + xp.arange(window_size)
    taper = 0.5 - 0.5 * xp.cos(2.0 * np.pi / window_size * xp.arange(window_size))
    if windows == 0:
        return xp.zeros((channels, 0, 1 + length // 2), np.float32)
    waves = xp.fft.rfft(input.T[:, places].astype(np.float64) * taper, length)
    squares = (waves.real**2 + waves.imag**2).astype(np.float32)
    return squares if magnitude_squared else xp.sqrt(squares)


@kernel("Mfcc")
def mfcc_kernel(
    xp: Module,
    spectrogram: Array,
    sample_rate: Array,
    *,
    upper_frequency_limit: float,
    lower_frequency_limit: float,
    filterbank_channel_count: int,
    dct_coefficient_count: int,
) -> Any:
    num_filters = filterbank_channel_count
    filters = _mel_filters(
        spectrogram.shape[-1],
        int(sample_rate),
        num_filters,
        lower_frequency_limit,
        upper_frequency_limit,
    )
    sums = xp.sqrt(spectrogram.astype(np.float64)) @ xp.asarray(filters)
    logarithms = xp.log(xp.maximum(sums, _FLOOR))
    waves = np.outer(np.arange(num_filters) + 0.5, np.arange(dct_coefficient_count))
    cosines = np.sqrt(2.0 / num_filters) * np.cos(np.pi / num_filters * waves)
    return (logarithms @ xp.asarray(cosines)).astype(np.float32)


def _mels(hertz: Any) -> Any:
    """Frequencies on the scale on which the ear hears equal steps."""
    return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)


def _mel_filters(
    num_frequencies: int, sample_rate: int, num_filters: int, lowest: float, highest: float
) -> Any:
    """The weights [frequencies, filters] of triangles whose corners are evenly spaced in mels, as HTK has them."""
    if num_frequencies < 2 or sample_rate < 1:
        raise ValueError(
            f"Mfcc: needs at least 2 frequencies and a positive sample rate, got {num_frequencies} "
            f"and {sample_rate}"
        )
    if not 0 <= lowest < highest:
        raise ValueError(
            f"Mfcc: lower_frequency_limit {lowest} must be below upper_frequency_limit {highest}"
        )
    step = 0.5 * sample_rate / (num_frequencies - 1)
    first, last = int(1.5 + lowest / step), int(highest / step)
    corners = np.linspace(_mels(lowest), _mels(highest), num_filters + 2)
    mels = _mels(step * np.arange(num_frequencies))[:, None]
    rising = (mels - corners[:-2]) / (corners[1:-1] - corners[:-2])
    falling = (corners[2:] - mels) / (corners[2:] - corners[1:-1])
    weights = np.maximum(0.0, np.minimum(rising, falling))
    used = np.arange(num_frequencies)
    weights[(used < first) | (used > last)] = 0.0
    return weights
