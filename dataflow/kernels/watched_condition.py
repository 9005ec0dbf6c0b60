"""A condition that also calls back: who waits for it need not be a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable


class WatchedCondition(threading.Condition):
    """`threading.Condition` whose `notify_all` also calls those who `watch`, once each.

    They are called with the lock held, so they may do no more than note that it is time to look.
    """

    def __init__(self) -> None:
        super().__init__()
        self._watchers: list[Callable[[], None]] = []

    def watch(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` at the next change. The caller holds the lock."""
        self._watchers.append(callback)

    def unwatch(self, callback: Callable[[], None]) -> None:
        """Undo `watch`, where it has not been called yet."""
        with self:
            if callback in self._watchers:
                self._watchers.remove(callback)

    def notify_all(self) -> None:
        """Wake all threads that wait, and call all that watch. The caller holds the lock."""
        super().notify_all()
        if self._watchers:
            watchers, self._watchers = self._watchers, []
            for callback in watchers:
                callback()
