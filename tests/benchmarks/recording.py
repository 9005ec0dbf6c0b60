"""What recording a run costs, against the same run in the same minute.

``python -m tests.benchmarks.recording`` trains the MNIST CNN step on made-up images, in turn plainly
and recorded in each way, and prints the ratios. The goal: at most 1.10 with samples alone.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow as tf
from dataflow.runtime.stepper import record

GOAL = 1.10


def cnn_step() -> tuple[Any, list[Any], dict[Any, Any]]:
    """A session, what to fetch, and what to feed: two convolutions, two dense layers, Adam."""
    images = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    x = images
    for filters in (32, 64):
        x = tf.layers.conv2d(x, filters, 5, padding="same", activation=tf.nn.relu)
        x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.dense(tf.layers.flatten(x), 1024, activation=tf.nn.relu)
    logits = tf.layers.dense(tf.nn.dropout(x, keep_prob=0.5), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    train = tf.train.AdamOptimizer().minimize(loss)
    generator = np.random.default_rng(0)
    feed = {
        images: generator.random((100, 28, 28, 1), dtype=np.float32),
        labels: generator.integers(0, 10, 100),
    }
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session, [loss, train], feed


def main() -> None:
    """Prints best and median milliseconds of each way, and their ratio to a plain run."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    session, fetches, feed = cnn_step()
    ways: dict[str, Callable[[], Any]] = {"plain run": lambda: session.run(fetches, feed)}
    for values in (False, "sizes", "sampled", True):
        ways[f"values={values!r}"] = lambda values=values: record(
            session, fetches, feed, values=values
        )
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds + 4):  # the first ones make and rewrite the plans
        for way, run in ways.items():
            start = time.perf_counter()
            run()
            if number >= 4:
                seconds[way].append(time.perf_counter() - start)
    plain = seconds["plain run"]
    for way, each in seconds.items():
        best, median = min(each), statistics.median(each)
        print(
            f"{way:20} best {best * 1e3:7.1f} ms ({best / min(plain):.2f})   median "
            f"{median * 1e3:7.1f} ms ({median / statistics.median(plain):.2f})"
        )
    print(f"goal for values='sampled': {GOAL:.2f}")


if __name__ == "__main__":
    main()
