"""Checks of lesson 23: all-reduce, by workers that are threads."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.course.exercise import exercise, expect, expect_number, expect_type, limited, wrong


class _Stopped(Exception):
    """Another worker failed, or none can go on."""


class _Post:
    """The messages between workers, and who waits for one; all of it under one lock.

    Where everybody who is still at work waits for a message that is not there, nobody can go on:
    then `stuck` says who waits for whom, and all that wait raise `_Stopped`.
    """

    def __init__(self, num: int) -> None:
        self.changed = threading.Condition()
        self.boxes: dict[tuple[int, int], collections.deque[Any]] = collections.defaultdict(
            collections.deque
        )
        self.at_work = set(range(num))
        self.waiting: dict[int, int] = {}
        self.stuck = ""
        self.stopped = False

    def put(self, sender: int, to: int, array: Any) -> None:
        with self.changed:
            self.boxes[sender, to].append(array)
            self.changed.notify_all()

    def get(self, sender: int, to: int) -> Any:
        with self.changed:
            box = self.boxes[sender, to]
            self.waiting[to] = sender
            self._look()
            self.changed.wait_for(lambda: box or self.stopped)
            del self.waiting[to]
            if not box:
                raise _Stopped
            return box.popleft()

    def leave(self, rank: int) -> None:
        with self.changed:
            self.at_work.discard(rank)
            self._look()

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def _look(self) -> None:
        """Stops all when nobody at work can go on; the lock is held."""
        idle = {to for to, sender in self.waiting.items() if not self.boxes[sender, to]}
        if self.at_work and self.at_work <= idle and not self.stopped:
            pairs = [f"worker {to} waits for worker {self.waiting[to]}" for to in sorted(idle)]
            self.stuck = ", ".join(pairs)
            self.stop()


class _Worker:
    """As the lesson's: `send` and `receive`, counted."""

    def __init__(self, rank: int, num: int, post: _Post) -> None:
        self.rank, self.num, self._post = rank, num, post
        self.sent = self.messages = 0
        self.targets: set[int] = set()

    def send(self, to: int, array: Any) -> None:
        expect(
            to in range(self.num),
            f"worker {self.rank} sends to {to}; there are 0 to {self.num - 1}",
        )
        array = np.array(array)
        self.sent += array.nbytes
        self.messages += 1
        expect(self.messages < 1000, f"worker {self.rank} has sent 1,000 messages")
        self.targets.add(to)
        self._post.put(self.rank, to, array)

    def receive(self, sender: int) -> Any:
        expect(
            sender in range(self.num),
            f"worker {self.rank} receives from {sender}; there are 0 to {self.num - 1}",
        )
        return self._post.get(sender, self.rank)


def _run(function: Any, arrays: Sequence[Any]) -> tuple[list[Any], list[_Worker]]:
    """``function(worker, array)`` on a thread each; what one raises is raised, and that all wait told."""
    num = len(arrays)
    post = _Post(num)
    workers = [_Worker(rank, num, post) for rank in range(num)]
    results: list[Any] = [None] * num
    errors: list[Exception] = []

    def work(worker: _Worker) -> None:
        try:
            results[worker.rank] = function(worker, arrays[worker.rank].copy())
        except _Stopped:
            pass
        except Exception as e:
            errors.append(e)
            post.stop()
        finally:
            post.leave(worker.rank)

    threads = [threading.Thread(target=work, args=(w,), daemon=True) for w in workers]
    for thread in threads:
        thread.start()
    try:
        with limited(20):
            for thread in threads:
                thread.join()
    finally:  # also where the learner stops a loop that never ends
        post.stop()
    if errors:
        raise errors[0]
    if post.stuck:
        wrong(f"with {num} workers nobody can go on: {post.stuck}")
    return results, workers


@exercise(
    "In each step, send on what you got in the step before; in the first step, your own.",
    "The array that comes from the left in step s began at the worker s + 1 places to the left.",
    "found[(rank - step - 1) % num] = worker.receive((rank - 1) % num), after sending "
    "found[(rank - step) % num] to the right.",
)
def ex1(all_gather: Callable[[Any, Any], Any]) -> str:
    """All-gather on a ring."""
    rng = np.random.default_rng(12)
    for num in (2, 5, 1):
        arrays = [rng.normal(size=7) for _ in range(num)]
        results, workers = _run(all_gather, arrays)
        for worker, found in zip(workers, results, strict=True):
            told = f"{num} workers: worker {worker.rank}" if num > 1 else "a worker without others"
            expect_type(
                isinstance(found, (list, tuple, np.ndarray)) and np.ndim(found) > 0,
                f"{told} returns {type(found).__name__}, needed a list of {num} arrays",
            )
            expect(len(found) == num, f"{told} returns {len(found)} arrays, needed a list of {num}")
            for rank, array in enumerate(found):
                expect(
                    array is not None and np.array_equal(array, arrays[rank]),
                    f"{told} has another array at place {rank} than worker {rank} began with",
                )
            right = {(worker.rank + 1) % num} if num > 1 else set()
            expect(
                worker.targets <= right,
                f"{told} sends to {sorted(worker.targets)}, allowed is {sorted(right)}",
            )
            expect(
                worker.messages == num - 1,
                f"{told} sends {worker.messages} arrays, there must be {num - 1}",
            )
    return "Right: everybody has everything, and nobody sent to any but the neighbor."


@exercise(
    "Write down both times, and set them equal.",
    "(num - 1)(latency + size / (num bandwidth)) = rounds (latency + size / bandwidth). Bring what "
    "has the size in it to one side.",
    "latency * (num - 1 - rounds) * bandwidth / (rounds - (num - 1) / num).",
)
def ex2(even_size: Callable[[int, float, float], Any]) -> str:
    """Where the tree and the ring take equally long."""
    for num, bandwidth, latency in (
        (4, 1e9, 50e-6),
        (16, 1e9, 50e-6),
        (256, 1e10, 5e-6),
        (8, 1e8, 1e-3),
    ):
        size = expect_number("what even_size returned", even_size(num, bandwidth, latency))
        call = f"even_size({num}, {bandwidth:g}, {latency:g})"
        expect(np.isfinite(size) and size > 0, f"{call} is {size}")
        rounds = np.log2(num)
        tree = 2 * rounds * (latency + size / bandwidth)
        ring = 2 * (num - 1) * (latency + size / num / bandwidth)
        one_byte = 2 * rounds / bandwidth  # whole numbers of bytes are right, too
        expect(
            abs(tree - ring) < 1e-6 * ring + one_byte,
            f"{call} is {size:,.0f} bytes; there the tree takes {tree:.6g} s and the ring {ring:.6g} s",
        )
    return f"Right: for 16 workers and 50 millionths of a second, {float(even_size(16, 1e9, 50e-6)):,.0f} bytes."


@exercise(
    "After a first exchange between two, both have the sum of two. With whom should they exchange next?",
    "With one who has the sum of two others. Three exchanges are enough for eight.",
    "The partner in the round with the distance 1, 2, 4 is worker.rank ^ distance: send the total so "
    "far, and add what you receive.",
)
def ex3(few_messages: Callable[[Any, Any], Any]) -> str:
    """An all-reduce of few messages."""
    rng = np.random.default_rng(13)
    most = 0
    for num in (2, 4, 8):
        arrays = [rng.normal(size=24) for _ in range(num)]
        results, workers = _run(few_messages, arrays)
        needed = np.sum(arrays, axis=0)
        for worker, got in zip(workers, results, strict=True):
            told = f"{num} workers: worker {worker.rank}"
            expect_type(
                isinstance(got, np.ndarray), f"{told} returns {type(got).__name__}, needed an array"
            )
            expect(
                got.shape == needed.shape and np.allclose(got, needed),
                f"{told} returns another array than the sum of all",
            )
            expect(
                worker.messages <= 4,
                f"{told} sends {worker.messages} messages, at most 4 are allowed",
            )
            times = worker.sent / arrays[0].nbytes
            expect(
                times <= 3.001, f"{told} sends {times:.1f} times the array, at most 3 are allowed"
            )
            most = max(most, worker.messages)
    return f"Right: at most {most} messages each for eight workers, where the ring sends 14."
