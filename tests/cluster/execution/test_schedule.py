"""Orders of segments: what is known before a step runs."""

import threading
from types import SimpleNamespace

import pytest

import dataflow as tf
from dataflow.cluster.execution.linear_run import LinearRun, LinearSchedule
from dataflow.cluster.execution.schedule import collector, first_chain
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
