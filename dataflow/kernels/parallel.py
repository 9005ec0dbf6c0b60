"""Work of one kernel, divided among threads: NumPy and BLAS let go of the interpreter's lock.

One thread for each processor that BLAS may use. The calling thread takes part; pieces are handed
out as threads become free, so a processor that is busy elsewhere does fewer of them, and nobody
waits for it by spinning, as threads inside BLAS do.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dataflow.kernels.blas import num_threads, single_threaded


@functools.cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """The helpers of this process (a fork gets its own)."""
    return ThreadPoolExecutor(max(1, num_threads() - 1), thread_name_prefix="dataflow-kernel")


def num_workers() -> int:
    """How many threads a kernel may use, the caller included."""
    return num_threads()


def run_pieces(pieces: Sequence[Any], make_worker: Callable[[], Callable[[Any], None]]) -> None:
    """Calls ``worker(piece)`` for every piece; each thread makes its own worker, with its scratch.

    The first error is raised when all threads have stopped.
    """
    helpers = min(num_workers(), len(pieces)) - 1
    if helpers < 1:
        worker = make_worker()
        for piece in pieces:
            worker(piece)
        return
    remaining = iter(pieces)
    lock = threading.Lock()

    def work() -> None:
        worker = None
        while True:
            with lock:
                piece = next(remaining, None)
            if piece is None:
                return
            if worker is None:
                worker = make_worker()
            worker(piece)

    with single_threaded():
        pool = _pool(os.getpid())
        futures: list[Future[None]] = [pool.submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            # A helper that has not started yet has nothing left to do.
            started = [f for f in futures if not f.cancel()]
            errors = [f.exception() for f in started]
    for error in errors:
        if error is not None:
            raise error
