"""Single messages of a running cluster, as they travel: a sample, from what the tasks have noted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.cluster.execution.traffic import NOBODY

if TYPE_CHECKING:
    from dataflow.cluster.management.running_cluster import Cluster


#: How long to wait before asking a task again that did not answer.
_REST_SECONDS = 1.0
#: The approximate number of steps noted per second, over all tasks.
_STEPS_PER_SECOND = 12
_OPEN_SECONDS = 60.0


class WatchedMessage(NamedTuple):
    """Tensors on their way between tasks, ``num_bytes`` in all; times in seconds since 1970.

    ``received`` is ``None`` as long as they have not arrived. ``number`` is the same in both cases.
    """

    number: int
    source: str
    target: str
    names: list[str]
    num_bytes: int
    sent: float
    received: float | None


class Watched(NamedTuple):
    """What `MessageWatch.read` returns.

    ``messages``: the ones that left or arrived since the last call. By parameter server: ``updates``,
    how many its variables have had; ``versions``, after which of them each worker has read;
    ``waiting``, the workers that wait for a token of a synchronous step; ``tokens`` that lie there.
    """

    messages: list[WatchedMessage]
    updates: dict[str, int]
    versions: dict[str, dict[str, int]]
    waiting: list[str]
    tokens: int | None


class MessageWatch:
    """Asks the tasks of a cluster what they have sent and received; they note it while it asks.

    Of quick steps one of 2, 4, 8, ... is noted, the same by all tasks, so that watching costs little.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._mask = (1 << 6) - 1  # until it is known how quick the steps are
        self._steps: dict[int, float] = {}
        self._open: dict[tuple[Any, ...], WatchedMessage] = {}
        self._early: dict[tuple[Any, ...], float] = {}
        self._number = 0
        self._resting: dict[str, float] = {}
        self._updates: dict[str, int] = {}

    def read(self) -> Watched:
        """Ask all running tasks; tasks that do not answer are left out."""
        sent, received = [], []
        found = Watched([], {}, {}, [], None)
        tokens = None
        asked = [
            task
            for task in list(self._cluster.backend.tasks)
            if task.state == "running" and self._resting.get(task.name, 0.0) <= time.monotonic()
        ]
        answers = self._cluster.ask_all(asked, "traffic", {"mask": self._mask})
        for task in asked:
            head = answers.get(task.name)
            if head is None:
                self._resting[task.name] = time.monotonic() + _REST_SECONDS
                continue
            sent += [(task.name, *row) for row in head["sent"]]
            received += [(task.name, *row) for row in head["received"]]
            if head["updates"]:
                found.updates[task.name] = head["updates"]
                found.versions[task.name] = head["versions"]
            found.waiting.extend(head["waiting"])
            tokens = head["tokens"] if tokens is None else tokens
        self._adapt(sent)
        return found._replace(messages=self._match(sent, received), tokens=tokens)

    def _adapt(self, sent: list[Any]) -> None:
        """Choose the mask from how many different steps were noted in the last second."""
        now = time.monotonic()
        self._steps |= {row[1]: now for row in sent}
        self._steps = {step: when for step, when in self._steps.items() if now - when < 1.0}
        if len(self._steps) > 2 * _STEPS_PER_SECOND:
            self._mask = self._mask << 1 | 1
            self._steps.clear()
        elif len(self._steps) < _STEPS_PER_SECOND // 3:
            self._mask >>= 1

    def _match(self, sent: list[Any], received: list[Any]) -> list[WatchedMessage]:
        found: dict[int, WatchedMessage] = {}
        for source, step, target, channel, names, sizes, when in sent:
            key = step, source, target, channel
            self._number += 1
            there = self._early.pop(key, None)
            message = WatchedMessage(self._number, source, target, names, sum(sizes), when, there)
            found[message.number] = message
            if there is None:
                self._open[key] = message
        for target, step, source, channel, when in received:
            key = step, source, target, channel
            waited = self._open.pop(key, None)
            if waited is not None:
                found[waited.number] = waited._replace(received=max(when, waited.sent))
            else:  # its sender is asked later than its receiver
                self._early[key] = when
        limit = time.time() - _OPEN_SECONDS
        self._open = {k: m for k, m in self._open.items() if m.sent > limit}
        self._early = {k: when for k, when in self._early.items() if when > limit}
        return list(found.values())

    def close(self) -> None:
        """Stop taking notes; the tasks would also stop by themselves."""
        running = [task for task in list(self._cluster.backend.tasks) if task.state == "running"]
        self._cluster.ask_all(running, "traffic", {"mask": NOBODY})
