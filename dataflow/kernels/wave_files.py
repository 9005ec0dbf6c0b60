"""Sound as WAV files of 16 bits a sample."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from dataflow.kernels.registry import kernel
from dataflow.kernels.string import one, text_array

_REASON = "sound files are read on the host"
_STEPS = 32768  # a sample of 16 bits is this many times its value between -1 and 1


def wave_file(sound: np.ndarray[Any, Any], sample_rate: float) -> bytes:
    """``sound`` [samples, channels], cut to -1 .. 1, as the bytes of a WAV file."""
    scaled = sound.astype(np.float64) * _STEPS
    rounded = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)  # halves away from 0, as in C
    samples = np.clip(np.nan_to_num(rounded), -_STEPS, _STEPS - 1).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as writer:
        writer.setnchannels(sound.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(round(sample_rate))
        writer.writeframes(samples.tobytes())
    return out.getvalue()


@kernel("EncodeWav", cpu_only=_REASON)
def encode_wav_kernel(xp: Any, audio: Any, sample_rate: Any) -> Any:
    rate = int(sample_rate)
    if rate <= 0:
        raise ValueError(f"EncodeWav: sample_rate must be positive, got {rate}")
    if 0 in audio.shape:
        raise ValueError(f"EncodeWav: audio must hold samples, got shape {list(audio.shape)}")
    return text_array([wave_file(audio, rate)], ())


@kernel("DecodeWav", cpu_only=_REASON)
def decode_wav_kernel(
    xp: Any, contents: Any, *, desired_channels: int, desired_samples: int
) -> list[Any]:
    data = one(contents)
    try:
        with wave.open(io.BytesIO(data)) as reader:
            channels, width, rate = (
                reader.getnchannels(),
                reader.getsampwidth(),
                reader.getframerate(),
            )
            frames = reader.readframes(reader.getnframes())
    except (wave.Error, EOFError) as error:
        raise ValueError(
            f"DecodeWav: these {len(data)} bytes are no WAV file ({error}); they begin with "
            f"{data[:8]!r}"
        ) from error
    if width != 2:
        raise ValueError(f"DecodeWav: only 16 bits a sample are read, the file has {8 * width}")
    sound = np.frombuffer(frames, "<i2").reshape(-1, channels).astype(np.float32)
    sound /= np.float32(_STEPS)
    if desired_samples >= 0:
        missing = max(0, desired_samples - len(sound))
        sound = np.pad(sound, [(0, missing), (0, 0)])[:desired_samples]
    if desired_channels > 0:
        sound = sound[:, np.minimum(np.arange(desired_channels), channels - 1)]
    return [sound, np.int32(rate)]
