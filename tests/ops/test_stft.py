"""Frames, windows and the short-time Fourier transform against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

pytestmark = pytest.mark.usefixtures("graph")


def test_frames_start_every_step():
    x = np.arange(14.0).reshape(2, 7)
    framed = tf.signal.frame(x, 3, 2)
    assert framed.shape.as_list() == [2, 3, 3]
    assert run(framed)[1].tolist() == [[7, 8, 9], [9, 10, 11], [11, 12, 13]]
    by_rows = tf.signal.frame(x, 1, 1, axis=0)
    assert by_rows.shape.as_list() == [2, 1, 7]


def test_the_end_is_filled_up_on_request():
    framed = tf.signal.frame(tf.range(7), 3, 2, pad_end=True, pad_value=9)
    assert run(framed).tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 9, 9]]
    assert tf.signal.frame(tf.range(2), 3, 1).shape.as_list() == [0, 3]


@pytest.mark.parametrize("pad_end", [False, True])
def test_sizes_known_at_run_time(pad_end: bool) -> None:
    x = np.arange(20, dtype=np.float32).reshape(2, 10)
    partly, unknown = tf.placeholder(tf.float32, [2, None]), tf.placeholder(tf.float32)
    want = run(tf.signal.frame(x, 4, 3, pad_end, pad_value=7))
    first = tf.signal.frame(partly, 4, 3, pad_end, pad_value=7)
    assert first.shape.as_list() == [2, None, 4]
    by_rows = tf.signal.frame(unknown, 4, 3, pad_end, axis=0, pad_value=7)
    from_the_end = tf.signal.frame(unknown, 4, 3, pad_end, pad_value=7)
    spectra = tf.signal.stft(partly, 4, 2, pad_end=pad_end)
    assert spectra.shape.as_list() == [2, None, 3]
    back = tf.signal.inverse_stft(spectra, 4, 2)
    known = tf.signal.stft(x, 4, 2, pad_end=pad_end)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(first, {partly: x}), want)
        np.testing.assert_array_equal(session.run(from_the_end, {unknown: x}), want)
        rows = session.run(by_rows, {unknown: x.T})
        np.testing.assert_array_equal(rows, want.transpose(1, 2, 0))
        np.testing.assert_array_equal(
            session.run(back, {partly: x}), session.run(tf.signal.inverse_stft(known, 4, 2))
        )


def test_adding_undoes_frames_that_do_not_overlap():
    x = np.arange(12.0).reshape(2, 6)
    assert run(tf.signal.overlap_and_add(tf.signal.frame(x, 2, 2), 2)).tolist() == x.tolist()
    assert run(tf.signal.overlap_and_add([[1.0, 1.0], [1.0, 1.0]], 1)).tolist() == [1, 2, 1]


def test_windows():
    np.testing.assert_allclose(run(tf.signal.hann_window(5)), np.hanning(5), atol=1e-7)
    np.testing.assert_allclose(run(tf.signal.hann_window(4)), np.hanning(5)[:4], atol=1e-7)
    symmetric = tf.signal.hamming_window(4, periodic=False)
    np.testing.assert_allclose(run(symmetric), np.hamming(4), atol=1e-6)
    assert run(tf.signal.hann_window(1)).tolist() == [1.0]


def test_stft_is_the_transform_of_each_windowed_frame():
    x = np.sin(np.arange(20.0))
    window = np.hanning(7)[:6]
    want = [np.fft.rfft(x[i : i + 6] * window, 8) for i in range(0, 15, 3)]
    np.testing.assert_allclose(
        run(tf.signal.stft(tf.constant(x, tf.float64), 6, 3)), want, atol=1e-9
    )


def test_transforms_of_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        empty = tf.zeros([0, 0], tf.complex64)
        for function in (tf.signal.fft, tf.signal.ifft2d):
            assert sess.run(function(empty)).shape == (0, 0)
        assert sess.run(tf.signal.rfft(tf.zeros([3, 0]))).shape == (3, 0)
        assert sess.run(tf.signal.rfft(tf.zeros([0, 4]))).shape == (0, 3)
        assert sess.run(tf.signal.irfft(tf.zeros([0, 3], tf.complex64))).shape == (0, 4)


def test_lengths_of_transforms_are_a_vector_of_the_right_size() -> None:
    with tf.Graph().as_default():
        for length, text in ([[6]], "rank 1"), (6, "rank 1"), ([6, 6], "must be 1 but is 2"):
            with pytest.raises(ValueError, match=text):
                tf.signal.rfft(tf.zeros([5]), length)
        with pytest.raises(ValueError, match="must have rank at least 2"):
            tf.signal.irfft2d(tf.zeros([5], tf.complex64), [6, 6])
