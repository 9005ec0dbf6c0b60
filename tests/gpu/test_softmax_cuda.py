"""The CUDA C of softmax and cross entropies, run on the CPU: short and long rows, NaN, bad labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import activation, loss
from dataflow.kernels.cuda.row_threads import row_form
from dataflow.kernels.xp import pretend_module

SHAPES = [(5, 10), (3, 300), (70, 2), (300, 1), (1, 2500), (2, 4100), (1, 17_000)]
TOLERANCE = {"float16": 3e-3, "float32": 2e-6, "float64": 1e-13}


def check_rows(xp: Any, shape: tuple[int, int], dtype: str) -> None:
    """The four kernels on ``xp`` against the CPU in double precision."""
    rng = np.random.RandomState(0)
    x = (rng.randn(*shape) * 5).astype(dtype)
    labels = rng.rand(*shape).astype(dtype)
    labels /= labels.sum(1, keepdims=True)
    classes = rng.randint(0, shape[1], shape[0])
    calls = [
        (activation.softmax_kernel, []),
        (activation.log_softmax_kernel, []),
        (loss.softmax_cross_entropy_kernel, [labels]),
        (loss.sparse_softmax_cross_entropy_kernel, [classes]),
        (loss.sparse_softmax_cross_entropy_kernel, [classes.astype(np.int32)]),
    ]
    for kernel, more in calls:
        exact = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in more]
        want = kernel(np, x.astype(np.float64), *exact)
        got = kernel(xp, xp.asarray(x), *[xp.asarray(a) for a in more])
        pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
        for one, other in pairs:
            assert one.dtype == dtype and one.shape == other.shape
            scale = max(1.0, np.abs(other).max())
            np.testing.assert_allclose(
                one.get() / scale, other / scale, rtol=0, atol=TOLERANCE[dtype]
            )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_as_on_the_cpu(cuda_on_host: Any, shape: tuple[int, int]) -> None:
    check_rows(pretend_module(0), shape, "float32")
    names = ["softmax", "log_softmax", "cross_entropy", *["sparse_cross_entropy"] * 2]
    assert cuda_on_host.launches == names


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_precisions(cuda_on_host: Any, dtype: str) -> None:
    check_rows(pretend_module(0), (6, 11), dtype)


def test_threads_of_a_row() -> None:
    forms = {n: row_form(n, np.float32) for n in (1, 4, 5, 10, 64, 1000, 5000, 16_384, 16_385)}
    assert [f.width for f in forms.values()] == [1, 1, 2, 4, 16, 256, 512, 1024, 1024]
    assert [f.items for f in forms.values()] == [1, 4, 3, 3, 4, 4, 10, 16, 0]
    for classes, form in forms.items():
        assert form.width * form.items >= classes or not form.items
        assert form.threads % form.width == 0
    assert row_form(16_384, np.float64) == (512, 512, 0)


def test_large_numbers_and_nan(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x = np.array([[1e4, 0, 0], [np.nan, 0, 0], [0, 0, np.nan], [-np.inf, 0, 0]], np.float32)
    value = activation.softmax_kernel(xp, xp.asarray(x)).get()
    np.testing.assert_array_equal(value[0], [1, 0, 0])
    assert np.isnan(value[1:3]).all()
    np.testing.assert_array_equal(value[3], [0, 0.5, 0.5])


def test_a_label_that_is_no_class_gives_nan_in_its_row(cuda_on_host: Any) -> None:
    x = tf.constant(np.ones((4, 3), np.float32))
    labels = tf.constant([0, 3, -1, 2])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
    with tf.Session() as session:
        value, slope = session.run([loss, tf.gradients(loss, x)[0]])
    assert np.isnan(value).tolist() == [False, True, True, False]
    assert np.isnan(slope).all(1).tolist() == [False, True, True, False]
    np.testing.assert_allclose(value[::3], np.log(3), rtol=1e-6)


def test_one_distribution_for_all_rows(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x, labels = np.eye(3, dtype=np.float32), np.array([[0.5, 0.25, 0.25]], np.float32)
    got = loss.softmax_cross_entropy_kernel(xp, xp.asarray(x), xp.asarray(labels))
    want = loss.softmax_cross_entropy_kernel(np, x, labels)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one.get(), other, rtol=1e-6, atol=1e-7)
