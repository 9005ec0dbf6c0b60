"""One step of a master whose other tasks the test plays: what it sends, and what each answer does."""

import os
import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow import errors
from dataflow.cluster.execution import master_step, prefetch
from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.fast_path import Fallback, fast_step
from dataflow.cluster.execution.master import MasterSession
from dataflow.cluster.execution.master_step import MasterStep
from dataflow.cluster.execution.prepared_step import PreparedStep, RemotePartition
from dataflow.cluster.execution.schedule import first_chain
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.task_session import TaskSession
from dataflow.cluster.partition.graph_partition import GraphPartition, PartitionedGraph
from dataflow.cluster.partition.partitioner import partition_graph
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.remote_errors import describe_error
from dataflow.cluster.transport.step_flags import (
    ADOPT,
    CHANNEL_SHIFT,
    HAS_DATA,
    LAST,
    PREFETCHED,
    REPEAT,
    TRACE,
    VALUES,
    WANT_NEXT,
)
from dataflow.runtime.resources import ResourceManager

PATIENCE = 20
HERE, PS, OTHER = "/job:worker/task:0", "/job:ps/task:0", "/job:worker/task:1"
STEP, RUN = 77 << 31, 1000


class Pool:
    """Has one connection to each task; the test has the other ends."""

    def __init__(self):
        self.connections, self.ends, self.given = {}, {}, []
        for task in (PS, OTHER):
            first, second = socket.socketpair()
            self.connections[task] = Connection(first, task, 1 << 30)
            self.connections[task].greeting = {"incarnation": f"first {task}"}
            self.ends[task] = Connection(second, HERE, 1 << 30)
            self.ends[task].deadline = time.monotonic() + PATIENCE

    def take(self, address, task="", timeout_seconds=None, deadline=None):
        self.connections[task].deadline = deadline
        return self.connections[task]

    def give(self, connection):
        self.given.append(connection.peer)

    def close(self):
        for connection in (*self.connections.values(), *self.ends.values()):
            connection.close()


class Play:
    """A master at worker 0, and steps whose partitions are on the tasks that the test plays."""

    def __init__(self):
        self.pool = Pool()
        self.session = TaskSession(ResourceManager(), task=HERE)
        self.master = MasterSession(
            HERE, {HERE: "a:0", PS: "a:1", OTHER: "a:2"}, self.pool, self.session, "session"
        )
        self.ps, self.other = self.pool.ends[PS], self.pool.ends[OTHER]

    def remote(self, task, partition=None, feeds=()):
        remote = RemotePartition(task, "", partition or GraphPartition(task), list(feeds), False)
        remote.handle, remote.incarnation = 5, f"first {task}"
        return remote

    def elsewhere(self, *tasks, sources=()):
        """A step that this task has no part in."""
        remotes = [self.remote(task) for task in tasks]
        for remote in remotes:
            remote.waits = False  # for us
        cut = PartitionedGraph({}, {}, frozenset())
        return PreparedStep(cut, None, [], remotes, list(sources))

    def prepared(self, fetch, feeds=(), **options):
        """A step that computes ``fetch``, with a partition here."""
        tensors, nodes = ([], [fetch]) if isinstance(fetch, tf.Operation) else ([fetch], [])
        cut = partition_graph(tensors, nodes, list(feeds), [PS, HERE, OTHER], HERE)
        own = cut.partitions[HERE]
        local = CompiledPartition(own, self.session)
        remotes = []
        for task, partition in cut.partitions.items():
            if task != HERE:
                remote = self.remote(task, partition, feeds)
                remote.prefetch_channels = prefetch.prefetch_channels(partition, HERE)
                remote.coalesced = prefetch.coalesced(own, task, partition)
                vars(remote).update(options)
                remotes.append(remote)
        sources = []
        for tensor in tensors:
            task = next(t for t, p in cut.partitions.items() if tensor in p.fetches)
            sources.append((task, cut.partitions[task].fetches.index(tensor)))
        local_feeds = [list(feeds).index(tensor) for tensor in own.feeds]
        return PreparedStep(cut, local, local_feeds, remotes, sources)

    def step(self, prepared, watch=None, fallback=None):
        return MasterStep(self.master, prepared, STEP, watch, RUN, fallback)

    def run(self, prepared, values=(), seconds=None, **options):
        return self.step(prepared, **options).run(values, seconds)


@pytest.fixture
def play():
    made = Play()
    yield made
    made.pool.close()


def arrays(*values):
    return [np.array(value, np.float32) for value in values]


def numbers(values):
    return [np.asarray(value).tolist() for value in values]


@pytest.fixture
def training():
    """w on the ps, whose gradient is computed here and given back: (update, gradient, rate)."""
    with tf.device(PS):
        w = tf.Variable([1.0, 2.0], use_resource=False, name="w")
    with tf.device(HERE):
        rate = tf.placeholder(tf.float32, [], name="rate")
        gradient = tf.multiply(w, rate, name="gradient")
    with tf.device(PS):
        return tf.assign_add(w, gradient).op, gradient, rate


# --- other tasks alone ------------------------------------------------------------------------------


def test_fetches_come_from_their_tasks_in_the_order_of_the_client(play):
    prepared = play.elsewhere(PS, OTHER, sources=[(OTHER, 1), ("", 0), (PS, 0), (OTHER, 0)])
    play.ps.send(Kind.DONE, 1, STEP, arrays(1))
    play.other.send(Kind.DONE, 2, STEP, arrays(2, 3))
    assert numbers(play.run(prepared, arrays(9))) == [3.0, 9.0, 1.0, 2.0]
    assert sorted(play.pool.given) == [PS, OTHER]
    for end in (play.ps, play.other):
        message = end.receive()
        assert message[:4] == (Kind.RUN, 5, STEP, []) and message.flags == 0
    assert not play.master.machine.waiting


def test_a_task_gets_its_own_feeds(play):
    x, y, z = (tf.placeholder(tf.float32, [], name=name) for name in "xyz")
    prepared = play.elsewhere()
    prepared.remotes.append(play.remote(PS, GraphPartition(PS, feeds=[z, x]), [x, y, z]))
    play.master.traffic.read(0)
    play.ps.send(Kind.DONE, 0, STEP)
    play.run(prepared, arrays(1, 2, 3))
    assert numbers(play.ps.receive().tensors) == [3.0, 1.0]
    ((step, task, _, names, sizes, _),) = play.master.traffic.read(0)["sent"]
    assert (step, task, names, sizes) == (STEP, PS, ["z:0", "x:0"], [4, 4])


def test_results_of_watched_steps_are_noted(play):
    play.master.traffic.read(0)
    play.ps.send(Kind.DONE, 1, STEP, arrays(1))
    play.run(play.elsewhere(PS, sources=[(PS, 0)]))
    ((step, task, channel, _),) = play.master.traffic.read(0)["received"]
    assert (step, task, channel) == (STEP, PS, -1)


def test_an_error_of_a_task_ends_the_step_on_all(play):
    prepared = play.elsewhere(PS, OTHER)
    error = errors.OutOfRangeError(None, None, "no more")
    play.ps.send(Kind.ERROR, 0, STEP, head=describe_error(error, PS))
    with pytest.raises(errors.OutOfRangeError, match="no more\n  on /job:ps/task:0") as raised:
        play.run(prepared)
    assert raised.value.task == PS
    assert all(connection.closed for connection in play.pool.connections.values())
    assert not play.pool.given and not play.master.machine.waiting and not play.master._verdicts


def test_a_task_that_has_answered_keeps_its_connection_when_another_fails(play):
    play.ps.send(Kind.DONE, 0, STEP)
    step = play.step(play.elsewhere(PS, OTHER))
    error = describe_error(errors.AbortedError(None, None, "no"), OTHER)
    threading.Timer(0.1, play.other.send, [Kind.ERROR, 0, STEP, (), error]).start()
    with pytest.raises(errors.AbortedError):
        step.run([], None)
    assert play.pool.given == [PS] and not play.pool.connections[PS].closed


@pytest.mark.parametrize("was_restarted", [False, True])
def test_state_that_a_restarted_task_has_lost(play, was_restarted):
    if was_restarted:
        play.master.restarted.add(PS)
    error = errors.FailedPreconditionError(None, None, "w is uninitialized")
    play.ps.send(Kind.ERROR, 0, STEP, head=describe_error(error, PS))
    expected = errors.AbortedError if was_restarted else errors.FailedPreconditionError
    with pytest.raises(errors.OpError, match="w is uninitialized") as raised:
        play.run(play.elsewhere(PS))
    assert type(raised.value) is expected


def test_a_lost_task_is_named(play):
    play.other.close()
    play.ps.send(Kind.DONE, 0, STEP)
    with pytest.raises(errors.UnavailableError, match=f"{OTHER} was lost while the step") as raised:
        play.run(play.elsewhere(PS, OTHER))
    assert raised.value.task == OTHER
    assert OTHER in play.master.machine.dead and not play.master._verdicts


def test_a_late_step_names_the_tasks_that_have_not_answered(play):
    play.ps.send(Kind.DONE, 0, STEP)
    with pytest.raises(errors.DeadlineExceededError) as raised:
        play.run(play.elsewhere(PS, OTHER), seconds=0.25)
    assert "not done within 0.25 s; it was waiting for /job:worker/task:1." in raised.value.message
    assert raised.value.task == OTHER


def test_the_connection_of_the_only_task_has_the_deadline_too(play):
    began = time.monotonic()
    with pytest.raises(errors.DeadlineExceededError, match=PS):
        play.run(play.elsewhere(PS), seconds=0.1)
    assert 0.1 <= play.pool.connections[PS].deadline - began < PATIENCE


@pytest.mark.parametrize(
    ("kind", "step", "words"),
    [
        (Kind.DONE, STEP + 1, f"answered for step {STEP + 1} in step"),
        (Kind.CALL, STEP, "sent a CALL"),
    ],
)
def test_answers_that_cannot_be(play, kind, step, words):
    play.ps.send(kind, 0, step)
    with pytest.raises(errors.InternalError, match=words):
        play.run(play.elsewhere(PS))
    assert play.pool.connections[PS].closed and not play.master.machine.waiting


def test_a_step_ends_with_the_client_that_watches_it(play):
    watched, client = (Connection(end, "client", 1 << 20) for end in socket.socketpair())
    client.close()
    with pytest.raises(errors.CancelledError, match="its client is gone"):
        play.run(play.elsewhere(PS), watch=watched)
    watched.close()


def test_a_client_that_lives_on_does_not_end_a_step(play):
    watched, client = (Connection(end, "client", 1 << 20) for end in socket.socketpair())
    threading.Timer(0.1, play.ps.send, [Kind.DONE, 1, STEP, arrays(4)]).start()
    assert play.run(play.elsewhere(PS, sources=[(PS, 0)]), watch=watched) == [4.0]
    watched.close()
    client.close()


@pytest.mark.parametrize("when", ["before", "while it waits"])
def test_a_session_that_is_closed(play, when):
    step = play.step(play.elsewhere(PS, OTHER))
    if when == "before":
        step.cancel_from_outside()
    else:
        threading.Timer(0.1, step.cancel_from_outside).start()
    with pytest.raises(errors.CancelledError, match="The session was closed during the step"):
        step.run([], None)
    assert all(connection.closed for connection in play.pool.connections.values())


def test_a_task_that_was_restarted_is_registered_with_again(play):
    again = []
    play.master.register_again = lambda remote, *known: again.append((remote.task, *known))
    play.pool.connections[PS].greeting = {"incarnation": "second"}
    play.master.machine.dead[PS] = "it was killed"
    play.ps.send(Kind.DONE, 0, STEP)
    play.run(play.elsewhere(PS))
    assert again == [(PS, "second", None)]
    assert play.master.machine.incarnations == {PS: "second"} and not play.master.machine.dead


def test_a_restart_that_nobody_has_noticed_is_known_from_then_on(play):
    play.master.register_again = lambda *known: None
    play.pool.connections[PS].greeting = {"incarnation": "second"}
    play.ps.send(Kind.DONE, 0, STEP)
    play.run(play.elsewhere(PS))
    assert play.master.machine.incarnations == {PS: "second"}


def test_a_recorded_step_says_so_and_keeps_what_the_task_noted(play):
    for keep_values, flags in ((True, TRACE | VALUES), (False, TRACE)):
        there = StepTracer(True)
        there.note_received(3)
        head, values = there.encode()
        play.ps.send(Kind.DONE, 1, STEP, [*arrays(5), *values], head)
        step, tracers = play.step(play.elsewhere(PS, sources=[(PS, 0)])), {}
        step.trace(tracers, keep_values)
        assert step.run([], None) == [5.0]
        assert play.ps.receive().flags == flags
        assert list(tracers) == [PS] and list(tracers[PS].received) == [3]


# --- with a partition here --------------------------------------------------------------------------


def test_what_is_read_and_what_is_sent_back(play, training):
    update, gradient, rate = training
    prepared = play.prepared(gradient, [rate])
    play.ps.send(Kind.DATA, 0, STEP, arrays([1, 2]))
    play.ps.send(Kind.DONE, 0, STEP)
    assert numbers(play.run(prepared, arrays(3))) == [[3.0, 6.0]]
    assert play.ps.receive().flags == 0  # its partition ends with its reads
    play.ps.send(Kind.DATA, 0, STEP, arrays([1, 2]))
    play.ps.send(Kind.DONE, 0, STEP)
    assert play.run(play.prepared(update, [rate]), arrays(4)) == []
    message = play.ps.receive()
    assert message[:3] == (Kind.RUN, 5, STEP) and message.flags == WANT_NEXT
    message = play.ps.receive()
    assert message[:3] == (Kind.DATA, 0, STEP) and message.flags == 0
    assert numbers(message.tensors) == [[4.0, 8.0]]


def test_reads_of_the_next_step_are_kept_and_begin_it(play, training):
    update, _, rate = training
    prepared = play.prepared(update, [rate])
    play.ps.send(Kind.DATA, 0, STEP, arrays([1, 2]))
    play.ps.send(Kind.DONE, 0, STEP, arrays([5, 6]), flags=PREFETCHED)
    play.run(prepared, arrays(3))
    kept_for, count, _, reads = play.pool.connections[PS].ahead
    assert (kept_for, count, numbers(reads)) == (prepared, RUN, [[5.0, 6.0]])
    play.ps.receive(), play.ps.receive()
    prefetch.keep_reads(play.pool.connections[PS], prepared, RUN - 1, reads)
    play.ps.send(Kind.DONE, 0, STEP)
    play.run(prepared, arrays(2))
    message = play.ps.receive()  # no RUN goes first
    assert message[:3] == (Kind.DATA, 0, STEP) and message.flags == ADOPT
    assert numbers(message.tensors) == [[10.0, 12.0]]
    assert play.ps.is_quiet() and play.pool.connections[PS].ahead is None


def test_fetches_come_before_the_next_reads(play):
    prepared = play.elsewhere(PS, sources=[(PS, 0)])
    play.ps.send(Kind.DONE, 1, STEP, arrays(1, 2, 3), flags=PREFETCHED)
    assert numbers(play.run(prepared)) == [1.0]
    assert numbers(play.pool.connections[PS].ahead[-1]) == [2.0, 3.0]


@pytest.mark.parametrize("brings", [False, True])
def test_the_last_message_of_a_task_brings_its_fetches(play, brings):
    with tf.device(PS):
        w = tf.Variable(1.0, use_resource=False)
    with tf.device(HERE):
        y = tf.multiply(w, 2.0)
    prepared = play.prepared(y)
    prepared.sources.append((PS, 0))
    prepared.fetches_of[PS] = [w]
    read, fetched, ahead = arrays(3, 4, 5)
    play.ps.send(
        *(Kind.DATA, 0, STEP, [read, fetched, *[ahead] * brings]),
        flags=LAST | (PREFETCHED if brings else 0),
    )
    assert numbers(play.run(prepared)) == [6.0, 4.0]
    kept = play.pool.connections[PS].ahead
    assert (kept is not None and numbers(kept[-1])) == ([5.0] if brings else False)


def test_a_task_that_waits_for_a_message_is_asked_with_it(play):
    with tf.device(HERE):
        x = tf.placeholder(tf.float32, [2])
        one, two = tf.exp(x - x), tf.multiply(x, 2.0)
    with tf.device(PS):
        node = tf.group(tf.add(one, 1.0), tf.add(two, 1.0))
        node = tf.add(one, two)
    prepared = play.prepared(node, [x], waits=True)
    play.ps.send(Kind.DONE, 1, STEP, arrays(7))
    play.master.traffic.read(0)
    assert play.run(prepared, arrays([1, 2])) == [7.0]
    message = play.ps.receive()
    channel, handle = message.tag >> CHANNEL_SHIFT, message.tag & (1 << CHANNEL_SHIFT) - 1
    assert (message.kind, handle, channel, message.flags) == (Kind.RUN, 5, 0, HAS_DATA)
    assert numbers(message.tensors) == [[1.0, 1.0], [2.0, 4.0]]
    (note,) = play.master.traffic.read(0)["sent"]
    assert note[:3] == (STEP, PS, 0) and note[4] == [8, 8]


def test_an_error_here_ends_the_step_elsewhere(play, training):
    update, gradient, rate = training
    play.ps.send(Kind.DATA, 0, STEP, arrays([1, 2]))
    with pytest.raises(errors.InvalidArgumentError, match="gradient") as raised:
        play.run(play.prepared(update, [rate]), arrays([1, 2, 3]))
    assert raised.value.op is gradient.op
    assert play.pool.connections[PS].closed and not play.master.machine.waiting


def test_a_task_that_is_lost_while_it_is_sent_to(play, training):
    update, _, rate = training
    prepared = play.prepared(update, [rate])
    prefetch.keep_reads(play.pool.connections[PS], prepared, RUN - 1, arrays([1, 2]))
    play.ps.close()
    with pytest.raises(errors.UnavailableError, match=PS) as raised:
        play.run(prepared, arrays(1))
    assert raised.value.task == PS and PS in play.master.machine.dead


def test_what_is_recorded_of_a_step_here(play, training):
    update, _, rate = training
    there = StepTracer(True)
    head, values = there.encode()
    play.ps.send(Kind.DATA, 0, STEP, arrays([1, 2]))
    play.ps.send(Kind.DONE, 0, STEP, values, head)
    step, tracers = play.step(play.prepared(update, [rate])), {}
    step.trace(tracers, False)
    step.run(arrays(2), None)
    assert sorted(tracers) == [PS, HERE]
    assert "gradient" in [event.name for event in tracers[HERE].events]
    assert [(sent.target, sent.channel) for sent in tracers[HERE].sent] == [(PS, 0)]
    assert not tracers[HERE].keep_values
    assert play.ps.receive().flags == TRACE


# --- going on where the fast path gave up -----------------------------------------------------------


def fallback(play, prepared, **what):
    local = prepared.local
    chain = first_chain(local, [0])
    slots = local.new_slots()
    slots[local.plan.channels[0].slots[0]] = np.array([1, 2], np.float32)
    slots[local.plan.feed_slots[0]] = np.float32(3)
    for number in chain.numbers:
        local.run_segment(number, slots, None)
    given = {"messages": [], "error": None, "is_late": False} | what
    connection = play.pool.connections[PS]
    return Fallback(prepared, STEP, RUN, connection, chain, slots, 0, **given)


def test_a_step_goes_on_where_the_fast_path_gave_up(play, training):
    _, gradient, rate = training
    prepared = play.prepared(gradient, [rate])
    play.master.machine.begin(STEP, [PS, HERE])
    play.ps.send(Kind.DONE, 0, STEP)
    result = play.run(prepared, arrays(3), fallback=fallback(play, prepared))
    assert numbers(result) == [[3.0, 6.0]]
    assert play.ps.is_quiet()  # its message was sent


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ({"error": errors.UnavailableError(None, None, "it broke")}, errors.UnavailableError),
        ({"is_late": True}, errors.DeadlineExceededError),
    ],
)
def test_why_the_fast_path_gave_up_counts(play, training, what, expected):
    _, gradient, rate = training
    prepared = play.prepared(gradient, [rate])
    play.master.machine.begin(STEP, [PS, HERE])
    with pytest.raises(expected, match=PS):
        play.run(prepared, arrays(3), fallback=fallback(play, prepared, **what))


# --- what may block here ----------------------------------------------------------------------------


@pytest.fixture
def queue():
    with tf.device(HERE):
        made = tf.FIFOQueue(4, [tf.float32], shapes=[[]])
        return made, made.enqueue(5.0), made.dequeue()


@pytest.mark.parametrize("seconds", [None, PATIENCE])
def test_a_queue_here_is_waited_for(play, queue, seconds):
    _, put, taken = queue
    step, filler = play.prepared(taken), play.prepared(put)
    threading.Timer(0.1, play.master.run, [filler, []]).start()
    assert play.run(step, seconds=seconds) == [5.0]


def test_an_op_that_waits_alone_needs_nobody_to_wake_it(play, queue, monkeypatch):
    monkeypatch.delattr(os, "eventfd", raising=False)
    _, put, taken = queue
    threading.Timer(0.1, play.master.run, [play.prepared(put), []]).start()
    assert play.run(play.prepared(taken)) == [5.0]


def test_two_ops_that_wait_for_each_other(play):
    """Neither may block the thread of the other."""
    with tf.device(HERE):
        first, second = (tf.FIFOQueue(1, [tf.float32], shapes=[[]]) for _ in range(2))
        with tf.control_dependencies([first.enqueue(first.dequeue() + 1.0)]):
            done = tf.identity(second.dequeue())
    fillers = [play.prepared(second.enqueue(7.0)), play.prepared(first.enqueue(1.0))]
    for i, filler in enumerate(fillers, 1):
        threading.Timer(0.1 * i, play.master.run, [filler, []]).start()
    assert play.run(play.prepared(done), seconds=None) == [7.0]


def test_a_wait_here_has_a_deadline(play, queue):
    _, _, taken = queue
    with pytest.raises(errors.DeadlineExceededError, match=HERE):
        play.run(play.prepared(taken), seconds=0.1)


def test_a_wait_here_ends_with_an_error_elsewhere(play, queue):
    _, _, taken = queue
    with tf.device(PS):
        far = tf.exp(tf.random_uniform([]))
    with tf.device(HERE):
        result = far + taken
    prepared = play.prepared(result)
    error = describe_error(errors.AbortedError(None, None, "no"), PS)
    play.ps.send(Kind.ERROR, 0, STEP, head=error)
    with pytest.raises(errors.AbortedError):
        play.run(prepared)


def test_answers_are_taken_in_while_a_send_waits_for_room(play):
    """Both sides would wait for each other otherwise."""
    x = tf.placeholder(tf.float32, [None])
    prepared = play.elsewhere(OTHER, sources=[(OTHER, 0)])
    prepared.remotes.append(play.remote(PS, GraphPartition(PS, feeds=[x]), [x]))
    prepared.fetches_of[PS] = []
    play.ps.send(Kind.DONE, 0, STEP)  # before it reads
    step, long = play.step(prepared), np.zeros(2_000_000, np.float32)

    def read():
        for _ in range(PATIENCE * 100):
            if step.inbox:
                break
            threading.Event().wait(0.01)
        play.ps.receive()
        play.other.send(Kind.DONE, 1, STEP, arrays(6))

    reader = threading.Thread(target=read)
    reader.start()
    assert step.run([long], None) == [6.0]
    reader.join(PATIENCE)


# --- a step that repeats itself ---------------------------------------------------------------------


class Repeating:
    """The task of a repeated step: ``tags`` are its answers when it is asked; then it is silent."""

    def __init__(self, play, tags):
        self.end, self.tags, self.asked = play.ps, list(tags), 0
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        self.first = self.end.receive()
        while True:
            try:
                message = self.end.receive()
            except errors.OpError:
                return
            if message.kind == Kind.CANCEL:
                self.end.send(Kind.DONE, 0, STEP)
                return
            self.asked += 1
            if self.tags:
                self.end.send(Kind.PONG, self.tags.pop(0), STEP)


def repeat(play, until, seconds=None):
    step = play.step(play.elsewhere(PS))
    step.until = until
    return step.run([], seconds)


@pytest.fixture
def _quick_reports(monkeypatch):
    monkeypatch.setattr(master_step, "REPORT_SECONDS", 0.01)


@pytest.mark.usefixtures("_quick_reports")
def test_a_repeated_step_counts_its_repetitions(play):
    before, task = play.master.num_steps, Repeating(play, [3, 3, 8])
    assert repeat(play, lambda: not task.tags) == []
    task.thread.join(PATIENCE)
    assert task.first.flags == REPEAT
    assert play.master.num_steps == before + 8
    assert play.pool.given == [PS]


@pytest.mark.usefixtures("_quick_reports")
def test_the_time_of_a_repetition_begins_with_each(play, monkeypatch):
    clock = SimpleNamespace(now=time.monotonic())
    monkeypatch.setattr(master_step, "time", SimpleNamespace(monotonic=lambda: clock.now))
    task = Repeating(play, range(1, 21))

    def until():
        clock.now += 9.0
        return not task.tags

    repeat(play, until, seconds=10.0)
    assert play.master.num_steps == 20


@pytest.mark.usefixtures("_quick_reports")
@pytest.mark.parametrize("tags", [[], [1] * 1000], ids=["silent", "no progress"])
def test_a_repetition_that_is_late(play, tags):
    Repeating(play, tags)
    with pytest.raises(errors.DeadlineExceededError, match="0.1 s; it was waiting for /job:ps"):
        repeat(play, lambda: False, seconds=0.1)


@pytest.mark.usefixtures("_quick_reports")
def test_a_repeating_task_that_is_lost(play):
    Repeating(play, [1])
    with pytest.raises(errors.UnavailableError, match=PS):
        repeat(play, play.ps.close)


# --- the session's part -----------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "counts"), [(None, 0.1), (0.2, 0.2)])
def test_a_steps_time_out_comes_before_that_of_the_session(play, given, counts):
    play.master.timeout_seconds = 0.1
    with pytest.raises(errors.DeadlineExceededError, match=f"not done within {counts} s"):
        play.master.run(play.elsewhere(PS), [], given)


def test_a_step_of_one_message_there_and_one_back_has_a_fast_path(play, training):
    update, _, rate = training
    prepared = play.prepared(update, [rate])
    partition = prepared.remotes[0].partition
    assert fast_step(play.master, prepared, partition) is not None
    prepared.remotes[0].prefetch_channels = None  # its reads cannot be done ahead
    assert fast_step(play.master, prepared, partition) is None


def test_messages_that_do_not_go_together_have_no_fast_path(play):
    with tf.device(PS):
        w = tf.Variable(1.0, use_resource=False)
    with tf.device(HERE):
        early, late = tf.random_uniform([]), tf.multiply(w, 2.0)
    with tf.device(PS):
        update = tf.assign_add(w, early * late).op
    prepared = play.prepared(update)
    (remote,) = prepared.remotes
    assert len(remote.partition.channels) == 2 and remote.coalesced
    assert fast_step(play.master, prepared, remote.partition) is not None
    remote.coalesced = frozenset()
    assert fast_step(play.master, prepared, remote.partition) is None


def test_a_partition_that_may_block_or_branch_has_no_fast_path(play, training, queue):
    update, _, rate = training
    with tf.device(HERE):
        taken = queue[2]
    with tf.device(PS):
        w = next(op for op in update.graph.get_operations() if op.name == "w").outputs[0]
        waiting = tf.assign_add(w, w * taken).op
    prepared = play.prepared(waiting)
    assert fast_step(play.master, prepared, prepared.remotes[0].partition) is None
    plain = play.prepared(update, [rate])
    plain.local.structured = True
    assert fast_step(play.master, plain, plain.remotes[0].partition) is None


def test_who_wakes_the_step_late_writes_to_no_closed_file(play, monkeypatch):
    """The number of a closed file may be that of another by then."""
    step = play.step(play.elsewhere(PS))
    step.wake_fd = fd = os.eventfd(0)
    writes, may_write = threading.Event(), threading.Event()
    write = os.eventfd_write

    def slow_write(to, value):
        writes.set()
        assert may_write.wait(60)
        os.fstat(to)
        write(to, value)

    monkeypatch.setattr(os, "eventfd_write", slow_write)
    waker = threading.Thread(target=step._write_wake)
    waker.start()
    assert writes.wait(60)
    closer = threading.Thread(target=step._close_wake)
    closer.start()
    closer.join(0.2)
    assert closer.is_alive()  # it waits for the write
    may_write.set()
    waker.join(60)
    closer.join(60)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    step._write_wake()  # nothing is left to write to
    assert step.wake_fd == -1


def test_a_task_that_is_lost_while_a_send_waits_for_room(play):
    step = play.step(play.elsewhere(PS))
    step.connections[PS] = play.pool.take("a:1", PS)
    play.ps.close()
    with pytest.raises(errors.UnavailableError):
        step._take_in()
    assert isinstance(step.error, errors.UnavailableError) and PS in step.error.message
