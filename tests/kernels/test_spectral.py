"""Fourier transforms by SciPy and by NumPy are the same, of every dtype and at the edges."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import spectral
from tests.running import run


@pytest.fixture(params=["SciPy", "NumPy"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    spectral._of_numpy.cache_clear()
    if request.param == "NumPy":
        monkeypatch.setitem(sys.modules, "scipy.fft", None)
    else:
        pytest.importorskip("scipy.fft")
    yield request.param
    spectral._of_numpy.cache_clear()


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(0)
    value = rng.standard_normal(shape)
    return (value + 1j * rng.standard_normal(shape) if dtype[0] == "c" else value).astype(dtype)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 8), (2, 3, 4, 5), (0, 4)], ids=str)
def test_there_and_back(shape: tuple[int, ...], dtype: str) -> None:
    x = numbers(shape, dtype)
    tolerance = 1e-5 if dtype == "complex64" else 1e-13
    with tf.Graph().as_default():
        there = tf.fft(x)
        found, back = run([there, tf.ifft(there)])
    assert found.dtype == back.dtype == x.dtype
    matrix = np.exp(-2j * np.pi * np.outer(range(shape[-1]), range(shape[-1])) / shape[-1])
    np.testing.assert_allclose(found, x @ matrix, atol=20 * tolerance)
    np.testing.assert_allclose(back, x, atol=tolerance)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("length", [1, 4, 6, 9])
def test_real_lines_are_cut_or_filled_with_zeros(length: int) -> None:
    x = numbers((2, 6), "float32")
    given = np.zeros((2, length), np.float32)
    given[:, : min(length, 6)] = x[:, :length]
    with tf.Graph().as_default():
        there = tf.spectral.rfft(x, [length])
        found, back = run([there, tf.spectral.irfft(there, [length])])
    assert found.dtype == np.complex64 and back.dtype == np.float32
    np.testing.assert_allclose(found, np.fft.rfft(given), atol=1e-5)
    np.testing.assert_allclose(back, given, atol=1e-5)


def test_which_library(library: str) -> None:
    assert spectral._of_numpy().__name__.startswith(library.lower())
