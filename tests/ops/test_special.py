"""Special functions against values that are known otherwise, and against identities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dataflow as tf


def run(build: Any, *inputs: Any, dtype: Any = np.float64) -> Any:
    """The value, by default in double precision."""
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(*[tf.constant(np.asarray(i, dtype)) for i in inputs]))


X = np.concatenate([np.linspace(-30, 30, 401), [0.46875, 4.0, -4.0, 1e-12, 26.9]])


def test_error_functions() -> None:
    np.testing.assert_allclose(run(tf.erf, X), [math.erf(x) for x in X], rtol=1e-14)
    np.testing.assert_allclose(run(tf.erfc, X), [math.erfc(x) for x in X], rtol=2e-13, atol=1e-300)


def test_error_functions_at_the_ends() -> None:
    ends = [-np.inf, np.inf, np.nan]
    np.testing.assert_array_equal(run(tf.erf, ends), [-1, 1, np.nan])
    np.testing.assert_array_equal(run(tf.erfc, ends), [2, 0, np.nan])


def test_erf_in_single_precision_is_rounded_well() -> None:
    x = np.concatenate([np.linspace(-6, 6, 20001), np.logspace(-30, 0, 5000)]).astype(np.float32)
    wanted = np.array([math.erf(v) for v in x.tolist()])
    for part in (slice(None), slice(0, None, 10)):  # by machine code if there is any, and by NumPy
        got = run(tf.erf, x[part], dtype=np.float32)
        assert got.dtype == np.float32
        units = np.abs(got - wanted[part]) / np.spacing(np.abs(wanted[part]).astype(np.float32))
        assert units.max() < 0.56 and np.abs(got).max() == 1
    ends = np.array([-np.inf, np.inf, np.nan, -0.0, 0.0], np.float32)
    np.testing.assert_array_equal(run(tf.erf, ends, dtype=np.float32), [-1, 1, np.nan, 0, 0])
    assert np.signbit(run(tf.erf, ends, dtype=np.float32))[3]


def test_erfinv_and_ndtri_invert() -> None:
    x = np.linspace(-5, 5, 101)
    np.testing.assert_allclose(run(tf.math.erfinv, run(tf.erf, x)), x, atol=3e-5)
    small = np.array([1e-300, 1e-12, -1e-5, 0.0])
    np.testing.assert_allclose(run(tf.math.erfinv, small), small * math.sqrt(math.pi) / 2)
    np.testing.assert_array_equal(run(tf.math.ndtri, [0, 0.5, 1]), [-np.inf, 0, np.inf])
    assert np.isnan(run(tf.math.ndtri, [-0.1, 1.1])).all()


def test_lgamma() -> None:
    x = np.concatenate([np.linspace(0.01, 60, 300), np.linspace(-5.9, -0.1, 40), [1e5, 1e-10]])
    x = x[x != np.floor(x)]
    np.testing.assert_allclose(
        run(tf.lgamma, x), [math.lgamma(v) for v in x], rtol=1e-12, atol=1e-13
    )
    np.testing.assert_array_equal(run(tf.lgamma, [0, -1, np.inf]), [np.inf] * 3)


def test_digamma() -> None:
    euler = 0.5772156649015329
    np.testing.assert_allclose(
        run(tf.digamma, [1, 2, 0.5, 10]),
        [-euler, 1 - euler, -euler - 2 * math.log(2), 2.251752589066721],
        rtol=1e-14,
    )
    x = np.linspace(-4.7, 9.3, 30)
    np.testing.assert_allclose(run(tf.digamma, x + 1) - run(tf.digamma, x), 1 / x, rtol=1e-9)


def test_zeta_and_polygamma() -> None:
    ones = np.ones(3)
    expected = [math.pi**2 / 6, math.pi**4 / 90, 1.202056903159594]
    np.testing.assert_allclose(run(tf.zeta, [2, 4, 3], ones), expected, rtol=1e-14)
    np.testing.assert_allclose(
        run(tf.polygamma, [1, 3, 2], ones),
        [expected[0], 6 * expected[1], -2 * expected[2]],
        rtol=1e-13,
    )
    q = np.linspace(0.3, 20, 20)
    difference = run(tf.zeta, np.full(20, 2.5), q) - run(tf.zeta, np.full(20, 2.5), q + 1)
    np.testing.assert_allclose(difference, q**-2.5, rtol=1e-11)


def test_incomplete_gamma() -> None:
    x = np.array([0.0, 0.1, 1, 5, 20, 200])
    np.testing.assert_allclose(run(tf.igamma, np.ones(6), x), 1 - np.exp(-x), rtol=1e-13)
    halves = np.full(6, 0.5)
    np.testing.assert_allclose(
        run(tf.igamma, halves, x), [math.erf(math.sqrt(v)) for v in x], rtol=1e-13
    )
    np.testing.assert_allclose(
        run(tf.igammac, halves, x), [math.erfc(math.sqrt(v)) for v in x], rtol=1e-12
    )
    assert np.isnan(run(tf.igamma, [-1, 1], [1, -1])).all()
    a = np.array([0.3, 3.0, 40.0, 900.0])
    np.testing.assert_allclose(run(tf.igamma, a, a) + run(tf.igammac, a, a), 1, rtol=1e-12)


def test_the_derivative_by_a() -> None:
    a, x = np.array([0.3, 2.0, 9.0, 30.0]), np.array([0.5, 7.0, 4.0, 33.0])
    step = 1e-5
    with tf.Graph().as_default(), tf.Session() as session:
        ta, tx = tf.constant(a), tf.constant(x)
        (slope,) = tf.gradients(tf.igamma(ta, tx), ta)
        value = session.run(slope)
    numeric = (run(tf.igamma, a + step, x) - run(tf.igamma, a - step, x)) / (2 * step)
    np.testing.assert_allclose(value, numeric, rtol=1e-6, atol=1e-10)


def test_incomplete_beta() -> None:
    x = np.linspace(0, 1, 11)
    one = np.ones(11)
    np.testing.assert_allclose(run(tf.betainc, 3 * one, one, x), x**3, rtol=1e-12)
    np.testing.assert_allclose(run(tf.betainc, one, 2 * one, x), 1 - (1 - x) ** 2, rtol=1e-12)
    left = run(tf.betainc, 2.5 * one, 7 * one, x)
    right = run(tf.betainc, 7 * one, 2.5 * one, 1 - x)
    np.testing.assert_allclose(left + right, 1, rtol=1e-12)


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_by_their_series(order: int) -> None:
    x = np.linspace(-20, 20, 41)
    series = sum(
        (x / 2) ** (2 * k + order) / (math.factorial(k) * math.factorial(k + order))
        for k in range(80)
    )
    function = getattr(tf.math, f"bessel_i{order}")
    scaled = getattr(tf.math, f"bessel_i{order}e")
    np.testing.assert_allclose(run(function, x), series, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run(scaled, x), series * np.exp(-np.abs(x)), rtol=1e-12, atol=1e-16)
    # Where the two ways of computing it meet.
    below, above = run(scaled, [7.999999, 8.000001])
    assert below == pytest.approx(above, rel=1e-6)
    # Hankel's series.
    large = np.array([1e3, -1e5, 1e30, np.inf])
    mu = 4.0 * order**2
    asymptotic = 1 - (mu - 1) / (8 * abs(large)) + (mu - 1) * (mu - 9) / (2 * (8 * large) ** 2)
    asymptotic = asymptotic / np.sqrt(2 * np.pi * abs(large)) * np.sign(large) ** order
    np.testing.assert_allclose(run(scaled, large), asymptotic, rtol=1e-9)
    assert np.isnan(run(scaled, [np.nan])).all()


def test_einsum_refuses_ellipses_that_say_nothing() -> None:
    a, b = np.zeros([2, 2, 3]), np.zeros([3, 4])
    with tf.Graph().as_default():
        for equation in ("...ij...,jk->ik", "...ij,jk->...ik...", "...ij,jk->ik", "ij->j->i"):
            with pytest.raises(ValueError):
                tf.einsum(equation, a, b)
        assert tf.einsum("...ij,jk->...ik", a, b).shape.as_list() == [2, 2, 4]


def test_an_empty_constant_takes_any_value() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.constant(-np.inf, shape=[0, 2])).shape == (0, 2)


def test_an_array_is_a_table_of_embeddings() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.nn.embedding_lookup(table, [1])).tolist() == [[3, 4]]
        assert sess.run(tf.nn.embedding_lookup([table, 2 * table], [1])).tolist() == [[2, 4]]
