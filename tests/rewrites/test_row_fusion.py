"""Sums along rows and what is around them become one kernel on the CPU, too."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.benchmarks.gpu import layer_norm
from tests.rewrites.rewritten import rewritten, types

OFF = tf.ConfigProto(
    graph_options=tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    )
)
WIDTH = 100


def fetches_of(name: str, x: Any) -> tuple[list[Any], dict[str, int]]:
    """Fetches, and how many nodes of a type are left."""
    if name == "layer norm":
        return [layer_norm(x)], {"_FusedRows": 1, "Mean": 0}
    if name == "its gradient":
        y = layer_norm(x)
        return tf.gradients(y * y, [x]), {"_FusedRows": 1, "Mean": 0, "RsqrtGrad": 0}
    if name == "softmax by hand":
        e = tf.exp(x)
        return [e / tf.reduce_sum(e, -1, keep_dims=True)], {"_FusedRows": 1, "Sum": 0}
    if name == "gradient of softmax":
        return tf.gradients(tf.square(tf.nn.softmax(x)), [x]), {"_FusedRows": 1, "Sum": 0}
    if name == "squares":
        return [tf.reduce_sum(tf.square(x), -1)], {"_FusedRows": 1, "Sum": 0}
    if name == "a sum alone":
        return [tf.reduce_sum(x, -1)], {"_FusedRows": 0, "Sum": 1}
    if name == "short rows":
        return [tf.reduce_sum(tf.square(x[..., :5]), -1)], {"_FusedRows": 0, "Sum": 1}
    raise ValueError(name)


NAMES = ["layer norm", "its gradient", "softmax by hand", "gradient of softmax", "squares"]
NAMES += ["a sum alone", "short rows"]


@pytest.mark.parametrize("dims", [[None, WIDTH], [2, 45, WIDTH]], ids=["batch", "static"])
@pytest.mark.parametrize("name", NAMES)
def test_graphs(name: str, dims: list[int | None]) -> None:
    """Each is left with the nodes that it should have, and gives the bits of the plan without rewrites."""
    x = tf.placeholder(tf.float32, dims)
    fetches, nodes = fetches_of(name, x)
    shape = [90 if d is None else d for d in dims]
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)

    def run(config: Any, times: int) -> list[Any]:
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(times):
                found = session.run(fetches, {x: values})
            if dims[0] is None:
                found = [*found, *session.run(fetches, {x: values[:3]})]
            return list(found)

    with tf.Session() as session:
        found = types(rewritten(session, fetches, [x]))
    assert {t: found.count(t) for t in nodes} == nodes, found
    for got, want in zip(run(None, 45), run(OFF, 1), strict=True):
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("inner", [False, True], ids=["result", "inner value"])
def test_what_reads_a_variable_that_is_changed_later(inner: bool) -> None:
    """The change waits for the whole kernel, and the gradients are those of the variable before."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    scale = tf.Variable(np.linspace(0.5, 1.5, WIDTH, dtype=np.float32))
    total = tf.reduce_sum(tf.square(x * scale), -1, keep_dims=True)
    scaled = tf.square(x) * scale
    y = scaled / tf.sqrt(total)
    fetches = [y] if inner else [y, scaled]
    with tf.control_dependencies([scaled.op]):
        change = scale.assign(scale * 2.0)
    values = np.random.default_rng(0).standard_normal((90, WIDTH)).astype(np.float32)

    def run(config: Any) -> list[Any]:
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            found = [session.run([*fetches, change.op], {x: values})[:-1] for _ in range(25)]
            return [*found[-1], session.run(scale)]

    with tf.Session() as session:
        plan = rewritten(session, [*fetches, change.op], [x])
    found = types(plan)
    assert (found.count("_FusedRows"), found.count("Square"), found.count("Mul")) == (1, 0, 1)
    for got, want in zip(run(None), run(OFF), strict=True):
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("waits", ["for another", "another for it"])
def test_an_identity_in_whose_order_others_are_stays(waits: str) -> None:
    """An edge that orders nodes is not lost: what waits still does."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    calls: list[str] = []
    note = functools.partial(tf.py_func, lambda: calls.append("noted"), [], [])
    total = tf.reduce_sum(tf.square(x), -1, keep_dims=True)
    with tf.control_dependencies([note()] if waits == "for another" else []):
        same = tf.identity(total)
    with tf.control_dependencies([same] if waits == "another for it" else []):
        noted = note()
    y = tf.exp(x) * same
    fetches = [y] if waits == "for another" else [y, noted]
    with tf.Session() as session:
        plan = rewritten(session, fetches, [x])
        found = types(plan)
        assert "_FusedRows" in found and "Mul" in found and found.count("PyFunc") == 1
        values = np.random.default_rng(0).standard_normal((90, WIDTH)).astype(np.float32)
        for _ in range(5):
            found = session.run(fetches, {x: values})[0]
    assert len(calls) == 5
    wanted = np.exp(values) * np.square(values).sum(-1, keepdims=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
