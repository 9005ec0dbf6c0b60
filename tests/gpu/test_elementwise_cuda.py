"""The CUDA C of fused chains, run on the CPU: every instruction, broadcasting, sums, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda.elementwise import bind_fused, fused_source
from dataflow.kernels.jit.elementwise import compile_program
from dataflow.kernels.jit.expression import Program
from dataflow.kernels.jit.op_table import INSTRUCTIONS
from dataflow.kernels.xp import pretend_module

RNG = np.random.RandomState(0)


def on_gpu(program: Program, inputs: list[np.ndarray]) -> np.ndarray:
    xp = pretend_module(0)
    return bind_fused(xp, program)([xp.asarray(x) for x in inputs]).get()  # type: ignore[no-any-return]


def on_cpu(program: Program, inputs: list[np.ndarray]) -> Any:
    with np.errstate(all="ignore"):
        return compile_program(program).small(*inputs)


def num_operands(op_type: str) -> int:
    return 2 if any("{1}" in s for s in INSTRUCTIONS[op_type].statements) else 1


#: Small numbers, and what is special about numbers.
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 0.25, 7.0], np.float32)


@pytest.mark.parametrize("op_type", INSTRUCTIONS)
def test_every_instruction_agrees_with_numpy(cuda_on_host: Any, op_type: str) -> None:
    inputs = [np.repeat(SPECIAL, 9), np.tile(SPECIAL, 9)][: num_operands(op_type)]
    if op_type.startswith("Logical"):
        inputs = [x > 0 for x in inputs]
    n = len(inputs)
    program = Program(n, ((op_type, tuple(range(n))),), "float32")
    value, expected = on_gpu(program, inputs), on_cpu(program, inputs)
    assert value.dtype == expected.dtype
    assert (value.dtype == bool) == INSTRUCTIONS[op_type].is_bool
    np.testing.assert_allclose(value, expected, rtol=3e-6)


def test_double_precision(cuda_on_host: Any) -> None:
    inputs = [RNG.rand(300), RNG.rand(300), RNG.rand(300)]
    program = Program(3, CHAIN, "float64")
    np.testing.assert_allclose(on_gpu(program, inputs), on_cpu(program, inputs), rtol=1e-14)


CHAIN = (("Mul", (0, 1)), ("Tanh", (3,)), ("AddV2", (4, 2)), ("Square", (5,)))


@pytest.mark.parametrize(
    "shapes",
    [
        [(1000,), (1000,), (1000,)],
        [(37, 41), (1,), (41,)],
        [(37, 1), (1, 41), ()],
        [(3, 1, 5), (4, 1), (3, 4, 5)],
        [(0, 4), (4,), (1, 4)],
    ],
    ids=["same", "row", "outer", "middle", "empty"],
)
@pytest.mark.parametrize("reduction", ["", "Sum", "Mean"])
def test_broadcasting_and_sums(cuda_on_host: Any, shapes: Any, reduction: str) -> None:
    inputs = [np.asarray(RNG.randn(*s), np.float32) for s in shapes]
    if reduction == "Mean" and inputs[0].size == 0:
        reduction = "Sum"  # the mean of nothing is NaN on both, with a warning
    program = Program(3, CHAIN, "float32", reduction)
    np.testing.assert_allclose(
        on_gpu(program, inputs), on_cpu(program, inputs), rtol=1e-5, atol=1e-6
    )


def test_views_are_read_through_their_strides(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x = xp.asarray(RNG.randn(8, 6).astype(np.float32))
    program = Program(2, (("Sub", (0, 1)), ("Abs", (2,))), "float32")
    result = bind_fused(xp, program)([x.T, x.T[:, ::-1]]).get()
    expected = np.abs(x.get().T - x.get().T[:, ::-1])
    np.testing.assert_array_equal(result, expected)


def test_large_results_count_in_64_bits() -> None:
    source = fused_source(Program(1, (("Exp", (0,)),), "float32").chain, "f", 1, "long long")
    assert "typedef long long I;" in source


def test_a_session_fuses_for_the_gpu(cuda_on_host: Any) -> None:
    def run(config: Any) -> Any:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [300, 200])
            b = tf.constant(np.linspace(-1, 1, 200, dtype=np.float32))
            y = tf.tanh(x * 2.0 + b) * tf.exp(-tf.square(x))
            loss = tf.reduce_mean(tf.square(y - 0.5))
            with tf.Session(config=config) as session:
                feeds = {x: np.linspace(-2, 2, 60000, dtype=np.float32).reshape(300, 200)}
                for _ in range(4):
                    result = session.run([y, loss], feeds)
                return result

    got, want = run(None), run(tf.ConfigProto(device_count={"GPU": 0}))
    assert "fused" in cuda_on_host.launches
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5)


def test_the_explanation_shows_the_kernel_that_runs(cuda_on_host: Any) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [300, 200], name="x")
        y = tf.tanh(x * 2.0) * tf.exp(-x)
        with tf.Session() as session:
            on_gpu_text = session.explain(y, {x: np.zeros((300, 200))})
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
            on_cpu_text = session.explain(y, {x: np.zeros((300, 200))})
    assert "__global__ void fused" in "".join(on_gpu_text.kernels.values())
    assert "__global__" not in "".join(on_cpu_text.kernels.values())
    assert "def block" in "".join(on_cpu_text.kernels.values())
