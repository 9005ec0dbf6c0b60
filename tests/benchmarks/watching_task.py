"""One task of the watching benchmark: ``watching_task.py SPEC JOB INDEX [idle]``.

A worker trains softmax regression asynchronously, as quickly as it can, until its standard input ends;
with ``idle`` it only serves.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time

import numpy as np

import dataflow as tf


def train(spec: dict[str, list[str]], index: int) -> None:
    """Make steps for ever."""
    server = tf.train.Server(spec, "worker", index)
    random = np.random.RandomState(0)
    with tf.device(
        tf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{index}")
    ):
        step = tf.train.get_or_create_global_step()
        pixels = tf.constant(random.rand(1797, 64).astype(np.float32))
        digits = tf.constant(random.randint(0, 10, 1797))
        chosen = tf.random_uniform([100], 0, 1797, tf.int64)
        weights = tf.get_variable("weights", [64, 10], initializer=tf.zeros_initializer())
        biases = tf.get_variable("biases", [10], initializer=tf.zeros_initializer())
        logits = tf.gather(pixels, chosen) @ weights + biases
        loss = tf.losses.sparse_softmax_cross_entropy(tf.gather(digits, chosen), logits)
        update = tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)
    missing = tf.report_uninitialized_variables()
    with tf.Session(server.target) as session:
        if not index:
            session.run(tf.global_variables_initializer())
        while len(session.run(missing)):
            time.sleep(0.01)
        print("ready", flush=True)
        with contextlib.suppress(
            tf.errors.UnavailableError
        ):  # the parameter server has ended first
            while True:
                session.run([update, loss])


def main() -> None:
    spec, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if job == "worker" and len(sys.argv) == 4:
        threading.Thread(target=train, args=(spec, index), daemon=True).start()
    else:
        server = tf.train.Server(spec, job, index)
        threading.Thread(target=server.join, daemon=True).start()
        print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


main()
