"""Checks of lesson 0: a trained network, and tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, expect_whole
from dataflow.course.variants import drawn

_NUM_STEPS, _BATCH = 300, 100
_MAX_WEIGHTS, _NEEDED = 5000, 0.96


@exercise(
    "There are four variables: a matrix and a vector for each of the two layers.",
    lambda v: (
        f"64 pixels by {v.units} units, and {v.units} more; then {v.units} by 10 scores, and 10 more."
    ),
    "sum(v.shape.num_elements() for v in tf.trainable_variables()), while the network's graph is "
    "the default graph.",
)
def ex1(num_weights: Any) -> str:
    """The number of parameters of the lesson's network."""
    num_weights = expect_whole("num_weights", num_weights)
    units = drawn("lesson00.ex1").units
    matrices, biases = 64 * units + units * 10, units + 10
    expect(
        num_weights != matrices,
        "these are the two matrices; each unit has one number more, its bias",
    )
    expect(
        num_weights == matrices + biases,
        f"{num_weights} is not the number of elements of all four variables",
    )
    return (
        f"Right: {matrices + biases:,} numbers, and {64 * units:,} of them look at pixels. Large language "
        "models have 100 million times as many."
    )


@exercise(
    "The function that you return is called many times, the given one once. Where can you keep what "
    "was built the first time?",
    "A list outside of the inner function remembers: if it is empty, put trace(function, "
    "np.shape(value)) into it.",
    "built = []; def fast(value): if not built: built.append(trace(function, np.shape(value))); "
    "return built[0](value). Then return fast.",
)
def ex2(trace_once: Callable[[Any], Any]) -> str:
    """Tracing at the first call."""
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        return 2.0 * x + 1.0

    fast = trace_once(function)
    expect_type(callable(fast), f"it returned {type(fast).__name__}, needed a function")
    expect(not calls, "the function was called before any argument came")
    for n in range(4):
        value = np.array([n, 0.5], np.float32)
        got = fast(value)
        expect(
            np.shape(got) == (2,) and np.allclose(got, 2 * value + 1),
            f"for {value} it returns {got}, needed {2 * value + 1}",
        )
        expect(
            isinstance(calls[0], tf.Tensor) if calls else True,
            "the function got an array, not a tensor: nothing was traced",
        )
        expect(
            len(calls) == 1,
            f"after {n + 1} calls the function was called {len(calls)} times, not once",
        )
    again = trace_once(lambda x: x * x)
    expect(
        np.allclose(again(np.array([3.0], np.float32)), 9.0),
        "a second function, traced after the first, gives what the first does",
    )
    return "Right: four calls, and Python ran your function once. So does jax.jit, as long as the shape stays."


@exercise(
    "Take the lesson's network. What happens to the share when the hidden layer is wider?",
    "With n hidden units the network has 75 n + 10 weights. How wide may it be? And does it end in "
    "ten scores without relu?",
    "h = tf.layers.dense(tf.reshape(x, [-1, 64]), 60, tf.nn.relu); return tf.layers.dense(h, 10).",
)
def ex3(reader: Callable[[Any], Any]) -> str:
    """A reader of digits, trained and measured."""
    from dataflow_datasets import digits

    (images, labels), (new_images, new_labels) = digits.load_data()
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        x = tf.placeholder(tf.float32, [None, 8, 8])
        y = tf.placeholder(tf.int64, [None])
        scores = reader(x)
        expect_type(
            isinstance(scores, tf.Tensor), f"it returned {type(scores).__name__}, needed a tensor"
        )
        expect_type(
            scores.shape.ndims == 2 and scores.shape[1].value == 10,
            f"the scores have the shape {scores.shape}, needed (?, 10)",
        )
        num = sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables())
        expect(num > 0, "there is nothing to train in it")
        expect(num <= _MAX_WEIGHTS, f"it has {num:,} weights, at most {_MAX_WEIGHTS:,} are allowed")
        loss = tf.losses.sparse_softmax_cross_entropy(y, scores)
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
        hits = tf.equal(tf.argmax(scores, 1), y)
        share = tf.reduce_mean(tf.cast(hits, tf.float32))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            best = 0.0
            for step in range(_NUM_STEPS):
                rows = rng.integers(len(images), size=_BATCH)
                session.run(train, {x: images[rows], y: labels[rows]})
                if step >= _NUM_STEPS - 50 and step % 10 == 9:
                    got = float(session.run(share, {x: new_images, y: new_labels}))
                    best = max(best, got)
    expect(best >= _NEEDED, f"{best:.1%} of the new pictures are read right, needed {_NEEDED:.0%}")
    return f"Right: {best:.1%} of pictures that it never saw, with {num:,} weights."
