"""What runs inside of Pyodide: parts of the engine, and every op sample. Writes /out/report.json.

Each function named ``part_*`` is one part; the report has what it returns, or its traceback.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, "/checkout")

import numpy as np

import dataflow as tf
from tests.oracle import run_samples


def part_training() -> float:
    w = tf.Variable(5.0)
    step = tf.train.AdamOptimizer(0.1).minimize((w - 3) ** 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(300):
            session.run(step)
        return float(session.run(w))


def part_queues() -> list[int]:
    queue = tf.FIFOQueue(4, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(7)] * 2)
    taken = queue.dequeue_many(10)
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, start=True)
        values = session.run(taken).tolist()
        coordinator.request_stop()
        session.run(queue.close(cancel_pending_enqueues=True))
        coordinator.join(threads)
    return values


def part_data() -> int:
    rows = tf.data.Dataset.range(100).map(lambda x: x * 2, num_parallel_calls=4)
    rows = rows.shuffle(10).batch(10).prefetch(2)
    batch = tf.reduce_sum(rows.make_one_shot_iterator().get_next())
    total = 0
    with tf.Session() as session:
        try:
            while True:
                total += int(session.run(batch))
        except tf.errors.OutOfRangeError:
            return total


def part_background() -> float:
    w = tf.Variable(5.0)
    step = tf.train.GradientDescentOptimizer(0.1).minimize((w - 3) ** 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        job = tf.train.background(
            lambda _: {"w": session.run([step, w])[1]}, steps=50, session=session
        )
        job.result()
        return float(session.run(w))


def part_saver() -> list[float]:
    """A variable saved to a file, changed and restored."""
    w = tf.Variable(5.0)
    saver = tf.train.Saver()
    path = str(Path(tempfile.mkdtemp()) / "model")
    with tf.Session() as session:
        session.run(w.initializer)
        saver.save(session, path)
        session.run(w.assign(7.0))
        changed = float(session.run(w))
        saver.restore(session, path)
        return [changed, float(session.run(w))]


def part_local_server() -> list[float]:
    """Two sessions of one server share a variable."""
    total = tf.Variable(100.0)
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as ann, tf.Session(server.target) as bob:
        ann.run(total.initializer)
        ann.run(total.assign_add(1.0))
        return [float(ann.run(total)), float(bob.run(total))]


def part_tables() -> list[Any]:
    """Without pandas and scikit-learn, a table of ours; a file of the net is refused in words."""
    from dataflow_datasets import iris, mnist

    (train_x, train_y), _ = iris.load_data()
    try:
        mnist.read_data_sets("/tmp/nowhere")
        said = "read"
    except FileNotFoundError as error:
        said = str(error)
    return [type(train_x).__name__, train_x.shape, train_y[:3].tolist(), said]


def part_cluster_spec() -> dict[str, list[str]]:
    return tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "b:2"]}).as_dict()


def part_estimator() -> float:
    x = np.arange(8, dtype=np.float32) / 8

    def rows() -> Any:
        return tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x + 1)).repeat().batch(8)

    columns = [tf.feature_column.numeric_column("x")]
    optimizer = tf.train.AdamOptimizer(0.1)
    estimator = tf.estimator.LinearRegressor(columns, optimizer=optimizer)
    estimator.train(rows, steps=150)
    return float(estimator.evaluate(rows, steps=1)["average_loss"])


def refusal(ask: Callable[[], object]) -> str:
    try:
        ask()
    except tf.errors.OpError as error:
        return str(error)
    return "nothing was refused"


def part_cluster() -> list[Any]:
    """Two workers add to one variable, each by itself."""

    def add(server: Any, times: int) -> list[int]:
        with tf.device("/job:ps/task:0"):
            count = tf.get_variable("count", initializer=0)
            up = count.assign_add(1)
        with tf.Session(server.target) as session:
            if server.server_def.task_index == 0:
                session.run(count.initializer)
            return [int(session.run(up)) for _ in range(times)]

    with tf.cluster.launch(ps=1, workers=2, logs=False) as cluster:
        return [call.result(60) for call in [cluster.submit(f"worker:{i}", add, 5) for i in (0, 1)]]


def part_ray() -> str:
    return refusal(lambda: tf.cluster.launch(ps=1, workers=1, address="auto"))


def part_tensorboard() -> str:
    import tensorboard

    return refusal(lambda: tensorboard.load_ipython_extension(None))


def part_cupy() -> str:
    with tf.device("/gpu:0"):
        x = tf.constant(1.0)
    with tf.Session() as session:
        return refusal(lambda: session.run(x))


def part_lab() -> list[Any]:
    import contextlib
    import io

    from dataflow.cli import main

    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = main(["lab"])
    return [status, said.getvalue()]


report: dict[str, Any] = {"parts": {}, "errors": {}, "samples": {}}
for name, part in list(globals().items()):
    if name.startswith("part_"):
        try:
            with tf.Graph().as_default():
                report["parts"][name.removeprefix("part_")] = part()
        except BaseException:
            report["errors"][name.removeprefix("part_")] = traceback.format_exc()
for family in run_samples.families():
    report["samples"][family] = run_samples.run_family(tf, family)
with open("/out/report.json", "w") as file:
    json.dump(report, file)
