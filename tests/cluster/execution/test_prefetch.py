"""When the reads that came along with a step's end may begin the next one."""

from types import SimpleNamespace

import pytest

import dataflow as tf
from dataflow.cluster.execution import prefetch
from dataflow.cluster.partition.graph_partition import GraphPartition, RecvSlots, Segment, Transfer


@pytest.fixture
def clock(monkeypatch):
    """The time that `prefetch` sees, in seconds."""
    time = SimpleNamespace(now=100.0)
    monkeypatch.setattr(prefetch.time, "monotonic", lambda: time.now)
    return time


@pytest.mark.parametrize(("age", "is_used"), [(0.0, True), (0.9, True), (1.1, False), (50, False)])
def test_reads_are_used_up_to_their_age(clock, age, is_used):
    connection, step, reads = SimpleNamespace(ahead=None), object(), [1.0]
    prefetch.keep_reads(connection, step, 7, reads)
    clock.now += age * prefetch.PREFETCH_SECONDS
    assert prefetch.take_reads(connection, step, 8) == (reads if is_used else None)
    assert connection.ahead is None, "they are used once"


def test_the_bound_is_half_a_millisecond():
    # What the docstring promises to processes that order their steps by other means.
    assert prefetch.PREFETCH_SECONDS == 0.0005


@pytest.mark.parametrize("count", [7, 9])
def test_reads_of_another_run_are_not_used(clock, count):
    connection, step = SimpleNamespace(ahead=None), object()
    prefetch.keep_reads(connection, step, 7, [1.0])
    assert prefetch.take_reads(connection, step, count) is None


def test_reads_of_another_step_are_not_used(clock):
    connection = SimpleNamespace(ahead=None)
    prefetch.keep_reads(connection, object(), 7, [1.0])
    assert prefetch.take_reads(connection, object(), 8) is None


def test_what_is_fed_there_keeps_the_reads_from_being_done_ahead(cluster):
    """The partition would begin before its feeds are known."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=1.0)
        rate = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:0"):
        gradient = tf.multiply(w, 1.0)
    with tf.device("/job:ps/task:0"):
        steps = [tf.assign_add(w, gradient).op, tf.assign_add(w, rate * gradient).op]
    with tf.Session(cluster["worker:0"].target) as session:
        master = session.remote.backend.master
        (remote,) = master.prepare([], [steps[0]], []).remotes
        assert remote.prefetch_channels is not None
        (remote,) = master.prepare([], [steps[1]], [rate]).remotes
        assert remote.prefetch_channels is None


# --- which reads, and which messages go together ---------------------------------------------------

HOME, PS = "/job:worker/task:0", "/job:ps/task:0"


@pytest.fixture
def reads():
    """A variable's node, a read of its rows, and a node that computes."""
    with tf.Graph().as_default():
        table = tf.get_variable("table", initializer=[[1.0], [2.0]], use_resource=False)
        rows = tf.gather(table, [1])
        return [table.op, rows.op], tf.exp(rows).op


def segments(*shapes):
    """Segments from (num_pending, channels that they send home, nodes)."""
    return [
        Segment(n, ops, num_pending=pending, transfers=[Transfer(HOME, c, [c]) for c in channels])
        for n, (pending, channels, ops) in enumerate(shapes)
    ]


def test_first_reads_are_done_ahead(reads):
    nodes, _ = reads
    made = GraphPartition(PS, segments((0, [3], nodes), (0, [4], nodes[:1]), (1, [5], [])))
    made.segments[0].transfers[0] = Transfer(HOME, 3, [0, 1])
    assert prefetch.prefetch_channels(made, HOME) == [(3, 2), (4, 1)]


def test_a_step_that_reads_nothing_is_begun_ahead(reads):
    nodes, computing = reads
    assert (
        prefetch.prefetch_channels(GraphPartition(PS, segments((0, [], nodes), (1, [5], []))), HOME)
        == []
    )
    made = GraphPartition(PS, segments((0, [], [*nodes, computing]), (1, [5], [])))
    assert prefetch.prefetch_channels(made, HOME) is None


@pytest.mark.parametrize("why", ["computes", "ends", "elsewhere", "fed", "off"])
def test_reads_that_are_not_done_ahead(reads, monkeypatch, why):
    nodes, computing = reads
    first = (0, [3], nodes + [computing] * (why == "computes"))
    made = GraphPartition(PS, segments(first, *[] if why == "ends" else [(1, [5], [])]))
    if why == "fed":
        made.feeds.append(computing.outputs[0])
    if why == "off":
        monkeypatch.setattr(prefetch, "_PREFETCH", False)
    home = PS if why == "elsewhere" else HOME
    assert prefetch.prefetch_channels(made, home) is None


def test_a_message_whose_reader_waits_for_a_later_one_goes_with_that():
    own = GraphPartition(PS, segments((0, [0], []), (0, [1], []), (1, [2], [])))
    there = GraphPartition(HOME, channels=[RecvSlots([0], w) for w in ([0], [1], [0, 2])])
    assert prefetch.coalesced(own, HOME, there) == {0}
    # The reader of another task's message may be the same segment.
    there.channels.append(RecvSlots([3], [3]))
    assert prefetch.coalesced(own, HOME, there) == frozenset()
    assert prefetch.coalesced(own, PS, there) == frozenset()


def test_a_blocking_segment_may_be_too_late_for_a_message_to_wait_for_it():
    own = GraphPartition(PS, segments((0, [0], []), (1, [1], [])))
    there = GraphPartition(HOME, channels=[RecvSlots([0], [0]), RecvSlots([1], [0])])
    assert prefetch.coalesced(own, HOME, there) == {0}
    own.segments[1].blocking = True
    assert prefetch.coalesced(own, HOME, there) == frozenset()


def test_runs_are_counted_one_by_one():
    first = prefetch.note_run()
    assert prefetch.note_run() == first + 1
