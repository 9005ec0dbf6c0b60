"""Checks of lesson 15: devices, copies, and when they pay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, expect_whole
from dataflow.course.variants import drawn


def _copies(trace: Any, kind: str) -> list[str]:
    return [step.op_name for step in trace.steps if step.op_type == kind]


#: What a matrix product may be: tf.matmul, of many at once, or tf.einsum.
_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum")


def _devices(trace: Any, op_types: tuple[str, ...]) -> set[str]:
    return {s.device.rpartition("device:")[2] for s in trace.steps if s.op_type in op_types}


@exercise(
    "Which node has no reason to be where it is pinned?",
    "Every crossing between devices is a copy. If all three operations are on the GPU, only "
    "x has to cross.",
    "The GPU has a kernel for Relu: make all three nodes inside tf.device('/gpu:0').",
)
def ex1(quick: Callable[[Any], Any]) -> str:
    """Two multiplications on a GPU with nothing of the CPU between them."""
    from dataflow.runtime.stepper import record

    data = np.random.RandomState(1).randn(5, 5).astype(np.float32)
    middle = np.maximum(data @ data, 0)
    with tf.test.pretend_gpus(1), tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [5, 5], name="x")
        y = quick(x)
        expect_type(isinstance(y, tf.Tensor), f"quick returned {type(y).__name__}, needed a tensor")
        with tf.Session(graph=graph) as session:
            trace = record(session, y, {x: data})
    expect(
        np.allclose(trace.result, middle @ middle, atol=1e-3),
        "the result is not that of the graph above: square, Relu, square",
    )
    homes = _devices(trace, _PRODUCTS)
    expect(homes, "the run has no matrix product as a node: use tf.matmul, twice")
    expect(homes == {"GPU:0"}, f"the multiplications run on {', '.join(sorted(homes))}")
    into, out = _copies(trace, "_CopyToDevice"), _copies(trace, "_CopyToHost")
    expect(not out, f"it is copied out of the GPU once more: {', '.join(out)}")
    expect(len(into) == 1, f"{len(into)} values are copied into the GPU: {', '.join(into)}")
    return f"Right: one copy, {into[0]}, and the same result."


@exercise(
    "Soft placement would move the counter to the CPU for you. Now you have to say it yourself.",
    "A GPU has no kernel for int32 variables, so they need a block of their own. One "
    "operation that stands for two is a group.",
    "Two blocks: the floats inside tf.device('/gpu:0'), the counter inside tf.device('/cpu:0'); "
    "tf.group makes one operation of two.",
)
def ex2(model: Callable[[], Any]) -> str:
    """Floats on the GPU, a counter on the CPU, one operation for both."""
    v = drawn("lesson15.ex2")
    from dataflow.runtime.stepper import record

    with tf.test.pretend_gpus(1), tf.Graph().as_default() as graph:
        step = model()
        expect_type(
            step is not None and hasattr(step, "graph"),
            f"model returned {type(step).__name__}, needed an operation",
        )
        variables = tf.global_variables()
        floats = [x for x in variables if x.dtype.base_dtype == tf.float32]
        counts = [x for x in variables if x.dtype.base_dtype == tf.int32]
        expect(
            len(floats) == len(counts) == 1,
            f"model made {len(floats)} float32 and {len(counts)} int32 variables, needed one each",
        )
        expect(
            floats[0].shape.as_list() == [v.size, v.size],
            f"the floats have the shape {floats[0].shape}, needed ({v.size}, {v.size})",
        )
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            read = [floats[0].read_value(), counts[0].read_value()]
            before = session.run(read)
            for _ in range(3):
                session.run(step)
            after = session.run(read)
            kept = floats[0].value()  # the read that lives with its variable
            homes = _home_of(record(session, kept), kept.op.name)
    expect(homes == "GPU:0", f"the floats live on {homes}: pin them to /gpu:0")
    expect(
        np.any(before[0]) and np.allclose(after[0], 8 * before[0]),
        f"the floats were {before[0].ravel()[0]:g} and are {after[0].ravel()[0]:g} after three "
        "runs; each run must double them, and they must not be 0",
    )
    expect(
        after[1] == before[1] + 3 * v.add,
        f"the counter went from {before[1]} to {after[1]} in three runs, needed {v.add} more in each",
    )
    return f"Right: doubled three times on the GPU, counted to {after[1]} on the CPU."


def _home_of(trace: Any, name: str) -> str:
    return next(str(s.device).rpartition("device:")[2] for s in trace.steps if s.op_name == name)


@exercise(
    "Write a loop: compare cpu_seconds(*multiplying(n)) and gpu_seconds(*multiplying(n)).",
    "For small n the copies cost more than they save, for large n it is the other way round. "
    "Look for the first n at which the GPU is ahead.",
    "It is between 50 and 100. From which n on is gpu_seconds(*multiplying(n)) the smaller one?",
)
def ex3(smallest: Any) -> str:
    """The size from which on multiplying pays on a GPU."""
    n = expect_whole("smallest", smallest)
    expect(
        0 < n < 10**9, f"there are no matrices of {n} x {n}" if n < 1 else f"{n} is far too large"
    )

    def gains(n: int) -> bool:
        # The round numbers of the lesson's table.
        flops, num_bytes = 2 * n**3, 12 * n * n
        cpu = 1e-6 + max(flops / 50e9, num_bytes / 20e9)
        return 10e-6 + max(flops / 10e12, num_bytes / 500e9) + num_bytes / 12e9 < cpu

    expect(gains(n), f"at n = {n} the CPU is still the quicker one")
    expect(not gains(n - 1), f"at n = {n} the GPU is quicker, but at {n - 1} it is already")
    return f"Right: from {n} x {n} on. Below, the copies take longer than they save."
