"""Orders of segments: what is known before a step runs."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution.linear_run import LinearRun, LinearSchedule
from dataflow.cluster.execution.schedule import collector, first_chain, take_in, taker
from dataflow.cluster.execution.wake_queue import then_wake
from dataflow.kernels.observable_condition import WatchedCondition
from dataflow.runtime.cancellation import Postponed


def segment(blocking):
    return SimpleNamespace(blocking=blocking, followers=[], transfers=[], input_slots=[])


def test_a_segment_that_may_block_goes_after_those_that_do_not():
    plan = SimpleNamespace(segments=[segment(True), segment(False), segment(True)], fetch_slots=[])
    partition = SimpleNamespace(plan=plan, pending=[0, 0, 0], releases=[[], [], []])
    assert first_chain(partition).numbers == [1, 2, 0]


def test_a_partition_with_branches_has_no_linear_schedule(cluster):
    """Values of the branch not taken are found by the general run alone."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=1.0)
    with tf.device("/job:worker/task:0"):
        gradient = tf.multiply(w, 1.0)
    with tf.device("/job:ps/task:0"):
        plain = tf.assign_add(w, gradient).op
        chosen = tf.cond(gradient > 4.0, lambda: gradient, lambda: 2 * gradient)
        branching = tf.assign_add(w, chosen).op
    service = cluster["ps:0"].service
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(w.initializer)
        master = session.remote.backend.master
        for step, is_linear in ((plain, True), (branching, False)):
            (remote,) = master.prepare([], [step], []).remotes
            assert (service._partitions[remote.handle].schedule is not None) is is_linear
        for expected in (3.0, 9.0, 18.0, 36.0):
            session.run(branching)
            assert session.run(w) == expected


@pytest.mark.parametrize("rest_is_inline_safe", [False, True])
def test_the_thread_that_ends_a_wait_runs_only_what_is_short(rest_is_inline_safe, eventually):
    condition, tokens, ran_on, ended = WatchedCondition(), [], [], []

    def take(slots, read_at):
        if not tokens:
            with condition:
                condition.watch(run._watcher, lambda: bool(tokens))
            raise Postponed(condition, lambda: bool(tokens))

    def put():
        tokens.append(1)
        with condition:
            condition.notify_all()

    def stage(may_wait, function, rest):
        return SimpleNamespace(
            may_wait=may_wait,
            run=function,
            rest_is_inline_safe=rest,
            made=[],
            wait=None,
            handle_slot=None,
        )

    transport = SimpleNamespace(
        may_block=lambda: False,
        ended=ended.append,
        failed=ended.append,
    )
    rest = stage(False, lambda slots, read_at: ran_on.append(threading.get_ident()), None)
    stages = [stage(True, take, rest_is_inline_safe), rest]
    run = LinearRun(LinearSchedule(stages, collector([]), True), transport)
    run.begin([], 0)
    assert not ran_on
    then_wake(put)
    eventually(lambda: ended)
    assert ended == [[]]
    assert (ran_on == [threading.get_ident()]) is rest_is_inline_safe


def test_a_linear_run_begins_again_where_the_last_one_ended():
    """One object runs every step, each on its own slots, and waits at the same index."""
    seen, ended, tokens = [], [], []
    condition = WatchedCondition()

    def take(slots, read_at):
        with condition:
            if not tokens:
                condition.watch(run._watcher, lambda: bool(tokens))
                raise Postponed(condition, lambda: bool(tokens))
            slots[0] = tokens.pop()

    def stage(may_wait, function):
        return SimpleNamespace(
            may_wait=may_wait,
            run=function,
            rest_is_inline_safe=True,
            made=[],
            wait=None,
            handle_slot=None,
            dequeues=True,
        )

    def put(token):
        with condition:
            tokens.append(token)
            condition.notify_all()

    transport = SimpleNamespace(may_block=lambda: False, ended=ended.append, failed=ended.append)
    note = stage(False, lambda slots, read_at: seen.append((slots[0], read_at)))
    schedule = LinearSchedule([stage(True, take), note], collector([0]), True)
    run = LinearRun(schedule, transport)
    for step in range(4):
        if step % 2:
            put(step)  # there before the step begins
        run.begin([None], 10 * step)
        if not step % 2:
            assert len(ended) == step and run.waits_for_queue()
            then_wake(put, step)
        assert not run.waits_for_queue()
        assert ended[step:] == [[step]] and seen[step:] == [(step, 10 * step)]
    run.begin([None], 0)
    run.cancel()
    then_wake(put, 5)
    assert len(ended) == 4 and tokens == [5], "a cancelled run takes nothing"


@pytest.mark.parametrize(
    "tensors",
    [
        [],
        [np.array(2.5)],
        [np.ones(3), np.array(b"text", object), np.array(7)],
        [np.zeros((0, 2)), np.array([b"a"], object)],
    ],
)
def test_slots_are_filled_without_a_loop_as_with_one(tensors):
    where = list(range(1, 1 + len(tensors)))
    expected, found = [None] * 5, [None] * 5
    take_in(expected, where, tensors)
    taker(where)(found, tensors)
    assert [type(v) for v in found] == [type(v) for v in expected]
    assert repr(found) == repr(expected)
    with pytest.raises(ValueError):
        taker(where)(found, [*tensors, np.ones(1)])
