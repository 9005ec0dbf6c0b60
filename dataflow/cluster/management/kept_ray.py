"""Keeps a private Ray for a while between two launches, so that the next one uses it again.

Each start of a Ray leaves about one gRPC socket and some memory in the process that started it (Ray
2.60, measured over fifty rounds: 1.2 to 1.4 sockets a round; none while one Ray lasts), and takes
two seconds. So the tasks end with their cluster, and Ray itself ends `KEPT_SECONDS` later, with
`tf.cluster.shutdown()`, with this process, or when this process begins to use Ray by itself.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from dataflow.cluster.management import private_ray

#: A Ray that has no cluster ends after this time. Less than the minute after which Ray ends every
#: process whose connection to Ray's head is lost: no process watches the head in the meantime.
KEPT_SECONDS = 30.0

#: Held while this process's Ray is started, kept, reused or left.
lock = threading.Lock()
_kept: _Kept | None = None


def circumstances(object_store_bytes: int) -> tuple[Any, ...]:
    """Return what Ray's processes inherit from this one; a kept Ray with equal values can be reused."""
    return object_store_bytes, os.getcwd(), tuple(sys.path), dict(os.environ)


class _Kept:
    def __init__(self, ray: Any, started_in: tuple[Any, ...]) -> None:
        self.ray, self.started_in = ray, started_in
        self.head: str = ray.get_runtime_context().gcs_address
        self._timer = threading.Timer(KEPT_SECONDS, self._expire)
        self._timer.name = "dataflow keeps Ray"
        self._timer.daemon = True
        self._timer.start()
        # A program that uses Ray itself finds it as if it had not been started.
        self._public = {name: getattr(ray, name) for name in ("init", "shutdown", "is_initialized")}
        for name in ("init", "shutdown"):
            setattr(ray, name, _ending_first(self._public[name]))
        ray.is_initialized = lambda: False

    def release(self) -> None:
        self._timer.cancel()
        for name, function in self._public.items():
            setattr(self.ray, name, function)

    def _expire(self) -> None:
        with lock:
            if _kept is self:
                _end()


def _ending_first(function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> Any:
        end()
        return function(*args, **kwargs)

    return call


def keep(ray: Any, started_in: tuple[Any, ...]) -> None:
    """Keep the Ray that this process has started and no cluster uses. The caller holds `lock`."""
    global _kept
    _kept = _Kept(ray, started_in)


def use(started_in: tuple[Any, ...] | None) -> bool:
    """Whether there is a kept Ray that was started in these circumstances; the caller owns it then.

    One that was started in others, or whose head has died, is ended. The caller holds `lock`.
    """
    global _kept
    if _kept is None:
        return False
    if _kept.started_in == started_in and private_ray.head_answers(_kept.head):
        _kept.release()
        _kept = None
        return True
    _end()
    return False


def end() -> None:
    """End the kept Ray, if there is one."""
    with lock:
        _end()


def _end() -> None:
    global _kept
    if _kept is None:
        return
    kept, _kept = _kept, None
    kept.release()
    private_ray.leave(kept.ray, kill=not private_ray.head_answers(kept.head))
