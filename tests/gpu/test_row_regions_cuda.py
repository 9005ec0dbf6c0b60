"""Kernels over rows: element-wise ops with sums along the last axis between them, and their rewrite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda.row_regions import pattern_of
from dataflow.kernels.jit.expression import Region
from dataflow.kernels.jit.regions import small
from dataflow.kernels.jit.row_regions import full_shape, fused_rows_kernel
from dataflow.kernels.xp import pretend_module
from tests.benchmarks.gpu import layer_norm

ON_CPU = tf.ConfigProto(device_count={"GPU": 0})

#: x, a number for each row, one for each column, and one for all: a mean, a variance about it, what they
#: normalize, and a sum of that.
NORM = Region(
    4,
    (
        ("RowMean", (0,)),
        ("SquaredDifference", (0, 4)),
        ("RowMean", (5,)),
        ("AddV2", (6, 3)),
        ("Rsqrt", (7,)),
        ("Sub", (0, 4)),
        ("Mul", (9, 8)),
        ("Mul", (10, 2)),
        ("AddV2", (11, 1)),
        ("RowSum", (12,)),
        ("Mul", (13, 1)),
    ),
    (12, 13, 14, 8),
    "float32",
)
SHAPES = [(5, 7), (3, 2, 9), (4, 1), (300, 2), (2, 300), (2, 5000), (1, 20_000), (0, 4), (3, 0)]


def check_rows(xp: Any, shape: tuple[int, ...], dtype: str) -> None:
    """The kernel on ``xp`` against one call after the other in double precision."""
    rng = np.random.RandomState(0)
    row_shape = (*shape[:-1], 1)
    inputs = [np.asarray(rng.randn(*s), dtype) for s in (shape, row_shape, shape[-1:], ())]
    inputs[3] = np.abs(inputs[3])
    region = NORM._replace(dtype=dtype)
    want = small(region._replace(dtype="float64"))(*[x.astype(np.float64) for x in inputs])
    run = fused_rows_kernel(
        xp,
        region=region,
        by_row=(False, True, True, True),
        without_axis=(False, False, True, False),
    )
    got = [x.get() for x in run([xp.asarray(x) for x in inputs])]
    assert [x.shape for x in got] == [shape, row_shape, shape[:-1], row_shape]
    for one, other in zip(got, want, strict=True):
        assert one.dtype == dtype
        tolerance = 1e-10 if dtype == "float64" else 2e-4
        np.testing.assert_allclose(
            one, other.reshape(one.shape), rtol=tolerance, atol=tolerance * shape[-1] ** 0.5
        )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_as_one_call_after_the_other(cuda_on_host: Any, shape: tuple[int, ...]) -> None:
    with np.errstate(all="ignore"):
        check_rows(pretend_module(0), shape, "float32")
    assert cuda_on_host.launches == (["fused_rows"] if np.prod(shape) else [])


def test_double_precision(cuda_on_host: Any) -> None:
    check_rows(pretend_module(0), (6, 700), "float64")


def test_how_an_input_lies() -> None:
    full = (4, 3, 5)
    shapes = [(4, 3, 5), (4, 3, 1), (5,), (1, 1, 5), (), (1, 1), (3, 5), (4, 1, 1)]
    assert [pattern_of(s, full) for s in shapes] == ["f", "r", "c", "c", "s", "s", "", ""]


def test_other_shapes_are_left_to_one_call_after_the_other() -> None:
    region = Region(2, (("Mul", (0, 1)), ("RowSum", (0,))), (2, 3), "float32")
    assert full_shape(region, [(4, 3), (3,)]) == (4, 3)
    assert full_shape(region, [(1, 3), (4, 3)]) is None  # the sum is of one row
    assert full_shape(region, [(4, 3), (2, 3)]) is None  # an error of the product


def rows_of(name: str, x: Any) -> tuple[list[Any], dict[str, int]]:
    """Fetches, and how many nodes of a type are left where they run on a GPU."""
    if name == "layer norm":
        return [layer_norm(x)], {"_FusedRows": 1, "Mean": 0}
    if name == "its gradient":
        y = layer_norm(x)
        return tf.gradients(y * y, [x]), {"_FusedRows": 1, "Mean": 0, "RsqrtGrad": 0}
    if name == "softmax by hand":
        e = tf.exp(x)
        return [e / tf.reduce_sum(e, 1, keep_dims=True)], {"_FusedRows": 1, "Sum": 0}
    if name == "squares":
        return [tf.reduce_sum(tf.square(x), -1)], {"_FusedRows": 1, "Sum": 0}
    if name == "two lengths":
        short = tf.reduce_sum(tf.square(x), 1, keep_dims=True)
        wide = tf.constant(np.ones((3, 9), np.float32)) * short
        return [tf.reduce_sum(wide * wide, 1), tf.sqrt(short)], {"_FusedRows": 2, "Sum": 0}
    if name == "a sum alone":
        return [tf.reduce_sum(x, 1)], {"_FusedRows": 0, "Sum": 1}
    if name == "through the host":
        total = tf.reduce_sum(tf.square(x), 1, keep_dims=True)
        with tf.device("/cpu:0"):
            low = tf.identity(tf.minimum(total, 1.0))
        return [tf.square(x) * low], {"_FusedRows": 1}
    if name == "a cycle":  # what leaves the rows and comes back cannot be in the same kernel
        total = tf.reduce_sum(tf.square(x), 1, keep_dims=True)
        sizes = tf.cumsum(total, 0)
        return [tf.square(x) * sizes + total], {"_FusedRows": 1, "Cumsum": 1}
    raise ValueError(name)


NAMES = [
    *("layer norm", "its gradient", "softmax by hand", "squares", "two lengths"),
    *("a sum alone", "through the host", "a cycle"),
]


def check_graph(name: str, dims: list[int | None]) -> None:
    """A graph gives what it gives on the CPU, for a second batch too, with the nodes it should have."""
    values = np.random.RandomState(0).randn(3, 6).astype(np.float32)

    def run(config: Any, count: Callable[[Any], None]) -> list[Any]:
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            x = tf.placeholder(tf.float32, dims)
            fetches, nodes = rows_of(name, x)
            session.run(tf.global_variables_initializer())
            for _ in range(6):
                found = session.run(fetches, {x: values})
            count((session, nodes))
            if dims[0] is None and name != "two lengths":
                found += session.run(fetches, {x: np.concatenate([values, values])})
            return list(found)

    def check_nodes(what: Any) -> None:
        session, nodes = what
        plan = next(p for p in session._plans.values() if p.feeds)
        types = [op.type for op in plan.compiled_ops]
        assert {t: types.count(t) for t in nodes} == nodes, types

    got = run(None, check_nodes)
    want = run(ON_CPU, lambda what: None)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("dims", [[3, 6], [None, 6]], ids=["static", "batch"])
@pytest.mark.parametrize("name", NAMES)
def test_graphs(cuda_on_host: Any, name: str, dims: list[int | None]) -> None:
    check_graph(name, dims)


def test_explain_shows_the_kernel(cuda_on_host: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 6])
        y = layer_norm(x)
        session.run(tf.global_variables_initializer())
        found = session.explain(y, {x: np.ones((3, 6), np.float32)})
        (source,) = [s for s in found.kernels.values() if "fused_rows" in s]
        assert "x0[start + c]" in source  # the rows
        assert "[c];" in source  # the scale of each column


def test_in_a_new_process() -> None:
    """The kernel is found there, where no test has loaded its file."""
    program = """
import dataflow as tf
x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
y = tf.placeholder_with_default(x, [None, 2])
z = y * y / tf.reduce_sum(y * y, 1, keep_dims=True)
with tf.Session() as session:
    for _ in range(5):
        found = session.run(z)
    types = [op.type for p in session._plans.values() for op in p.compiled_ops]
print(types.count("_FusedRows"), found.sum(1).tolist())
"""
    environment = {**os.environ, "DATAFLOW_PRETEND_GPUS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.stdout.split() == ["1", "[1.0,", "1.0]"], found.stderr
