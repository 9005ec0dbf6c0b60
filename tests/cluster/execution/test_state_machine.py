"""The two state machines under random orders of events, and the cases worth reading."""

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dataflow import errors
from dataflow.cluster.execution.master_step import MasterStep
from dataflow.cluster.execution.state_machine import (
    Accept,
    Apply,
    Cancel,
    Complete,
    Drop,
    Fail,
    Forget,
    Grant,
    Run,
    Stall,
    StepMachine,
    SyncMachine,
)

PS, W0, W1 = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


def test_a_step_that_begins_and_finishes_by_itself_is_lost_with_its_task():
    machine = StepMachine()
    assert machine.begin(1, ["a", "b"]) and machine.begin(2, ["b"]) and not machine.begin(2, ["b"])
    assert machine.finish(1) and not machine.finish(1)
    assert machine.died("b", "killed")[-1].step == 2
    assert not machine.finish(2)
    assert not machine.begin(3, ["a", "b"]) and machine.begin(4, ["a"])
    assert set(machine.waiting) == {4}


def test_a_step_completes_when_every_task_is_done():
    machine = StepMachine()
    assert machine.start(1, [W0, PS]) == [Run(PS, 1), Run(W0, 1)]
    assert machine.done(1, PS) == []
    assert machine.done(1, PS) == []
    assert machine.done(1, W0) == [Complete(1)]
    assert machine.done(1, W0) == []
    assert machine.start(2, []) == [Complete(2)]


def test_a_death_fails_the_steps_that_wait_for_the_task_and_no_other():
    machine = StepMachine()
    machine.start(1, [PS, W0])
    machine.start(2, [W1])
    machine.start(3, [PS, W1])
    machine.done(3, PS)
    decisions = machine.died(PS, "killed")
    assert decisions == [
        Cancel(W0, 1),
        Fail(1, errors.UNAVAILABLE, PS, f"{PS} was lost while the step was running: killed"),
    ]
    assert machine.done(2, W1) == [Complete(2)]
    assert machine.done(3, W1) == [Complete(3)], "it had done its part of step 3"
    (fail,) = machine.start(4, [PS, W0])
    assert fail == Fail(4, errors.UNAVAILABLE, PS, f"{PS} is not there: killed")


def test_a_restart_loses_what_the_old_life_held():
    machine = StepMachine()
    assert machine.joined(PS, "a") == []
    machine.start(1, [PS])
    assert machine.joined(PS, "a") == []
    fail, forget = machine.joined(PS, "b")
    assert (fail.step, fail.task, forget) == (1, PS, Forget(PS))
    assert "restarted" in fail.message
    assert machine.start(2, [PS]) == [Run(PS, 2)]


def test_an_error_a_cancellation_and_a_time_out_tell_the_others():
    machine = StepMachine()
    machine.start(1, [PS, W0, W1])
    assert machine.failed(1, W0, 3, "bad") == [Cancel(PS, 1), Cancel(W1, 1), Fail(1, 3, W0, "bad")]
    assert machine.failed(1, W1, 3, "later") == []
    machine.start(2, [PS, W0])
    machine.done(2, W0)
    *cancels, fail = machine.timed_out(2, 0.5)
    assert cancels == [Cancel(PS, 2)]
    assert fail.code == errors.DEADLINE_EXCEEDED
    assert PS in fail.message
    assert W0 not in fail.message
    machine.start(3, [PS])
    assert machine.cancelled(3, "interrupted")[-1] == Fail(3, errors.CANCELLED, "", "interrupted")


class StepEvents(RuleBasedStateMachine):
    """Any order of starts, answers, errors, deaths and restarts."""

    tasks = st.sampled_from(["a", "b", "c", "d"])

    def __init__(self):
        super().__init__()
        self.machine = StepMachine()
        self.next_step = 0
        self.model = {}  # step -> tasks that are still to answer
        self.ended = {}
        self.lives = dict.fromkeys("abcd", 0)
        self.told_of_death = set()

    def check(self, decisions):
        """Every decision must be one that the model allows now."""
        for decision in decisions:
            match decision:
                case Cancel(task, step):
                    assert step not in self.ended
                    assert task in self.model[step]
                    assert task not in self.told_of_death
                case Complete(step):
                    assert not self.model.pop(step)
                    assert step not in self.ended
                    self.ended[step] = "complete"
                case Fail(step, code, _, message):
                    assert step not in self.ended
                    assert code
                    assert message
                    self.model.pop(step, None)
                    self.ended[step] = "failed"
        return decisions

    @rule(tasks=st.sets(tasks))
    def start(self, tasks):
        step = self.next_step
        self.next_step += 1
        self.model[step] = set(tasks)
        decisions = self.check(self.machine.start(step, tasks))
        if tasks & self.told_of_death:
            assert self.ended[step] == "failed"
        elif tasks:
            assert decisions == [Run(task, step) for task in sorted(tasks)]

    @rule(tasks=st.sets(tasks, min_size=1))
    def begins_on_the_fast_path(self, tasks):
        step = self.next_step
        self.next_step += 1
        may_run = self.machine.begin(step, tasks)
        assert may_run == (not tasks & self.told_of_death)
        if may_run:  # else a general step says why not
            self.model[step] = set(tasks)

    @precondition(lambda self: self.next_step)
    @rule(data=st.data())
    def finishes_on_the_fast_path(self, data):
        step = data.draw(st.integers(0, self.next_step - 1))
        running = self.model.pop(step, None) is not None
        assert self.machine.finish(step) == running
        if running:
            self.ended[step] = "complete"

    @precondition(lambda self: self.next_step)
    @rule(data=st.data(), task=tasks)
    def done(self, data, task):
        step = data.draw(st.integers(0, self.next_step - 1))
        self.model.get(step, set()).discard(task)
        self.check(self.machine.done(step, task))

    @precondition(lambda self: self.next_step)
    @rule(data=st.data(), task=tasks)
    def fails(self, data, task):
        step = data.draw(st.integers(0, self.next_step - 1))
        running = step in self.model
        decisions = self.check(self.machine.failed(step, task, 3, "why"))
        assert bool(decisions) == running

    @precondition(lambda self: self.next_step)
    @rule(data=st.data(), how=st.sampled_from(["cancelled", "timed_out"]))
    def given_up(self, data, how):
        step = data.draw(st.integers(0, self.next_step - 1))
        running = step in self.model
        if how == "cancelled":
            decisions = self.machine.cancelled(step, "why")
        else:
            decisions = self.machine.timed_out(step, 1.0)
        self.check(decisions)
        assert bool(decisions) == running

    @rule(task=tasks)
    def dies(self, task):
        lost = {step for step, waiting in self.model.items() if task in waiting}
        self.told_of_death.add(task)
        decisions = self.check(self.machine.died(task, "killed"))
        assert {d.step for d in decisions if isinstance(d, Fail)} == lost

    @rule(task=tasks, restarted=st.booleans())
    def joins(self, task, restarted):
        known = task in self.machine.incarnations
        lost = {step for step, waiting in self.model.items() if task in waiting}
        self.lives[task] += restarted
        self.told_of_death.discard(task)
        decisions = self.check(self.machine.joined(task, str(self.lives[task])))
        if known and restarted:
            assert decisions[-1] == Forget(task)
            assert all(self.ended[step] == "failed" for step in lost)
        else:
            assert decisions == []

    @invariant()
    def the_machine_waits_for_what_the_model_waits_for(self):
        assert self.machine.waiting == self.model
        assert all(self.machine.waiting.values())


class SyncEvents(RuleBasedStateMachine):
    """Workers that take tokens, push, are slow, die and come back, in any order."""

    def __init__(self):
        super().__init__()
        self.machine = None

    @precondition(lambda self: self.machine is None)
    @rule(needed=st.integers(1, 5), total=st.integers(1, 6))
    def begin(self, needed, total):
        self.machine = SyncMachine(needed, total)
        self.held = {}  # worker -> the step of its token
        self.num_granted = self.num_applied = self.num_accepted = self.num_pushed = 0
        self.initial = needed
        self.check(self.machine.start())
        for worker in range(total):
            self.join(worker)

    def join(self, worker):
        (grant,) = self.check(self.machine.joined(worker))
        assert grant == Grant(worker, self.machine.global_step)
        self.num_granted -= 1  # it takes no token

    def check(self, decisions):
        for decision in decisions:
            match decision:
                case Grant(worker, step):
                    assert worker in self.machine.alive
                    assert worker not in self.held
                    assert step <= self.machine.global_step
                    self.held[worker] = step
                    self.num_granted += 1
                case Accept():
                    self.num_accepted += 1
                case Apply(step, contributors):
                    self.num_applied += 1
                    assert step == self.num_applied
                    assert len(contributors) == self.machine.replicas_to_aggregate
        return decisions

    started = precondition(lambda self: self.machine is not None)

    @started
    @rule(worker=st.integers(0, 5))
    def wants(self, worker):
        if worker < self.machine.total_num_replicas and worker not in self.held:
            self.check(self.machine.want_token(worker))

    @started
    @rule(data=st.data())
    def pushes(self, data):
        if not self.held:
            return
        worker = data.draw(st.sampled_from(sorted(self.held)))
        step = self.held.pop(worker)
        stale = step < self.machine.global_step
        self.num_pushed += 1
        decisions = self.check(self.machine.push(worker, step))
        assert (decisions[0] == Drop(worker, step)) == stale

    @started
    @rule(worker=st.integers(0, 5), keeps_its_token=st.booleans())
    def dies(self, worker, keeps_its_token):
        if worker in self.machine.alive:
            self.check(self.machine.died(worker))
            if not keeps_its_token:
                self.held.pop(worker, None)

    @started
    @rule(worker=st.integers(0, 5))
    def joins(self, worker):
        if worker < self.machine.total_num_replicas and worker not in self.machine.alive:
            self.held.pop(worker, None)
            self.join(worker)

    @invariant()
    def books_balance(self):
        machine = self.machine
        if machine is None:
            return
        made = self.initial + self.num_applied * machine.tokens_per_step
        assert len(machine.tokens) == made - self.num_granted
        assert machine.global_step == self.num_applied
        assert machine.num_dropped + self.num_accepted == self.num_pushed
        used = self.num_applied * machine.replicas_to_aggregate
        assert len(machine.contributors) == self.num_accepted - used
        assert len(machine.contributors) < machine.replicas_to_aggregate
        assert not (machine.tokens and machine.waiting), "a worker waits beside a token"
        assert set(machine.waiting) <= machine.alive


TestStepEvents = StepEvents.TestCase
TestSyncEvents = SyncEvents.TestCase
TestStepEvents.settings = TestSyncEvents.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None
)


def test_backup_workers_make_up_for_a_straggler():
    machine = SyncMachine(replicas_to_aggregate=2, total_num_replicas=3)
    for worker in range(3):
        assert machine.joined(worker) == [Grant(worker, 0)]
    assert machine.push(0, 0) == [Accept(0)]
    assert machine.push(2, 0) == [Accept(2), Apply(1, (0, 2))]
    assert machine.push(1, 0) == [Drop(1, 0)]


def test_without_enough_workers_training_stalls_and_says_so():
    machine = SyncMachine(2, 2)
    machine.joined(0)
    machine.joined(1)
    machine.push(0, 0)
    assert machine.want_token(0) == []
    assert machine.died(1) == [Stall(1, 2)]
    assert machine.joined(1) == [Grant(1, 0)]
    assert machine.push(1, 0) == [Accept(1), Apply(1, (0, 1)), Grant(0, 1)]
    machine = SyncMachine(2, 3)
    for worker in range(3):
        machine.joined(worker)
    assert machine.died(1) == [], "two are left, and two are needed"


def test_too_few_first_tokens_are_refused():
    with pytest.raises(ValueError, match="3 workers must give 8 gradients, at least 5"):
        SyncMachine(8, 3).start(num_tokens=4)
    with pytest.raises(ValueError, match="at least 1, got 0 and 3"):
        SyncMachine(0, 3)


def test_a_step_takes_no_decision_on_another_one():
    step = MasterStep.__new__(MasterStep)
    step.step, step.complete, step.error = 3, False, None
    for other in (2, 4):
        step._take([Complete(other), Fail(other, errors.UNAVAILABLE, "a", "gone")])
        assert not step.complete and step.error is None
