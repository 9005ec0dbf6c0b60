"""Checks of capstone 3: an op with its gradient and kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, wrong

# The smallest first: what is wrong can be read off it.
_SHAPES = ((1, 1, 2), (4, 6, 3), (5, 2, 7), (0, 3, 2))


def _distances(a: Any, b: Any) -> Any:
    """Every squared distance, in double precision."""
    return ((a[:, None, :].astype(np.float64) - b[None, :, :].astype(np.float64)) ** 2).sum(-1)


def _is_op(op: Any) -> None:
    expect_type(
        callable(op) and hasattr(op, "gradient") and hasattr(op, "type"),
        f"distances is {type(op).__name__}, needed what @tf.extend.define_op makes of a shape rule",
    )
    expect_type(
        op.type == "SquaredDistances", f"the op is called {op.type}, needed SquaredDistances"
    )


@exercise(
    "The decorated function is the shape rule. What is the shape of all distances between n rows and m rows?",
    "a.dims and b.dims are tuples, with None for a size that is not known yet. Which two sizes have to agree?",
    '@tf.extend.define_op("SquaredDistances", "a: T, b: T -> distances: T", T=(tf.float32, tf.float64)); '
    "raise ValueError where a.dims[1] and b.dims[1] are known and differ; return (a.dims[0], b.dims[0]).",
)
def ex1(op: Any) -> str:
    """The op as a node: shapes, known and unknown, dtypes, and what it refuses."""
    _is_op(op)
    with tf.Graph().as_default() as graph:
        for a, b, needed in (
            ([2, 3], [5, 3], [2, 5]),
            ([None, 3], [5, 3], [None, 5]),
            ([None, None], [4, 2], [None, 4]),
            ([7, 1], [None, None], [7, None]),
        ):
            for dtype in (tf.float32, tf.float64):
                num = len(graph.get_operations())
                left, right = tf.placeholder(dtype, a), tf.placeholder(dtype, b)
                try:
                    y = op(left, right)
                except tf.errors.ShapeError as error:
                    wrong(f"{a} and {b} may fit, and your rule says of them: {error.message}")
                expect_type(isinstance(y, tf.Tensor), f"it makes {type(y).__name__}, not a tensor")
                expect(
                    y.shape.rank is not None and y.shape.as_list() == needed,
                    f"for {a} and {b} the shape is {y.shape}, needed {needed}",
                )
                expect(y.dtype == dtype, f"for {dtype.name} the result is {y.dtype.name}")
                new = len(graph.get_operations()) - num - 2
                expect(new == 1, f"it made {new} nodes; an op of your own is one")
        for a, b, why in (
            (tf.zeros([2, 3]), tf.zeros([5, 4]), "rows of 3 and of 4 numbers"),
            (tf.zeros([2, 3], tf.int32), tf.zeros([5, 3], tf.int32), "whole numbers"),
        ):
            try:
                op(a, b)
            except (ValueError, TypeError, tf.errors.InvalidArgumentError):
                continue
            except AssertionError:
                wrong(f"{why} gave an AssertionError, needed a ValueError that says what is wrong")
            wrong(f"{why} were taken without an error")
    return "Right: one node, its shape known as far as it can be, and what does not fit is refused at once."


@exercise(
    "The kernel sees arrays: xp is NumPy, a has shape [n, d], b has shape [m, d].",
    "a*a - 2*a*b + b*b is quick, and for numbers near 10,000 nearly all digits cancel. What if you subtract first?",
    "difference = a[:, None, :] - b[None, :, :]; return (difference * difference).sum(-1).",
)
def ex2(op: Any, kernel: Any) -> str:
    """The kernel: values, dtypes, no rows, large numbers, and inputs that stay as they are."""
    _is_op(op)
    expect_type(
        callable(kernel), f"kernel is {type(kernel).__name__}, needed the decorated function"
    )
    known = tf.extend.kernels().get(("SquaredDistances", "cpu"))
    expect(
        known is kernel,
        'this function is not the kernel of the op: put @tf.extend.kernel("SquaredDistances") above it',
    )
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        for dtype in (np.float32, np.float64):
            for n, m, d in _SHAPES:
                a, b = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)
                kept = a.copy(), b.copy()
                x, y = tf.placeholder(dtype, [None, d]), tf.placeholder(dtype, [None, d])
                got = session.run(op(x, y), {x: a, y: b})
                expect_type(
                    isinstance(got, np.ndarray),
                    f"the kernel returns {type(got).__name__}, needed an array: {(n, m)}",
                )
                told = f"for shapes {a.shape} and {b.shape} of {np.dtype(dtype).name}"
                expect(got.shape == (n, m), f"{told} the shape is {got.shape}, needed {(n, m)}")
                expect(got.dtype == dtype, f"{told} the result is {got.dtype}")
                expect(
                    np.array_equal(a, kept[0]) and np.array_equal(b, kept[1]),
                    f"{told} the kernel changed its inputs",
                )
                needed = _distances(a, b)
                expect(
                    np.allclose(got, needed, rtol=1e-4, atol=1e-5),
                    f"{told} it gives {got.tolist()}, needed {needed.tolist()}",
                )
        far = np.float32(10_000) + np.arange(6, dtype=np.float32).reshape(3, 2) / 16
        x = tf.placeholder(tf.float32, [None, 2])
        got = session.run(op(x, x), {x: far})
        expect(
            np.allclose(got, _distances(far, far), rtol=1e-3),
            f"near 10,000 it gives {got.tolist()}, needed {_distances(far, far).tolist()}: the digits cancel",
        )
    return "Right: for every shape, also for no rows, and with all its digits far from zero."


@exercise(
    "One distance is sum((a - b) ** 2). What is its slope along a, and along b?",
    "Row i of a meets every row of b: its gradient is the sum over j of dy[i, j] * 2 * (a[i] - b[j]). Which part is "
    "a matrix product?",
    "da = 2 * (a * tf.reduce_sum(dy, 1, keepdims=True) - tf.matmul(dy, b)); db is the same with dy transposed.",
)
def ex3(op: Any, gradient: Any) -> str:
    """The gradient, against measured slopes; the second one, too."""
    _is_op(op)
    expect(
        getattr(op, "gradient_function", None) is gradient,
        "gradient is not the op's: decorate the function with @distances.gradient",
    )
    rng = np.random.default_rng(1)
    for n, m, d in ((4, 6, 3), (1, 2, 1)):
        with tf.Graph().as_default(), tf.Session() as session:
            a, b = tf.placeholder(tf.float64, [None, d]), tf.placeholder(tf.float64, [None, d])
            weights = rng.normal(size=(n, m))
            y = tf.reduce_sum(tf.sin(op(a, b)) * weights)
            first = tf.gradients(y, [a, b])
            expect(
                all(isinstance(g, tf.Tensor) for g in first),
                "the gradient function must return two tensors, one for a and one for b",
            )
            at = [rng.normal(size=(n, d)), rng.normal(size=(m, d))]
            for part, needed in zip(session.run(first, {a: at[0], b: at[1]}), at, strict=True):
                expect(
                    part.shape == needed.shape,
                    f"a has the shape {at[0].shape} and b {at[1].shape}; one of their gradients has {part.shape}, "
                    f"needed {needed.shape}",
                )
            way = [rng.normal(size=(n, d)), rng.normal(size=(m, d))]
            along = sum(tf.reduce_sum(g * w) for g, w in zip(first, way, strict=True))
            bends = tf.gradients(along, [a, b])
            expect(
                None not in bends,
                "the gradient has no gradient: something in it, such as tf.stop_gradient, ends the way back to a and b",
            )
            second = sum(tf.reduce_sum(g * w) for g, w in zip(bends, way, strict=True))
            for order, value, slope in ((1, y, along), (2, along, second)):
                bit = 1e-5
                up, down = (
                    session.run(value, {a: at[0] + s * way[0], b: at[1] + s * way[1]})
                    for s in (bit, -bit)
                )
                measured = (up - down) / (2 * bit)
                got = session.run(slope, {a: at[0], b: at[1]})
                expect(
                    abs(got - measured) < 1e-4 * (1 + abs(measured)),
                    f"derivative {order} along a random direction is {got:.6f}, measured {measured:.6f}",
                )
    return "Right: first and second derivative agree with measured slopes, for any number of rows."


@exercise(
    "Prototypes are a variable. Which op tells how far every example is from each of them?",
    "The nearer, the more likely: what is a logit here? Then it is lesson 8's training.",
    "logits = -distances(features, prototypes), with one row of features for each class to begin with; "
    "minimize tf.losses.sparse_softmax_cross_entropy(labels, logits) for some hundred steps.",
)
def ex4(fit: Callable[[Any, Any, int], Any]) -> str:
    """Prototypes learned through the learner's own op, graded on flowers and clusters that it has not seen."""
    from dataflow_datasets import iris

    (train_x, train_y), (test_x, test_y) = iris.load_data()
    sets = {"iris": [np.asarray(v) for v in (train_x, train_y, test_x, test_y)]}
    rng = np.random.default_rng(2)
    centers = rng.normal(scale=4.0, size=(5, 6))
    labels = rng.integers(5, size=300)
    points = centers[labels] + rng.normal(size=(300, 6))
    sets["five clusters"] = [points[:200], labels[:200], points[200:], labels[200:]]
    shares = {}
    for name, (features, classes, new, truth) in sets.items():
        num = int(classes.max()) + 1
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(0)
            prototypes = fit(features.astype(np.float32), classes.astype(np.int32), num)
            types = {op.type for op in graph.get_operations()}
        expect_type(
            isinstance(prototypes, np.ndarray),
            f"{name}: fit returned {type(prototypes).__name__}, needed an array: what a session's run of the "
            "prototypes gives",
        )
        expect_type(
            prototypes.shape == (num, features.shape[1]),
            f"{name}: fit returned the shape {prototypes.shape}, needed {(num, features.shape[1])}",
        )
        expect(
            "SquaredDistances" in types,
            f"{name}: no node SquaredDistances is in the graph that fit was called in; build it there, and in no "
            "tf.Graph() of your own",
        )
        shares[name] = float(np.mean(_distances(new, prototypes).argmin(1) == truth))
        expect(
            shares[name] >= 0.9,
            f"{name}: the nearest prototype is right for {shares[name]:.0%} of new examples, needed 90%",
        )
    told = ", ".join(f"{share:.0%} of {name}" for name, share in shares.items())
    return f"Right: the nearest prototype names {told}, none of which it had seen."
