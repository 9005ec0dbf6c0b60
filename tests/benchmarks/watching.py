"""What watching a running cluster costs its training: steps a second with and without a `ClusterView`.

``python -m tests.benchmarks.watching [--workers 7] [--rounds 6] [--seconds 3]`` launches a parameter
server and workers on Ray, trains softmax regression as quickly as they can, and alternates periods in
which a view follows the cluster (ten times a second, everything but the page's own drawing) with some in
which nobody looks. Prints the medians and the part of the steps that is lost. The goal: under 3 %.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import dataflow as tf
from dataflow_widgets import ClusterView
from dataflow_widgets.cluster_view.demo import digits_training

GOAL = 0.03


def steps_of(training: Any) -> int:
    return int(training.status()["global_step"])


def rate(cluster: Any, seconds: float) -> float:
    """Steps a second of all workers together."""

    def steps() -> int:
        rows = cluster.status()
        return sum(row["steps"] or 0 for row in rows if "/job:worker/" in row["task"])

    began, before = time.perf_counter(), steps()
    time.sleep(seconds)
    return (steps() - before) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument(
        "--steps-per-second", type=float, default=None, help="of each worker, at most"
    )
    options = parser.parse_args()
    with tf.cluster.launch(
        ps=1, workers=options.workers, logs=False, timeout_seconds=180.0
    ) as cluster:
        training = digits_training(cluster)
        training._most = options.steps_per_second
        training.start()
        while steps_of(training) < 20 * options.workers:
            time.sleep(0.1)
        view = ClusterView(cluster)
        frames: list[Any] = []
        view.send = lambda content, buffers=None: frames.append(content["kind"])
        watched: list[float] = []
        alone: list[float] = []
        for number in range(options.rounds):
            for looks in (True, False) if number % 2 else (False, True):
                view._receive(view, {"kind": "opened" if looks else "closed"}, [])
                time.sleep(0.7)
                before = len(frames)
                found = rate(cluster, options.seconds)
                (watched if looks else alone).append(found)
                if looks:
                    print(
                        f"{found:.0f} steps/s watched, {(len(frames) - before) / options.seconds:.1f} messages to the page a second"
                    )
                else:
                    print(f"{found:.0f} steps/s alone")
        view.close()
        training.stop()
        one, two = statistics.median(watched), statistics.median(alone)
        print(
            f"{two:.0f} steps/s alone, {one:.0f} watched: {1 - one / two:.1%} lost (goal: under {GOAL:.0%})"
        )
    tf.cluster.shutdown()


if __name__ == "__main__":
    main()
