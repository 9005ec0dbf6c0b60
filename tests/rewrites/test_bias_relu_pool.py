"""A bias, a rectifier and pooling as one kernel: the same bits, with no array between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import InvalidArgumentError
from tests.rewrites.rewritten import rewritten
from tests.rewrites.test_multi_output_fusion import both, same, types


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def moved(plan: Any) -> bool:
    return any(hit.rule == "pooling" for hit in plan.journal)


@pytest.mark.parametrize(
    ("taps", "fits"), [((2, 4), True), ((4, 1), True), ((1, 6), True), ((2, 6), False)]
)
def test_windows_of_any_sides_with_at_most_nine_elements(taps: Any, fits: bool) -> None:
    x = tf.placeholder(tf.float32, [2, 4, 12, 3])
    window = [1, *taps, 1]
    y = tf.nn.max_pool(tf.nn.relu(x + [0.5, -1.0, 0.0]), window, window, "VALID")
    fetches = [y, tf.gradients(tf.square(y), x)[0]]
    plan, got, wanted = both(fetches, {x: numbers(2, 4, 12, 3).astype(np.float32)})
    assert moved(plan) == fits
    same(got, wanted)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
@pytest.mark.parametrize("add", [tf.nn.bias_add, tf.add, lambda x, b: x + b[:1]])
@pytest.mark.parametrize(
    ("taps", "stride", "padding", "fits"),
    [(2, 2, "SAME", True), (3, 3, "VALID", True), (3, 2, "VALID", False), (4, 4, "SAME", False)],
)
def test_values_and_gradients(
    either: None, dtype: Any, add: Any, taps: int, stride: int, padding: str, fits: bool
) -> None:
    x, b = tf.placeholder(dtype, [None, 6, 12, 5]), tf.placeholder(dtype, [5])
    y = tf.nn.max_pool(tf.nn.relu(add(x, b)), [1, taps, taps, 1], [1, stride, stride, 1], padding)
    loss = tf.reduce_sum(tf.sin(y) * y)
    value = numbers(3, 6, 12, 5).astype(dtype.as_numpy_dtype)
    value[0] -= 3  # windows without a positive element
    feeds = {x: value, b: np.array([0.5, -1, 0, 2, -9], value.dtype)}
    for fetches in ([y, *tf.gradients(loss, [x, b])], [y]):
        plan, got, wanted = both(fetches, feeds)
        assert moved(plan) == fits
        for a, w in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a, w)


def test_a_gradient_of_another_pooling_keeps_the_array() -> None:
    x, b = tf.placeholder(tf.float32, [1, 2, 2, 1]), tf.placeholder(tf.float32, [1])
    other = tf.placeholder(tf.float32, [1, 1, 1, 1])
    rectified = tf.nn.relu(x + b)
    window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    y = tf.nn.max_pool(rectified, **window)
    for first, second in ((rectified, other), (tf.square(rectified), y)):
        gradient = tf.raw_ops.MaxPoolGrad(
            orig_input=first, orig_output=second, grad=tf.ones_like(y), **window
        )
        feeds = {x: numbers(1, 2, 2, 1), b: np.zeros(1), other: np.ones((1, 1, 1, 1))}
        plan, got, wanted = both([y, gradient], feeds)
        assert not moved(plan)
        same(got, wanted)


def test_of_sums_that_are_rounded_alike_the_first_gets_the_gradient() -> None:
    x, b = tf.placeholder(tf.float32, [1, 2, 2, 1]), tf.placeholder(tf.float32, [1])
    y = tf.nn.max_pool(tf.nn.relu(x + b), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    value = np.array([1, np.nextafter(np.float32(1), np.float32(2)), 0, 0], np.float32)
    feeds = {x: value.reshape(1, 2, 2, 1), b: np.float32([1000])}
    plan, (got,), (wanted,) = both(tf.gradients(y, x), feeds)
    assert moved(plan)
    assert got.ravel().tolist() == wanted.ravel().tolist() == [1, 0, 0, 0]


def test_nan_and_infinity() -> None:
    x, b = tf.placeholder(tf.float32, [1, 4, 6, 2]), tf.placeholder(tf.float32, [2])
    y = tf.nn.max_pool(tf.nn.relu(x + b), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    value = numbers(1, 4, 6, 2).astype(np.float32)
    value[0, 0, 0, 0], value[0, 2, 2, 1], value[0, 3, 5, 0] = np.nan, np.inf, -np.inf
    plan, got, wanted = both([y, *tf.gradients(y, [x])], {x: value, b: np.float32([1, -2])})
    assert moved(plan)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_elements() -> None:
    x = tf.placeholder(tf.float32, [None, 4, 6, 2])
    y = tf.nn.max_pool(tf.nn.relu(x + [1.0, 2.0]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    _, (got,), (wanted,) = both([y], {x: np.zeros((0, 4, 6, 2), np.float32)})
    assert got.shape == wanted.shape == (0, 2, 3, 2)


@pytest.mark.parametrize(
    "why",
    [
        *("fetched", "sum fetched", "used", "sum used", "another bias", "by channel"),
        *("broadcast", "channels unknown", "channels first", "overlapping", "padded"),
        *("leaky", "waits", "no window"),
    ],
)
def test_what_stays_as_it_is(why: str) -> None:
    shape = [2, 4, 6, 1 if why == "broadcast" else 4]
    x = tf.placeholder(tf.float32, [*shape[:3], None] if why == "channels unknown" else shape)
    bias = tf.ones([6, 4]) if why == "another bias" else tf.constant([1.0, -1.0, 0.5, 0.0])
    total = x + bias
    if why == "channels first":
        total = tf.nn.bias_add(x, [1.0, -1.0, 0.5, 0.0], "NCHW")
    h = tf.nn.leaky_relu(total) if why == "leaky" else tf.nn.relu(total)
    depth = 2 if why == "by channel" else 1
    ksize, strides = [1, 2, 2, depth], [1, 2, 2, depth]
    if why == "overlapping":
        strides = [1, 1, 2, 1]
    if why == "padded":
        ksize = strides = [1, 3, 4, 1]
    if why == "no window":
        ksize = strides = [1, 1, 1, 1]
    if why == "waits":
        with tf.control_dependencies([tf.Variable(1.0).initializer]):
            h = tf.nn.relu(total)
    y = tf.nn.max_pool(h, ksize, strides, "SAME")
    more = {
        "fetched": [h],
        "sum fetched": [total],
        "used": [tf.reduce_sum(h)],
        "sum used": [tf.reduce_sum(total)],
    }
    plan, got, wanted = both([y, *more.get(why, [])], {x: numbers(*shape).astype(np.float32)})
    assert not moved(plan)
    same(got, wanted)


def test_what_waits_for_the_rectifier_stays_with_it() -> None:
    x = tf.placeholder(tf.float32, [2, 4, 6, 2])
    h = tf.nn.relu(x + tf.constant([1.0, -1.0]))
    with tf.control_dependencies([h]):
        last = tf.identity(x) * 2.0
    y = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    plan, got, wanted = both([y, last], {x: numbers(2, 4, 6, 2).astype(np.float32)})
    assert not moved(plan)
    same(got, wanted)


def test_an_error_names_the_node_of_the_user() -> None:
    x, b = tf.placeholder(tf.float32, [None, 4, 4, 3]), tf.placeholder(tf.float32, [None])
    b.set_shape([3])
    y = tf.nn.max_pool(tf.nn.relu(tf.add(x, b)), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    with tf.Session() as s:
        plan = rewritten(s, y, [x, b])
        assert moved(plan)
        assert types(plan) == ["_BiasReluMaxPool"]
        with pytest.raises(InvalidArgumentError, match="MaxPool") as caught:
            plan.run_flat([np.zeros((1, 4, 4, 3), np.float32), np.zeros(2, np.float32)])
        assert caught.value.op is y.op


def test_what_is_added_to_each_pixel_is_no_bias(either: None) -> None:
    x = tf.placeholder(tf.float32, [3, 6, 12, 5])
    for shape in ([1, 6, 12, 5], [1, 1, 1, 5]):
        more = tf.placeholder(tf.float32, shape)
        y = tf.nn.max_pool(tf.nn.relu(x + more), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        plan, got, wanted = both([y], {x: numbers(3, 6, 12, 5), more: numbers(*shape)})
        assert not moved(plan)
        same(got, wanted)


@pytest.mark.parametrize("where", ["pooling", "the rest"])
def test_what_is_placed_elsewhere_stays_there(where: str) -> None:
    x = tf.placeholder(tf.float32, [2, 4, 6, 2])
    with tf.device("" if where == "pooling" else "/cpu:0"):
        h = tf.nn.relu(x + tf.constant([1.0, -1.0]))
    with tf.device("/cpu:0" if where == "pooling" else ""):
        y = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    plan, got, wanted = both([y], {x: numbers(2, 4, 6, 2).astype(np.float32)})
    assert not moved(plan)
    same(got, wanted)
