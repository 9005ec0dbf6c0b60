"""What a compiled partition knows of its segments before a step runs; without servers."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.home_transport import Registered
from dataflow.cluster.execution.task_session import (
    StepCancellation,
    StepLoopEnd,
    TaskSession,
    current_step,
)
from dataflow.cluster.partition.partitioner import partition_graph
from dataflow.cluster.transport.shm_send import SHARE_FROM_BYTES
from dataflow.errors import CancelledError
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.cancellation import Cancellation
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING
from dataflow.runtime.resources import ResourceManager

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def session():
    return TaskSession(ResourceManager(), task=PS)


def cut(fetches, task, feeds=()):
    """The partition of one task of a step."""
    tensors = [fetch for fetch in fetches if isinstance(fetch, tf.Tensor)]
    nodes = [fetch for fetch in fetches if isinstance(fetch, tf.Operation)]
    return partition_graph(tensors, nodes, list(feeds), [PS, WORKER], WORKER).partitions[task]


def options(**changed):
    given = tf.ConfigProto()
    for name, value in changed.items():
        setattr(given.graph_options.rewrite_options, name, value)
    return RewriteOptions.from_config(given)


@pytest.fixture
def in_step():
    """Makes this thread the one that runs a step."""

    def enter(cancellation, segment=0):
        current_step.cancellation, current_step.segment = cancellation, segment

    yield enter
    enter(None)


def update():
    """An update on the ps by a gradient of the worker: (update, gradient, a fetch of the ps)."""
    with tf.device(PS):
        w = tf.Variable(np.ones(3, np.float32), use_resource=False, name="w")
        doubled = tf.multiply(w, 2.0, name="doubled")
    with tf.device(WORKER):
        gradient = tf.exp(doubled, name="gradient")
    with tf.device(PS):
        return tf.assign_add(w, gradient, name="update").op, gradient, doubled


# --- the step that a thread runs --------------------------------------------------------------------


def test_outside_of_a_step_nothing_is_canceled():
    cancellation = StepCancellation()
    assert not cancellation.of_one_step and not cancellation.cancelled
    assert cancellation.holder == threading.get_ident()
    assert cancellation.register(lambda: None) == 0
    cancellation.unregister(0)
    StepLoopEnd().end()


def test_kernels_see_the_cancellation_of_their_step(in_step):
    step, seen, called = Cancellation(), StepCancellation(), []
    in_step(step)
    assert seen.of_one_step and not seen.cancelled
    kept = seen.register(lambda: called.append("kept"))
    seen.unregister(seen.register(lambda: called.append("taken back")))
    assert kept
    StepLoopEnd().end()
    step.cancel()
    assert called == ["kept"] and seen.cancelled
    with pytest.raises(CancelledError, match="A loop was running when its step was canceled"):
        StepLoopEnd().end()


def test_a_lock_is_held_by_a_segment_of_a_step(in_step):
    step, seen = Cancellation(), StepCancellation()
    holders = set()
    for cancellation, segment in ((step, 0), (step, 1), (Cancellation(), 0)):
        in_step(cancellation, segment)
        holders.add(seen.holder)
        assert seen.holder == seen.holder
    assert len(holders) == 3


@pytest.mark.parametrize(("step", "op"), [(10.0, 9.0), (2.0, 1.6), (None, np.inf)])
def test_collective_ops_give_up_before_their_step_does(session, step, op):
    session.group_by("/job:worker/task:4", step)
    assert session.exchange_seconds == pytest.approx(op)
    assert session.group_leader == "/job:worker/task:4"


def test_updates_count_for_the_master_of_a_session():
    noted = []
    load = SimpleNamespace(updated=lambda read_at, master: noted.append((read_at, master)))
    TaskSession(ResourceManager(), load, PS, "/job:worker/task:3#9").updated(5)
    assert noted == [(5, "/job:worker/task:3")]


def test_an_op_keeps_its_state_from_step_to_step(session):
    session.op_state("a")["seen"] = 1
    assert session.op_state("a") == {"seen": 1} and session.op_state("b") == {}


# --- tables -----------------------------------------------------------------------------------------


def test_the_tables_of_an_update(session):
    operation, _, _ = update()
    made = CompiledPartition(cut([operation], PS), session)
    assert made.pending == [0, 1] and made.initial == [0]
    assert made.updates == [False, True]
    assert made.is_plain and made.is_quick and not made.structured and not made.num_blocking
    assert made.scopes == [None, None] and made.on_gpus == {}


def test_what_only_writes_is_no_update_of_what_was_read(session):
    """Staleness is counted from reads."""
    with tf.device(PS):
        w = tf.Variable(np.ones(3, np.float32), use_resource=False)
    with tf.device(WORKER):
        value = tf.random_uniform([3])
    made = CompiledPartition(cut([tf.assign(w, value).op], PS), session)
    assert not any(made.updates)


def test_only_products_limit_the_threads_of_blas(session):
    with tf.device(PS):
        x = tf.random_uniform([2, 2])
        y = tf.matmul(x, x)
    with tf.device(WORKER):
        far = tf.exp(y)
    with tf.device(PS):
        back = tf.exp(far)
    made = CompiledPartition(cut([back], PS), session)
    assert [scope is not None for scope in made.scopes] == [True, False]


@pytest.mark.parametrize(("count", "is_quick"), [(40, True), (41, False)])
def test_how_long_a_segment_may_be_to_run_on_the_thread_that_receives(session, count, is_quick):
    with tf.device(WORKER):
        y = tf.random_uniform([2])
    with tf.device(PS):
        for _ in range(count):
            y = tf.negative(y)
    made = CompiledPartition(cut([y], PS), session)
    assert made.inline_safe == [is_quick] and made.is_quick is is_quick


@pytest.mark.parametrize("with_others", [False, True])
def test_a_queue_is_waited_for_without_a_thread_where_nothing_else_runs_with_it(
    session, with_others
):
    with tf.device(PS):
        queue = tf.FIFOQueue(4, [tf.float32], shapes=[[]])
        value = queue.dequeue()
    partition = cut([value], PS)
    if with_others:
        one = tf.constant(1.0)
        partition.segments[-1].ops += [one.op, tf.exp(one).op]
    made = CompiledPartition(partition, session)
    assert made.num_blocking == 1 and not made.is_plain
    assert made.can_retry == [False, not with_others]
    assert made.is_quick is not with_others


@pytest.mark.parametrize("count", [0, 1, 2])
def test_which_partitions_wait(session, count):
    with tf.device(PS):
        y = tf.random_uniform([])
        for _ in range(count):
            y = y + tf.FIFOQueue(4, [tf.float32], shapes=[[]]).dequeue()
    made = CompiledPartition(cut([y], PS), session)
    assert Registered(made, "session", WORKER, {}).waits is (count > 0)


def test_values_are_released_after_their_last_reader(session):
    operation, _, doubled = update()
    partition = cut([operation], PS)
    made = CompiledPartition(partition, session)
    (sent,) = partition.segments[0].transfers[0].slots
    assert sent in made.releases[0]
    received = partition.channels[0].slots[0]
    assert received in made.releases[1]
    fetched = cut([operation, doubled], PS)
    (slot,) = fetched.fetch_slots
    assert all(slot not in drops for drops in CompiledPartition(fetched, session).releases)


def test_a_value_with_two_readers_is_released_by_neither(session):
    with tf.device(PS):
        x = tf.random_uniform([2])
        early = tf.exp(x)
    with tf.device(WORKER):
        one = tf.exp(early)
    with tf.device(PS):
        y = x + one
    with tf.device(WORKER):
        two = tf.exp(y)
    with tf.device(PS):
        z = x + two
    partition = cut([z], PS)
    made = CompiledPartition(partition, session)
    slot = partition.slots[x]
    readers = [s for s in partition.segments if slot in s.input_slots]
    assert len(readers) == 2
    assert all(slot not in drops for drops in made.releases)


def test_slots_end_with_the_allocator(session):
    operation, _, _ = update()
    partition = cut([operation], PS)
    made = CompiledPartition(partition, session)
    allocator = object()
    slots = made.new_slots(allocator)
    assert len(slots) == len(partition.slots) + 1 and slots[-1] is allocator
    assert slots[:-1] == [None] * len(partition.slots)


@pytest.mark.parametrize(("smaller", "is_allocated"), [(0, True), (1, False)])
def test_results_from_a_size_on_are_computed_in_shared_memory(session, smaller, is_allocated):
    with tf.device(PS):
        x = tf.exp(tf.random_uniform([SHARE_FROM_BYTES // 4 - smaller]))
    with tf.device(WORKER):
        y = tf.exp(x)
    (source,) = CompiledPartition(cut([y], PS), session).sources
    assert ("(allocator, " in source) is is_allocated  # a kernel gets it


def test_branches_are_known(session):
    with tf.device(PS):
        x = tf.random_uniform([])
        y = tf.cond(x > 0.5, lambda: x + 1.0, lambda: x - 1.0)
    assert CompiledPartition(cut([y], PS), session).structured


# --- rewriting --------------------------------------------------------------------------------------


def rewritable():
    with tf.device(PS):
        x = tf.random_uniform([4])
        return tf.log(1 + tf.exp(x)) * 1.0


def test_a_partition_is_rewritten_after_some_runs(session):
    made = CompiledPartition(cut([rewritable()], PS), session, options())
    before = made.sources
    assert made.is_new
    for _ in range(RUNS_BEFORE_REWRITING):
        made.count_run()
    assert made.sources == before and made.is_new
    while made.is_new:
        made.count_run()
    assert made.sources != before and made.journals[0]
    assert "Mul" not in made.sources[0]
    assert len(made._segments[0].placed.ops) < len(made.plan.segments[0].ops)
    slots = made.new_slots()
    made.run_segment(0, slots, None)
    (result,) = made.plan.fetch_slots
    assert slots[result].shape == (4,)


def test_what_is_never_rewritten(session):
    partition = cut([rewritable()], PS)
    num_nodes = sum(len(segment.ops) for segment in partition.segments)
    assert not CompiledPartition(partition, session).may_be_rewritten
    for least, may_be in ((num_nodes, True), (num_nodes + 1, False)):
        made = CompiledPartition(partition, session, options(min_graph_nodes=least))
        assert made.may_be_rewritten is made.is_new is may_be
    assert not CompiledPartition(partition, session, options(), traced=True).is_new


def test_an_error_names_the_node(session):
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.placeholder(tf.float32, [None], name="y")
        total = tf.add(x, y, name="total")
    made = CompiledPartition(cut([total], PS, [x, y]), session)
    slots = made.new_slots()
    for slot, value in zip(made.plan.feed_slots, (np.ones(2), np.ones(3)), strict=True):
        slots[slot] = value
    with pytest.raises(tf.errors.InvalidArgumentError, match="total"):
        made.run_segment(0, slots, None)
