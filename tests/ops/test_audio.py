"""Spectrograms of sound, as programs that recognize spoken words make them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow.ops.audio import audio_spectrogram, mfcc

tf: Any = dataflow


def run(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


def test_a_tone_stands_out_at_its_frequency() -> None:
    tone = np.sin(2 * np.pi * 1000 / 16000 * np.arange(1600))[:, None].astype(np.float32)
    spectrogram = audio_spectrogram(tone, window_size=480, stride=160)
    assert spectrogram.shape.as_list() == [1, 8, 257]
    assert (run(spectrogram).argmax(-1) == 32).all()  # of 16000 / 512 Hz each
    squares = audio_spectrogram(tone, window_size=480, stride=160, magnitude_squared=True)
    np.testing.assert_allclose(run(squares), run(spectrogram) ** 2, rtol=1e-5, atol=1e-8)


def test_shapes_are_known_as_far_as_they_can_be() -> None:
    sound = tf.placeholder(tf.float32, [None, 2])
    assert audio_spectrogram(sound, window_size=480, stride=160).shape.as_list() == [2, None, 257]
    anything = audio_spectrogram(tf.placeholder(tf.float32), window_size=256, stride=1)
    assert anything.shape.as_list() == [None, None, 129]
    assert mfcc(anything, 16000).shape.as_list() == [None, None, 13]
    assert run(audio_spectrogram(np.ones([5, 1]), window_size=8, stride=1)).shape == (1, 0, 5)


def test_a_cepstrum_leaves_out_what_is_above_half_the_sample_rate() -> None:
    spectrogram = np.ones([1, 2, 65], np.float32)
    assert np.isfinite(run(mfcc(spectrogram, 4000, upper_frequency_limit=4000.0))).all()


def test_bad_arguments_are_named() -> None:
    sound, spectrogram = np.ones([9, 1], np.float32), np.ones([1, 2, 65], np.float32)
    with pytest.raises(ValueError, match="window_size must be at least 2, got 1"):
        audio_spectrogram(sound, window_size=1, stride=1)
    with pytest.raises(ValueError, match="stride must be at least 1, got 0"):
        audio_spectrogram(sound, window_size=4, stride=0)
    with pytest.raises(ValueError, match="dct_coefficient_count must be at least 1, got 0"):
        mfcc(spectrogram, 16000, dct_coefficient_count=0)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="a positive sample rate, got 65 and 0"
    ):
        run(mfcc(spectrogram, 0))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"5000\.0 must be below .* 4000\.0"):
        run(mfcc(spectrogram, 16000, lower_frequency_limit=5000.0))


def test_programs_find_them_where_tensorflow_has_them() -> None:
    importlib.import_module("dataflow.contrib")
    path = "dataflow.contrib.framework.python.ops.audio_ops"
    module = importlib.import_module(path)
    assert module.audio_spectrogram is audio_spectrogram
    assert module.mfcc is mfcc
    assert module.decode_wav is tf.audio.decode_wav


def test_mfccs_of_a_number_of_bands_that_only_the_run_knows() -> None:
    bands = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    known = tf.signal.mfccs_from_log_mel_spectrograms(bands)
    x = tf.placeholder(tf.float32)
    unknown = tf.signal.mfccs_from_log_mel_spectrograms(x)
    with tf.Session() as session:
        np.testing.assert_allclose(
            session.run(unknown, {x: bands}), session.run(known), rtol=1e-6, atol=1e-6
        )
    with pytest.raises(ValueError, match="num_mel_bins must be positive"):
        tf.signal.mfccs_from_log_mel_spectrograms(tf.zeros([2, 3, 0]))
