"""`Coordinator`: stops a set of threads together and hands on what went wrong in one of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from dataflow import errors
from dataflow.capabilities import THREADS
from dataflow.runtime.cooperative import Task, Wait, finish, scheduler


class Coordinator:
    """Lets several threads stop together.

    Threads ask ``should_stop()`` and call ``request_stop()``; the main one calls ``join()``, which
    raises the first exception that a thread reported. Exceptions of
    ``clean_stop_exception_types`` (`OutOfRangeError` by default) count as an ordinary end.
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()
        self._blocked_threads: set[threading.Thread] = set()

    def _clean(self, error: Any) -> Any:
        if isinstance(error, tuple):  # sys.exc_info()
            error = error[1]
        return None if isinstance(error, self._clean_stop_exception_types) else error

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop; ``ex`` (an exception or ``exc_info``) is raised by ``join``.

        After ``join`` returned, ``ex`` is raised at once. Raises `TypeError` for what is neither.
        """
        if not (ex is None or isinstance(ex, (BaseException, tuple))):
            raise TypeError(
                f"request_stop takes an exception or sys.exc_info(), got {type(ex).__name__} {ex!r}."
            )
        with self._lock:
            error = self._clean(ex)
            if self._joined and error is not None:
                raise error
            if not self._stop_event.is_set():
                self._error = error
                self._stop_event.set()

    def clear_stop(self) -> None:
        """Forgets a request to stop, so that new threads may start."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """True once somebody asked to stop."""
        if not THREADS:
            scheduler.let_run()  # who only asks must not keep the others from running
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Exceptions inside the block ask all threads to stop."""
        try:
            yield
        except Exception as e:
            self.request_stop(e)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits for a request to stop; False when ``timeout`` (seconds) passed before."""
        if not THREADS:
            return scheduler.wait(self._wait(timeout), sleeps=True)
        return self._stop_event.wait(timeout)

    def _wait(self, timeout: float | None = None) -> Wait:
        """The wait of a thread for a request to stop, at most ``timeout`` seconds."""
        until = None if timeout is None else time.monotonic() + max(0.0, timeout)
        event = self._stop_event
        return Wait("a request to stop", event.is_set, until, lambda: event.wait(timeout))

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread for ``join`` to wait for."""
        with self._lock:
            self._registered_threads.add(thread)

    def _expect_blocked(self, threads: Iterable[threading.Thread]) -> None:
        """`join` waits for these no more: only the end of their session is sure to wake them."""
        with self._lock:
            self._registered_threads.difference_update(threads)
            self._blocked_threads.update(threads)

    def join(
        self,
        threads: Any = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for the threads to end, and raises the exception that one of them reported.

        Waits until somebody asks to stop or all threads have ended; then at most
        ``stop_grace_period_secs`` for the rest. Raises `RuntimeError` when threads are still alive
        then, unless ``ignore_live_threads``.
        """
        with self._lock:
            waiting = set(self._registered_threads)
            waiting.update(threads or ())
        if THREADS:
            while any(t.is_alive() for t in waiting) and not self._stop_event.wait(0.05):
                pass
        else:
            scheduler.wait(
                Wait(
                    "the end of the coordinator's threads, or a request to stop",
                    lambda: self._stop_event.is_set() or not any(map(_is_alive, waiting)),
                )
            )
        end = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            if thread.is_alive():  # one that was never started cannot be joined
                thread.join(max(0.0, end - time.monotonic()))
        alive = [t.name for t in waiting if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            error = self._error
        if error is not None:
            raise error
        if alive and not ignore_live_threads:
            raise RuntimeError(
                "Coordinator stopped with threads still running: " + " ".join(sorted(alive))
            )

    @property
    def joined(self) -> bool:
        """True after ``join``."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the exception that was given to ``request_stop``, if there was one."""
        with self._lock:
            if self._error is not None:
                raise self._error


def _is_alive(thread: threading.Thread) -> bool:
    """Whether it is, without giving it a turn."""
    return thread.state == "alive" if isinstance(thread, Task) else thread.is_alive()


class LooperThread(Task):
    """A daemon thread that calls ``target`` (or ``run_loop``) again and again until told to stop.

    ``timer_interval_secs``: time between the starts of two calls; ``None``: without a pause.
    """

    calls_functions = True

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Any = None,
        args: Any = None,
        kwargs: Any = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._call = target
        self._call_args = tuple(args or ())
        self._call_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Any,
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Makes a looper and starts it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def steps(self) -> Iterator[Wait | None]:
        """The loop; exceptions go to the coordinator."""
        with self._coord.stop_on_exception():
            yield from finish(self.start_loop, resumable=False)
            next_time = time.monotonic()
            while not self._coord.should_stop():
                if self._interval is None:
                    yield None
                else:
                    yield self._coord._wait(next_time - time.monotonic())
                    if self._coord.should_stop():
                        break
                    next_time += self._interval
                yield from finish(self.run_loop, resumable=False)
            yield from finish(self.stop_loop, resumable=False)

    def start_loop(self) -> None:
        """Called when the thread starts."""

    def stop_loop(self) -> None:
        """Called when the thread stops."""

    def run_loop(self) -> None:
        """Called in every round."""
        if self._call:
            self._call(*self._call_args, **self._call_kwargs)
