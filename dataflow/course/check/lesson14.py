"""Checks of lesson 14: what the engine makes of a graph before it runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn


def _unrewritten() -> Any:
    """A session that runs the graph as it was written."""
    level = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    return tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=level)))


def _is_tensor(name: str, value: Any) -> None:
    expect_type(
        isinstance(value, tf.Tensor), f"{name} returned {type(value).__name__}, not a tensor"
    )


@exercise(
    "Which operations give back what they were given? Once more with the opposite sign, or with a "
    "number that changes nothing.",
    "What cancels itself leaves nothing: twice the opposite sign. What changes nothing "
    "leaves nothing either: one as a factor.",
    "Two negations cancel; times 1.0 and minus 0.0 do nothing. Chain them.",
)
def ex1(roundabout: Callable[[Any], Any]) -> str:
    """Operations that the rewrites make nothing of."""
    least = drawn("lesson14.ex1").num
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = roundabout(x)
        _is_tensor("roundabout", y)
        computing = [op for op in graph.get_operations() if op.type not in ("Const", "Placeholder")]
        with tf.Session() as session:
            told = session.explain(y)
            needed = {node["name"] for node in told.before}
            steps = [op.name for op in computing if op.name in needed]
            expect(
                len(steps) >= least,
                f"it builds {len(steps)} operations on the way from x, needed at least {least}",
            )
            left = [f"{n['name']} ({n['op']})" for n in told.after if n["name"] != "x"]
            expect(not left, f"after the rewrites there is still {', '.join(left)}")
            values = np.array([3.5, -2.0, 0.0], np.float32)
            got = session.run(y, {x: values})
            expect(np.array_equal(got, values), f"for {values} it gives {got}")
    return f"Right: {', '.join(steps)} are built, and the plan returns x as it was fed."


@exercise(
    "explain(...).before lists the nodes before the rewrites, .after those that are left.",
    "A node is gone if its name is in the list before and not in the list after. You need "
    "the types of those.",
    "Collect the names in after; then take the type of each node in before whose name is not there.",
)
def ex2(removed: Callable[[Any, Any], Any]) -> str:
    """The types of operations that rewriting did away with."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None], name="x")
        unused = tf.tanh(x)
        y = tf.sqrt(tf.negative(tf.negative(x)) * tf.constant(1.0))
        constant = (tf.cos(tf.constant(0.5)) + 2.0) * x
        with tf.Session() as session:
            for fetches, needed in (
                (y, {"Neg", "Mul", "Const"}),
                (constant, {"Cos", "AddV2", "Const"}),
                (unused, set()),
            ):
                got = removed(session, fetches)
                expect_type(
                    isinstance(got, set | frozenset | list | tuple),
                    f"it returned {type(got).__name__}, needed a set of types",
                )
                expect(
                    set(got) == needed,
                    f"for {fetches.op.name} of a small graph it returned {sorted(set(got))}; "
                    f"{len(needed)} types went",
                )
    return "Right: for three graphs, one of which was left as it was."


@exercise(
    "exp(1000) is too large, exp(0) is not. Which number can be taken out of all exponents?",
    "Taking a number m out of all exponents divides the sum by exp(m). What must be added to "
    "the logarithm in return?",
    "log(sum(exp(x))) = m + log(sum(exp(x - m))) for every m; let m be tf.reduce_max(x).",
)
def ex3(log_sum_exp: Callable[[Any], Any]) -> str:
    """Stable also where the exponentials are not."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        y = log_sum_exp(x)
        _is_tensor("log_sum_exp", y)
        with _unrewritten() as session:
            for values in ([0.0, 0.0], [1.0, 2.0, 3.0], [1000.0, 999.0], [-2000.0, -2001.0]):
                exact = np.logaddexp.reduce(np.asarray(values))
                got = np.asarray(session.run(y, {x: values}))
                expect(got.shape == (), f"the shape is {got.shape}, needed a single number")
                expect(
                    abs(float(got) - exact) < 1e-3,
                    f"for {values} it gives {float(got):g}, needed {exact:.4f}",
                )
    return "Right: also around 1000 and around -2000."


@exercise(
    "There are two ways to put the brackets. Which one never makes a second n by n matrix?",
    "n * n * n multiplications for two matrices, n * n for a matrix and a column. Which "
    "brackets leave only the second kind?",
    lambda v: f"{v.code} has v in its inner product, which is no n by n matrix.",
)
def ex4(product: Callable[[Any, Any, Any], Any]) -> str:
    """Three factors, cheaply."""
    asked = drawn("lesson14.ex4")
    column = asked.kind.endswith("one column")
    factors = asked.formula.replace("`", "").split(" times ")
    n = 50
    rng = np.random.default_rng(0)
    a, b = rng.random((2, n, n)).astype(np.float32)
    v = rng.random((n, 1) if column else (1, n)).astype(np.float32)
    matrices = {"a": a, "b": b, "v": v}
    one, two, three = (matrices[name] for name in factors)
    with tf.Graph().as_default():
        inputs = [tf.placeholder(tf.float32, m.shape) for m in (a, b, v)]
        y = product(*inputs)
        _is_tensor("product", y)
        with tf.Session() as session:
            got = session.run(y, dict(zip(inputs, (a, b, v), strict=True)))
            needed = set(session.needed(y))
            expect(
                np.shape(got) == v.shape and np.allclose(got, one @ two @ three, rtol=1e-3),
                f"it is not {' times '.join(factors)} (the shape is {np.shape(got)})",
            )
        squares = [
            op.name
            for op in y.graph.get_operations()
            if op.name in needed and op.type not in ("Placeholder", "Transpose")
            if any(t.shape.num_elements() == n * n for t in op.outputs)
        ]
    expect(
        not squares,
        f"the value is right, but {squares[0] if squares else ''} makes another {n} by {n} matrix: "
        f"{n * n * n:,} multiplications where {2 * n * n:,} would do",
    )
    return f"Right: {2 * n * n:,} multiplications instead of {n * n * n + n * n:,}."
