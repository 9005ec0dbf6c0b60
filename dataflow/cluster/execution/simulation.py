"""Virtual clusters: the state machine of synchronous training, driven by made-up latencies.

One event queue, no threads, no clock: a thousand workers take seconds. A worker waits for a token,
pulls the parameters, computes, pushes its gradient. All transfers share the bandwidth of the
parameter servers, so that every further worker slows the others' pulls down, which is why the curve
of step time over backup workers has a minimum.

Source of the model and of the curve: Abadi et al., "TensorFlow: a system for large-scale machine
learning", OSDI 2016, section 4.4 and figure 8 (fifty workers, up to five backups).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataflow.cluster.execution.recording import Recording
from dataflow.cluster.execution.state_machine import Apply, Drop, Grant, Stall, SyncMachine


@dataclass(frozen=True)
class Latency:
    """How long a worker computes, in seconds: log-normal, with stragglers now and then.

    ``median_seconds`` and ``sigma`` (of the logarithm) describe an ordinary step; with
    ``straggler_probability`` a step takes up to ``straggler_factor`` times as long.
    ``slow_workers`` gives single workers a factor of their own: ``{3: 2.0}``.
    """

    median_seconds: float = 1.5
    sigma: float = 0.02
    straggler_probability: float = 0.06
    straggler_factor: float = 1.6
    slow_workers: dict[int, float] = field(default_factory=dict)

    def draw(self, rng: np.random.Generator, worker: int) -> float:
        """Return the seconds of one step of ``worker``."""
        seconds = self.median_seconds * float(np.exp(self.sigma * rng.standard_normal()))
        if rng.random() < self.straggler_probability:
            seconds *= 1.0 + (self.straggler_factor - 1.0) * rng.random()
        return seconds * self.slow_workers.get(worker, 1.0)


@dataclass
class Simulation:
    """The events of a simulated training. Times are in (simulated) seconds."""

    mode: str
    num_workers: int
    num_backups: int
    step_seconds: np.ndarray  # of each applied step
    gradients_used: int
    gradients_dropped: int
    staleness: np.ndarray  # of each applied gradient, in steps
    stalled: bool
    worker_steps: np.ndarray  # gradients that each worker sent
    recording: Recording | None = None  # with ``record=True``

    @property
    def seconds(self) -> float:
        """The whole simulated time."""
        return float(self.step_seconds.sum())

    @property
    def steps_per_second(self) -> float:
        """Applied steps per second, after the first, which starts from a cold queue."""
        later = self.step_seconds[1:]
        return float(len(later) / later.sum()) if len(later) and later.sum() else 0.0

    @property
    def median_step_seconds(self) -> float:
        """The median time between two applied steps."""
        return float(np.median(self.step_seconds)) if len(self.step_seconds) else float("nan")

    def as_row(self) -> dict[str, Any]:
        """Return the figures as a row for a table."""
        percentiles = [np.nan] * 3
        if len(self.step_seconds):
            percentiles = np.percentile(self.step_seconds, [10, 50, 90])
        return {
            "mode": self.mode,
            "workers": self.num_workers,
            "backups": self.num_backups,
            "p10_seconds": float(percentiles[0]),
            "median_seconds": float(percentiles[1]),
            "p90_seconds": float(percentiles[2]),
            "steps_per_second": self.steps_per_second,
            "dropped": self.gradients_dropped,
            "mean_staleness": float(self.staleness.mean()) if len(self.staleness) else 0.0,
        }

    def __repr__(self) -> str:
        row = self.as_row()
        return (
            f"Simulation({self.mode}, {self.num_workers} workers of which {self.num_backups} "
            f"backups: {len(self.step_seconds)} steps, median {row['median_seconds']:.3f} s, "
            f"{row['steps_per_second']:.3g} steps/s, {self.gradients_dropped} gradients dropped, "
            f"staleness {row['mean_staleness']:.2f}{', STALLED' if self.stalled else ''})"
        )


# Kinds of events, in the order in which simultaneous ones are taken.
_PULLED, _COMPUTED, _PUSHED, _DIED, _JOINED = range(5)

_PS = "/job:ps/task:0"


class _World:
    def __init__(
        self, machine: SyncMachine, workers: int, latency: Latency, transfer: float, seed: int
    ):
        self.machine = machine
        self.latency = latency
        self.transfer = transfer
        self.rng = np.random.default_rng(seed)
        self.now = 0.0
        self.in_flight = 0  # transfers that share the parameter servers' network now
        self.events: list[tuple[float, int, int, int, int]] = []
        self.count = 0
        self.applied_at: list[float] = []
        self.staleness: list[int] = []
        self.dropped = 0
        self.sent = np.zeros(workers, dtype=np.int64)
        self.recording: Recording | None = None
        #: Of each worker's step: when it got its token, had the parameters, and had its gradient.
        self.moments: dict[int, list[float]] = {}
        self.granted: dict[int, int] = {}
        self.stalled = False

    def at(self, seconds: float, kind: int, worker: int, step: int) -> None:
        self.count += 1
        heapq.heappush(self.events, (seconds, self.count, kind, worker, step))

    def transfer_ends(self) -> float:
        """Return when a transfer that begins now is over: all in flight share the bandwidth."""
        return self.now + self.transfer * self.in_flight

    def carry_out(self, decisions: list[Any]) -> None:
        # Counted first: pulls that begin together slow each other down alike.
        self.in_flight += sum(isinstance(decision, Grant) for decision in decisions)
        for decision in decisions:
            match decision:
                case Grant(worker, step):
                    self.stalled = False
                    self.moments[worker] = [self.now]
                    self.granted[worker] = step
                    self.at(self.transfer_ends(), _PULLED, worker, step)
                case Apply():
                    self.applied_at.append(self.now)
                case Drop():
                    self.dropped += 1
                case Stall():
                    self.stalled = True

    def note(self, worker: int, is_dropped: bool) -> None:
        """Record a worker's step, whose gradient has just arrived."""
        assert self.recording is not None
        token, *later = self.moments[worker]
        if len(later) < 2:  # a gradient of a life before this one
            return
        pulled, computed = later[0], later[-1]
        name = f"/job:worker/task:{worker}"
        self.recording.add_rows(
            name,
            token,
            self.now,
            "dropped" if is_dropped else "applied",
            token if isinstance(self.machine, SyncMachine) else None,
            self.granted[worker],
            [(name, "compute", pulled, computed)],
            [(_PS, name, "parameters", token, pulled), (name, _PS, "gradient", computed, self.now)],
        )

    def run(self, num_steps: int) -> None:
        while self.events and len(self.applied_at) < num_steps:
            self.now, _, kind, worker, step = heapq.heappop(self.events)
            if kind in (_PULLED, _PUSHED):
                self.in_flight -= 1
            if kind in (_PULLED, _COMPUTED, _PUSHED) and worker not in self.machine.alive:
                continue
            if kind in (_PULLED, _COMPUTED):
                self.moments[worker].append(self.now)
            if kind == _PULLED:
                done = self.now + self.latency.draw(self.rng, worker)
                self.at(done, _COMPUTED, worker, step)
            elif kind == _COMPUTED:
                self.in_flight += 1
                self.at(self.transfer_ends(), _PUSHED, worker, step)
            elif kind == _PUSHED:
                self.sent[worker] += 1
                before = self.machine.global_step
                decisions = self.machine.push(worker, step)
                if not isinstance(decisions[0], Drop):
                    self.staleness.append(before - step)
                if self.recording is not None:
                    self.note(worker, isinstance(decisions[0], Drop))
                self.carry_out(decisions)
                self.carry_out(self.machine.want_token(worker))
            elif kind == _DIED:
                self.carry_out(self.machine.died(worker))
            elif kind == _JOINED:
                self.carry_out(self.machine.joined(worker))


class _AsyncMachine:
    """Asynchronous training in the same terms: every gradient counts, tokens never end."""

    def __init__(self) -> None:
        self.global_step = 0
        self.alive: set[int] = set()

    def want_token(self, worker: int) -> list[Any]:
        return [Grant(worker, self.global_step)] if worker in self.alive else []

    def push(self, worker: int, step: int) -> list[Any]:
        self.global_step += 1
        return [Apply(self.global_step, (worker,))]

    def died(self, worker: int) -> list[Any]:
        self.alive.discard(worker)
        return [] if self.alive else [Stall(0, 1)]

    def joined(self, worker: int) -> list[Any]:
        self.alive.add(worker)
        return self.want_token(worker)


def simulate(
    workers: int = 50,
    backups: int = 0,
    *,
    steps: int = 100,
    mode: str = "sync",
    latency: Latency | None = None,
    transfer_seconds: float = 0.004,
    deaths: dict[int, float] | None = None,
    restarts: dict[int, float] | None = None,
    seed: int = 0,
    record: bool = False,
) -> Simulation:
    """Simulate data-parallel training: ``workers`` gradients a step, ``backups`` more workers.

    ``mode`` is "sync" (the fastest ``workers`` gradients of each step count) or "async" (every
    gradient is applied as it comes). ``transfer_seconds`` is what one pull or push takes at the
    parameter servers. ``deaths`` and ``restarts`` give, by worker, the second at which it dies or
    is back. With ``record`` each worker's steps are kept in ``recording``, for `ClusterView`.
    Raises ValueError for numbers that make no cluster.
    """
    if workers < 1 or backups < 0 or steps < 1:
        raise ValueError(
            "simulate: there must be at least one worker and one step and no negative number of "
            f"backups; got workers={workers}, backups={backups}, steps={steps}."
        )
    if mode not in ("sync", "async"):
        raise ValueError(f"simulate: mode must be 'sync' or 'async', got {mode!r}.")
    total = workers + backups
    machine: Any = SyncMachine(workers, total) if mode == "sync" else _AsyncMachine()
    world = _World(machine, total, latency or Latency(), transfer_seconds, seed)
    if record:
        world.recording = Recording(max_steps=steps * total)
        world.recording.tasks += [_PS, *(f"/job:worker/task:{i}" for i in range(total))]
    world.carry_out([grant for worker in range(total) for grant in machine.joined(worker)])
    for kind, times in ((_DIED, deaths or {}), (_JOINED, restarts or {})):
        for worker, seconds in times.items():
            if not 0 <= worker < total:
                raise ValueError(f"simulate: there is no worker {worker} among {total}.")
            world.at(seconds, kind, worker, 0)
    world.run(steps)
    return Simulation(
        mode=mode,
        num_workers=total,
        num_backups=backups if mode == "sync" else 0,
        step_seconds=np.diff([0.0, *world.applied_at]),
        gradients_used=len(world.staleness),
        gradients_dropped=world.dropped,
        staleness=np.asarray(world.staleness),
        stalled=len(world.applied_at) < steps,
        worker_steps=world.sent,
        recording=world.recording,
    )


def backup_curve(
    workers: int = 50, backups: Iterable[int] = range(7), **options: Any
) -> list[dict[str, Any]]:
    """Return one row per number of backup workers, as in figure 8 of the paper.

    ``speedup`` is t(0)/t(b); ``normalized_speedup`` is t(0)/t(b) * workers/(workers+b), the gain
    per machine. ``options`` go to `simulate`.
    """
    rows = []
    first = None
    for count in backups:
        row = simulate(workers, count, **options).as_row()
        if first is None:
            first = simulate(workers, 0, **options).as_row() if count else row
        row["speedup"] = first["median_seconds"] / row["median_seconds"]
        row["normalized_speedup"] = row["speedup"] * workers / (workers + count)
        rows.append(row)
    return rows
