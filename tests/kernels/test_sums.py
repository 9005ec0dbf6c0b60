"""Sums along one axis as products with ones: near to NumPy's, and as they were for other arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import reduce

#: Shapes, and whether the last axis and the one before are added up by BLAS.
SHAPES = [
    ((32, 20, 64), True, True),
    ((5, 13, 7, 33), True, False),
    ((700, 96), True, False),
    ((8, 4096, 9), True, False),
    ((3, 40, 2000), False, False),
    ((16, 3, 2), False, False),
    ((4, 5), False, False),
    ((0, 20, 64), False, False),
    ((2, 100, 100), True, True),
]


def sums(x: Any, axis: int, keep_dims: bool) -> Any:
    return reduce.sum_kernel(np, x, np.array([axis]), keep_dims=keep_dims)


@pytest.mark.parametrize("keep_dims", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "last", "before"), SHAPES)
def test_sums_and_means(
    shape: tuple[int, ...], last: bool, before: bool, dtype: Any, keep_dims: bool
) -> None:
    x = np.random.default_rng(len(shape)).normal(3, 1, shape).astype(dtype)
    for axis, by_blas in ((len(shape) - 1, last), (len(shape) - 2, before)):
        assert (reduce._total_by_blas(x, (axis,), False) is not None) == by_blas
        for at in (axis, axis - len(shape)):
            wanted = x.sum(axis=at, keepdims=keep_dims, dtype=np.float64)
            got = sums(x, at, keep_dims)
            assert got.dtype == dtype and got.shape == wanted.shape
            tolerance = 2e-6 if dtype == np.float32 else 1e-13
            np.testing.assert_allclose(got, wanted, rtol=tolerance)
            mean = reduce.mean_kernel(np, x, np.array([at]), keep_dims=keep_dims)
            np.testing.assert_allclose(mean, wanted / max(shape[axis], 1), rtol=tolerance)


@pytest.mark.parametrize("axis", [1, 2])
def test_nan_and_infinity_stay_in_their_rows(axis: int) -> None:
    x = np.random.default_rng(4).random((9, 70, 80), dtype=np.float32)
    x[2, 3, 4], x[5, 6, 7], x[6, 0, 0], x[6, 0, 1], x[6, 1, 0] = (
        np.nan,
        np.inf,
        np.inf,
        -np.inf,
        -np.inf,
    )
    got, wanted = sums(x, axis, False), x.sum(axis)
    assert reduce._total_by_blas(x, (axis,), False) is not None
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted))
    np.testing.assert_allclose(got[[0, 1, 3, 4, 7, 8]], wanted[[0, 1, 3, 4, 7, 8]], rtol=2e-6)


def test_arrays_that_are_not_in_order_are_left_to_numpy() -> None:
    x = np.random.default_rng(5).random((64, 20, 32), dtype=np.float32).transpose(2, 1, 0)
    assert reduce._total_by_blas(x, (2,), False) is None
    np.testing.assert_array_equal(sums(x, 2, False), x.sum(2))


def test_no_call_of_blas_wakes_its_threads() -> None:
    assert reduce._MOST_AT_ONCE < 36_864


@pytest.mark.parametrize("axis", [1, 2])
def test_the_gradient_of_a_sum_along_an_axis(axis: int) -> None:
    x = tf.placeholder(tf.float64, [6, 20, 30])
    y = tf.reduce_sum(tf.square(tf.reduce_sum(x, axis)))
    value = np.random.default_rng(6).random((6, 20, 30))
    with tf.Session() as session:
        got = session.run(tf.gradients(y, x)[0], {x: value})
    wanted = np.broadcast_to(2 * value.sum(axis, keepdims=True), value.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
