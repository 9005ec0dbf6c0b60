"""First and second derivatives on random shapes: broadcasting, size one and empty ones too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from tests.gradient_check import assert_gradients

Draw = Any  # Hypothesis' function: a strategy's value


class Case(NamedTuple):
    """Arrays, and what to build of them."""

    inputs: list[np.ndarray]
    build: Callable[..., Any]


def numbers(draw: Draw, shape: Any, low: float = -1.5, high: float = 1.5) -> np.ndarray:
    seed = draw(st.integers(0, 2**16))
    return np.random.default_rng(seed).uniform(low, high, tuple(shape))


def apart(draw: Draw, shape: Any) -> np.ndarray:
    """Values at least 0.05 from each other and from 0: no kink lies within a difference's step."""
    size = int(np.prod(shape))
    order = np.random.default_rng(draw(st.integers(0, 2**16))).permutation(size)
    return ((order - size / 2 + 0.25) * 0.1).reshape(tuple(shape))


any_shape = st.lists(st.integers(0, 3), min_size=0, max_size=3)
filled_shape = st.lists(st.integers(1, 3), min_size=0, max_size=3)


@st.composite
def broadcast_pair(draw: Draw, least: int = 0) -> tuple[list[int], list[int]]:
    whole = draw(st.lists(st.integers(least, 3), min_size=0, max_size=3))

    def part() -> list[int]:
        dropped = draw(st.integers(0, len(whole)))
        return [draw(st.sampled_from([n, 1])) for n in whole[dropped:]]

    return (whole, part()) if draw(st.booleans()) else (part(), whole)


# -- elementwise ---------------------------------------------------------------------------------

#: Function and the interval in which it is smooth.
UNARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    "abs": (lambda tf, x: tf.abs(x), 0.2, 1.5),
    "acos": (lambda tf, x: tf.acos(x), -0.8, 0.8),
    "acosh": (lambda tf, x: tf.acosh(x), 1.2, 3),
    "asin": (lambda tf, x: tf.asin(x), -0.8, 0.8),
    "asinh": (lambda tf, x: tf.asinh(x), -2, 2),
    "atan": (lambda tf, x: tf.atan(x), -2, 2),
    "atanh": (lambda tf, x: tf.atanh(x), -0.8, 0.8),
    "cos": (lambda tf, x: tf.cos(x), -2, 2),
    "cosh": (lambda tf, x: tf.cosh(x), -2, 2),
    "digamma": (lambda tf, x: tf.digamma(x), 0.5, 3),
    "elu": (lambda tf, x: tf.nn.elu(x), 0.1, 2),
    "elu_below": (lambda tf, x: tf.nn.elu(x), -2, -0.1),
    "erf": (lambda tf, x: tf.erf(x), -2, 2),
    "erfc": (lambda tf, x: tf.erfc(x), -2, 2),
    "exp": (lambda tf, x: tf.exp(x), -2, 2),
    "expm1": (lambda tf, x: tf.expm1(x), -2, 2),
    # The derivative by the shape parameter has no derivative, in TensorFlow neither.
    "igamma": (lambda tf, x: tf.igamma(tf.constant(1.7, tf.float64), x), 0.5, 2),
    "lgamma": (lambda tf, x: tf.lgamma(x), 0.5, 3),
    "log": (lambda tf, x: tf.log(x), 0.3, 3),
    "log1p": (lambda tf, x: tf.log1p(x), -0.5, 3),
    "log_sigmoid": (lambda tf, x: tf.log_sigmoid(x), -3, 3),
    "negative": (lambda tf, x: tf.negative(x), -2, 2),
    "reciprocal": (lambda tf, x: tf.reciprocal(x), 0.4, 2),
    "relu6": (lambda tf, x: tf.nn.relu6(x), 0.1, 5),
    "rsqrt": (lambda tf, x: tf.rsqrt(x), 0.4, 2),
    "selu": (lambda tf, x: tf.nn.selu(x), 0.1, 2),
    "sigmoid": (lambda tf, x: tf.sigmoid(x), -3, 3),
    "sin": (lambda tf, x: tf.sin(x), -2, 2),
    "sinh": (lambda tf, x: tf.sinh(x), -2, 2),
    "softplus": (lambda tf, x: tf.nn.softplus(x), -3, 3),
    "softsign": (lambda tf, x: tf.nn.softsign(x), 0.1, 3),
    "sqrt": (lambda tf, x: tf.sqrt(x), 0.4, 2),
    "square": (lambda tf, x: tf.square(x), -2, 2),
    "tan": (lambda tf, x: tf.tan(x), -1, 1),
    "tanh": (lambda tf, x: tf.tanh(x), -2, 2),
}

BINARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    "add": (lambda tf, x, y: tf.add(x, y), -2, 2),
    "atan2": (lambda tf, x, y: tf.atan2(x, y), 0.3, 2),
    "div": (lambda tf, x, y: tf.div(x, y), 0.4, 2),
    "multiply": (lambda tf, x, y: tf.multiply(x, y), -2, 2),
    "pow": (lambda tf, x, y: tf.pow(x, y), 0.4, 2),
    "realdiv": (lambda tf, x, y: tf.realdiv(x, y), 0.4, 2),
    "squared_difference": (lambda tf, x, y: tf.squared_difference(x, y), -2, 2),
    "subtract": (lambda tf, x, y: tf.subtract(x, y), -2, 2),
    "truediv": (lambda tf, x, y: tf.truediv(x, y), 0.4, 2),
    "xdivy": (lambda tf, x, y: tf.math.xdivy(x, y), 0.4, 2),
    "xlogy": (lambda tf, x, y: tf.math.xlogy(x, y), 0.4, 2),
}


@st.composite
def unary_case(draw: Draw, name: str) -> Case:
    build, low, high = UNARY[name]
    return Case([numbers(draw, draw(any_shape), low, high)], build)


@st.composite
def binary_case(draw: Draw, name: str) -> Case:
    build, low, high = BINARY[name]
    a, b = draw(broadcast_pair())
    return Case([numbers(draw, a, low, high), numbers(draw, b, low, high)], build)


# -- reductions ----------------------------------------------------------------------------------

REDUCTIONS = {
    "reduce_sum": lambda tf: tf.reduce_sum,
    "reduce_mean": lambda tf: tf.reduce_mean,
    "reduce_prod": lambda tf: tf.reduce_prod,
    "reduce_max": lambda tf: tf.reduce_max,
    "reduce_min": lambda tf: tf.reduce_min,
    "reduce_logsumexp": lambda tf: tf.reduce_logsumexp,
}


@st.composite
def reduction_case(draw: Draw, name: str) -> Case:
    smooth = name in ("reduce_sum", "reduce_prod")
    shape = draw(any_shape if smooth else filled_shape)
    axes = draw(st.one_of(st.none(), st.sets(st.integers(0, max(len(shape) - 1, 0)))))
    axis = None if axes is None or not shape else sorted(axes)
    keep = draw(st.booleans())
    return Case(
        [apart(draw, shape)],
        lambda tf, x: REDUCTIONS[name](tf)(x, axis=axis, keepdims=keep),
    )


@st.composite
def cumulative_case(draw: Draw, name: str) -> Case:
    shape = [draw(st.integers(0, 3)) for _ in range(draw(st.integers(1, 3)))]
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    flags = {"exclusive": draw(st.booleans()), "reverse": draw(st.booleans())}
    return Case(
        [numbers(draw, shape, 0.4, 1.5)], lambda tf, x: getattr(tf, name)(x, axis=axis, **flags)
    )


# -- matrices ------------------------------------------------------------------------------------


@st.composite
def matmul_case(draw: Draw) -> Case:
    rows, inner, columns = (draw(st.integers(0, 3)) for _ in range(3))
    stack = draw(st.lists(st.integers(0, 2), max_size=2))
    ta, tb = draw(st.booleans()), draw(st.booleans())
    a = [*stack, inner, rows] if ta else [*stack, rows, inner]
    b = [*stack, columns, inner] if tb else [*stack, inner, columns]
    return Case(
        [numbers(draw, a), numbers(draw, b)],
        lambda tf, x, y: tf.matmul(x, y, transpose_a=ta, transpose_b=tb),
    )


@st.composite
def square_case(draw: Draw, name: str) -> Case:
    size = draw(st.integers(1, 3))
    stack = draw(st.lists(st.integers(1, 2), max_size=1))
    a = numbers(draw, [*stack, size, size], -0.3, 0.3) + 1.5 * np.eye(size)
    if name == "cholesky":
        return Case([a], lambda tf, x: tf.cholesky(tf.matmul(x, x, transpose_b=True)))
    if name == "matrix_solve":
        b = numbers(draw, [*stack, size, 2])
        return Case([a, b], lambda tf, x, y: tf.matrix_solve(x, y))
    return Case([a], lambda tf, x: getattr(tf, name)(x))


@st.composite
def einsum_case(draw: Draw) -> Case:
    i, j, k = (draw(st.integers(0, 3)) for _ in range(3))
    equation, a, b = draw(
        st.sampled_from(
            [
                ("ij,jk->ik", (i, j), (j, k)),
                ("ij,kj->ki", (i, j), (k, j)),
                ("ij,i->j", (i, j), (i,)),
                ("i,j->ij", (i,), (j,)),
            ]
        )
    )
    return Case([numbers(draw, a), numbers(draw, b)], lambda tf, x, y: tf.einsum(equation, x, y))


# -- convolution, pooling, normalization ---------------------------------------------------------


@st.composite
def conv_case(draw: Draw, name: str) -> Case:
    batch = draw(st.integers(0, 2))
    height, width = draw(st.integers(3, 5)), draw(st.integers(3, 5))
    c, out = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    kernel = [draw(st.integers(1, 3)), draw(st.integers(1, 3))]
    stride = draw(st.integers(1, 2))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    strides = [1, stride, stride, 1]
    image = numbers(draw, [batch, height, width, c])
    if name == "conv2d":
        return Case(
            [image, numbers(draw, [*kernel, c, out])],
            lambda tf, x, w: tf.nn.conv2d(x, w, strides, padding),
        )
    if name == "depthwise_conv2d":
        return Case(
            [image, numbers(draw, [*kernel, c, out])],
            lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, strides, padding),
        )
    # The sizes of an output that gives this input back.
    grown = [
        n * stride if padding == "SAME" else (n - 1) * stride + k
        for n, k in zip((height, width), kernel, strict=True)
    ]
    return Case(
        [image, numbers(draw, [*kernel, out, c])],
        lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [batch, *grown, out], strides, padding),
    )


@st.composite
def pool_case(draw: Draw, name: str) -> Case:
    shape = [draw(st.integers(0, 2)), draw(st.integers(3, 5)), draw(st.integers(3, 5)), 2]
    window = [1, draw(st.integers(1, 3)), draw(st.integers(1, 3)), 1]
    strides = [1, draw(st.integers(1, 2)), draw(st.integers(1, 2)), 1]
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    return Case(
        [apart(draw, shape)], lambda tf, x: getattr(tf.nn, name)(x, window, strides, padding)
    )


@st.composite
def row_case(draw: Draw, name: str) -> Case:
    """Functions of the last axis, and losses of logits."""
    shape = [draw(st.integers(0, 3)), draw(st.integers(1, 4))]
    x = numbers(draw, shape)
    if name == "softmax_cross_entropy":
        labels = np.abs(numbers(draw, shape)) + 0.1
        labels /= labels.sum(-1, keepdims=True)
        return Case(
            [x, labels],
            lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        )
    if name == "sparse_softmax_cross_entropy":
        rows = np.arange(shape[0]) % shape[1]
        return Case(
            [x],
            lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.constant(rows), logits=x
            ),
        )
    if name == "sigmoid_cross_entropy":
        labels = numbers(draw, shape, 0, 1)
        return Case(
            [x + np.sign(x) * 0.1],
            lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x),
        )
    if name == "bias_add":
        return Case([x, numbers(draw, shape[1:])], lambda tf, x, b: tf.nn.bias_add(x, b))
    return Case([x + 2], lambda tf, x: getattr(tf.nn, name)(x))


# -- moving values around ------------------------------------------------------------------------


@st.composite
def array_case(draw: Draw, name: str) -> Case:
    rank = draw(st.integers(1, 3))
    shape = [draw(st.integers(0, 3)) for _ in range(rank)]
    axis = draw(st.integers(0, rank - 1))
    x = numbers(draw, shape)
    if name == "concat":
        other = list(shape)
        other[axis] = draw(st.integers(0, 3))
        return Case([x, numbers(draw, other)], lambda tf, x, y: tf.concat([x, y * y], axis))
    if name == "stack":
        return Case([x, numbers(draw, shape)], lambda tf, x, y: tf.stack([x, y * y], axis))
    if name == "unstack":
        shape[axis] = max(shape[axis], 1)
        return Case([numbers(draw, shape)], lambda tf, x: tf.unstack(x * x, axis=axis))
    if name == "split":
        shape[axis] = 3
        return Case([numbers(draw, shape)], lambda tf, x: tf.split(x * x, [2, 1], axis))
    if name == "slice":
        begin = [draw(st.integers(0, n)) for n in shape]
        size = [draw(st.integers(0, n - b)) for n, b in zip(shape, begin, strict=True)]
        return Case([x], lambda tf, x: tf.slice(x, begin, size) ** 2.0)
    if name == "strided_slice":
        index = tuple(
            slice(
                draw(st.one_of(st.none(), st.integers(-3, 3))),
                draw(st.one_of(st.none(), st.integers(-3, 3))),
                draw(st.sampled_from([None, 1, 2, -1])),
            )
            for _ in shape
        )
        return Case([x], lambda tf, x: x[index] ** 2.0)
    if name == "pad":
        paddings = [[draw(st.integers(0, 2)), draw(st.integers(0, 2))] for _ in shape]
        return Case([x], lambda tf, x: tf.pad(x, paddings) ** 2.0)
    if name == "mirror_pad":
        shape = [max(n, 2) for n in shape]
        mode = draw(st.sampled_from(["REFLECT", "SYMMETRIC"]))
        return Case([numbers(draw, shape)], lambda tf, x: tf.pad(x, [[1, 1]] * rank, mode) ** 2.0)
    if name == "tile":
        times = [draw(st.integers(0, 2)) for _ in shape]
        return Case([x], lambda tf, x: tf.tile(x, times) ** 2.0)
    if name == "transpose":
        order = draw(st.permutations(range(rank)))
        return Case([x], lambda tf, x: tf.transpose(x, order) ** 2.0)
    if name == "reverse":
        return Case([x], lambda tf, x: tf.reverse(x, [axis]) ** 2.0)
    if name == "reshape":
        return Case([x], lambda tf, x: tf.reshape(x * x, [int(np.prod(shape))]))
    if name == "expand_squeeze":
        return Case([x], lambda tf, x: tf.squeeze(tf.expand_dims(x * x, axis), [axis]))
    if name == "where":
        chosen = numbers(draw, shape) > 0
        return Case([x, numbers(draw, shape)], lambda tf, x, y: tf.where(chosen, x * y, y * y))
    if name in ("maximum", "minimum"):
        both = apart(draw, [2, *shape])
        return Case(list(both), lambda tf, x, y: getattr(tf, name)(x * x * x, y * y * y))
    if name == "clip_by_value":
        return Case([apart(draw, shape)], lambda tf, x: tf.clip_by_value(x, -0.31, 0.31) ** 2.0)
    if name == "broadcast_to":
        pair = draw(broadcast_pair())
        small, large = sorted(pair, key=lambda s: (len(s), int(np.prod(s))))
        whole = list(np.broadcast_shapes(tuple(small), tuple(large)))
        return Case([numbers(draw, small)], lambda tf, x: tf.broadcast_to(x, whole) ** 2.0)
    raise AssertionError(name)


@st.composite
def index_case(draw: Draw, name: str) -> Case:
    rows, width = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    ids = draw(st.lists(st.integers(0, rows - 1), max_size=5))
    x = numbers(draw, [rows, width])
    if name == "gather":
        return Case([x], lambda tf, x: tf.gather(x, tf.constant(ids, tf.int32)) ** 2.0)
    if name == "gather_nd":
        pairs = np.array([[i] for i in ids], np.int32).reshape(-1, 1)
        return Case([x], lambda tf, x: tf.gather_nd(x, pairs) ** 2.0)
    if name == "embedding_lookup":
        return Case([x], lambda tf, x: tf.nn.embedding_lookup(x, tf.constant(ids, tf.int64)) ** 2.0)
    if name == "scatter_nd":
        width = max(width, 1)  # an empty result takes no updates
    values = numbers(draw, [len(ids), width])
    if name == "scatter_nd":
        places = np.array(ids, np.int32).reshape(-1, 1)
        return Case([values], lambda tf, v: tf.scatter_nd(places, v * v, [rows, width]))
    if name == "unsorted_segment_sum":
        return Case(
            [values],
            lambda tf, v: tf.unsorted_segment_sum(v * v, tf.constant(ids, tf.int32), rows),
        )
    order = sorted(ids)
    return Case([values], lambda tf, v: getattr(tf, name)(v * v, tf.constant(order, tf.int32)))


CASES: dict[str, st.SearchStrategy[Case]] = {
    **{name: unary_case(name) for name in UNARY},
    **{name: binary_case(name) for name in BINARY},
    **{name: reduction_case(name) for name in REDUCTIONS},
    **{name: cumulative_case(name) for name in ("cumsum", "cumprod")},
    "matmul": matmul_case(),
    "einsum": einsum_case(),
    **{
        name: square_case(name)
        for name in ("cholesky", "matrix_inverse", "matrix_determinant", "matrix_solve", "trace")
    },
    **{name: conv_case(name) for name in ("conv2d", "depthwise_conv2d", "conv2d_transpose")},
    **{name: pool_case(name) for name in ("max_pool", "avg_pool")},
    **{
        name: row_case(name)
        for name in (
            "softmax",
            "log_softmax",
            "l2_loss",
            "bias_add",
            "softmax_cross_entropy",
            "sparse_softmax_cross_entropy",
            "sigmoid_cross_entropy",
        )
    },
    **{
        name: array_case(name)
        for name in (
            "broadcast_to",
            "clip_by_value",
            "concat",
            "expand_squeeze",
            "maximum",
            "minimum",
            "mirror_pad",
            "pad",
            "reshape",
            "reverse",
            "slice",
            "split",
            "stack",
            "strided_slice",
            "tile",
            "transpose",
            "unstack",
            "where",
        )
    },
    **{
        name: index_case(name)
        for name in (
            "embedding_lookup",
            "gather",
            "gather_nd",
            "scatter_nd",
            "segment_mean",
            "segment_sum",
            "unsorted_segment_sum",
        )
    },
}


@pytest.mark.parametrize("name", list(CASES))
def test_derivatives(name: str) -> None:
    # The same examples every time.
    @settings(max_examples=20, derandomize=True, deadline=None, database=None)
    @given(CASES[name])
    def check(case: Case) -> None:
        assert_gradients(tf, case.build, case.inputs, tolerance=1e-5)

    check()
