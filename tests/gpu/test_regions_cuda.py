"""Regions and formulas as one kernel of CUDA C, run on the CPU: several results, parts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import special
from dataflow.kernels.jit.expression import Region
from dataflow.kernels.jit.regions import fused_region_kernel, small
from dataflow.kernels.jit.traced_functions import Formula
from dataflow.kernels.xp import pretend_module

RNG = np.random.RandomState(0)
ON_CPU = tf.ConfigProto(device_count={"GPU": 0})
#: Three inputs, of which the second is a truth value for each row; four results.
REGION = Region(
    4,
    (
        ("AddN", (0, 2, 3)),
        ("Tanh", (4,)),
        ("SelectRows", (1, 5, 0)),
        ("ZerosLike", (0,)),
        ("GreaterEqual", (4, 7)),
        ("SelectV2", (8, 4, 6)),
        ("Sigmoid", (9,)),
    ),
    (5, 6, 9, 10),
    "float32",
)


def check_region(xp: Any, shape: tuple[int, ...], joined: Any, dtype: str) -> None:
    """A region on ``xp`` against its ops one by one on the CPU."""
    region = REGION._replace(dtype=dtype)
    x, y, z = (RNG.randn(*shape).astype(dtype) for _ in range(3))
    inputs = [x, RNG.rand(shape[0]) > 0.5, y, z]
    found = list(small(region)(*inputs))
    want = found + [np.concatenate([found[i] for i in parts], -1) for parts in joined]
    run = fused_region_kernel(xp, region=region, joined=joined)
    got = run([xp.asarray(a) for a in inputs])
    assert len(got) == len(want)
    rtol = 2e-6 if dtype == "float32" else 1e-14
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one.get(), other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    ("shape", "joined", "dtype"),
    [
        ((5, 7), (), "float64"),
        ((37, 41), (), "float32"),
        ((3, 2, 9), ((0, 3),), "float32"),
        ((3, 1, 9), ((3, 1), (2, 0)), "float32"),
        ((1, 1), ((0, 3),), "float32"),
        ((0, 4), ((0, 3),), "float32"),
    ],
    ids=str,
)
def test_several_results(cuda_on_host: Any, shape: Any, joined: Any, dtype: str) -> None:
    check_region(pretend_module(0), shape, joined, dtype)
    assert cuda_on_host.launches == ["fused"] * bool(np.prod(shape))


def test_without_a_compiler_op_by_op() -> None:
    check_region(pretend_module(0), (4, 6), ((0, 3),), "float32")


def test_broadcast_operands(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    region = Region(3, (("Mul", (0, 1)), ("Sub", (3, 2))), (3, 4), "float32")
    inputs = [RNG.randn(*s).astype(np.float32) for s in ((4, 1, 5), (3, 1), (1,))]
    got = fused_region_kernel(xp, region=region, joined=())([xp.asarray(a) for a in inputs])
    for one, other in zip(got, small(region)(*inputs), strict=True):
        np.testing.assert_allclose(one.get(), other, rtol=1e-6)


FORMULAS = {
    name: formula for name, formula in vars(special).items() if isinstance(formula, Formula)
}


def check_formula(xp: Any, name: str) -> None:
    """A formula, some of which repeat steps until they are precise, on ``xp`` against NumPy."""
    formula = FORMULAS[name]
    rng = np.random.RandomState(1)
    inputs = [rng.uniform(0.05, 0.95 if name == "_BETAINC" else 12, 300) for _ in range(3)]
    inputs = inputs[: formula.num_inputs]
    if name == "_ZETA":
        inputs[0] += 1.1
    if name == "_BETAINC":
        inputs[:2] = [20 * a for a in inputs[:2]]
    with np.errstate(all="ignore"):
        want = formula.function(np, *inputs)
    got = formula(xp, *[xp.asarray(a) for a in inputs])
    np.testing.assert_allclose(got.get(), want, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_one_kernel(cuda_on_host: Any, name: str) -> None:
    check_formula(pretend_module(0), name)
    assert cuda_on_host.launches == ["fused"]


def cell(config: Any) -> tuple[list[Any], list[str]]:
    """Two steps of training a recurrent network: the losses, and the types of the plan's nodes."""
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        x = tf.placeholder(tf.float32, [4, 6, 3])
        cells = tf.nn.rnn_cell.BasicLSTMCell(5)
        outputs, _ = tf.nn.static_rnn(cells, tf.unstack(x, axis=1), dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(outputs[-1] - 0.2))
        step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            feeds = {x: np.linspace(-1, 1, 72).reshape(4, 6, 3)}
            losses = [session.run([loss, step], feeds)[0] for _ in range(7)]
            plan = max(session._plans.values(), key=lambda p: len(p.compiled_ops))
            return losses, [op.type for op in plan.compiled_ops]


def test_a_recurrent_cell_is_a_few_regions(cuda_on_host: Any) -> None:
    losses, types = cell(None)
    assert types.count("_FusedRegion") >= 6
    assert not {"Sigmoid", "Tanh", "TanhGrad", "SigmoidGrad"} & set(types)
    np.testing.assert_allclose(losses, cell(ON_CPU)[0], rtol=1e-5)
