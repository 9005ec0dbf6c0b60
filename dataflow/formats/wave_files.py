"""Sound as WAV files of 16 bits a sample."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

_STEPS = 32768  # a sample of 16 bits is this many times its value between -1 and 1


def wave_file(sound: np.ndarray[Any, Any], sample_rate: float) -> bytes:
    """``sound`` [samples, channels], cut to -1 .. 1, as the bytes of a WAV file."""
    scaled = sound.astype(np.float64) * _STEPS
    rounded = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)  # halves away from 0, as in C
    samples = np.clip(np.nan_to_num(rounded), -_STEPS, _STEPS - 1).astype("<i2")
    out, rate = io.BytesIO(), round(sample_rate)
    with wave.open(out, "wb") as writer:
        writer.setnchannels(sound.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(max(rate, 1))
        writer.writeframes(samples.tobytes())
    data = out.getvalue()
    # TensorFlow writes a rate below a half as 0, which Python's module refuses: rate and bytes a second.
    return data if rate else data[:24] + bytes(8) + data[32:]


def read_wave(data: bytes) -> tuple[np.ndarray[Any, Any], int]:
    """A WAV file as (sound float32 [samples, channels] between -1 and 1, samples per second).

    Raises `ValueError` for other bytes, and for files without 16 bits a sample.
    """
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
            f"these {len(data)} bytes are no WAV file ({error}); they begin with {data[:8]!r}"
        ) from error
    if width != 2:
        raise ValueError(f"only 16 bits a sample are read, the file has {8 * width}")
    sound = np.frombuffer(frames, "<i2").reshape(-1, channels).astype(np.float32)
    return sound / np.float32(_STEPS), rate
