"""Threads for a machine that has none: a task that would block lets the others run.

A `Task` is a thread whose body is a generator: it yields a `Wait` where it has to wait, and nothing to
let others have a turn. Where threads can be started it is an ordinary thread, which blocks at each
`Wait`. Where they cannot (`capabilities.THREADS`), the `scheduler` keeps the tasks, and gives them
turns, one step each, one task after the other,

- while something waits: a dequeue of the main program, `Coordinator.join`, `Thread.join` (`wait`);
- after each `Session.run` of the main program, if they only run sessions (`gives_turns`);
- between the cells of a notebook, from the event loop.

When no task can go on and none waits for a time, the wait is a deadlock: an error that
names all who wait.

A step of a task must not block: whoever waits for it is further down on the same stack. `finish` runs it: a run of a
session that has to wait is left (`Suspended`) with all that it has computed, and is taken up where it
was when it can go on. See `cooperative_step`.
"""

from __future__ import annotations

import collections
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from types import FrameType
from typing import Any, TypeVar

from dataflow.capabilities import THREADS, why_not
from dataflow.errors import FailedPreconditionError
from dataflow.graph import default_stacks
from dataflow.kernels import mutex
from dataflow.kernels.would_block import WouldBlock

Result = TypeVar("Result")

#: The longest sleep, so that an interrupt ends it on every system.
_SLICE_SECONDS = 0.05
#: How long tasks may run before the event loop gets its turn.
_LOOP_SECONDS = 0.01


class Wait:
    """The condition that a task waits for.

    ``what`` says it, as the end of a sentence: "waits for ...". ``ready()`` is true when it need not
    wait any longer; ``until`` (`time.monotonic`) is when it goes on all the same. ``block`` waits, on
    a machine with threads.
    """

    __slots__ = ("block", "ready", "until", "what")

    def __init__(
        self,
        what: str,
        ready: Callable[[], bool],
        until: float | None = None,
        block: Callable[[], object] | None = None,
    ) -> None:
        self.what, self.ready, self.until, self.block = what, ready, until, block

    def is_over(self) -> bool:
        """Whether who waits can go on."""
        return self.ready() or (self.until is not None and time.monotonic() >= self.until)


class Suspended(BaseException):
    """A run is left because it has to wait; ``resume`` goes on with it and returns its results.

    Without ``resume`` it is to begin again; what it took from queues was put back.
    """

    def __init__(self, wait: Wait, resume: Callable[[], Any] | None = None) -> None:
        super().__init__(wait.what)
        self.wait, self.resume = wait, resume


class Step:
    """One call that a task makes with `finish`.

    ``resumable``: it is one run of a session and nothing else, so that it may be left and resumed.
    ``parked`` are the waits of kernels that are done but for the end of their wait; ``undo`` puts back
    what was taken from queues.
    """

    __slots__ = ("parked", "resumable", "undo")

    def __init__(self, resumable: bool) -> None:
        self.resumable = resumable
        self.parked: list[WouldBlock] = []
        self.undo: list[Callable[[], None]] = []


class Task(threading.Thread):
    """A thread whose body is a generator (see the module); ``steps(*args)`` makes it."""

    #: Whether its steps are functions of others, not only runs of a session.
    calls_functions = False
    #: Whether others may wait for what it does. What only looks (a widget) does not put off a deadlock.
    provides = True
    #: Whether it goes on for a moment at each run of the main program, as a process of its own would.
    shares_time = False

    def __init__(
        self,
        steps: Callable[..., Iterator[Wait | None]] | None = None,
        args: tuple[Any, ...] = (),
        name: str | None = None,
        daemon: bool | None = None,
    ) -> None:
        super().__init__(name=name, daemon=daemon)
        self._steps, self._steps_args = steps, args

    def steps(self) -> Iterator[Wait | None]:
        """The body; a subclass may override it."""
        if self._steps is not None:
            yield from self._steps(*self._steps_args)

    def is_current(self) -> bool:
        """Whether the caller runs in it."""
        if THREADS:
            return threading.current_thread() is self
        return bool(scheduler.running) and scheduler.running[-1] is self

    def run(self) -> None:
        """The body in a thread of its own."""
        for wait in self.steps():
            if wait is not None and wait.block is not None:
                wait.block()

    if not THREADS:
        #: What it waits for, and what belongs to it as the default graph belongs to a thread.
        wait: Wait | None = None
        state = "new"
        step: Step | None = None

        def start(self) -> None:
            """Hands the body to the scheduler. Raises `RuntimeError` when called twice."""
            if self.state != "new":
                raise RuntimeError("threads can only be started once")
            self.state = "alive"
            self.contexts: list[Any] = [None] * len(_swaps)
            self.body = self.steps()
            scheduler.add(self)

        def is_alive(self) -> bool:
            """Whether it has been started and has not ended; asking gives it a turn."""
            scheduler.let_run()
            return self.state == "alive"

        def join(self, timeout: float | None = None) -> None:
            """Lets tasks run until this one has ended, or ``timeout`` seconds have passed."""
            if self.state == "new":
                raise RuntimeError("cannot join thread before it is started")
            if self in scheduler.running:
                raise RuntimeError("cannot join current thread")
            until = None if timeout is None else time.monotonic() + max(0.0, timeout)
            scheduler.wait(
                Wait(f"the end of thread {self.name!r}", lambda: self.state == "ended", until)
            )

        def __repr__(self) -> str:
            return f"<{type(self).__name__}({self.name}, {self.state}, cooperative)>"


#: Swaps thread-local state: installs a task's (None at first) and returns the previous one.
_swaps: list[Callable[[Any], Any]] = [default_stacks.swap, mutex.swap]


def belongs_to_thread(swap: Callable[[Any], Any]) -> None:
    """Registers what each task has for itself, as each thread would."""
    _swaps.append(swap)


class Scheduler:
    """The tasks of a machine without threads (see the module).

    ``running`` are the tasks in the middle of a turn, the innermost last: more than one where a
    user's function waits within a turn. ``depth`` counts the plans that run in the current one.
    """

    def __init__(self) -> None:
        self.tasks: collections.deque[Task] = collections.deque()
        self.running: list[Task] = []
        self.waits: list[tuple[str, Wait]] = []
        self.depth = 0
        self._interrupts = _Interrupts(self)
        self._loop: Any = None

    @property
    def step(self) -> Step | None:
        """The function that the current task calls with `finish`; None in the main program."""
        return self.running[-1].step if self.running else None

    def add(self, task: Task) -> None:
        """Lets a task run from now on."""
        self.tasks.append(task)
        self._ask_event_loop()

    def let_run(self, inside_library: bool = False) -> None:
        """Gives each task a turn, unless this is one.

        ``inside_library``: the caller may hold a lock, as `Saver.save` does around its runs, so tasks
        that call functions, which might ask for it, have no turn.
        """
        if self.tasks and not self.running and not self.waits:
            with self._interrupts:
                self._round(None, inside_library)
            self._ask_event_loop()

    def share_time(self) -> None:
        """Gives tasks that stand for other processes a moment, in the main program."""
        if not self.running and not self.waits and any(task.shares_time for task in self.tasks):
            until = time.monotonic() + _SLICE_SECONDS
            wait = Wait(
                "the others' moment to pass",
                lambda: not any(task.shares_time for task in self.tasks),
                until,
            )
            self.wait(wait, sleeps=True)

    def wait(self, wait: Wait, sleeps: bool = False) -> bool:
        """Lets tasks run until the wait is over; False when its time was up.

        ``sleeps``: the time passes really. Otherwise the wait is given up once nothing more can happen
        in it. Raises `FailedPreconditionError` for a wait without a limit that nothing can end.
        """
        who = f"thread {self.running[-1].name!r}" if self.running else "the main program"
        self.waits.append((who, wait))
        try:
            with self._interrupts:
                while not wait.ready():
                    if wait.until is not None and time.monotonic() >= wait.until:
                        return False
                    if self._round(wait.ready):
                        continue
                    at = self._next_time(all_tasks=False)
                    if at is None and wait.until is None:
                        raise self._deadlock()
                    if at is None and not sleeps:
                        return False
                    times = [t for t in (at, wait.until) if t is not None]
                    _sleep_through(min(_SLICE_SECONDS, max(0.0, min(times) - time.monotonic())))
            return True
        finally:
            self.waits.pop()
            self._ask_event_loop()

    def _round(self, enough: Callable[[], bool] | None, only_runs: bool = False) -> bool:
        """One turn for each task, in order, until ``enough()``; whether any of them did something."""
        ran = False
        for _ in range(len(self.tasks)):
            if not self.tasks:
                break
            task = self.tasks[0]
            self.tasks.rotate(-1)
            if not (only_runs and task.calls_functions) and self._turn(task):
                ran = True
                self._interrupts.deliver()
                if enough is not None and enough():
                    break
        return ran

    def _turn(self, task: Task) -> bool:
        if task in self.running or (task.wait is not None and not task.wait.is_over()):
            return False
        self.running.append(task)
        depth, self.depth = self.depth, 0
        outer = [swap(mine) for swap, mine in zip(_swaps, task.contexts, strict=True)]
        ended = True
        try:
            task.wait = next(task.body)
            ended = False
        except (StopIteration, SystemExit):
            pass
        except Exception:
            kind, error, where = sys.exc_info()
            threading.excepthook(threading.ExceptHookArgs((kind, error, where, task)))
        finally:
            task.contexts = [swap(theirs) for swap, theirs in zip(_swaps, outer, strict=True)]
            self.depth = depth
            self.running.pop()
            if ended:
                task.state = "ended"
                self.tasks.remove(task)
        return True

    def _next_time(self, all_tasks: bool = True) -> float | None:
        """When a task, of all or of those that provide something, goes on by itself; None where none does."""
        times = [
            task.wait.until
            for task in self.tasks
            if task not in self.running and task.wait is not None and task.wait.until is not None
            if all_tasks or task.provides
        ]
        return min(times, default=None)

    def _deadlock(self) -> FailedPreconditionError:
        """The error that says who waits for what."""
        (who, wait), *_ = reversed(self.waits)
        others = [f"  {name} waits for {w.what}" for name, w in self.waits[:-1]]
        others += [
            f"  thread {task.name!r} waits for {task.wait.what}"
            for task in self.tasks
            if task not in self.running and task.wait is not None and task.provides
        ]
        listed = "\n" + "\n".join(others) if others else " no other thread is alive."
        return FailedPreconditionError(
            None,
            None,
            f"Deadlock: {who} waits for {wait.what}, and nobody can provide it:{listed}\n"
            f"  As {why_not()}, only threads of tf.train (queue runners, coordinators' loopers, "
            "background jobs) run while something waits. Start those that provide it before, or "
            "provide it in an earlier run.",
        )

    # ---- the event loop of a notebook ---------------------------------------------------------

    def _ask_event_loop(self) -> None:
        """Has tasks run between the cells, where an event loop runs this program."""
        if self._loop is not None or not self.tasks or "asyncio" not in sys.modules:
            return
        import asyncio

        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._loop.call_soon(self._between_cells)

    def _between_cells(self) -> None:
        loop, self._loop = self._loop, None
        if self.running or self.waits:
            return
        end = time.monotonic() + _LOOP_SECONDS
        with self._interrupts:
            while (ran := self._round(None)) and time.monotonic() < end:
                pass
        at = self._next_time()
        if self.tasks and (ran or at is not None):
            self._loop = loop
            later = 0.0 if ran or at is None else max(0.0, at - time.monotonic())
            loop.call_later(later, self._between_cells)


class _Interrupts:
    """Ctrl-C while a task has its turn waits for the end of that turn, and reaches who waits.

    With threads it reaches the main thread only, and never breaks off a step of another. A second one
    breaks off at once: the turn may be what hangs.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._entered = 0
        self._former: Any = None
        self._came: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        self._entered += 1
        if self._entered > 1:
            return
        self._former = None
        if threading.current_thread() is threading.main_thread():
            former = signal.getsignal(signal.SIGINT)
            if callable(former):
                self._former = former
                signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        self._entered -= 1
        if self._entered == 0 and self._former is not None:
            signal.signal(signal.SIGINT, self._former)
            self.deliver()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._scheduler.running and self._came is None:
            self._came = number, frame
        else:
            self._came = None
            self._former(number, frame)

    def deliver(self) -> None:
        """Passes an interrupt on that came during a turn."""
        if self._came is not None and not self._scheduler.running:
            came, self._came = self._came, None
            self._former(*came)


scheduler = Scheduler()

#: `time.sleep` as the system has it. In a browser Pyodide puts another in its place where it can, which leaves
#: the program, in the middle of a run as well, for what else the page has to do: tasks among it.
_sleep_through: Callable[[float], None] = getattr(time.sleep, "__wrapped__", time.sleep)


def finish(
    call: Callable[[], Result], resumable: bool = True
) -> Generator[Wait | None, None, Result]:
    """The result of a call that a task makes; yields while it has to wait.

    ``resumable``: the call is one run of a session and nothing else. Other functions cannot be left
    in the middle: while they wait, tasks run on top of them.
    """
    if THREADS or not scheduler.running:
        return call()
    task = scheduler.running[-1]
    while True:
        step = task.step = Step(resumable)
        try:
            value = call()
        except Suspended as suspended:
            if suspended.resume is not None:
                call = suspended.resume
            else:
                for undo in reversed(step.undo):
                    undo()
            wait: Wait | None = suspended.wait
        else:
            wait = None
        finally:
            task.step = None
        if wait is not None:
            yield wait
            continue
        for parked in step.parked:
            yield parked.wait
            assert parked.withdraw is not None
            error = parked.withdraw()
            if error is not None:
                raise error
        return value


def block_on(
    condition: threading.Condition,
    what: str,
    ready: Callable[[], bool],
    seconds: float | None = None,
) -> bool:
    """Waits, in the main program or in a user's function, until ``ready()``; False after ``seconds``.

    ``condition`` is notified of what may make it ready. An interrupt ends the wait.
    """
    end = None if seconds is None else time.monotonic() + seconds
    if not THREADS:
        return scheduler.wait(Wait(what, ready, end))
    with condition:
        while not ready():
            left = 0.2 if end is None else min(0.2, end - time.monotonic())
            if left <= 0:
                return False
            condition.wait(left)
    return True


def sleep(seconds: float) -> None:
    """As `time.sleep`; tasks run meanwhile where there are no threads."""
    if THREADS:
        _sleep_through(seconds)
    else:
        until = time.monotonic() + seconds
        scheduler.wait(Wait("the end of a sleep", lambda: False, until), sleeps=True)


def page_sleep(seconds: float) -> None:
    """What `time.sleep` is in a page: tasks have turns while the main program sleeps, and none in a run or a turn.

    Raises `ValueError` for less than 0 seconds.
    """
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    if scheduler.running or scheduler.waits or scheduler.depth or not scheduler.tasks:
        _sleep_through(seconds)
    else:
        sleep(seconds)


if sys.platform == "emscripten":
    time.sleep = page_sleep


def gives_turns(run: Callable[..., Result]) -> Callable[..., Result]:
    """A run after which the tasks have a turn, where there are no threads."""
    if THREADS:
        return run

    @functools.wraps(run)
    def run_and_let_run(*args: object, **kwargs: object) -> Result:
        result = run(*args, **kwargs)
        if scheduler.tasks and scheduler.depth == 0:
            scheduler.let_run(inside_library=True)
        return result

    return run_and_let_run
