"""Exchanges in memory that all members share: which of it is used, and what its members see."""

import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import common_vectors
from dataflow.cluster.execution.common_vectors import CommonVectors
from dataflow.cluster.execution.ring_link import Joined, TaskLink, Told
from dataflow.cluster.transport.doorbell import has_doorbells
from dataflow.cluster.transport.link_faults import Fault
from dataflow.cluster.transport.shm_common import CommonMemory
from dataflow.kernels import collective_ring as ring
from dataflow.kernels.collective_groups import Request
from tests.cluster.conftest import LocalCluster
from tests.cluster.execution.test_collectives import Member

pytestmark = pytest.mark.skipif(not has_doorbells(), reason="this system has no futex")
PATIENCE = 60
MEMBERS = [("/job:worker/task:0", "a#1"), ("/job:worker/task:1", "b#1")]
LENGTH = 5000


def request(kind="reduce", dtype="float32", shape=(LENGTH,), instance=1):
    return Request("CollectiveReduce", kind, 5, instance, 2, dtype, shape, "Add", "Id")


@pytest.fixture
def vectors():
    made = CommonVectors()
    yield made
    made.close()


def test_memory_is_used_again_unless_a_member_has_arrays_in_it(vectors):
    first = vectors.choose(request(), MEMBERS, [[], []])
    assert first.num_bytes == 4 * LENGTH
    assert vectors.choose(request(), MEMBERS, [[], []]) == first
    second = vectors.choose(request(), MEMBERS, [[], [first.number]])
    assert second.number != first.number
    kept = vectors.of_leader(first).vector(np.dtype(np.float32), LENGTH)  # this process has one
    assert vectors.choose(request(), MEMBERS, [[], []]) == second
    third = vectors.choose(request(), MEMBERS, [[], [second.number]])
    assert vectors.choose(request(), MEMBERS, [[third.number], [second.number]]) is None
    del kept
    assert vectors.choose(request(), MEMBERS, [[third.number], [second.number]]) == first
    assert vectors.choose(request(), MEMBERS, [[], []]) == first  # of several that are free


def test_doorbells_are_silent_when_members_are_told(vectors):
    chosen = vectors.choose(request(), MEMBERS, [[], []])
    bell = vectors.of_leader(chosen).bell(1)
    bell.ring(3)
    vectors.choose(request(), MEMBERS, [[], []])
    assert not bell.has_rung(1)


def test_other_members_and_other_requests_have_memory_of_their_own(vectors):
    anew = [MEMBERS[0], ("/job:worker/task:1", "b#2")]
    found = [
        vectors.choose(request(), MEMBERS, [[], []]),
        vectors.choose(request(), anew, [[], []]),
        vectors.choose(request(instance=2), MEMBERS, [[], []]),
        vectors.choose(request(kind="gather"), MEMBERS, [[], []]),
    ]
    assert len({chosen.number for chosen in found}) == 4
    assert found[3].num_bytes == 2 * 4 * LENGTH


@pytest.mark.parametrize(
    ("what", "held"),
    [
        (request(), [[], None]),
        (request(shape=(10,)), [[], []]),
        (request(kind="broadcast"), [[], []]),
        (request(dtype="bool"), [[], []]),
        (request(dtype="bfloat16"), [[], []]),
        (request(shape=((1 << 27) + 1,)), [[], []]),
    ],
    ids=["a member that cannot", "small", "broadcast", "bool", "bfloat16", "huge"],
)
def test_these_travel_in_messages(vectors, what, held):
    assert vectors.choose(what, MEMBERS, held) is None


def test_old_memory_makes_room_and_recent_memory_does_not(vectors, monkeypatch):
    monkeypatch.setattr(common_vectors, "_MOST_KEPT", 2)
    first = vectors.choose(request(instance=1), MEMBERS, [[], []])
    vectors.choose(request(instance=2), MEMBERS, [[], []])
    assert vectors.choose(request(instance=3), MEMBERS, [[], []]) is None
    monkeypatch.setattr(common_vectors, "_RECENT_SECONDS", -1.0)
    assert vectors.choose(request(instance=3), MEMBERS, [[], []]) is not None
    assert vectors.of_leader(first) is None


def test_the_end_of_a_session_closes_the_descriptors(vectors):
    chosen = vectors.choose(request(), MEMBERS, [[], []])
    os.fstat(chosen.fd)
    vectors.forget("c#1")
    os.fstat(chosen.fd)
    vectors.forget("b#1")
    with pytest.raises(OSError):
        os.fstat(chosen.fd)


def test_a_member_opens_memory_once_and_knows_what_it_holds(vectors):
    chosen = vectors.choose(request(), MEMBERS, [[], []])
    member = CommonVectors()
    memory = member.open("leader", os.getpid(), chosen)
    assert member.open("leader", os.getpid(), chosen) is memory
    assert member.held("leader") == []
    kept = memory.vector(np.dtype(np.float32), LENGTH)
    assert member.held("leader") == [chosen.number]
    assert member.held("another") == []
    del kept


@pytest.fixture
def workers(make_spec):
    """Three workers in this process."""
    cluster = LocalCluster(make_spec(worker=3))
    yield [cluster[f"worker:{i}"] for i in range(3)]
    cluster.stop()


def made(workers):
    """How many vectors each worker has made as a leader."""
    return [
        sum(len(m.memory) for m in w.service.collectives._vectors._made.values()) for w in workers
    ]


def test_results_that_are_kept_stay_as_they_are(workers, monkeypatch):
    """They are copied as they are fetched; and all memory is given up with the sessions."""
    seen = []
    choose = CommonVectors.choose
    monkeypatch.setattr(
        CommonVectors, "choose", lambda *given: seen.append(choose(*given)) or seen[-1]
    )
    rows = [np.full(LENGTH, n, np.float32) for n in range(6)]
    members = [Member(i, w.target, [row + i for row in rows]) for i, w in enumerate(workers)]
    for member in members:
        results = member.ended().results
        assert (
            [r.min() for r in results]
            == [r.max() for r in results]
            == [3 * n + 3 for n in range(6)]
        )
    numbers = [chosen and chosen.number for chosen in seen]
    assert len(numbers) == 6 and len(set(numbers)) == 1
    for _ in range(100 * PATIENCE):  # sessions are closed without waiting
        if made(workers) == [0, 0, 0]:
            break
        time.sleep(0.01)
    assert made(workers) == [0, 0, 0]


def test_a_slow_link_is_slow(workers):
    """Messages over a link that was slowed down are late; so its task shares no memory meanwhile."""
    workers[1].service.collectives.pool.faults.replace({"": Fault(delay_seconds=0.001)})
    members = [Member(i, w.target, [np.ones(LENGTH)] * 2) for i, w in enumerate(workers)]
    for member in members:
        assert [r.max() for r in member.ended().results] == [3.0, 3.0]
    assert made(workers) == [0, 0, 0]


def test_a_task_that_cannot_open_memory_does_without_next_time(workers, monkeypatch):
    def refuse(*given):
        raise OSError("not here")

    monkeypatch.setattr(CommonMemory, "open", staticmethod(refuse))
    members = [Member(i, w.target, [np.ones(LENGTH)]) for i, w in enumerate(workers)]
    errors = [member.ended().error.message for member in members]
    assert all("cannot open the memory of /job:worker/task:0: not here" in text for text in errors)
    members = [Member(i, w.target, [np.ones(LENGTH)]) for i, w in enumerate(workers)]
    assert [member.ended().results[0].max() for member in members] == [3.0] * 3


def link(workers, rank, memory, seconds=PATIENCE):
    members = [[w.task, "CollectiveReduce"] for w in workers]
    service = workers[rank].service
    mailbox = service.collectives._mailbox((5 << 32, rank))
    return TaskLink(
        service.collectives, Joined(5 << 32, members, rank, 0),
        SimpleNamespace(name="CollectiveReduce", kind="reduce"), mailbox,
        time.monotonic() + seconds, service.load.traffic, memory,
    ), mailbox  # fmt: skip


@pytest.fixture
def memory():
    made = CommonMemory.make(4 * LENGTH)
    yield made
    made.close()


def test_what_goes_around_is_noted_and_counted_as_what_travels(workers, memory):
    for worker in workers:
        worker.service.load.traffic.read(0)
    before = [w.status() for w in workers]
    links = [link(workers, rank, memory)[0] for rank in range(3)]
    results = [None] * 3

    def run(rank):
        value = np.full(LENGTH - 2, rank + 1, np.float32)  # a multiple of three
        results[rank] = ring.all_reduce(links[rank], value, "Add", "Id")

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [r.tolist() for r in results] == [[6.0] * (LENGTH - 2)] * 3
    assert {r.__array_interface__["data"][0] for r in results} == {
        memory.vector(np.dtype(np.float32), 1).__array_interface__["data"][0]
    }
    chunk = 4 * (LENGTH - 2) // 3
    for rank, worker in enumerate(workers):
        now = worker.status()
        for side in ("shared_sent_bytes", "shared_received_bytes"):
            assert now[side] - before[rank][side] == 4 * chunk
        told = worker.service.load.traffic.read(0)
        after = workers[(rank + 1) % 3].task
        assert [sent[1] for sent in told["sent"]] == [after] * 4
        assert [sent[4] for sent in told["sent"]] == [[chunk]] * 4
        assert len(told["received"]) == 4
    for one in links:
        one.close()


def test_the_end_of_an_exchange_wakes_who_waits_for_a_doorbell(workers, memory):
    receiver, mailbox = link(workers, 1, memory)
    receiver.vector(np.dtype(np.float32), LENGTH)
    told = tf.errors.UnavailableError(None, None, "the exchange failed at task 7")
    threading.Timer(0.1, mailbox.end, [Told(told)]).start()
    with pytest.raises(Told) as raised:
        receiver.receive(0, 10)
    assert raised.value.error is told
    receiver.close()


def test_silence_is_an_error_that_names_who_is_silent(workers, memory):
    receiver, _ = link(workers, 1, memory, seconds=2)  # a busy machine connects first
    with pytest.raises(tf.errors.DeadlineExceededError, match="/job:worker/task:0 has sent"):
        receiver.receive(0, 10)
    receiver.close()


@pytest.mark.parametrize("lost", [0, 2], ids=["the one before", "the next"])
def test_a_neighbor_that_ends_is_noticed(workers, memory, lost):
    receiver, _ = link(workers, 1, memory)
    threading.Timer(0.3, workers[lost].stop).start()
    with pytest.raises(tf.errors.UnavailableError, match=f"/job:worker/task:{lost} "):
        receiver.receive(0, 10)
    receiver.close()
