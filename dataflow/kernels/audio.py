"""Sound from WAV files and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.formats.wave_files import read_wave, wave_file
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import one, text_array

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
