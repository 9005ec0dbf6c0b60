"""Writes of many learners at once: what waits while the disk is written goes in the next transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dataflow.course.classroom.messages import Answer
from dataflow.course.classroom.store import Store

T = TypeVar("T")


class Recorder:
    """The one thread that uses the `Store`, and the queue of answers before it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="class-store")
        self._waiting: list[tuple[int, Sequence[Answer], asyncio.Future[int]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """``function`` in the store's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def record(self, learner: int, answers: Sequence[Answer]) -> int:
        """Keeps answers; returns how many were new, when all of them are on the disk."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((learner, answers, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await done

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                sent = [(learner, answers) for learner, answers, _ in batch]
                counts = await self.call(self.store.record, sent)
            except Exception as e:
                for _, _, done in batch:
                    if not done.done():
                        done.set_exception(e)
                continue
            for (_, _, done), count in zip(batch, counts, strict=True):
                if not done.done():  # whoever waited may be gone; the answers are kept all the same
                    done.set_result(count)

    async def close(self) -> None:
        """Writes what waits, and ends the thread."""
        if self._writing is not None:
            await self._writing
        await self.call(self.store.close)
        self._thread.shutdown()
