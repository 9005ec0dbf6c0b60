"""What watching a running cluster costs its training: steps a second with and without a `ClusterView`.

``python -m tests.benchmarks.watching [--workers 7] [--rounds 6] [--seconds 3]`` starts a parameter
server and workers (``watching_task.py``; no Ray, the view attaches itself to their `ClusterSpec`), which train
softmax regression as quickly as they can, and alternates periods in which a view follows the cluster (ten times a second, everything but the page's own drawing) with some in
which nobody looks. Prints the medians and the part of the steps that is lost: by the clock, and, as other
programs disturb that, by processor time: how many steps a second of processors gives, those of
this process and of all tasks. The goal: under 3 %. ``--profile`` says where this process's time goes. With
``--idle`` nothing is trained: what the tasks compute for then is the watching, and hardly disturbed by other
programs.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import json
import os
import pathlib
import pstats
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import dataflow as tf
from dataflow_widgets import ClusterView

GOAL = 0.03


class Period(NamedTuple):
    """Steps a second; processor seconds a second, of this process and of the tasks; messages a second."""

    rate: float
    here: float
    tasks: float
    frames: float

    @property
    def steps_per_processor_second(self) -> float:
        """What the processors achieve."""
        return self.rate / (self.here + self.tasks)


@contextlib.contextmanager
def tasks(num_workers: int, idle: bool) -> Iterator[Any]:
    """A cluster of processes that train, unless they are idle, seen from outside."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(1 + num_workers)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{sock.getsockname()[1]}" for sock in sockets]
    spec = {"ps": addresses[:1], "worker": addresses[1:]}
    program = str(pathlib.Path(__file__).with_name("watching_task.py"))
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
    processes = [
        subprocess.Popen(
            [sys.executable, program, json.dumps(spec), job, str(index), *["idle"] * idle],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for job, found in spec.items()
        for index in range(len(found))
    ]  # fmt: skip
    try:
        for process in processes:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError("a task did not start")
        with tf.cluster.attach(tf.train.ClusterSpec(spec)) as cluster:
            yield cluster
    finally:
        for process in processes:
            process.kill()
            process.wait(10)


def processor_seconds(pid: int) -> float:
    """What the threads of a process have computed for."""
    found = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in found) / 1e9


def period(cluster: Any, seconds: float, frames: list[Any]) -> Period:
    """Count all workers' steps, and processor time, for so long."""
    pids = [cluster.pid(task) for task in cluster.tasks]

    def counts() -> tuple[float, float, float, float]:
        rows = cluster.status()
        steps = sum(row["steps"] or 0 for row in rows if "/job:worker/" in row["task"])
        here = processor_seconds(os.getpid())
        return steps, here, sum(map(processor_seconds, pids)), len(frames)

    began, before = time.perf_counter(), counts()
    time.sleep(seconds)
    after, took = counts(), time.perf_counter() - began
    return Period(*[(b - a) / took for a, b in zip(before, after, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--idle", action="store_true")
    options = parser.parse_args()
    with tasks(options.workers, options.idle) as cluster:
        view = ClusterView(cluster)
        frames: list[Any] = []
        view.send = lambda content, buffers=None: frames.append(content["kind"])
        if options.profile:
            _profile(view, options.seconds)
        watched: list[Period] = []
        alone: list[Period] = []
        for number in range(options.rounds):
            for looks in (True, False) if number % 2 else (False, True):
                if looks:
                    view._receive(view, {"kind": "opened"}, [])
                time.sleep(0.7)
                found = period(cluster, options.seconds, frames)
                if looks:
                    view._receive(view, {"kind": "closed"}, [])
                (watched if looks else alone).append(found)
                print(
                    f"{'watched' if looks else 'alone':8} {found.rate:6.0f} steps/s, processors: tasks "
                    f"{found.tasks:.3f}, this process {found.here:.3f}; {found.frames:.1f} messages/s"
                )
        view.close()
    figures: dict[str, Callable[[Period], float]] = {
        "steps/s": lambda p: p.rate,
        "steps a second of processors": lambda p: p.steps_per_processor_second,
    }
    for name, of in () if options.idle else figures.items():
        one, two = (statistics.median(map(of, found)) for found in (watched, alone))
        print(f"{name}: {two:.0f} alone, {one:.0f} watched: {1 - one / two:.1%} lost")
    answering = statistics.median(p.tasks for p in watched) - statistics.median(
        p.tasks for p in alone
    )
    here = statistics.median(p.here for p in watched) - statistics.median(p.here for p in alone)
    print(
        f"processor seconds a second more while watched: this process {here:.4f}, tasks {answering:.4f} "
        f"(goal: under {GOAL:.0%} of all processors)"
    )


def _profile(view: Any, seconds: float) -> None:
    """What the follower does in so long, function by function; called here, as a profile is of one thread."""
    profile = cProfile.Profile(time.thread_time)
    until, next_state = time.monotonic() + seconds, 0.0
    profile.enable()
    while time.monotonic() < until:
        if time.monotonic() >= next_state:
            next_state = time.monotonic() + 0.5
            view._send_state()
        view._send_messages()
        time.sleep(0.1)
    profile.disable()
    pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


if __name__ == "__main__":
    main()
