"""The rest of a step one of whose ops has to wait, on a machine without threads.

As in `waiting`, lines that do not depend on the op run before it. When no line is left that can, the
step waits: in the main program tasks run meanwhile; the step of a task is `Suspended`, and goes on
from here later.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from dataflow.capabilities import THREADS
from dataflow.errors import DeadlineExceededError, FailedPreconditionError
from dataflow.kernels.would_block import WouldBlock
from dataflow.runtime.cancellation import here
from dataflow.runtime.cooperative import Suspended, Wait, scheduler
from dataflow.runtime.waiting import HandedOver, Overlap, Rest

Result = TypeVar("Result")


def counted(function: Callable[..., Result]) -> Callable[..., Result]:
    """The function of a plan, which tells the scheduler while it runs, where there are no threads."""
    if THREADS:
        return function

    def run(*arguments: object) -> Result:
        outer = here.may_leave, here.kept
        here.may_leave, here.kept = False, None  # the kernel around this plan cannot be left now
        scheduler.depth += 1
        try:
            return function(*arguments)
        finally:
            scheduler.depth -= 1
            here.may_leave, here.kept = outer

    return run


class CooperativeRest(Rest):
    """As `Rest`, in one thread. ``blocked`` are the lines whose op waits, by number."""

    def __init__(
        self, overlap: Overlap, frame: FrameType, first: WouldBlock, kept: dict[str, Any]
    ) -> None:
        super().__init__(overlap, frame)
        self.blocked: dict[int, WouldBlock] = {self.first: first}
        #: State that the kernels of blocked lines keep (`KernelContext.carried`).
        self.kept: dict[int, dict[Any, Any]] = {self.first: kept}
        self.late: list[Wait] = []

    def finish(self, handed: HandedOver | None = None) -> Any:
        """Runs the rest; returns the plan's results. Raises `Suspended` in a task's own run."""
        outer = here.waiter, here.deadline, here.may_leave, here.kept
        here.waiter, here.deadline = None, self.deadline
        try:
            while True:
                self._run_what_can()
                if self.error is not None or not (self.blocked or self.left):
                    break
                self._wait()
        except Suspended:
            raise
        except BaseException as e:  # the cell was interrupted, or there is a deadlock
            self.fail(e)
            self._withdraw_all()
            raise
        finally:
            here.waiter, here.deadline, here.may_leave, here.kept = outer
        self._withdraw_all()
        return self._result()

    def _wait(self) -> None:
        """Until a blocked line can go on, which may be at once."""
        waits = [blocked.wait for blocked in self.blocked.values()]
        limits = [wait.until for wait in waits if wait.until is not None]
        wait = Wait(
            " and ".join(wait.what for wait in waits),
            lambda: any(wait.is_over() for wait in waits),
            min(limits, default=None),
        )
        step = scheduler.step
        if step is not None and step.resumable and scheduler.depth == 0:
            raise Suspended(wait, lambda: self.overlap.resume(self))
        try:
            in_time = scheduler.wait(wait)
        except FailedPreconditionError as e:  # no task can provide it
            i = min(self.blocked)
            self._run_line(i, self.overlap.code(i, "raise error"), {"error": e})
            return
        if not in_time:
            # Nothing can happen before the time is up: so it is now.
            for blocked in waits:
                if blocked.until == wait.until:
                    here.deadline = 0.0
                    blocked.ready = lambda: True
                    self.late.append(blocked)

    def _run_what_can(self) -> None:
        """Runs all lines that can."""
        for number in sorted(self.blocked):
            if self.error is None and self.blocked[number].wait.is_over():
                self._again(number, self.blocked.pop(number))
        while (i := self._next()) is not None:
            self._run_line(i, self.overlap.code(i), self.globals)

    def _again(self, i: int, blocked: WouldBlock) -> None:
        if not blocked.in_line:
            self._run_line(i, self.overlap.code(i), self.globals)
            return
        assert blocked.withdraw is not None
        wait = blocked.wait
        is_late = wait in self.late or not wait.ready()
        error = blocked.withdraw()
        if error is not None and is_late:
            error = DeadlineExceededError(
                None, None, f"{wait.what} was still waiting when its run timed out."
            )
        if error is None:
            self._finish(i)
        else:  # by the line, so that its node is named
            self._run_line(i, self.overlap.code(i, "raise error"), {"error": error})

    def _run_line(self, i: int, code: CodeType, names: dict[str, Any]) -> None:
        here.may_leave = True
        here.kept = self.kept.setdefault(i, {})
        scheduler.depth += 1
        try:
            exec(code, names, self.values)
        except WouldBlock as e:
            self.blocked[i] = e
            return
        except Exception as e:
            self.fail(e)
        finally:
            scheduler.depth -= 1
        del self.kept[i]
        self._finish(i)

    def _withdraw_all(self) -> None:
        """The step has ended: ops that still wait leave their places."""
        for blocked in self.blocked.values():
            if blocked.withdraw is not None:
                blocked.withdraw()
        self.blocked.clear()
