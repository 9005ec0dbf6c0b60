"""The decisions of the distributed runtime, without I/O: an event goes in, messages come out.

`StepMachine` is a master's: which task a step waits for, when it is complete, what a death means.
Masters drive it for every step, so that tests with random event orders cover the machine that runs: a general
step starts by `start` and ends task by task, one of the fast path has `begin` and `finish` around its
two messages. What a segment waits for within a task is not its business (`linear_run`, `partition_run`),
nor are the steps that a parameter server repeats by itself (`server_loop`): to the machine they are one.
`SyncMachine` is a model of synchronous training: which gradients count, when they are applied, who may
begin the next step. The simulator runs it; in a cluster the accumulators and the token queue of
`SyncReplicasOptimizer`, which are nodes of the graph, decide the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from dataflow import errors

# Requests of a machine.


class Run(NamedTuple):
    """Tell ``task`` to run its partition of ``step``."""

    task: str
    step: int


class Cancel(NamedTuple):
    """Tell ``task`` to give ``step`` up."""

    task: str
    step: int


class Complete(NamedTuple):
    """Every partition of ``step`` is done."""

    step: int


class Fail(NamedTuple):
    """``step`` is lost: an error code of `dataflow.errors`, which task it came from, and why."""

    step: int
    code: int
    task: str
    message: str


class Forget(NamedTuple):
    """``task`` begins a new life: what was registered with it, and its variables, are gone."""

    task: str


Decision = Run | Cancel | Complete | Fail | Forget


class StepMachine:
    """The steps that one master has in flight.

    Invariants: a step ends exactly once, by `Complete` or by `Fail`; it completes when every task
    has said done, and not before; what arrives for a step that has ended is ignored; a task that
    is dead or has said done hears nothing more about the step.
    """

    def __init__(self) -> None:
        #: The tasks each step still waits for.
        self.waiting: dict[int, set[str]] = {}
        #: Why each dead task is dead; a task that was never heard of counts as alive.
        self.dead: dict[str, str] = {}
        #: The life of each task, as it names it; a change means a restart.
        self.incarnations: dict[str, str] = {}

    def start(self, step: int, tasks: Iterable[str]) -> list[Decision]:
        """A client asks for a step that has a partition on each of ``tasks``."""
        if step in self.waiting:
            raise ValueError(f"step {step} has been started already")
        wanted = sorted(set(tasks))
        for task in wanted:
            if task in self.dead:
                message = f"{task} is not there: {self.dead[task]}"
                return [Fail(step, errors.UNAVAILABLE, task, message)]
        if not wanted:
            return [Complete(step)]
        self.waiting[step] = set(wanted)
        return [Run(task, step) for task in wanted]

    def begin(self, step: int, tasks: Iterable[str]) -> bool:
        """As `start`, for a step whose tasks need no message; whether it may run."""
        if step in self.waiting or not self.dead.keys().isdisjoint(tasks):
            return False
        self.waiting[step] = set(tasks)
        return True

    def finish(self, step: int) -> bool:
        """As `done` of every task at once; ``False`` where the step has failed before."""
        return self.waiting.pop(step, None) is not None

    def done(self, step: int, task: str) -> list[Decision]:
        """``task`` has finished its partition and sent what others need of it."""
        waiting = self.waiting.get(step)
        if waiting is None or task not in waiting:
            return []
        waiting.discard(task)
        if waiting:
            return []
        del self.waiting[step]
        return [Complete(step)]

    def failed(self, step: int, task: str, code: int, message: str) -> list[Decision]:
        """``task`` reports an error in its partition: the others give up, and the first error is reported."""
        if step not in self.waiting:
            return []
        return [*self._give_up(step, {task}), Fail(step, code, task, message)]

    def cancelled(self, step: int, message: str) -> list[Decision]:
        """The client gave the step up: an interrupt, a time-out, a closed session."""
        if step not in self.waiting:
            return []
        return [*self._give_up(step, set()), Fail(step, errors.CANCELLED, "", message)]

    def timed_out(self, step: int, seconds: float) -> list[Decision]:
        """The step's time is up; the error names the tasks it was still waiting for."""
        if step not in self.waiting:
            return []
        slow = ", ".join(sorted(self.waiting[step]))
        message = f"The step was not done within {seconds:g} s; it was waiting for {slow}."
        return [*self._give_up(step, set()), Fail(step, errors.DEADLINE_EXCEEDED, slow, message)]

    def died(self, task: str, why: str) -> list[Decision]:
        """A task is gone: every step that waits for it is lost, the others go on.

        A step for which the task has already said done no longer needs it.
        """
        self.dead[task] = why
        lost = [step for step, waiting in self.waiting.items() if task in waiting]
        decisions: list[Decision] = []
        for step in lost:
            decisions += self._give_up(step, {task})
            message = f"{task} was lost while the step was running: {why}"
            decisions.append(Fail(step, errors.UNAVAILABLE, task, message))
        return decisions

    def joined(self, task: str, incarnation: str) -> list[Decision]:
        """A task answers, under the name of its present life.

        A life that is not the one known means a restart: steps of the old life are lost.
        """
        known = self.incarnations.get(task)
        self.incarnations[task] = incarnation
        if known == incarnation or known is None:
            self.dead.pop(task, None)
            return []
        decisions = self.died(task, "it was restarted, and what its old process held is lost")
        del self.dead[task]
        return [*decisions, Forget(task)]

    def _give_up(self, step: int, silent: set[str]) -> list[Decision]:
        waiting = self.waiting.pop(step)
        return [
            Cancel(task, step)
            for task in sorted(waiting)
            if task not in silent and task not in self.dead
        ]


# Requests of the synchronous machine.


class Grant(NamedTuple):
    """``worker`` may begin a step; its gradients will carry ``step``."""

    worker: int
    step: int


class Accept(NamedTuple):
    """A gradient counts towards the step that is being gathered."""

    worker: int


class Drop(NamedTuple):
    """A gradient comes too late: it was computed for ``step``, which has been applied."""

    worker: int
    step: int


class Apply(NamedTuple):
    """Enough gradients are there: average them, apply, and ``step`` is the new global step."""

    step: int
    contributors: tuple[int, ...]


class Stall(NamedTuple):
    """Fewer workers are alive than gradients are needed: training waits for a restart."""

    alive: int
    needed: int


SyncDecision = Grant | Accept | Drop | Apply | Stall


@dataclass
class SyncMachine:
    """Synchronous replicas with backup workers, as SyncReplicasOptimizer does it.

    An accumulator takes gradients and drops those of an older step than the global one. When
    ``replicas_to_aggregate`` have arrived they are applied, the global step grows by one, and
    ``tokens_per_step`` tokens with the new step's number are put into a queue. A worker begins its
    life at the global step; after each gradient it takes a token, which says the step it works on
    next. With more workers than ``replicas_to_aggregate``, the rest are backups:
    a slow worker's gradient comes too late and is dropped.

    Source: Chen, Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous SGD", 2016.
    """

    replicas_to_aggregate: int
    total_num_replicas: int
    global_step: int = 0
    contributors: list[int] = field(default_factory=list)
    tokens: deque[int] = field(default_factory=deque)
    waiting: deque[int] = field(default_factory=deque)
    alive: set[int] = field(default_factory=set)
    num_dropped: int = 0

    def __post_init__(self) -> None:
        if self.replicas_to_aggregate < 1 or self.total_num_replicas < 1:
            raise ValueError(
                "replicas_to_aggregate and total_num_replicas must be at least 1, got "
                f"{self.replicas_to_aggregate} and {self.total_num_replicas}"
            )

    @property
    def tokens_per_step(self) -> int:
        """How many tokens each applied step puts into the queue."""
        return max(self.total_num_replicas, self.replicas_to_aggregate)

    def start(self, num_tokens: int | None = None) -> list[SyncDecision]:
        """The chief fills the queue, before or after workers join.

        With more gradients needed than there are workers, a worker must push twice in the first
        step, so that tokens must be there before it is over. By default there are
        ``replicas_to_aggregate`` of them, as in TensorFlow; those of the first step that are left
        over cost one round of gradients that come too late.
        """
        count = self.replicas_to_aggregate if num_tokens is None else num_tokens
        needed = self.replicas_to_aggregate - self.total_num_replicas
        if count < needed:
            raise ValueError(
                f"{count} first tokens are too few: {self.total_num_replicas} workers must give "
                f"{self.replicas_to_aggregate} gradients, at least {needed} tokens are needed"
            )
        self.tokens.extend([self.global_step] * count)
        return self._grant()

    def want_token(self, worker: int) -> list[SyncDecision]:
        """A worker is ready for its next step."""
        if worker not in self.alive or worker in self.waiting:
            return []
        self.waiting.append(worker)
        return self._grant()

    def push(self, worker: int, step: int) -> list[SyncDecision]:
        """A worker's gradient arrives, computed for ``step``.

        A worker that died after sending it still counts: its gradient is as good as another's.
        """
        if step < self.global_step:
            self.num_dropped += 1
            return [Drop(worker, step)]
        self.contributors.append(worker)
        decisions: list[SyncDecision] = [Accept(worker)]
        if len(self.contributors) >= self.replicas_to_aggregate:
            self.global_step += 1
            decisions.append(Apply(self.global_step, tuple(self.contributors)))
            self.contributors.clear()
            self.tokens.extend([self.global_step] * self.tokens_per_step)
            decisions += self._grant()
        return decisions

    def died(self, worker: int) -> list[SyncDecision]:
        """A worker is gone. It takes no token; a token it had taken is lost with it."""
        self.alive.discard(worker)
        if worker in self.waiting:
            self.waiting.remove(worker)
        # Surviving workers may take several tokens of one step, but none can be waited for when
        # no worker is left; with one alive it depends on the tokens that are left.
        if len(self.alive) < self.replicas_to_aggregate and not self._can_finish():
            return [Stall(len(self.alive), self.replicas_to_aggregate)]
        return []

    def joined(self, worker: int) -> list[SyncDecision]:
        """A worker is new, or back: it begins at the global step, without a token."""
        if worker in self.alive:
            return []
        self.alive.add(worker)
        return [Grant(worker, self.global_step)]

    def _can_finish(self) -> bool:
        usable = sum(token >= self.global_step for token in self.tokens)
        missing = self.replicas_to_aggregate - len(self.contributors)
        # A live worker that does not wait for a token is computing, and will push.
        computing = len(self.alive) - len(self.waiting)
        return bool(self.alive) and usable + computing >= missing

    def _grant(self) -> list[SyncDecision]:
        decisions: list[SyncDecision] = []
        while self.tokens and self.waiting:
            decisions.append(Grant(self.waiting.popleft(), self.tokens.popleft()))
        return decisions
