"""Checks of lesson 12: recurrent networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_type
from dataflow.course.variants import drawn


@exercise(
    "Take x apart along its second axis, and go through the parts with a Python loop.",
    "The state begins at zero, one number for each example. Each element in turn gives the "
    "next state.",
    lambda v: (
        f"h = tf.zeros_like(x[:, 0]); for element in tf.unstack(x, axis=1): h = {v.factor} * h + element."
    ),
)
def ex1(leaky: Callable[[Any], Any]) -> str:
    """h = 0.5 h + x, or with another factor, six times."""
    factor = float(drawn("lesson12.ex1").factor)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 6])
        last = leaky(x)
        expect_type(
            isinstance(last, tf.Tensor), f"it returned {type(last).__name__}, needed a tensor"
        )
        numbers = np.array(
            [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], [3, -1, 4, 1, -5, 9]], np.float32
        )
        with tf.Session() as session:
            got = session.run(last, {x: numbers})
    expect(np.shape(got) == (3,), f"for 3 sequences the shape is {np.shape(got)}, needed (3,)")
    expect(
        abs(got[1] - 1) < 1e-5, f"0 0 0 0 0 1 gives {got[1]:g}; the last number is added in full"
    )
    expect(
        abs(got[0] - factor**5) < 1e-6,
        f"1 0 0 0 0 0 gives {got[0]:g}; the 1 has been multiplied by {factor:g} five times by the end",
    )
    needed = numbers @ (factor ** np.arange(5, -1, -1))
    expect(np.allclose(got, needed), f"3 -1 4 1 -5 9 gives {got[2]:g}, needed {needed[2]:g}")
    return (
        f"Right: a 1 at the beginning counts {factor**5:.3g} at the end, one at the end counts 1."
    )


@exercise(
    "If a step keeps k, num_steps of them keep k to the power of num_steps. Which k gives the "
    "share? And which bias has the sigmoid k?",
    "What is kept in each step is the sigmoid of the bias. First find the number whose "
    "num_steps-th power is the share; then turn the sigmoid round.",
    "k = share ** (1 / num_steps), and the bias is log(k / (1 - k)).",
)
def ex2(bias_for: Callable[[float, int], Any]) -> str:
    """The bias of a gate that keeps."""
    for share, num_steps in ((0.5, 1), (0.5, 40), (0.1, 40), (0.9, 1000), (0.2, 3)):
        bias = expect_number("what bias_for returned", bias_for(share, num_steps))
        expect(math.isfinite(bias), f"bias_for({share}, {num_steps}) is {bias}")
        left = (1 / (1 + math.exp(-bias))) ** num_steps
        expect(
            abs(left - share) < 1e-3,
            f"bias_for({share}, {num_steps}) is {bias:.3f}; with this bias {left:.3g} is left after "
            f"{num_steps} steps",
        )
    return f"Right: to keep one half for forty steps, {float(bias_for(0.5, 40)):.2f}."


@exercise(
    "First the length: the root of tf.add_n of the sums of squares. One factor for all gradients.",
    "One length for all gradients together, and one factor for all. What is the factor where "
    "the length is below the limit?",
    "factor = limit / tf.maximum(length, limit) is 1 where nothing is to be done.",
)
def ex3(clipped: Callable[[list[Any], float], Any]) -> str:
    """Gradients of a limited length."""
    small = [np.array([0.3, -0.4], np.float32), np.array([[0.1]], np.float32)]
    large = [np.array([3.0, -4.0], np.float32), np.array([[12.0]], np.float32)]
    with tf.Graph().as_default():
        inputs = [tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [1, 1])]
        made = clipped(inputs, 2.0)
        expect_type(
            isinstance(made, (list, tuple)) and len(made) == 2,
            "for two gradients it returns a list of two",
        )
        expect_type(
            all(isinstance(g, tf.Tensor) for g in made),
            f"the parts of what it returns are {', '.join(type(g).__name__ for g in made)}, needed a tensor for "
            "each gradient (tf.clip_by_global_norm returns the list, and the length)",
        )
        with tf.Session() as session:
            for values, length in ((small, None), (large, 13.0), ([v * 0 for v in small], None)):
                got = session.run(list(made), dict(zip(inputs, values, strict=True)))
                factor = 1.0 if length is None else 2.0 / length
                expect(
                    all(np.all(np.isfinite(g)) for g in got),
                    f"gradients {[v.tolist() for v in values]} give {[g.tolist() for g in got]}",
                )
                total = math.sqrt(sum(float(np.sum(np.square(g))) for g in got))
                expect(
                    all(
                        np.allclose(g, v * factor, atol=1e-5)
                        for g, v in zip(got, values, strict=True)
                    ),
                    f"the gradients {[v.tolist() for v in values]} become "
                    f"{[g.round(3).tolist() for g in got]}, of length {total:.3g} together; the "
                    "limit is 2, and all are scaled by the same factor or not at all",
                )
    return "Right: a length of 13 becomes 2, in the same direction; short ones stay as they are."


@exercise(
    "Follow the slope of the first input: which factor does it meet in each step?",
    "A factor below 1 vanishes: 0.9 to the 50th is 0.005. A factor of 1 keeps. What keeps the state small, then?",
    "return state + 0.03 * x: the state passes unchanged, and each input counts for little.",
)
def ex4(step: Callable[[Any, Any], Any]) -> str:
    """Any recurrence that stays in bounds and remembers."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = tf.placeholder(tf.float32, [200])
        state = tf.constant(0.0)
        states = []
        for i in range(200):
            state = step(state, inputs[i])
            expect_type(isinstance(state, tf.Tensor), "step returned no tensor")
            states.append(state)
        (slopes,) = tf.gradients(states[50], [inputs])
        expect(slopes is not None, "no gradient leads from the state back to the inputs")
        last = session.run(tf.stack(states), {inputs: np.ones(200)})
        expect(
            np.isfinite(last).all() and np.abs(last).max() <= 10,
            f"with inputs of 1 the state reaches {np.abs(last).max():.3g}, at most 10 is allowed",
        )
        rng = np.random.default_rng(0)
        for _ in range(3):
            slope = session.run(slopes, {inputs: rng.uniform(-1, 1, 200)})[0]
            expect(
                abs(slope) >= 0.01,
                f"after 50 steps the first input has a slope of {slope:.2g}, needed at least 0.01",
            )
    return f"Right: the state stays below {np.abs(last).max() + 0.05:.1f}, and the first input is not forgotten."
