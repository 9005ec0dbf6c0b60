"""Checks of lesson 5: gradients, ridge regression, gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_tensor, expect_type
from dataflow.course.variants import drawn


@exercise(
    "f(x) is a tensor. Which function of dataflow makes its slope, given f(x) and x?",
    "derivative returns a function. That function gets x, builds f(x), and returns the slope "
    "of the one with respect to the other.",
    "Inside, define a function of x that returns tf.gradients(f(x), [x])[0], and return that function.",
)
def ex1(derivative: Callable[[Any], Any]) -> str:
    """A function that makes the derivative of a function."""
    cases: list[tuple[str, Any, Any]] = [
        ("x squared plus x", lambda x: x * x + x, lambda x: 2 * x + 1),
        ("tf.sin", tf.sin, np.cos),
        ("exp(2 x)", lambda x: tf.exp(2.0 * x), lambda x: 2 * np.exp(2 * x)),
    ]
    points = np.array([-1.5, 0.0, 0.3, 2.0], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        for name, f, truth in cases:
            slope = derivative(f)
            expect_type(
                callable(slope),
                f"derivative({name}) returned {type(slope).__name__}, needed a function",
            )
            tensor = slope(x)
            expect_tensor(f"derivative({name})(x)", tensor)
            found = session.run(tensor, {x: points})
            expect(
                np.shape(found) == points.shape,
                f"the slope of {name} at four points has the shape {np.shape(found)}",
            )
            worst = int(np.argmax(np.abs(found - truth(points))))
            expect(
                np.allclose(found, truth(points), atol=1e-3),
                f"the slope of {name} at {points[worst]:g} came out as {found[worst]:.6g}, "
                f"needed {truth(points)[worst]:.6g}",
            )
        second = session.run(derivative(derivative(tf.sin))(x), {x: points})
        expect(
            np.allclose(second, -np.sin(points), atol=1e-3),
            "derivative(derivative(tf.sin)) is not -sin",
        )
    return "Right, and twice applied too: the second derivative of sin is -sin."


@exercise(
    "The cost has two summands, and each has its slope. What is the slope of lam * beta ** 2?",
    "The gradient has two summands. That of lam * beta ** 2 is easy; that of the squared "
    "errors multiplies the errors by what each of them depends on, X.",
    "The errors are X beta - y. Each weighs the row of X that made it: 2 times X transposed, times the "
    "errors, and 2 lam beta.",
)
def ex2(gradient_by_hand: Callable[..., Any]) -> str:
    """The gradient of the ridge cost from the formula."""
    dice = np.random.RandomState(3)
    for rows, columns, lam in ((5, 2, 0.0), (7, 3, 2.5), (4, 6, 0.7)):
        X_values = dice.randn(rows, columns).astype(np.float32)
        y_values = dice.randn(rows, 1).astype(np.float32)
        beta_values = dice.randn(columns, 1).astype(np.float32)
        with tf.Graph().as_default(), tf.Session() as session:
            X, y, beta = tf.constant(X_values), tf.constant(y_values), tf.constant(beta_values)
            made = gradient_by_hand(X, y, beta, lam)
            expect_tensor("what gradient_by_hand returned", made)
            expect(
                made.shape.as_list() == [columns, 1],
                f"its shape is {made.shape}, needed that of beta, ({columns}, 1)",
            )
            cost = tf.reduce_sum((tf.matmul(X, beta) - y) ** 2) + lam * tf.reduce_sum(beta**2)
            mine, engines = session.run([made, tf.gradients(cost, [beta])[0]])
        if lam == 0:
            words = "with lam = 0 already"
        else:
            words = f"with lam = {lam}, though it is right with lam = 0,"
        expect(
            np.allclose(mine, engines, rtol=1e-3, atol=1e-3),
            f"{words} it differs from tf.gradients: {mine.ravel().round(3)}, "
            f"needed {engines.ravel().round(3)}",
        )
    return "Right: on three random problems it agrees with tf.gradients."


def _distance_after(X: Any, lam: float, rate: float, num_steps: int) -> float:
    """How much of the distance to the minimum is left, beginning one unit along each axis."""
    bowl = 2 * (X.T @ X + lam * np.eye(X.shape[1]))
    _, axes = np.linalg.eigh(bowl)
    distance = axes.sum(1)
    for _ in range(num_steps):
        distance = distance - rate * (bowl @ distance)
    return float(np.abs(axes.T @ distance)[-1])


@exercise(
    "The steepest axis of the bowl decides. Which matrix holds the curvatures, lam included?",
    "A step multiplies the distance by 1 - rate * k. With the largest curvature it reaches "
    "-1 first; lam adds 2 * lam to each curvature.",
    "The curvatures are the eigenvalues of 2 (X'X + lam I): np.linalg.eigvalsh. The factor 1 - rate * k "
    "reaches -1 for the largest one first.",
)
def ex3(largest_rate: Callable[[Any, float], Any]) -> str:
    """The largest learning rate with which gradient descent arrives."""
    dice = np.random.RandomState(5)
    told = []
    for rows, columns, lam in ((30, 2, 0.0), (12, 4, 5.0), (50, 3, 40.0)):
        X = dice.randn(rows, columns) * dice.uniform(0.5, 3.0, columns)
        rate = expect_number("what largest_rate returned", largest_rate(X, lam))
        expect(np.isfinite(rate) and rate > 0, f"it returned {rate}, needed a number above 0")
        below = _distance_after(X, lam, 0.97 * rate, 300)
        above = _distance_after(X, lam, 1.03 * rate, 300)
        at = (
            f"for a matrix of {rows} rows and {columns} columns with lam = {lam:g}: rate {rate:.3g}"
        )
        expect(below < 0.5, f"{at} is too large: a little below it the walk does not arrive")
        expect(above > 2.0, f"{at} is too small: a little above it the walk still arrives")
        told.append(f"{rate:.3g}")
    return f"Right: {', '.join(told)} are the limits of three matrices, tried from both sides."


@exercise(
    lambda v: (
        f"At the bottom the cost must be smallest where x ** 3 is {v.cube}: make the error x ** 3 - {v.cube} "
        "a cost."
    ),
    lambda v: (
        f"A square is smallest where what is squared is zero. What is zero where the cube of x is {v.cube}?"
    ),
    lambda v: (
        f"The cost is (x ** 3 - {v.cube}) ** 2. Its slopes are large, so take a small learning rate, 0.001."
    ),
)
def ex4(x: Any, downhill: Any) -> str:
    """A variable that walks to a cube root."""
    expect_type(isinstance(x, tf.Variable), f"x is {type(x).__name__}, needed a tf.Variable")
    expect(
        getattr(downhill, "graph", None) is x.graph,
        f"downhill is {type(downhill).__name__}, needed an operation of the graph of x",
    )
    cube = drawn("lesson05.ex4").cube
    goal = cube ** (1 / 3)
    with tf.Session(graph=x.graph) as session:
        session.run([v.initializer for v in x.graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)])
        begin = float(session.run(x))
        expect(begin == 1.0, f"x begins at {begin:g}, needed 1")
        session.run(downhill)
        first = float(session.run(x))
        expect(first != begin, "a run of downhill leaves x as it was")
        for _ in range(499):
            session.run(downhill)
        end = float(session.run(x))
        expect(
            np.isfinite(end), "x has run away to infinity: the learning rate is too large for it"
        )
        expect(
            abs(end - goal) < 1e-3,
            f"after 500 runs x is {end:.5g} and its cube {end**3:.5g}, needed {cube}",
        )
        expect(
            abs(first - goal) > 1e-4,
            "x is there after one run: that is no walk. Let a gradient lead it",
        )
        x.load(2.5, session)
        session.run(downhill)
        after = float(session.run(x))
        expect(
            after < 2.5, f"put to 2.5, above the root, a run moves it to {after:.4g}: not downhill"
        )
    return f"Right: {begin:g}, then {first:.4g}, and after 500 runs {end:.5f}, whose cube is {end**3:.4f}."
