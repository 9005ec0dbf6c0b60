"""Decays, against their formulas; moving averages; the global step."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


STEPS = [0, 1, 4, 5, 9, 10, 25]


def restarts(step):
    start, length = 0, 4
    while step >= start + length:
        start, length = start + length, length * 2
    return 0.05 * (1 + math.cos(math.pi * (step - start) / length))


def polynomial_cycle(step):
    period = 10 * max(1, math.ceil(step / 10))
    return 0.09 * (1 - step / period) ** 2 + 0.01


DECAYS = {
    "exponential": (
        lambda s: tf.train.exponential_decay(0.1, s, 10, 0.5),
        lambda s: 0.1 * 0.5 ** (s / 10),
    ),
    "staircase": (
        lambda s: tf.train.exponential_decay(0.1, s, 10, 0.5, staircase=True),
        lambda s: 0.1 * 0.5 ** (s // 10),
    ),
    "natural": (
        lambda s: tf.train.natural_exp_decay(0.1, s, 10, 0.5),
        lambda s: 0.1 * math.exp(-0.5 * s / 10),
    ),
    "inverse_time": (
        lambda s: tf.train.inverse_time_decay(0.1, s, 10, 0.5),
        lambda s: 0.1 / (1 + 0.5 * s / 10),
    ),
    "polynomial": (
        lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, power=2.0),
        lambda s: 0.09 * (1 - min(s, 10) / 10) ** 2 + 0.01,
    ),
    "cycle": (
        lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, power=2.0, cycle=True),
        polynomial_cycle,
    ),
    "cosine": (
        lambda s: tf.train.cosine_decay(0.1, s, 10, alpha=0.2),
        lambda s: 0.1 * (0.8 * 0.5 * (1 + math.cos(math.pi * min(s, 10) / 10)) + 0.2),
    ),
    "restarts": (lambda s: tf.train.cosine_decay_restarts(0.1, s, 4), restarts),
    "equal_restarts": (
        lambda s: tf.train.cosine_decay_restarts(0.1, s, 4, t_mul=1.0),
        lambda s: 0.05 * (1 + math.cos(math.pi * (s % 4) / 4)),
    ),
    "piecewise": (
        lambda s: tf.train.piecewise_constant(s, [4, 9], [1.0, 0.5, 0.1]),
        lambda s: 1.0 if s <= 4 else 0.5 if s <= 9 else 0.1,
    ),
}


@pytest.mark.parametrize("name", list(DECAYS))
def test_a_decay_follows_its_formula(name):
    make, formula = DECAYS[name]
    step = tf.placeholder(tf.int32, [])
    rate = make(step)
    with tf.Session() as session:
        values = [session.run(rate, {step: s}) for s in STEPS]
    np.testing.assert_allclose(values, [formula(s) for s in STEPS], rtol=1e-4, atol=1e-7)


def test_noise_decays_with_the_step():
    step = tf.placeholder(tf.int32, [])
    rate = tf.train.noisy_linear_cosine_decay(1.0, step, 1000, initial_variance=1.0)
    with tf.Session() as session:
        early = np.std([session.run(rate, {step: 0}) for _ in range(200)])
        late = np.std([session.run(rate, {step: 500}) for _ in range(200)])
    assert early > 2 * late > 0


def test_an_optimizer_reads_the_rate_anew_in_every_step():
    step = tf.train.get_or_create_global_step()
    x = tf.Variable(0.0)
    rate = tf.train.exponential_decay(1.0, step, 1, 0.5)
    train = tf.train.GradientDescentOptimizer(rate).minimize(-x, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = []
        for _ in range(3):
            session.run(train)
            seen.append(session.run(x))
    np.testing.assert_allclose(seen, [1.0, 1.5, 1.75])


def test_errors():
    with pytest.raises(ValueError, match="global_step is required for exponential_decay"):
        tf.train.exponential_decay(0.1, None, 10, 0.5)
    with pytest.raises(ValueError, match="1 less than the length of values"):
        tf.train.piecewise_constant(1, [1, 2], [1.0, 2.0])
    with pytest.raises(ValueError, match="must have the same dtype"):
        tf.train.piecewise_constant(1, [1.5], [1.0, 2.0])


def test_a_moving_average_follows_and_is_restored_in_place_of_its_variable(tmp_path):
    w = tf.Variable(10.0, name="w")
    average = tf.train.ExponentialMovingAverage(0.9)
    update = average.apply([w])
    assert average.average_name(w) == "w/ExponentialMovingAverage"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(w.assign(0.0))
        for expected in (9.0, 8.1):
            session.run(update)
            assert session.run(average.average(w)) == pytest.approx(expected)
        prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Session() as session:
        tf.train.Saver(average.variables_to_restore()).restore(session, prefix)
        assert session.run(w) == pytest.approx(8.1)


def test_zero_debias_makes_the_first_average_the_first_value():
    x = tf.placeholder_with_default(4.0, [], name="x")
    average = tf.train.ExponentialMovingAverage(0.99, zero_debias=True)
    update = average.apply([x])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(average.average(x)) == pytest.approx(4.0, rel=1e-4)


def test_averages_of_integers_are_refused():
    with pytest.raises(TypeError, match="half, float, or double"):
        tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1)])


def test_the_global_step(graph):
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert step.name == "global_step:0"
    assert step.dtype.base_dtype == tf.int64
    assert tf.train.get_global_step(graph) is step
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()
    with pytest.raises(TypeError, match="integer type"):
        tf.train.assert_global_step(tf.Variable(1.0))
    with pytest.raises(TypeError, match="not scalar"):
        tf.train.assert_global_step(tf.Variable([1]))


def test_a_variable_that_is_just_called_global_step_is_found():
    step = tf.Variable(0, name="global_step", trainable=False)
    assert tf.train.get_global_step().op is step.op
