"""The CUDA C that gathers and adds rows by number, run on the CPU: repeated numbers, bad ones, order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda import gather_scatter, radix_sort
from dataflow.kernels.cuda.gather_scatter import CHUNK
from dataflow.kernels.fake_gpu import PretendArray
from dataflow.kernels.xp import pretend_module
from tests.gpu.test_cuda_graphs import num_captured

RNG = np.random.RandomState(0)


@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((50, 8), 0, "float32"),
        ((50, 3), 0, "float16"),
        ((4, 9, 5), 1, "float64"),
        ((4, 3, 7), 2, "bool"),
        ((6,), 0, "complex64"),
        ((5, 0), 0, "float32"),
    ],
)
def test_gather(cuda_on_host: Any, shape: Any, axis: int, dtype: str) -> None:
    xp = pretend_module(0)
    x = (RNG.randn(*shape) * 9).astype(dtype)
    indices = RNG.randint(0, shape[axis], (3, 4))
    for numbers in (indices, indices.astype(np.int32), indices[0, 0], indices[:0]):
        got = gather_scatter.gather(xp, xp.asarray(x), xp.asarray(numbers), axis)
        np.testing.assert_array_equal(got.get(), x.take(numbers, axis))


def test_rows_move_in_units_as_large_as_they_allow(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    part = xp.asarray(x)[1:].reshape(-1)[1:29].reshape(4, 7)  # begins in between
    got = gather_scatter.gather(xp, part, xp.asarray(np.array([3, 0])), 0)
    np.testing.assert_array_equal(got.get(), x.reshape(-1)[9:37].reshape(4, 7)[[3, 0]])


def added_one_by_one(x: np.ndarray, op: str, numbers: Any, updates: np.ndarray) -> np.ndarray:
    out = x.copy()
    for row, update in zip(numbers, updates, strict=True):
        if 0 <= row < len(x):
            if op == "Update":
                out[row] = update
            else:
                out[row] += update if op == "Add" else -update
    return out


#: shape, how many numbers, dtype, dtype of the numbers
CHANGES = [
    ((7, 3), 600, "float64", "int64"),  # many of each, three blocks of keys
    ((70_000, 1), 400, "float32", "int32"),  # three passes of the sort
    ((300, 2, 2), 5, "int32", "int64"),
    ((4, 2), 9, "float16", "int32"),
]


@pytest.mark.parametrize("op", ["Add", "Sub", "Update"])
@pytest.mark.parametrize("case", CHANGES, ids=str)
def test_rows_are_changed(cuda_on_host: Any, op: str, case: Any) -> None:
    check_change(pretend_module(0), op, *case)


def check_change(xp: Any, op: str, shape: Any, count: int, dtype: str, indices: str) -> None:
    """Whole numbers, whose sums are exact, with some numbers of no row."""
    x = RNG.randint(-9, 9, shape).astype(dtype)
    numbers = RNG.randint(-2, shape[0] + 2, count).astype(indices)
    updates = RNG.randint(-9, 9, (count, *shape[1:])).astype(dtype)
    on_device = xp.array(x)
    gather_scatter.change_rows(xp, op, on_device, xp.asarray(numbers), xp.asarray(updates))
    np.testing.assert_array_equal(on_device.get(), added_one_by_one(x, op, numbers, updates))


@pytest.mark.parametrize("count", [700, 20, 40_000])  # the last: blocks that take more rounds
def test_equal_numbers_stay_in_their_order(cuda_on_host: Any, count: int) -> None:
    xp = pretend_module(0)
    numbers = RNG.randint(0, 600, count)
    keys, order = radix_sort.in_order(xp, xp.asarray(numbers), 600)
    want = np.argsort(numbers, kind="stable")
    np.testing.assert_array_equal(order.get(), want)
    np.testing.assert_array_equal(keys.get(), numbers[want])
    assert cuda_on_host.launches == ["radix_count", "radix_place"] * 2


def test_sums_have_the_order_of_what_was_given(cuda_on_host: Any) -> None:
    """In single precision another order gives another number: chunks in their order, and in each
    what was given in its order.
    """
    xp = pretend_module(0)
    updates = (RNG.randn(900, 2) * 10.0 ** RNG.randint(-4, 4, (900, 1))).astype(np.float32)
    x = xp.zeros((1, 2), np.float32)
    gather_scatter.change_rows(xp, "Add", x, xp.zeros(900, np.int64), xp.asarray(updates))
    chunks = [updates[k : k + CHUNK] for k in range(0, 900, CHUNK)]
    want = np.array([chunk.cumsum(0)[-1] for chunk in chunks]).cumsum(0)[-1]
    assert x.get()[0].tolist() == want.tolist() != updates[::-1].cumsum(0)[-1].tolist()


#: Numbers whose runs begin, end and go on at borders of chunks.
RUNS = {
    "one that is everything": [3 * CHUNK + 4],
    "to a border": [CHUNK, CHUNK, 5],
    "over a border": [CHUNK - 1, 2, CHUNK - 1, 1, 2 * CHUNK],
    "over many": [5, 6 * CHUNK + 8, 3, CHUNK + 1, 1],
    "one of each": [1] * (2 * CHUNK + 6),
}


@pytest.mark.parametrize("op", ["Add", "Sub", "Update", "Sum"])
@pytest.mark.parametrize("length", [1, 8])
@pytest.mark.parametrize("runs", RUNS.values(), ids=list(RUNS))
def test_runs_of_a_number(cuda_on_host: Any, runs: list[int], length: int, op: str) -> None:
    check_runs(pretend_module(0), runs, length, op)


def check_runs(xp: Any, runs: list[int], length: int, op: str) -> None:
    """Rows of numbers that are named so often; of every third number there is no row."""
    rng = np.random.RandomState(0)
    numbers = np.repeat(rng.permutation(len(runs)), runs)
    numbers = numbers[rng.permutation(numbers.size)]
    rows = len(runs) - len(runs) // 3
    updates = rng.randint(-9, 9, (numbers.size, length)).astype(np.float32)
    x = rng.randint(-9, 9, (rows, length)).astype(np.float32)
    on_device = xp.array(x), xp.asarray(numbers), xp.asarray(updates)
    if op == "Sum":
        sums, which = gather_scatter.sum_repeated(xp, on_device[2], on_device[1], rows)
        sums, which = sums.get(), which.get()
        assert sorted(which[which >= 0].tolist()) == list(range(rows))
        np.testing.assert_array_equal(sums[which < 0], 0)
        want = added_one_by_one(np.zeros_like(x), "Add", numbers, updates)
        np.testing.assert_array_equal(sums[which >= 0], want[which[which >= 0]])
        return
    gather_scatter.change_rows(xp, op, *on_device)
    np.testing.assert_array_equal(on_device[0].get(), added_one_by_one(x, op, numbers, updates))


def run_ops(config: Any) -> list[np.ndarray]:
    """What is made of gathering and adding, and the gradient of an embedding."""
    with tf.Graph().as_default():
        table = tf.get_variable("t", initializer=np.arange(20, dtype=np.float32).reshape(5, 4))
        which = tf.constant([3, 0, 3, 1])
        places = tf.constant([[1, 2], [4, 0], [1, 2]])
        rows = tf.ones([4, 4]) * tf.constant([[1.0], [2.0], [3.0], [4.0]])
        step = tf.train.GradientDescentOptimizer(0.1).minimize(
            tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, which)))
        )
        reads = [
            tf.gather(table, which, axis=1),
            tf.gather_nd(table, places),
            tf.scatter_nd(places, tf.constant([1.0, 2.0, 3.0]), [5, 4]),
            tf.unsorted_segment_sum(rows, tf.constant([2, -1, 2, 0]), 4),
            tf.segment_sum(rows, tf.constant([0, 0, 2, 2])),
            tf.tensor_scatter_add(tf.ones([5]), [[1], [1]], [2.0, 3.0]),
        ]
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            results = session.run(reads)
            session.run(step)
            session.run(tf.scatter_add(table, [1, 1], tf.ones([2, 4])))
            session.run(tf.scatter_sub(table, [2], tf.ones([1, 4])))
            session.run(tf.scatter_update(table, [0], tf.ones([1, 4])))
            return [*results, session.run(table)]


def test_ops_as_on_the_cpu(cuda_on_host: Any) -> None:
    got = run_ops(None)
    assert cuda_on_host.launches.count("gather") >= 3
    assert cuda_on_host.launches.count("change_rows") == 8
    for one, other in zip(got, run_ops(tf.ConfigProto(device_count={"GPU": 0})), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_numbers_of_no_row(cuda_on_host: Any) -> None:
    table = tf.constant(np.ones((3, 2), np.float32))
    bad = tf.constant([[3], [1], [-1]])
    tensors = [
        tf.gather(table, [3, 1, -1]),
        tf.gather_nd(table, bad),
        tf.scatter_nd(bad, tf.ones([3, 2]), [3, 2]),
    ]
    with tf.Session() as session:
        for value in session.run(tensors):
            assert value.tolist() == [[0, 0], [1, 1], [0, 0]]


def train_embedding() -> tuple[Any, int]:
    """Nine steps of an embedding and a loss of labels: the session, and how often the host waited."""
    with tf.Graph().as_default():
        table = tf.get_variable("t", initializer=np.ones((50, 4), np.float32))
        which = tf.placeholder(tf.int32, [6])
        labels = tf.placeholder(tf.int32, [6])
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=tf.nn.embedding_lookup(table, which)
            )
        )
        step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        feeds = {which: [1, 2, 1, 40, 3, 2], labels: [0, 1, 2, 3, 0, 1]}
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        session.run(step, feeds)
        before = PretendArray.num_synchronizations
        for _ in range(8):
            session.run(step, feeds)
        waits = PretendArray.num_synchronizations - before
        assert session.run(loss, feeds) < 0.7 * np.log(4)
        return session, waits


def test_the_host_does_not_wait(cuda_on_host: Any) -> None:
    """So that a step with an embedding is captured as a CUDA graph."""
    session, waits = train_embedding()
    assert waits == 0
    assert num_captured(session) == 1
