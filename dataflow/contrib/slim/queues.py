"""``slim.queues``: a session with its queue runners, for a ``with`` statement."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dataflow.train.coordinator import Coordinator
from dataflow.train.queue_runner import start_queue_runners

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

__all__ = ["NestedQueueRunnerError", "QueueRunners"]

#: The sessions whose queue runners run.
_running: set[int] = set()
_lock = threading.Lock()


class NestedQueueRunnerError(Exception):
    """A session's queue runners were started while they ran."""


@contextlib.contextmanager
def QueueRunners(session: BaseSession) -> Iterator[None]:
    """Starts the queue runners of ``session``, and stops them at the end.

    Raises `NestedQueueRunnerError` within a block of the same session.
    """
    with _lock:
        if id(session) in _running:
            raise NestedQueueRunnerError(
                "The queue runners of this session run already: leave the inner "
                "slim.queues.QueueRunners out."
            )
        _running.add(id(session))
    coord = Coordinator()
    try:
        threads = start_queue_runners(session, coord)
        yield
    finally:
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=120)
        except RuntimeError:
            session.close()
            raise
        finally:
            with _lock:
                _running.discard(id(session))
