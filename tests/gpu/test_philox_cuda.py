"""Random words of the GPU, run on the CPU: the very words of NumPy's Philox, and of a session."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda.philox import draw
from dataflow.kernels.philox import Stream, standard_normal, uniform
from dataflow.kernels.xp import pretend_module


def test_words_are_numpys(cuda_on_host: Any) -> None:
    key = np.array([12345, 2**63 + 7], np.uint64)
    expected = np.random.Philox(key=key).random_raw(4 * 1000)
    words = draw(pretend_module(0), key, 1, 4 * 1000, "uint64").get()
    np.testing.assert_array_equal(words, expected)
    part = draw(pretend_module(0), key, 501, 38, "uint64").get()
    np.testing.assert_array_equal(part, words[2000:2038])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_are_made_in_one_launch_and_two(cuda_on_host: Any, dtype: str) -> None:
    check_numbers(pretend_module(0), dtype)
    assert cuda_on_host.launches == ["philox", "philox", "normal"] * 4


def check_numbers(xp: Any, dtype: str) -> None:
    """Uniform and normal numbers on ``xp`` are the CPU's."""
    here, there = Stream(1, 2), Stream(1, 2)
    for count in (1, 7, 9, 1000):
        want = uniform(np, here, count, np.dtype(dtype))
        got = uniform(xp, there, count, np.dtype(dtype))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.get(), want)
        want = standard_normal(np, here, count, np.dtype(dtype))
        got = standard_normal(xp, there, count, np.dtype(dtype))
        assert got.dtype == dtype
        tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}[dtype]
        np.testing.assert_allclose(got.get(), want, rtol=tolerance, atol=tolerance)
    assert here.blocks == there.blocks


def test_host_and_device_take_turns_on_one_stream(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    mixed, plain = Stream(1, 2), Stream(1, 2)
    got = [mixed.words(5), mixed.words_on(xp, 9).get(), mixed.words(4), mixed.words_on(xp, 3).get()]
    want = [plain.words(n) for n in (5, 9, 4, 3)]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_session_draws_the_same_on_both(cuda_on_host: Any) -> None:
    def draw(config: Any) -> Any:
        with tf.Graph().as_default():
            tf.set_random_seed(5)
            tensors = [
                tf.random_uniform([300], seed=1),
                tf.random_normal([301], seed=2),
                tf.truncated_normal([64, 2], seed=3, dtype=tf.float64),
                tf.nn.dropout(tf.ones([50]), 0.5, seed=4),
                tf.random_uniform([20], maxval=7, dtype=tf.int64, seed=5),
                tf.random_shuffle(tf.range(20.0), seed=6),
            ]
            with tf.Session(config=config) as session:
                return [session.run(tensors) for _ in range(2)]

    cuda_on_host.launches.clear()
    got = draw(None)
    assert cuda_on_host.launches.count("philox") >= 10
    for one, other in zip(got, draw(tf.ConfigProto(device_count={"GPU": 0})), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
