"""A convolution, a bias and a rectifier as one kernel: the same bits, and no array between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import InvalidArgumentError
from tests.rewrites.rewritten import rewritten, types
from tests.rewrites.test_multi_output_fusion import both


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def joined(plan: Any) -> bool:
    return any(hit.rule == "convolution" for hit in plan.journal)


def convolved(
    x: Any, filters: Any, stride: int = 1, padding: str = "SAME", dilation: int = 1
) -> Any:
    dilations = [1, dilation, dilation, 1]
    return tf.nn.conv2d(x, filters, [1, stride, stride, 1], padding, dilations=dilations)


#: (batch, height, width, channels, filter height, filter width, outputs): for tiles with a part of a vector, with
#: several panels, with several chunks of taps; few outputs, products, and so small that BLAS computes them.
SIZES = [
    (3, 9, 11, 5, 3, 3, 7),
    (2, 16, 16, 32, 5, 5, 40),
    (1, 17, 13, 64, 3, 3, 100),
    (1, 6, 6, 256, 5, 5, 96),
    (3, 1, 40, 32, 1, 7, 50),
    (2, 30, 30, 8, 3, 3, 2),
    (2, 12, 12, 48, 1, 1, 33),
    (1, 4, 4, 2, 2, 2, 3),
]
#: (stride, padding, dilation); the third has places that no tap meets.
WINDOWS = [(1, "SAME", 1), (2, "VALID", 1), (1, "SAME", 2)]


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize(("stride", "padding", "dilation"), WINDOWS)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_the_same_bits(
    either: None, size: tuple[int, ...], stride: int, padding: str, dilation: int, relu: bool
) -> None:
    batch, high, wide, channels, taps_high, taps_wide, outputs = size
    x = tf.placeholder(tf.float32, [None, high, wide, channels])
    filters = tf.placeholder(tf.float32, [taps_high, taps_wide, channels, outputs])
    bias = tf.placeholder(tf.float32, [outputs])
    y = tf.nn.bias_add(convolved(x, filters, stride, padding, dilation), bias)
    y = tf.nn.relu(y) if relu else y
    image = numbers(batch, high, wide, channels)
    image[0, 0, wide // 2, 0] = np.nan
    feeds = {
        x: image,
        filters: numbers(taps_high, taps_wide, channels, outputs),
        bias: numbers(outputs),
    }
    for _ in range(2):  # the second time, machine code is there
        plan, (got,), (wanted,) = both([y], feeds)
        assert types(plan) == ["_Conv2DBias"]
        np.testing.assert_array_equal(got, wanted)


def test_places_that_no_tap_meets_are_the_bias(either: None) -> None:
    x, bias = tf.placeholder(tf.float32, [1, 40, 8, 16]), np.linspace(-1, 1, 16, dtype=np.float32)
    filters = tf.placeholder(tf.float32, [3, 3, 16, 16])
    paddings = [[0, 0], [9, 9], [9, 9], [0, 0]]
    y = tf.nn.relu(tf.nn.conv2d(x, filters, [1, 1, 1, 1], paddings) + bias)
    feeds = {x: numbers(1, 40, 8, 16), filters: numbers(3, 3, 16, 16)}
    plan, (got,), (wanted,) = both([y], feeds)
    assert joined(plan)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(got[0, 0, 0], np.maximum(bias, 0))


@pytest.mark.parametrize("add", [tf.nn.bias_add, tf.add, lambda x, b: tf.raw_ops.AddV2(x=x, y=b)])
def test_in_training(add: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 12, 12, 8])
    filters, bias = tf.Variable(numbers(3, 3, 8, 16)), tf.Variable(numbers(16))
    y = tf.nn.relu(add(convolved(x, filters), bias))
    gradients = tf.gradients(tf.reduce_sum(tf.sin(y)), [x, filters.value(), bias.value()])
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        plan = rewritten(s, [y, *gradients], [x])
        assert joined(plan)
        assert not {"Conv2D", "BiasAdd", "Relu"} & set(types(plan))
        got = plan.run([numbers(2, 12, 12, 8)])
    with tf.Session(config=_off()) as s:
        s.run(tf.global_variables_initializer())
        wanted = s.run([y, *gradients], {x: numbers(2, 12, 12, 8)})
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def _off() -> Any:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def _parts(dtype: Any = tf.float32) -> tuple[Any, Any, Any]:
    x, filters = tf.placeholder(dtype, [1, 6, 6, 4]), tf.placeholder(dtype, [3, 3, 4, 8])
    return x, filters, tf.placeholder(dtype, [8])


def _plan(fetches: Any, *feeds: Any) -> Any:
    with tf.Session() as s:
        return rewritten(s, fetches, list(feeds))


def test_not_where_an_array_between_is_needed() -> None:
    x, filters, bias = _parts()
    h = convolved(x, filters)
    biased = tf.nn.bias_add(h, bias)
    y = tf.nn.relu(biased)
    assert not joined(_plan([y, h], x, filters, bias))
    assert not joined(_plan([y, tf.square(h)], x, filters, bias))
    plan = _plan([y, biased], x, filters, bias)
    assert "Conv2D" in types(plan)
    with tf.control_dependencies([h]):
        other = tf.identity(x) * 2
    assert not joined(_plan([y, other], x, filters, bias))


def test_the_shape_of_the_sum_is_that_of_the_result() -> None:
    x, filters, bias = tf.placeholder(tf.float32, [None, 6, 6, 4]), *_parts()[1:]
    biased = tf.nn.bias_add(convolved(x, filters), bias)
    fetches = [tf.nn.relu(biased), tf.shape(biased)]
    feeds = {x: numbers(2, 6, 6, 4), filters: numbers(3, 3, 4, 8), bias: numbers(8)}
    plan, got, wanted = both(fetches, feeds)
    assert joined(plan) and sorted(types(plan)) == ["Shape", "_Conv2DBias"]
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_not_for_other_types_layouts_and_biases() -> None:
    parts = _parts(tf.float64)
    assert not joined(_plan(tf.nn.relu(convolved(*parts[:2]) + parts[2]), *parts))
    x, filters, bias = _parts()
    for other in (tf.placeholder(tf.float32, [1]), tf.placeholder(tf.float32, [6, 8])):
        y = tf.nn.relu(convolved(x, filters) + other)
        assert not joined(_plan(y, x, filters, other))
    grouped = tf.placeholder(tf.float32, [1, 6, 6, 8])
    y = tf.nn.relu(convolved(grouped, filters) + bias)
    assert not joined(_plan(y, grouped, filters, bias))


def test_not_for_images_and_filters_of_unknown_shape() -> None:
    x, filters, bias = _parts()
    for image, window in (
        (x, tf.placeholder(tf.float32)),
        (tf.placeholder(tf.float32), filters),
        (tf.placeholder(tf.float32, [1, 6, 6, None]), filters),
    ):
        y = tf.nn.relu(tf.nn.bias_add(convolved(image, window), bias))
        assert not joined(_plan(y, image, window, bias))


def test_a_bias_alone_is_left_to_a_loop_that_follows() -> None:
    x, filters, bias = _parts()
    biased = tf.nn.bias_add(convolved(x, filters), bias)
    assert not joined(_plan(tf.tanh(biased), x, filters, bias))
    assert joined(
        _plan(tf.nn.max_pool(biased, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), x, filters, bias)
    )


def test_an_error_names_the_convolution() -> None:
    x, filters, bias = tf.placeholder(tf.float32, [1, 6, 6, 4]), *_parts()[1:]
    y = convolved(x, filters)
    with tf.Session() as s:
        plan = rewritten(s, tf.nn.relu(tf.nn.bias_add(y, bias)), [x, filters, bias])
        values = [np.zeros((1, 6, 6, 4)), np.zeros((3, 3, 4, 8)), np.zeros(7)]
        with pytest.raises(InvalidArgumentError, match="as many biases") as caught:
            plan.run_flat([v.astype(np.float32) for v in values])
        assert caught.value.op is y.op
