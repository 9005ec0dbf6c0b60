"""A condition that also calls back: who waits for it need not be a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable


class WatchedCondition(threading.Condition):
    """`threading.Condition` whose `notify_all` also calls those who `watch`, once each.

    They are called with the lock held, so they may do no more than note that it is time to look.
    """

    def __init__(self) -> None:
        #: Held inside of ``with condition.lock``, which is quicker than ``with condition``.
        self.lock = threading.RLock()
        super().__init__(self.lock)
        #: Says what it is that those who wait here wait for.
        self.what: Callable[[], str] | None = None
        self._watchers: list[tuple[Callable[[], None], Callable[[], bool]]] = []

    def watch(self, callback: Callable[[], None], ready: Callable[[], bool]) -> None:
        """Call ``callback`` at the next change after which it is ``ready()``.

        The caller holds the lock, as does whoever calls ``ready``.
        """
        self._watchers.append((callback, ready))

    def unwatch(self, callback: Callable[[], None]) -> None:
        """Undo `watch`, where it has not been called yet."""
        with self:
            self._watchers = [pair for pair in self._watchers if pair[0] is not callback]

    def notify_all(self) -> None:
        """Wake all threads that wait, and call all that watch and are ready.

        The caller holds the lock.
        """
        if self._waiters:  # type: ignore[attr-defined]
            super().notify_all()
        if self._watchers:
            watchers, self._watchers = self._watchers, []
            for callback, ready in watchers:
                if ready():
                    callback()
                else:
                    self._watchers.append((callback, ready))
