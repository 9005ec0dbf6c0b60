"""Samples of sound files."""

from __future__ import annotations

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

SOUND = np.array([[0.0, 0.5], [-0.5, 0.25], [-1.0, 0.125]], np.float32)

LEVEL = np.ones([4, 1], np.float32)
TURNS = np.array([[1.0], [0.0], [-1.0], [0.0], [1.0], [0.0]], np.float32)


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
    Sample(
        "AudioSpectrogram",
        lambda tf, x: raw(tf, "AudioSpectrogram", input=x, window_size=4, stride=2),
        (TURNS,),
        [np.ones([1, 2, 3], np.float32)],
        gradient=(),
    ),
    Sample(
        "AudioSpectrogram",
        lambda tf, x: raw(
            tf, "AudioSpectrogram", input=x, window_size=3, stride=1, magnitude_squared=True
        ),
        (LEVEL,),
        [np.array([[[2.25, 1.125, 0.0]] * 2], np.float32)],
        gradient=(),
    ),
    Sample(
        "Mfcc",
        lambda tf, x: raw(
            tf,
            "Mfcc",
            spectrogram=x,
            sample_rate=8000,
            filterbank_channel_count=3,
            dct_coefficient_count=2,
        ),
        (np.array([[[0.0, 4.0, 1.0, 9.0, 4.0], [0.0, 0.0, 0.0, 0.0, 0.0]]], np.float32),),
        [np.array([[[0.30790955, -1.3739135], [-67.6819, 0.0]]], np.float32)],
        gradient=(),
    ),
]
