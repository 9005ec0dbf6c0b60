"""Optimizers' steps on rows of a table: captured as CUDA graphs, with the CPU's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda import gather_scatter
from dataflow.kernels.fake_gpu import PretendArray
from dataflow.kernels.segment import sum_repeated_rows_kernel
from dataflow.kernels.xp import pretend_module
from tests.gpu.test_cuda_graphs import num_captured, plans
from tests.gpu.test_optimizer_updates_cuda import OPTIMIZERS

ON_CPU = tf.ConfigProto(device_count={"GPU": 0})
#: Rows that are named again, in other places in each step.
STEPS = [[1, 5, 1, 6], [0, 0, 0, 0], [6, 5, 4, 3], [2, 6, 6, 2], [1, 1, 5, 5]] * 2


def train(optimizer: Any, dtype: Any, config: Any) -> tuple[Any, np.ndarray, int]:
    """The session, the table after ten steps, and how often the host waited in the last of them."""
    with tf.Graph().as_default():
        # Not where the loss is flat (0.1 and 0.3): there Adam would follow the rounding.
        start = np.linspace(-0.97, 1.03, 21).reshape(7, 3).astype(dtype)
        table = tf.get_variable("table", initializer=start)
        which = tf.placeholder(tf.int32, [4])
        x = tf.nn.embedding_lookup(table, which)
        step = optimizer().minimize(tf.reduce_sum(tf.square(x - 0.3) * x))
        session = tf.Session(config=config)
        session.run(tf.global_variables_initializer())
        waits = 0
        for rows in STEPS:
            before = PretendArray.num_synchronizations
            session.run(step, {which: rows})
            waits = PretendArray.num_synchronizations - before
        return session, session.run(table), waits


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_captured_and_as_on_the_cpu(cuda_on_host: Any, name: str) -> None:
    session, got, waits = train(OPTIMIZERS[name], np.float32, None)
    reasons = [p.cuda_graphs.reason for p in plans(session)]
    assert num_captured(session) == 1, reasons
    assert waits == 0
    np.testing.assert_allclose(
        got, train(OPTIMIZERS[name], np.float32, ON_CPU)[1], rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float16], ids=["float64", "float16"])
def test_other_precisions(cuda_on_host: Any, dtype: Any) -> None:
    """Each step is rounded as the CPU rounds it, of halves too."""
    session, got, waits = train(OPTIMIZERS["momentum"], dtype, None)
    assert num_captured(session) == 1 and waits == 0
    want = train(OPTIMIZERS["momentum"], dtype, ON_CPU)[1]
    rtol = 1e-12 if dtype is np.float64 else 1e-2
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def check_sum(xp: Any, dtype: str, rows: int) -> None:
    """Rows of one number are added up on ``xp`` in their order; those left over have number -1."""
    rng = np.random.RandomState(0)
    numbers = rng.randint(-2, rows + 2, 700).astype(np.int64)
    values = rng.randint(-9, 9, (700, 3)).astype(dtype)
    sums, which = gather_scatter.sum_repeated(xp, xp.asarray(values), xp.asarray(numbers), rows)
    sums, which = sums.get(), which.get()
    inside = np.unique(numbers[(numbers >= 0) & (numbers < rows)])
    np.testing.assert_array_equal(which[which >= 0], inside)
    assert (which < 0).sum() == 700 - inside.size and not sums[which < 0].any()
    for number, row in zip(which[which >= 0], sums[which >= 0], strict=True):
        np.testing.assert_array_equal(row, values[numbers == number].sum(0, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_rows_of_one_number_are_added_up(cuda_on_host: Any, dtype: str) -> None:
    check_sum(pretend_module(0), dtype, 300)


def test_nothing_to_add_up(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    empty = xp.zeros((0, 3), np.float32), xp.zeros(0, np.int32)
    sums, which = sum_repeated_rows_kernel(xp, *empty, num_rows=5)
    assert sums.shape == (0, 3) and which.shape == (0,)
    sums, which = sum_repeated_rows_kernel(
        xp, xp.zeros((2, 0), np.float32), xp.zeros(2, np.int32), num_rows=5
    )
    assert sums.shape == (2, 0) and which.get().tolist() == [-1, -1]


def test_on_the_cpu_there_is_one_sum_for_each_number() -> None:
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    sums, which = sum_repeated_rows_kernel(np, values, np.array([7, 2, 7, 0]), num_rows=9)
    assert which.tolist() == [7, 2, 0] and sums.tolist() == [[4, 6], [2, 3], [6, 7]]


def graph(kind: str) -> tuple[Any, Any]:
    """Something that is made of the sums, and what is fed."""
    table = tf.get_variable("table", initializer=np.ones((9, 2), np.float32))
    slot = tf.get_variable("slot", initializer=np.full((9, 2), 0.5, np.float32))
    which = tf.placeholder(tf.int32, [5])
    values = tf.constant(np.arange(10, dtype=np.float32).reshape(5, 2))
    rows, positions = tf.unique(which)
    summed = tf.unsorted_segment_sum(values, positions, tf.shape(rows)[0])
    if kind == "lazy":  # an optimizer that changes the slot's rows, and takes them from there
        new = 0.9 * tf.gather(slot, rows) + 0.1 * summed
        with tf.control_dependencies([tf.scatter_update(slot, rows, new)]):
            step = tf.scatter_sub(table, rows, new / (tf.sqrt(tf.abs(new)) + 1e-3))
        return [step], which
    step = tf.scatter_add(table, rows, summed)
    others = {
        "sums": summed,
        "rows": rows,
        "count": tf.shape(rows)[0],
        "total": tf.reduce_sum(summed, 0),
        "mixed": summed * tf.cast(tf.reshape(rows, [-1, 1]), tf.float32),
        "placed": positions,
    }
    return [step, others[kind]], which


@pytest.mark.parametrize("kind", ["lazy", "sums", "rows", "count", "total", "mixed", "placed"])
def test_who_else_looks_at_the_sums_sees_no_difference(cuda_on_host: Any, kind: str) -> None:
    def run(config: Any) -> tuple[Any, list[str]]:
        with tf.Graph().as_default():
            fetches, which = graph(kind)
            with tf.Session(config=config) as session:
                session.run(tf.global_variables_initializer())
                for rows in STEPS:
                    result = session.run(fetches, {which: [*rows, 8]})
                plan = max(session._plans.values(), key=lambda p: len(p.compiled_ops))
                return result, [op.type for op in plan.compiled_ops]

    got, types = run(None)
    assert ("_SumRepeatedRows" in types) == (kind == "lazy")
    want, types = run(ON_CPU)
    assert "_SumRepeatedRows" not in types
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_variable_on_the_cpu_stays_as_it_is(cuda_on_host: Any) -> None:
    """There an index of -1 would be refused."""

    def pinned() -> Any:
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        minimize = optimizer.minimize

        def on_cpu(loss: Any) -> Any:
            with tf.device("/cpu:0"):
                return minimize(loss)

        optimizer.minimize = on_cpu  # type: ignore[method-assign]
        return optimizer

    with tf.device("/cpu:0"):
        got = train(pinned, np.float32, None)[1]
    want = train(OPTIMIZERS["momentum"], np.float32, ON_CPU)[1]
    np.testing.assert_allclose(got, want, rtol=1e-5)
