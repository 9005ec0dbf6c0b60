"""`tf.contrib.training`: examples chosen by class, by a function, and by weights."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import dataflow as tf

training = tf.contrib.training


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(7)
        yield graph


def run(fetches: Any, times: int) -> list[Any]:
    """So many runs, with the queues' threads."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coordinator)
        found = [sess.run(fetches) for _ in range(times)]
        coordinator.request_stop()
        coordinator.join(threads)
    return found


@pytest.mark.parametrize("known", [True, False])
def test_classes_come_as_often_as_asked(known: bool) -> None:
    label = tf.cond(tf.random_uniform([]) < 0.5, lambda: tf.constant(0), lambda: tf.constant(2))
    values, labels = training.stratified_sample(
        [tf.stack([label, label * 4])],
        label,
        [0.8, 0.0, 0.2],
        50,
        init_probs=[0.5, 0.0, 0.5] if known else None,
    )
    seen: Counter[int] = Counter()
    for [pairs], classes in run([values, labels], 20):
        np.testing.assert_array_equal(pairs, np.stack([classes, classes * 4], 1))
        seen.update(classes.tolist())
    assert abs(seen[0] / sum(seen.values()) - 0.8) < 0.06, seen


def test_what_a_function_refuses_does_not_come() -> None:
    value = tf.random_uniform([], 0, 3, tf.int32)
    batches = training.rejection_sample([value], lambda t: tf.to_float(t[0]) / 2.0, 30)
    seen = Counter(x for [batch] in run(batches, 10) for x in batch.tolist())
    assert set(seen) == {1, 2} and seen[2] > 1.5 * seen[1]


def test_examples_come_in_proportion_to_their_weights() -> None:
    weights = np.array([10.0, 3.0, 15.0, 8.0, 20.0], np.float32)
    values = tf.range(5)
    chosen, rates = training.weighted_resample([values, values * 2], tf.constant(weights), 0.5)
    back = training.resample_at_rate(chosen, 1.0 / rates)
    first: Counter[int] = Counter()
    again: Counter[int] = Counter()
    for (one, two), (returned, _) in run([chosen, back], 300):
        np.testing.assert_array_equal(two, one * 2)
        first.update(one.tolist())
        again.update(returned.tolist())
    for i, weight in enumerate(weights):
        expected = 5 * 300 * 0.5 * weight / weights.sum()
        assert abs(first[i] - expected) < 4 * math.sqrt(expected)
        # Each one chosen comes back 300 / expected times.
        assert abs(again[i] - 300) < 4 * 300 / math.sqrt(expected)
    assert run(training.resample_at_rate([values], tf.zeros([5])), 1)[0][0].shape == (0,)


def test_what_does_not_fit_is_refused() -> None:
    values, label, probabilities = [tf.zeros([1, 3])], tf.constant([1]), [0.5, 0.5]
    sample = training.stratified_sample
    for labels, wanted, given in (
        (tf.constant([0, 1, 0]), probabilities, probabilities),
        (label, 1, probabilities),
        (label, tf.placeholder(tf.float32, [None]), probabilities),
        (label, [0.1] * 10, [0.2] * 5),
        (label, [0.2, 0.8], [0.0, 1.0]),
    ):
        with pytest.raises(ValueError):
            sample(values, labels, wanted, 4, given, enqueue_many=labels is label)
    with pytest.raises(TypeError, match="list"):
        sample(values[0], label, probabilities, 4)
    with pytest.raises(ValueError):
        training.rejection_sample(
            [tf.zeros([5, 1]), tf.zeros([4, 1])], lambda _: 1.0, 4, enqueue_many=True
        )
    probability = tf.placeholder(tf.float32, [])
    training.rejection_sample(
        [tf.zeros([])], lambda _: probability, 4, runtime_checks=True, name="checked"
    )
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError):
        sess.run("checked/prob_with_checks:0", {probability: 1.1})


def test_warm_restarts() -> None:
    step = tf.placeholder(tf.int32)
    rate = training.sgdr_decay(0.5, step, 10, t_mul=2.0, m_mul=0.9)
    with tf.Session() as sess:
        for now, start, period, factor in ((3, 0, 10, 1.0), (25, 10, 20, 0.9), (45, 30, 40, 0.81)):
            cosine = 0.5 * (1 + math.cos(math.pi * (now - start) / period))
            assert sess.run(rate, {step: now}) == pytest.approx(0.5 * factor * cosine, abs=2e-5)
