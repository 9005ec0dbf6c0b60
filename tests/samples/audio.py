"""Samples of sound files."""

from __future__ import annotations

import numpy as np

from tests.samples.base import Sample

SOUND = np.array([[0.0, 0.5], [-0.5, 0.25], [-1.0, 0.125]], np.float32)

SAMPLES = [
    Sample(
        "EncodeWav",
        lambda tf: tf.audio.decode_wav(tf.audio.encode_wav(SOUND, 8000)).audio,
        (),
        [SOUND],
    ),
    Sample(
        "DecodeWav",
        lambda tf: (
            tf.audio.decode_wav(
                tf.audio.encode_wav(SOUND, 8000), desired_channels=3, desired_samples=4
            ).audio
        ),
        (),
        [np.pad(SOUND[:, [0, 1, 1]], [(0, 1), (0, 0)])],
    ),
    Sample(
        "DecodeWav",
        lambda tf: list(tf.audio.decode_wav(tf.audio.encode_wav(2 * SOUND, 44100), 1, 2)),
        (),
        [np.array([[0.0], [-1.0]], np.float32), np.int32(44100)],
    ),
]
