"""Batches made ahead by threads: `OrderedEnqueuer` for sequences, `GeneratorEnqueuer` for generators."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np


def threadsafe_generator(f: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """A generator function whose generators several threads may ask, one at a time."""

    @functools.wraps(f)
    def make(*args: Any, **kwargs: Any) -> Iterator[Any]:
        return _Locked(f(*args, **kwargs))

    return make


class _Locked:
    """A generator behind a lock."""

    def __init__(self, elements: Iterator[Any]) -> None:
        self._elements = elements
        self._lock = threading.Lock()

    def __iter__(self) -> _Locked:
        return self

    def __next__(self) -> Any:
        with self._lock:
            return next(self._elements)


def terminate_keras_multiprocessing_pools(
    grace_period: float = 0.1, use_sigkill: bool = False
) -> list[str]:
    """Descriptions of processes that could not be ended: none, as threads make batches here."""
    return []


def dont_use_multiprocessing_pool(func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, within which no pools of processes make batches: here none ever do."""
    return func


class SequenceEnqueuer:
    """``start``, then ``next(get())`` for each batch, then ``stop``.

    ``use_multiprocessing`` is accepted; the work is done by threads.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.queue: queue.Queue[Any] = queue.Queue()
        self._workers: ThreadPoolExecutor | None = None

    def is_running(self) -> bool:
        """Whether it was started, and not stopped since."""
        return self._thread is not None and not self._stopping.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begins: ``workers`` threads make batches, at most ``max_queue_size`` ahead."""
        self._stopping.clear()
        self.queue = queue.Queue(max(1, max_queue_size))
        self._workers = ThreadPoolExecutor(max(1, workers))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _tasks(self) -> Iterator[Any]:
        """Functions that make one batch each; None waits for all that were begun."""
        raise NotImplementedError

    def _run(self) -> None:
        assert self._workers is not None
        begun: list[Future[Any]] = []
        for task in self._tasks():
            if task is None:
                wait(begun)
                begun.clear()
                continue
            future = self._workers.submit(task)
            begun = [*(one for one in begun if not one.done()), future]
            while not self._stopping.is_set():
                try:
                    self.queue.put(future, timeout=0.05)
                    break
                except queue.Full:
                    continue
            if self._stopping.is_set():
                return

    def stop(self, timeout: float | None = None) -> None:
        """Ends the threads; ``timeout`` in seconds."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout)
        if self._workers is not None:
            self._workers.shutdown(wait=False, cancel_futures=True)

    def get(self) -> Iterator[Any]:
        """The batches in order; an error from making one is raised here, and ends the work."""
        while self.is_running():
            try:
                future: Future[Any] = self.queue.get(timeout=0.05)
            except queue.Empty:
                continue
            try:
                batch = future.result()
            except StopIteration:
                self.stop()
                return
            except BaseException:
                self.stop()
                raise
            if batch is not None:
                yield batch


class OrderedEnqueuer(SequenceEnqueuer):
    """The batches of a `Sequence`, again and again; with ``shuffle`` each time in another order."""

    def __init__(
        self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False
    ) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _tasks(self) -> Iterator[Any]:
        while True:
            order = np.arange(len(self.sequence))
            if self.shuffle:
                np.random.shuffle(order)
            for index in order.tolist():
                yield lambda i=index: self.sequence[i]
            yield None  # what comes now may change the sequence
            self.sequence.on_epoch_end()


class GeneratorEnqueuer(SequenceEnqueuer):
    """The batches of a generator, which one thread at a time asks for the next."""

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self._lock = threading.Lock()

    def _next(self) -> Any:
        with self._lock:
            return next(self.sequence)

    def _tasks(self) -> Iterator[Any]:
        while True:
            yield self._next
