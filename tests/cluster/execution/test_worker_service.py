"""A task's answers: errors in its methods, what it does not take, and its masters' ends."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import master as masters, worker_service
from dataflow.cluster.execution.home_transport import PrefetchedStep
from dataflow.cluster.execution.traffic import ALL_CHANNELS, FEEDS, NOBODY
from dataflow.cluster.transport.messages import Kind, Message, ProtocolError
from dataflow.cluster.transport.step_flags import (
    ADOPT,
    ALL,
    CHANNEL_SHIFT,
    HAS_DATA,
    REPEAT,
    TRACE,
    WANT_NEXT,
)
from dataflow.errors import NotFoundError, UnavailableError

pytestmark = pytest.mark.usefixtures("no_gpus")


class Listening:
    """A connection that keeps what is sent over it."""

    peer = "/job:worker/task:0"
    closed = False
    may_share = True
    largest_sent = 0
    ahead = None

    def __init__(self):
        self.sent = []

    def send(self, kind, tag, id, tensors=(), head=None):
        self.sent.append(SimpleNamespace(kind=kind, tag=tag, id=id, tensors=tensors, head=head))


def message(kind, head=None, tag=0, id=7, flags=0, tensors=()):
    return Message(kind, tag, id, list(tensors), head, flags)


def answer_to(service, monkeypatch, result):
    """What a call is answered with whose method gives ``result``, or raises it."""

    def method(connection, head, tensors):
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(service.methods, "find", lambda name: method)
    connection = Listening()
    service.handle(connection, message(Kind.CALL, {"method": "anything"}))
    return connection.sent


def test_a_method_s_answer_is_sent_back(cluster, monkeypatch):
    service = cluster["ps:0"].service
    (reply,) = answer_to(service, monkeypatch, {"a": 1})
    assert (reply.kind, reply.id, reply.head) == (Kind.REPLY, 7, {"a": 1}) and not reply.tensors
    (reply,) = answer_to(service, monkeypatch, ({"b": 2}, ["array"]))
    assert reply.head == {"b": 2} and reply.tensors == ["array"]
    (reply,) = answer_to(service, monkeypatch, None)
    assert reply.kind == Kind.REPLY and reply.head == {}


def test_only_errors_of_our_own_making_are_logged(cluster, monkeypatch, caplog):
    service = cluster["ps:0"].service
    caplog.set_level(logging.ERROR)
    for error in (NotFoundError(None, None, "no such thing"), UnavailableError(None, None, "gone")):
        (reply,) = answer_to(service, monkeypatch, error)
        assert reply.kind == Kind.ERROR and error.message in str(reply.head)
        assert not caplog.records
    (reply,) = answer_to(service, monkeypatch, KeyError("a mistake"))
    assert reply.kind == Kind.ERROR and "a mistake" in str(reply.head)
    (record,) = caplog.records
    assert "/job:ps/task:0" in record.getMessage() and "anything" in record.getMessage()


def test_nothing_is_sent_to_a_caller_that_is_gone(cluster, monkeypatch):
    service = cluster["ps:0"].service
    monkeypatch.setattr(Listening, "closed", True)
    assert answer_to(service, monkeypatch, KeyError("a mistake")) == []
    assert answer_to(service, monkeypatch, UnavailableError(None, None, "gone")) == []


def test_a_ping_is_answered_and_other_kinds_are_refused(cluster):
    service = cluster["ps:0"].service
    connection = Listening()
    service.handle(connection, message(Kind.PING, id=5))
    (pong,) = connection.sent
    assert (pong.kind, pong.tag, pong.id) == (Kind.PONG, 0, 5)
    service.handle(connection, message(Kind.CANCEL, id=5))  # of a step that is over
    for kind in (Kind.REPLY, Kind.PONG, Kind.DONE):
        with pytest.raises(ProtocolError, match=f"was sent {kind.name}, which it does not take"):
            service.handle(connection, message(kind))
    assert len(connection.sent) == 1


def test_a_partition_that_was_never_registered(cluster):
    connection = Listening()
    cluster["ps:0"].service.handle(connection, message(Kind.RUN, tag=12345))
    (reply,) = connection.sent
    assert (reply.kind, reply.tag, reply.id) == (Kind.ERROR, 0, 7)


def test_what_is_short_is_answered_where_it_comes_in(cluster):
    """Only small messages of quick partitions, and none while the task is slowed down."""
    service = cluster["ps:0"].service
    connection = Listening()
    assert service.is_short(connection, message(Kind.PING))
    assert not service.is_short(connection, message(Kind.CALL, {"method": "status"}))
    assert not service.is_short(connection, message(Kind.RUN, tag=3))  # nobody knows it
    service._partitions[3] = SimpleNamespace(is_quick=True, waits=True)
    assert service.is_short(connection, message(Kind.RUN, tag=3))
    for flags in (REPEAT, TRACE, REPEAT | TRACE):
        assert not service.is_short(connection, message(Kind.RUN, tag=3, flags=flags))
    large = np.zeros(1 << 24, np.uint8)
    assert not service.is_short(connection, message(Kind.RUN, tag=3, tensors=[large]))
    connection.largest_sent = 1 << 24
    assert not service.is_short(connection, message(Kind.RUN, tag=3))
    connection.largest_sent = 0
    service.load.delay_seconds = 0.1
    assert not service.is_short(connection, message(Kind.RUN, tag=3))
    service.load.delay_seconds = 0.0
    service._partitions[3] = SimpleNamespace(is_quick=False, waits=True)
    assert not service.is_short(connection, message(Kind.RUN, tag=3))
    del service._partitions[3]


@pytest.mark.parametrize(
    ("kind", "tag", "flags", "channel"),
    [
        (Kind.RUN, 3 | 5 << CHANNEL_SHIFT, HAS_DATA, 5),
        (Kind.RUN, 3, 0, FEEDS),
        (Kind.RUN, 3, WANT_NEXT, FEEDS),
        (Kind.DATA, 2, 0, 2),
        (Kind.DATA, 0, ADOPT | ALL, ALL_CHANNELS),
        (Kind.PING, 0, 0, None),
    ],
)
def test_what_came_is_noted_by_its_channel(cluster, kind, tag, flags, channel):
    service = cluster["ps:0"].service
    service.load.traffic.read(0)
    service._note_received(Listening(), message(kind, tag=tag, flags=flags, tensors=[np.ones(2)]))
    received = [note[2] for note in service.load.traffic.read(NOBODY)["received"]]
    assert received == ([] if channel is None else [channel])


def test_what_came_before_a_prefetched_step_was_adopted_reaches_it(cluster, monkeypatch):
    """Another task may be quicker than the master."""
    service = cluster["ps:0"].service
    delivered = []

    class Run:
        def __init__(self, partition, step, transport):
            self.go_on = lambda reads, slots, read_at: None

        def deliver(self, channel, tensors):
            delivered.append((channel, tensors))

    monkeypatch.setattr(worker_service, "PartitionRun", Run)
    service.handle(Listening(), message(Kind.DATA, tag=4, tensors=["from another"]))
    connection = Listening()
    registered = SimpleNamespace(partition=None, schedule=None, reads=None)
    transport = SimpleNamespace(step=6)
    connection.ahead = PrefetchedStep(registered, [], 0, transport)
    service.handle(connection, message(Kind.DATA, tag=1, flags=ADOPT, tensors=["own"]))
    assert delivered == [(1, ["own"]), (4, ["from another"])] and not service._early
    assert transport.step == 7, "the transport of the step before serves this one"
    del service.runs[7]


@pytest.mark.parametrize(("name", "value"), [("MAX_HANDLE", -1), ("CHANNEL_SHIFT", 32)])
def test_more_partitions_than_a_number_can_name_are_refused(cluster, monkeypatch, name, value):
    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:ps/task:0"):
        a = tf.square(x)
    with tf.device("/job:worker/task:1"):
        b = a + 1.0
    with tf.Session(cluster["worker:0"].target) as session:
        with monkeypatch.context() as patched:
            patched.setattr(masters, name, value)
            with pytest.raises(tf.errors.ResourceExhaustedError, match="too many partitions"):
                session.run(b, {x: 2.0})
        assert session.run(b, {x: 2.0}) == 5.0


def test_an_error_in_a_recorded_step_is_raised_unless_it_is_asked_for(cluster):
    x = tf.placeholder(tf.int32, [])
    with tf.device("/job:ps/task:0"):
        y = tf.gather([1, 2, 3], x, name="beyond")
    with tf.Session(cluster["worker:0"].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="beyond"):
            session.remote.record(y, {x: 9})
        trace = session.remote.record(y, {x: 9}, catch=True)
        assert isinstance(trace.error, tf.errors.InvalidArgumentError)
        assert session.remote.record(y, {x: 2}).result == 3
