"""Widgets in a Python that can start no thread (a web page): what is due comes between the cells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Threads cannot be started, as in WebAssembly.
_NONE = """
import asyncio, threading
def refused(*_, **__):
    raise RuntimeError("can't start new thread")
threading._start_new_thread = refused
if hasattr(threading, "_start_joinable_thread"):
    threading._start_joinable_thread = refused
"""

_TRAINING = """
import dataflow as tf
from dataflow_widgets import EmbeddingView, TrainingMonitor
w = tf.Variable(tf.ones([8, 3]), name="w")
loss = tf.reduce_sum((w - 3.0) ** 2)
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

async def cells():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    job = tf.train.background(step, session=session, steps=30, fetches={"loss": loss})
    monitor, view = TrainingMonitor(job), EmbeddingView(w, session=session, every_seconds=0.01)
    view._repr_mimebundle_()
    job.result()
    for _ in range(2000):
        await asyncio.sleep(0.02)
        if monitor.failure or view.failure or abs(float(view._vectors.mean()) - 3) < 0.02:
            break
    assert monitor.failure == view.failure == ""
    assert abs(float(view._vectors.mean()) - 3) < 0.02, view._vectors
    print("drawn")

asyncio.run(cells())
"""

_CLUSTER = """
import time
import dataflow as tf
from dataflow_widgets import ClusterPanel, ClusterView

async def cells():
    with tf.cluster.launch(ps=1, workers=1, logs=False) as cluster:
        view = ClusterView(cluster)
        view._num_open = 1
        view._follower.page_changed()
        for _ in range(20):
            await asyncio.sleep(0.05)
        assert view.failure == ""
        queue = tf.FIFOQueue(1, tf.int32)
        taken = queue.dequeue()
        with tf.Session() as session:
            try:
                session.run(taken)
            except tf.errors.FailedPreconditionError as error:
                print("deadlock" if "Deadlock" in str(error) else error)
        view._num_open = 0
    print("drawn")

asyncio.run(cells())
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [(_TRAINING, ["drawn"]), (_CLUSTER, ["deadlock", "drawn"])],
    ids=["training", "cluster"],
)
def test_a_widget_is_brought_up_to_date(program: str, said: list[str], checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _NONE + program],
        cwd=checkout,
        env={"DATAFLOW_THREADS": "0", "PYTHONPATH": f"{checkout}:{checkout / 'widgets'}"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == said
    assert "can't start" not in done.stderr
