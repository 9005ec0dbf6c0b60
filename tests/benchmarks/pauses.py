"""The longest pause among the first 100 runs of graphs of 1,000 to 100,000 nodes.

Whatever holds a run up counts: rewriting, writing and compiling the plan's code, Python's collector
of cycles, loading of modules. ``make bench`` prints the table; no other engine is asked, as none
does such work between runs. Each graph has a process of its own.

Usage: ``python -m tests.benchmarks.pauses [--nodes 1000 ...] [chain wide training]``. Seconds are
given by the clock, as a user feels them, and beside them as the processor's time of the thread: on a
busy machine the clock holds the other programs' turns, too.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NODES = (1_000, 10_000, 100_000)
RUNS = 100
#: No run is to take longer than this many times the first one's time ...
GOAL_TIMES_FIRST = 5
#: ... nor than this, where the first is shorter.
GOAL_SECONDS = 0.3


def chain(tf: Any, num_nodes: int) -> tuple[Any, dict[Any, Any]]:
    """Element-wise ops one after the other, as in a loop that is unrolled."""
    x = tf.placeholder(tf.float32, [16])
    y = x
    for _ in range(num_nodes // 2):
        y = tf.tanh(y) * x
    return y, {x: np.ones(16, np.float32)}


def wide(tf: Any, num_nodes: int) -> tuple[Any, dict[Any, Any]]:
    """Many short branches of one input, and their sum."""
    x = tf.placeholder(tf.float32, [16])
    branches = [tf.sin(x * float(i)) for i in range(num_nodes // 3)]
    return tf.add_n(branches), {x: np.ones(16, np.float32)}


def training(tf: Any, num_nodes: int) -> tuple[Any, dict[Any, Any]]:
    """A recurrent network, unrolled, with its gradients and Adam: some 20 nodes a step."""
    x = tf.placeholder(tf.float32, [8, 16])
    W = tf.Variable(tf.random_uniform([16, 16], -0.1, 0.1, seed=1))
    b = tf.Variable(tf.zeros([16]))
    h = x
    for _ in range(num_nodes // 20):
        h = tf.tanh(tf.matmul(h, W) + b) + x * 0.1
    loss = tf.reduce_mean(tf.square(h))
    return [tf.train.AdamOptimizer(1e-3).minimize(loss), loss], {x: np.ones((8, 16), np.float32)}


GRAPHS: dict[str, Callable[[Any, int], tuple[Any, dict[Any, Any]]]] = {
    "chain": chain,
    "wide": wide,
    "training": training,
}


def run_times(name: str, num_nodes: int) -> list[tuple[float, float]]:
    """The seconds that each of the first runs takes, by the clock and of the thread."""
    import dataflow as tf

    fetches, feeds = GRAPHS[name](tf, num_nodes)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    times = []
    for _ in range(RUNS):
        started, own = time.perf_counter(), time.thread_time()
        session.run(fetches, feeds)
        times.append((time.perf_counter() - started, time.thread_time() - own))
    return times


def limit(first: float) -> float:
    """What no later run is to exceed."""
    return GOAL_SECONDS if first < GOAL_SECONDS else GOAL_TIMES_FIRST * first


def row(name: str, num_nodes: int, times: list[tuple[float, float]]) -> str:
    """One line of the table: seconds by the clock, and in brackets those of the thread."""
    parts = [_pauses([wall for wall, _ in times]), _pauses([own for _, own in times])]
    (first, longest, run, mark, median), (own_first, own_longest, own_run, own_mark, own_median) = (
        parts
    )
    return (
        f"{name:10} {num_nodes:>8,}  first {first:8.3f} ({own_first:.3f}) s  "
        f"longest later {longest:8.3f} ({own_longest:.3f}) s, run {run} ({own_run}), {mark} ({own_mark})  "
        f"median of the last 50 {median:9.2f} ({own_median:.2f}) ms"
    )


def _pauses(times: list[float]) -> tuple[float, float, int, str, float]:
    """The first run, the longest later one and its number, whether that is too long, and the median
    in milliseconds."""
    first, *later = times
    longest = max(later)
    mark = "ok" if longest <= limit(first) else f"OVER {limit(first):.2f}"
    return first, longest, times.index(longest, 1) + 1, mark, statistics.median(times[-50:]) * 1e3


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pauses")
    parser.add_argument("graphs", nargs="*", help=f"of {', '.join(GRAPHS)}; all unless given")
    parser.add_argument("--nodes", type=int, nargs="+", default=list(NODES))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for name in given.graphs or GRAPHS:
        for num_nodes in given.nodes:
            if given.here:
                print(json.dumps(run_times(name, num_nodes)))
                continue
            command = [sys.executable, "-m", "tests.benchmarks.pauses", "--here", name]
            command += ["--nodes", str(num_nodes)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
            print(row(name, num_nodes, json.loads(done.stdout)), flush=True)


if __name__ == "__main__":
    main()
