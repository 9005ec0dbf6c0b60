"""How a master's step waits where no thread can start; time and connections are the test's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dataflow.cluster.execution import master_step
from dataflow.cluster.execution.master_step import MasterStep
from dataflow.cluster.execution.task_load import TaskLoad

HERE, PS, OTHER = "/job:worker/task:0", "/job:ps/task:0", "/job:ps/task:1"
START, DELAY = 100.0, 3.0


class Connection:
    """As much of a connection as a step looks at."""

    def __init__(self, **state: bool) -> None:
        self.closed, self.ended = state.get("closed", False), state.get("ended", False)
        self._has_frame = state.get("frame", False)

    def has_frame(self) -> bool:
        return self._has_frame

    def fileno(self) -> int:
        return -1


@pytest.fixture
def step() -> MasterStep:
    master: Any = SimpleNamespace(task=HERE, load=TaskLoad())
    return MasterStep(master, SimpleNamespace(), 1, None, 1)  # type: ignore[arg-type]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=START, monotonic=lambda: clock.now)
    monkeypatch.setattr(master_step, "time", clock)
    return clock


@pytest.mark.parametrize(("has_held", "waits"), [(False, [START + DELAY]), (True, [])])
def test_a_delayed_task_begins_when_its_delay_is_over(
    has_held: bool,
    waits: list[float],
    step: MasterStep,
    clock: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step.master.load.delay_seconds, step.master.load.has_held = DELAY, has_held
    seen: list[Any] = []

    def pass_time(wait: Any) -> None:
        assert wait.what.endswith("slowed down") and not wait.ready()
        seen.append(wait.until)
        clock.now = wait.until if len(seen) > 1 else START + 1  # woken too early once

    monkeypatch.setattr(master_step, "leave_or_wait", pass_time)
    step._hold()
    assert seen == 2 * waits
    step._hold()  # called again it goes on with the same delay
    assert seen == 2 * waits


def test_a_paused_task_begins_when_it_is_resumed(
    step: MasterStep, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    step.master.load._paused = True

    def resume(wait: Any) -> None:
        assert wait.what.endswith("paused") and wait.until is None and not wait.ready()
        step.master.load._paused = False
        assert wait.ready()

    monkeypatch.setattr(master_step, "leave_or_wait", resume)
    step._hold()
    assert not step.master.load.is_paused


@pytest.mark.parametrize("state", ["frame", "closed", "ended", "complete", "error", ""])
def test_what_a_step_waits_for(
    state: str, step: MasterStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[str] = []
    step.connections = {PS: Connection(), OTHER: Connection(**{state: True})}  # type: ignore[dict-item]
    step.complete = state == "complete"
    step.error = ValueError() if state == "error" else None
    monkeypatch.setattr(step, "_receive_from", received.append)
    monkeypatch.setattr(step, "_late", lambda: received.append("late"))
    monkeypatch.setattr(master_step, "wait_until", lambda what, ready, *_, **__: ready())
    step._receive_in_process([PS, OTHER])
    nothing = [] if state in ("complete", "error") else ["late"]
    assert received == ([OTHER] if state in ("frame", "closed", "ended") else nothing)


@pytest.mark.parametrize("end", ["complete", "error"])
def test_nothing_is_received_once_the_step_is_over(
    end: str, step: MasterStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[str] = []

    def receive(task: str) -> None:
        received.append(task)
        setattr(step, end, True)

    step.connections = {PS: Connection(frame=True), OTHER: Connection(frame=True)}  # type: ignore[dict-item]
    monkeypatch.setattr(step, "_receive_from", receive)
    monkeypatch.setattr(master_step, "wait_until", lambda what, ready, *_, **__: ready())
    step._receive_in_process([PS, OTHER])
    assert received == [PS]


def test_a_connection_that_another_thread_closed_is_received_from_at_once(
    step: MasterStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[str] = []
    step.connections = {PS: Connection()}  # type: ignore[dict-item]
    monkeypatch.setattr(step, "_receive_from", received.append)
    assert step._wait([PS], None) == [] and received == [PS]
