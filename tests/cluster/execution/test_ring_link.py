"""A member's place in a ring between tasks: the connections that it reads by itself."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution.ring_link import Joined, TaskLink, Told
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
