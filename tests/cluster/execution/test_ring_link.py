"""A member's place in a ring between tasks: the connections that it reads by itself."""

import os
import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import ring_link
from dataflow.cluster.execution.ring_link import RANK_SHIFT, Joined, Mailbox, TaskLink, Told
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.traffic import Traffic
from dataflow.cluster.transport import messages
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind
from tests.cluster.conftest import LocalCluster

PATIENCE = 60
REQUEST = SimpleNamespace(name="CollectiveReduce", kind="reduce")


@pytest.fixture
def workers(make_spec):
    """Two workers in this process."""
    cluster = LocalCluster(make_spec(worker=2))
    yield [cluster[f"worker:{i}"] for i in range(2)]
    cluster.stop()


def link(workers, rank, id=5 << 32, seconds=PATIENCE):
    """The link of one rank in an exchange of both workers, and its mailbox."""
    members = [[w.task, "CollectiveReduce"] for w in workers]
    service = workers[rank].service
    mailbox = service.collectives._mailbox((id, rank))
    deadline = time.monotonic() + seconds
    return TaskLink(
        service.collectives, Joined(id, members, rank, 0), REQUEST, mailbox, deadline,
        service.load.traffic,
    ), mailbox  # fmt: skip


@pytest.mark.parametrize("length", [10, 20_000], ids=["in frames", "in shared memory"])
def test_arrays_come_in_their_order_from_a_lent_connection(workers, length):
    (sender, _), (receiver, _) = link(workers, 0), link(workers, 1)
    for i in range(6):
        sender.send(np.full(length, i, np.float32))
        assert receiver.receive().tolist() == [i] * length
    assert receiver._source is not None
    receiver.close()
    sender.close()
    # The connection goes back to its thread, which serves the next exchange on it.
    (sender, _), (receiver, _) = link(workers, 0, 6 << 32), link(workers, 1, 6 << 32)
    sender.send(np.ones(3, np.float32))
    assert receiver.receive().tolist() == [1.0] * 3
    receiver.close()
    sender.close()


def test_the_end_of_an_exchange_wakes_a_reader(workers):
    """Another member tells of a failure while this one waits on the connection that was lent to it."""
    (sender, _), (receiver, mailbox) = link(workers, 0), link(workers, 1)
    sender.send(np.ones(3, np.float32))
    receiver.receive()
    told = tf.errors.UnavailableError(None, None, "the exchange failed at task 7")
    threading.Timer(0.3, mailbox.end, [Told(told)]).start()
    with pytest.raises(Told) as raised:
        receiver.receive()
    assert receiver._source is not None
    assert raised.value.error is told
    receiver.close()
    sender.close()


def test_an_array_of_another_exchange_goes_to_its_member(workers):
    """The task of a member that has failed may use the connection again before this one is told."""
    (sender, _), (receiver, mailbox) = link(workers, 0), link(workers, 1)
    sender.send(np.ones(3, np.float32))
    receiver.receive()
    sender.close()
    other, _ = link(workers, 0, 6 << 32)
    other.send(np.full(3, 2, np.float32))
    threading.Timer(0.5, mailbox.end, [Told(tf.errors.AbortedError(None, None, "told"))]).start()
    with pytest.raises(Told):
        receiver.receive()
    receiver.close()
    there, _ = link(workers, 1, 6 << 32)
    assert there.receive().tolist() == [2.0] * 3
    there.close()
    other.close()


def test_silence_is_an_error_that_names_who_is_silent(workers):
    receiver, _ = link(workers, 1, seconds=0.2)
    with pytest.raises(tf.errors.DeadlineExceededError, match="/job:worker/task:0 has sent"):
        receiver.receive()
    receiver.close()


def test_the_chunks_of_a_reduction_have_names(workers):
    """What a watching view shows: each chunk by its number, and how many of its parts are summed."""
    sender, _ = link(workers, 0)
    assert [sender._name(i) for i in range(2)] == [
        "chunk 2 of 2, sum of 1 (CollectiveReduce)",
        "chunk 1 of 2, reduced (CollectiveReduce)",
    ]
    sender.close()


def test_watched_exchanges_are_noted_at_both_ends(workers):
    for worker in workers:
        worker.service.load.traffic.read(0)
    (sender, _), (receiver, _) = link(workers, 0), link(workers, 1)
    sender.send(np.ones(3, np.float32))
    receiver.receive()
    (sent,) = workers[0].service.load.traffic.read(0)["sent"]
    (received,) = workers[1].service.load.traffic.read(0)["received"]
    assert sent[:2] == (5 << 32, workers[1].task) and sent[4] == [12]
    assert received[:3] == (sent[0], workers[0].task, sent[2])
    receiver.close()
    sender.close()


# A member between two others, whose connections the test holds the other ends of.

LEFT, HERE, RIGHT = (f"/job:worker/task:{i}" for i in range(3))
EXCHANGE = 7 << 32


def connection_ends(there, here):
    """Both ends of a connection in this process, by the names of who is at the other one."""
    first, second = socket.socketpair()
    return Connection(first, there, 1 << 30), Connection(second, here, 1 << 30)


class Middle:
    """The link of rank 1 of three: `right` and `left` are the neighbors' ends of its connections."""

    def __init__(self, kind="reduce", seconds=PATIENCE, members=(LEFT, HERE, RIGHT), rank=1):
        to_right, self.right = connection_ends(RIGHT, HERE)
        self.left, self.from_left = connection_ends(HERE, LEFT)
        self.connected, self.given, self.delivered = [], [], []
        self.traffic = Traffic()

        def connect(task):
            self.connected.append(task)
            return to_right

        owner = SimpleNamespace(
            task=HERE,
            connect=connect,
            give=self.given.append,
            deliver=lambda *arrived: self.delivered.append(arrived),
        )
        self.mailbox = Mailbox()
        joined = Joined(EXCHANGE, [[task, "node"] for task in members], rank, 0)
        request = SimpleNamespace(name="node", kind=kind)
        self.to_right = to_right
        self.link = TaskLink(
            owner, joined, request, self.mailbox, time.monotonic() + seconds, self.traffic
        )

    def hand_over(self, array=(0.0,)):
        """The first array from the left comes, and its connection with it; returns the lending thread."""
        first = np.array(array, np.float32)
        thread = threading.Thread(
            target=self.mailbox.put_first, args=[first, self.from_left], daemon=True
        )
        thread.start()
        assert self.link.receive() is first
        return thread

    def send_from_left(self, *values, id=EXCHANGE, rank=1, kind=Kind.COLLECTIVE):
        self.left.send(kind, rank << RANK_SHIFT, id, (np.array(values, np.float32),))

    def close(self):
        self.link.close()
        for end in (self.right, self.left, self.to_right, self.from_left):
            end.close()


@pytest.fixture
def middle():
    made = Middle()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("kind", "rank", "names"),
    [
        ("reduce", 1, ["chunk 1 of 3, sum of 1", "chunk 3 of 3, sum of 2",
                       "chunk 2 of 3, reduced", "chunk 1 of 3, reduced"]),
        ("reduce", 0, ["chunk 3 of 3, sum of 1", "chunk 2 of 3, sum of 2",
                       "chunk 1 of 3, reduced", "chunk 3 of 3, reduced"]),
        ("gather", 1, ["chunk 2 of 3", "chunk 1 of 3"]),
        ("broadcast", 1, ["piece 1", "piece 2", "piece 3"]),
    ],
)  # fmt: skip
def test_what_is_sent_has_a_name(kind, rank, names):
    made = Middle(kind, rank=rank)
    for number, name in enumerate(names):
        assert made.link._name(number) == f"{name} (node)"
    made.close()


def test_an_array_says_for_whom_and_the_how_manieth_it_is(middle):
    for _ in range(2):
        middle.link.send(np.ones(2, np.float32))
    middle.link._num_sent = (1 << RANK_SHIFT) + 5  # of a broadcast of 64 GB
    middle.link.send(np.ones(2, np.float32))
    for count in (0, 1, 5):
        message = middle.right.receive()
        assert (message.kind, message.id) == (Kind.COLLECTIVE, EXCHANGE)
        assert message.tag == 2 << RANK_SHIFT | count
    assert middle.connected == [RIGHT]


def test_the_last_rank_sends_to_the_first():
    made = Middle(members=(RIGHT, LEFT, HERE), rank=2)
    made.link.send(np.ones(2, np.float32))
    assert made.right.receive().tag >> RANK_SHIFT == 0
    made.close()


def test_a_neighbor_in_the_same_task_gets_a_copy():
    made = Middle(members=(LEFT, HERE, HERE))
    array = np.ones(2, np.float32)
    made.link.send(array)
    array[:] = 5
    ((id, rank, got),) = made.delivered
    assert (id, rank, got.tolist()) == (EXCHANGE, 2, [1.0, 1.0])
    assert not made.connected
    made.close()
    assert not made.given


def test_close_gives_both_connections_back(middle):
    lender = middle.hand_over()
    assert lender.is_alive()
    middle.link.close()
    lender.join(PATIENCE)
    assert not lender.is_alive()
    assert middle.given == [middle.to_right]


def test_a_connection_is_not_lent_to_a_member_that_has_not_come():
    """Its thread would wait for ever if the member never came."""
    mailbox = Mailbox()
    connection, other = connection_ends(LEFT, HERE)
    mailbox.put_first(np.ones(1), connection)
    assert mailbox.items.qsize() == 1 and mailbox.connection is connection
    mailbox.open()
    mailbox.end(Told(tf.errors.AbortedError(None, None, "why")))
    mailbox.put_first(np.ones(1), connection)  # nor to one whose exchange has failed
    assert mailbox.items.qsize() == 3
    mailbox.close()
    connection.close()
    other.close()


def test_the_first_error_of_an_exchange_counts(middle):
    errors = [tf.errors.AbortedError(None, None, text) for text in ("first", "second")]
    for error in errors:
        middle.mailbox.end(error)
    assert middle.mailbox.error is errors[0]
    with pytest.raises(tf.errors.AbortedError, match="first"):
        middle.link.receive()


def test_a_lost_neighbor_is_named_by_who_waits(middle, monkeypatch):
    """Nothing has come from the left yet: it is the right whose end is noticed."""
    monkeypatch.setattr(ring_link, "_LOOK_SECONDS", 0.01)
    threading.Timer(0.05, middle.right.close).start()
    with pytest.raises(tf.errors.UnavailableError, match=f"{RIGHT} is gone"):
        middle.link.receive()


@pytest.mark.parametrize(("side", "name"), [("left", LEFT), ("right", RIGHT)])
def test_a_lost_neighbor_is_named_by_who_reads(middle, side, name):
    middle.hand_over()
    threading.Timer(0.05, getattr(middle, side).close).start()
    with pytest.raises(tf.errors.UnavailableError, match=f"{name} is gone"):
        middle.link.receive()


def test_what_has_arrived_is_read_before_the_right_is_missed(middle):
    middle.hand_over()
    middle.send_from_left(1.0)
    middle.right.close()
    assert middle.link.receive().tolist() == [1.0]


def test_a_reader_has_a_deadline():
    made = Middle(seconds=0.2)
    made.hand_over()
    with pytest.raises(tf.errors.DeadlineExceededError, match=f"{LEFT} has sent nothing in time"):
        made.link.receive()
    made.close()


def test_an_array_longer_than_a_buffer_has_a_deadline():
    made = Middle(seconds=0.5)
    made.hand_over()
    long = np.ones(1 << 20, np.float32)
    sender = threading.Thread(
        target=made.left.send, args=[Kind.COLLECTIVE, 1 << RANK_SHIFT, EXCHANGE, (long,)]
    )
    sender.start()
    assert made.link.receive().nbytes == long.nbytes
    sender.join(PATIENCE)
    assert made.from_left.deadline is None  # which its own thread goes on to read without one
    # A frame whose rest never comes.
    frame = b"".join(
        bytes(part) for part in messages.encode(Kind.COLLECTIVE, 1 << RANK_SHIFT, EXCHANGE, (long,))
    )
    made.left.sock.send(frame[: 1 << 10])
    with pytest.raises(tf.errors.DeadlineExceededError, match=LEFT):
        made.link.receive()
    made.close()


def test_only_arrays_may_come_between_arrays(middle):
    middle.hand_over()
    middle.send_from_left(1.0, kind=Kind.PING)
    with pytest.raises(tf.errors.UnavailableError, match=f"{LEFT} is gone"):
        middle.link.receive()
    assert middle.from_left.closed


def test_what_comes_for_another_exchange_is_passed_on(middle):
    middle.hand_over()
    middle.send_from_left(1.0, id=EXCHANGE + 1, rank=3)
    middle.send_from_left(2.0)
    assert middle.link.receive().tolist() == [2.0]
    ((id, rank, array),) = middle.delivered
    assert (id, rank, array.tolist()) == (EXCHANGE + 1, 3, [1.0])


@pytest.mark.parametrize(
    ("length", "dtype", "size", "is_shared"),
    [
        (3 * 8192, np.float32, 3, True),
        (3 * 8192 - 1, np.float32, 3, False),  # its chunks go in frames anyway
        (3 * 8192, np.bool_, 3, False),
        (31 * 8192, np.float32, 31, True),
        (32 * 8192, np.float32, 32, False),  # more parts than a vector can have
    ],
)
def test_which_vectors_the_next_member_reads(length, dtype, size, is_shared):
    made = Middle(members=[LEFT, HERE, RIGHT, *["/job:worker/task:3"] * (size - 3)])
    made.to_right.share_memory_with(os.getpid())
    vector = made.link.vector(np.dtype(dtype), length)
    assert (vector.dtype, vector.shape) == (dtype, (length,))
    assert (vector.base is not None) is is_shared
    del vector
    made.close()


def test_the_hops_of_a_recorded_exchange(middle):
    middle.link.tracer = StepTracer(False)
    middle.link.send(np.ones(3, np.float32))
    middle.hand_over([1.0, 2.0])
    sent, received = middle.link.tracer.hops
    assert sent[:6] == (EXCHANGE, 0, HERE, RIGHT, "chunk 1 of 3, sum of 1 (node)", 12)
    assert received[:6] == (EXCHANGE, 0, LEFT, HERE, "", 8)
    assert sent.is_sent and not received.is_sent
    middle.send_from_left(1.0)
    middle.link.receive()
    assert middle.link.tracer.hops[-1].number == 1


def test_arrays_of_the_same_task_are_no_traffic():
    made = Middle(members=(HERE, HERE, RIGHT))
    made.traffic.read(0)
    made.link.tracer = StepTracer(False)
    made.mailbox.items.put(np.ones(1))
    made.link.receive()
    assert made.traffic.read(0)["received"] == [] and made.link.tracer.hops == []
    made.close()


def test_each_array_of_a_watched_exchange_has_a_channel_of_its_own(middle):
    middle.traffic.read(0)
    for _ in range(2):
        middle.link.send(np.ones(2, np.float32))
        middle.mailbox.items.put(np.ones(1))
        middle.link.receive()
    notes = middle.traffic.read(0)
    assert [note[2] for note in notes["sent"]] == [-16, -17]
    assert [note[2] for note in notes["received"]] == [-16, -17]
    assert notes["sent"][1][3] == ["chunk 3 of 3, sum of 2 (node)"]


def test_exchanges_that_are_not_watched_leave_no_notes(middle):
    middle.traffic.read(EXCHANGE)  # only those whose number has zeros there
    middle.link.send(np.ones(2, np.float32))
    middle.mailbox.items.put(np.ones(1))
    middle.link.receive()
    assert middle.traffic.read(0) == {"sent": [], "received": []}
