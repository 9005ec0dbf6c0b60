"""Results made in memory that two tasks share: never used again while anybody sees them."""

import gc
import os
import socket

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import fast_path
from dataflow.cluster.transport import shm_send
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.shm_send import Allocation
from dataflow.errors import ResourceExhaustedError
from tests.results_of import results_of

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX") or not hasattr(os, "memfd_create"),
    reason="this system has no shared memory between processes",
)
KIND = (np.dtype(np.float32), (20_000,))


@pytest.fixture
def ends():
    """The two ends of a connection within this process."""
    ends = [
        Connection(sock, "the other end", 1 << 30) for sock in socket.socketpair(socket.AF_UNIX)
    ]
    for end in ends:
        end.share_memory_with(os.getpid())
    yield ends
    for end in ends:
        end.close()


def pass_on(ends, tensors, id=0):
    """What arrives when tensors are sent."""
    ends[0].send(Kind.DATA, 5, id, tensors)
    message = ends[1].receive()
    assert (message.kind, message.tag, message.id) == (Kind.DATA, 5, id)
    return message.tensors


def filled(ends, value):
    array = ends[0].allocate(*KIND)
    array[...] = value
    return array


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("held", [0, 1, 3])
def test_frames_like_the_last_one(ends, held):
    """Small and large tensors, and none, with some of what came earlier still in use."""
    kept = []
    for step in range(20):
        sent = [
            np.full(30_000, step, np.float32),
            np.full((2, 3), step, np.int64),
            np.zeros((0, 4), np.float32),
            np.full((100, 200), -step, np.float64),
        ]
        got = pass_on(ends, sent, step)
        for there, here in zip(sent, got, strict=True):
            assert there.dtype == here.dtype
            np.testing.assert_array_equal(there, here)
        del here
        kept.append((step, got[0], got[3]))
        del got
        kept = kept[-held:] if held else []
        for number, first, last in kept:
            assert np.all(first == number)
            assert np.all(last == -number)
            del first, last
    assert len(ends[0]._outgoing._segments) <= 2 * (held + 1)


def test_a_frame_with_other_tensors_is_read_as_it_is(ends):
    for size in (10_000, 9_000, 10_000, 5, 9_000):
        for dtype in (np.float32, np.int32, np.bool_):
            sent = (np.arange(size) % 2).astype(dtype)
            (got,) = pass_on(ends, [sent])
            assert got.dtype == sent.dtype
            np.testing.assert_array_equal(got, sent)


def test_what_was_made_there_is_not_copied(ends):
    seen = set()
    for step in range(6):
        array = filled(ends, step)
        (got,) = pass_on(ends, [array])
        array[0] = 100 + step  # the very memory
        assert got[0] == 100 + step
        assert got[1] == step
        seen.add(address(array))
        del array, got
    assert len(seen) == 1


def test_memory_is_not_used_again_while_this_side_has_an_array(ends):
    array = filled(ends, 1)
    part = array[5:10].reshape(5, 1)
    pass_on(ends, [array])
    del array
    gc.collect()
    for step in range(5):
        other = filled(ends, 7)
        pass_on(ends, [other, np.full(KIND[1], step, np.float32)])
        del other
    assert part.tolist() == [[1]] * 5


def test_memory_is_not_used_again_while_the_other_side_has_an_array(ends):
    (got,) = pass_on(ends, [filled(ends, 1)])
    part = got[5:10]
    del got
    for _ in range(5):
        pass_on(ends, [filled(ends, 7), np.full(KIND[1], 8, np.float32)])
    assert part.tolist() == [1] * 5


def test_sent_twice_it_lies_in_two_places(ends):
    array = filled(ends, 1)
    (first,) = pass_on(ends, [array])
    (second,) = pass_on(ends, [array])
    assert address(first) != address(second)
    del first, array
    for _ in range(5):
        pass_on(ends, [filled(ends, 7), np.full(KIND[1], 8, np.float32)])
    assert np.all(second == 1)


def test_a_part_of_a_loan_and_another_link_get_copies(ends):
    array = filled(ends, 1)
    array[0] = 5
    (part,) = pass_on(ends, [array[:-10]])
    (back,) = pass_on(ends[::-1], [array])
    array[0] = 6
    assert part[0] == 5
    assert back[0] == 5


def test_what_is_not_sent_is_free_again(ends):
    first = address(filled(ends, 1))
    assert address(filled(ends, 2)) == first
    ends[0].peer_limit_bytes = 100  # of the frame
    for _ in range(60):
        with pytest.raises(ResourceExhaustedError):
            ends[0].send(Kind.DATA, tensors=[filled(ends, 3), np.zeros(1000)])
        with pytest.raises(TypeError):
            ends[0].send(Kind.DATA, tensors=[filled(ends, 3), np.zeros(3, "M8[s]")])
    assert address(filled(ends, 2)) == first
    assert len(ends[0]._outgoing._segments) == 1


def test_without_room_there_are_neither_loans_nor_places(ends, monkeypatch):
    monkeypatch.setattr(shm_send, "_MAX_SEGMENTS", 2)
    allocations = [filled(ends, n) for n in range(2)]
    assert ends[0].allocate(*KIND) is None
    (got,) = pass_on(ends, [np.full(KIND[1], 3, np.float32)])
    assert np.all(got == 3)
    assert [allocation[0] for allocation in allocations] == [0, 1]
    del allocations[0]
    assert np.all(filled(ends, 4) == 4)


def test_nothing_is_lent_that_would_not_be_shared(ends):
    assert ends[0].allocate(np.dtype(np.float32), (10,)) is None
    ends[0].may_share = False
    assert ends[0].allocate(*KIND) is None


def test_how_large_messages_are_is_that_of_late(ends):
    """Whether one thread may deal with a connection's messages for all depends on it."""
    pass_on(ends, [np.zeros(1_000_000)])
    assert ends[0].largest_sent == 8_000_000
    for _ in range(1000):
        pass_on(ends, [np.zeros(10_000)])
    assert ends[0].largest_sent == 80_000
    pass_on(ends, [np.zeros(20_000)])
    assert ends[0].largest_sent == 160_000
    for _ in range(1000):
        pass_on(ends, [np.zeros(3)])
    assert 24 < ends[0].largest_sent < 200


def test_a_loan_outlives_its_link(ends):
    array = filled(ends, 1)
    ends[0].close()
    assert ends[0].allocate(*KIND) is None
    array += 1
    assert np.all(array == 2)


def parameters(size):
    """A step that reads a variable and rows of a table, and changes both by what a worker makes."""
    rows = np.random.RandomState(1).permutation(200)[:128]  # repeated ones add up in any order
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.linspace(-1, 1, size, dtype=np.float32))
        table = tf.get_variable("table", initializer=np.ones((200, 100), np.float32))
        pulled = tf.gather(table, rows)
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [])
        down = tf.negative(w)
        rows_down = pulled * x
        seen = tf.reduce_max(rows_down) + w[-1]
    with tf.device("/job:ps/task:0"):
        step = tf.group(tf.assign_add(w, down), tf.scatter_sub(table, rows, rows_down))
    return x, step, seen, w, table


@pytest.mark.parametrize("size", [9_000, 100_000])
def test_a_step_gives_the_same_bits(cluster, used_reads, monkeypatch, size):
    allocations = results_of(monkeypatch, Connection, "allocate")
    x, step, seen, w, table = parameters(size)
    results = []
    for way in ("straight", "general", "copied"):
        allocations.clear()
        if way == "general":
            monkeypatch.setattr(fast_path.FastStep, "run", lambda *arguments: None)
        if way == "copied":
            monkeypatch.setattr(Connection, "allocate", lambda *arguments: None)
        with tf.Session(cluster["worker:0"].target) as session:
            session.run(tf.global_variables_initializer())
            got = [session.run([seen, step], {x: 0.01 * n})[0] for n in range(12)]
            results.append([got, session.run(w).tolist(), session.run(table).tolist()])
        num_shared = sum(type(a.base) is Allocation for a in allocations if a is not None)
        assert num_shared == 0 if way == "copied" else num_shared >= 20
    assert results[0] == results[1] == results[2]


def test_a_variable_that_was_read_is_changed_in_place(cluster, used_reads):
    """Its value is copied as it is read, so that no reader has it when it is updated."""
    x, step, seen, _, _ = parameters(100_000)
    variable = cluster["ps:0"].service.resources.variable("", "w", tf.float32)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run([seen, step], {x: 0.5})
        before = address(variable.array)
        for _ in range(4):
            session.run([seen, step], {x: 0.5})
        assert address(variable.array) == before


def test_a_variable_of_another_shape_than_the_graph_says(cluster, used_reads):
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.ones(20_000, np.float32))
        other = tf.assign(w, np.full((3, 10_000), 2, np.float32), validate_shape=False)
    with tf.device("/job:worker/task:0"):
        down = tf.negative(w)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(w, down)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(w.initializer)
        for _ in range(5):
            session.run(step.op)
        session.run(other)
        for _ in range(5):
            session.run(step.op)
        assert session.run(w).tolist() == np.zeros((3, 10_000)).tolist()
