"""Checks of lesson 8: networks that read digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn

_NEEDED_ACCURACY = 0.85
_NUM_STEPS = 200


@exercise(
    "tf.nn.in_top_k(logits, numbers, 2) says for each row whether its number is among the two highest.",
    "The labels are one-hot rows, and in_top_k wants the numbers of the classes. What makes "
    "a number of a one-hot row?",
    "It wants numbers, not one-hot rows: tf.argmax(labels, 1). Then cast to float32 and take the mean.",
)
def ex1(top_two: Callable[[Any, Any], Any]) -> str:
    """The share of rows whose label is among the two highest logits."""
    logits = np.array(
        [[3, 2, 1, 0], [3, 2, 1, 0], [3, 2, 1, 0], [0, 1, 5, 4], [9, 0, 8, 7]], np.float32
    )
    told = []
    for numbers, needed in (([0, 1, 2, 3, 3], 0.6), ([0, 0, 0, 2, 0], 1.0), ([3, 3, 3, 0, 1], 0.0)):
        with tf.Graph().as_default(), tf.Session() as session:
            share = top_two(tf.constant(logits), tf.constant(np.eye(4, dtype=np.float32)[numbers]))
            expect_type(
                isinstance(share, tf.Tensor),
                f"top_two returned {type(share).__name__}, needed a tensor",
            )
            value = session.run(share)
        expect(np.ndim(value) == 0, f"its shape is {np.shape(value)}, needed one number")
        expect(
            abs(value - needed) < 1e-5,
            f"for logits {logits.astype(int).tolist()} and the digits {numbers} it gives {value:.3g}, "
            f"needed {needed:g}",
        )
        told.append(f"{value:.1f}")
    return f"Right: {', '.join(told)} for three lists of labels."


@exercise(
    "Most weights stand where many numbers meet many numbers. How many numbers go into your last layer?",
    "Pooling halves both sides, and so quarters what goes into the last layer. Pool until "
    "little is left.",
    "Two convolutions with 8 windows each, a 2 by 2 pooling after each, then flatten and dense(10).",
)
def ex2(small: Callable[[Any], Any], data: Any) -> str:
    """A small network, trained here."""
    images, labels = data.train.images, data.train.labels
    new_images, new_labels = data.test.images[:2000], data.test.labels[:2000]
    dice = np.random.RandomState(1)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        X = tf.placeholder(tf.float32, [None, *images.shape[1:]])
        Y_ = tf.placeholder(tf.float32, [None, 10])
        logits = small(X)
        expect_type(
            isinstance(logits, tf.Tensor),
            f"small returned {type(logits).__name__}, needed a tensor",
        )
        shape = logits.shape.as_list()
        expect(
            len(shape) == 2 and shape[1] == 10,
            f"its result has the shape {logits.shape}, needed (?, 10)",
        )
        weights = {v.op.name: v.shape.num_elements() for v in tf.trainable_variables()}
        total = sum(weights.values())
        expect(total, "there is nothing to train in it")
        largest = max(weights, key=lambda name: weights[name])
        most = int(drawn("lesson08.ex2").most.replace(",", ""))
        expect(
            total <= most,
            f"it has {total:,} weights, at most {most:,} are allowed; the largest is {largest} "
            f"with {weights[largest]:,}",
        )
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=Y_, logits=logits))
        step = tf.train.AdamOptimizer(0.005).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(_NUM_STEPS):
            rows = dice.randint(0, len(images), 100)
            session.run(step, {X: images[rows], Y_: labels[rows]})
        scores = session.run(logits, {X: new_images})
    accuracy = float(np.mean(scores.argmax(1) == new_labels.argmax(1)))
    expect(
        accuracy >= _NEEDED_ACCURACY,
        f"with {total:,} weights it reaches {accuracy:.3f} on new digits, needed {_NEEDED_ACCURACY}",
    )
    return f"Right: {total:,} weights, and {accuracy:.3f} on new digits after {_NUM_STEPS} steps."


@exercise(
    "Keep the index of the lowest loss. How far may you be from it before you stop?",
    "Go through the losses with their index. A lower one is the new best; otherwise ask how "
    "long ago the best was.",
    "Stop at index i when i - best reaches patience, and return best.",
)
def ex3(when_to_stop: Callable[[Any, int], Any]) -> str:
    """Early stopping with patience."""
    cases = [
        ([5.0, 4.0, 3.0, 3.5, 3.6, 3.7, 1.0], 3, 2, "the last is lower, but comes too late"),
        ([5.0, 4.0, 3.0, 3.5, 3.6, 1.0, 2.0], 3, 5, "a rise of two is within the patience"),
        ([5.0, 4.0, 3.0, 2.0], 2, 3, "it never rises"),
        ([1.0, 1.5, 0.9, 1.2, 1.3, 0.5], 1, 0, "with patience 1 the first rise ends it"),
        ([2.0, 2.0, 2.0, 1.0], 2, 0, "as low is not lower"),
    ]
    for losses, patience, needed, why in cases:
        found = when_to_stop(list(losses), patience)
        expect(
            found == needed,
            f"for {losses} with patience {patience} it returned {found}, needed {needed}: {why}",
        )
    return "Right for five curves, those that sink after a rise and those that only rise included."


@exercise(
    "Try logits of 1000: which of your operations gives infinity? Subtract the largest of the row first.",
    "Write the logarithm of softmax out: the logit less the logarithm of the sum of the "
    "exponentials. Which exponent may be too large?",
    "With the largest subtracted: -sum(labels * (logits - log(sum(exp(logits))))), over axis 1, with "
    "keepdims=True inside.",
)
def ex4(cross_entropy_of: Callable[[Any, Any], Any]) -> str:
    """Cross-entropy that survives large logits."""
    dice = np.random.RandomState(2)
    labels = np.eye(4, dtype=np.float32)[[1, 3, 0]]
    cases = [
        ("ordinary logits", dice.randn(3, 4)),
        ("logits that are all equal", np.zeros((3, 4))),
        (
            "logits of 1000 and -1000",
            np.array([[1000, -1000, 0, 0], [-1000] * 4, [1000, 0, 0, 999]]),
        ),
    ]
    for words, values in cases:
        with tf.Graph().as_default(), tf.Session() as session:
            logits = tf.constant(values, tf.float32)
            made = cross_entropy_of(logits, tf.constant(labels))
            expect_type(
                isinstance(made, tf.Tensor),
                f"it returned {type(made).__name__}, needed a tensor",
            )
            truth = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
            mine, needed = session.run([made, truth])
        expect(
            np.shape(mine) == (3,),
            f"for three rows its shape is {np.shape(mine)}, needed (3,): one number for each",
        )
        expect(
            np.allclose(mine, needed, rtol=1e-4, atol=1e-4),
            f"for {words} it gives {np.round(mine, 4).tolist()}, needed {np.round(needed, 4).tolist()}",
        )
    return "Right, also where the exponential of a logit would be infinite."
