"""Collective ops on clusters that `tf.cluster.launch` starts: on Ray, and on threads of this process."""

import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.ops.collective import all_gather, all_reduce

PATIENCE = 90


@pytest.fixture(params=["threads", pytest.param("ray", marks=pytest.mark.cluster)])
def cluster(request):
    with tf.cluster.launch(workers=3, ps=0, backend=request.param, logs=False) as launched:
        yield launched


def step_of(cluster, index, value, outcome):
    """Worker ``index`` averages ``value`` with the others in a session of its own, and gathers it."""
    task = f"/job:worker/task:{index}"
    graph = tf.Graph()
    with graph.as_default(), tf.device(task):
        mean = all_reduce(tf.constant(value), 3, 5, 1, "Add", "Div", timeout=PATIENCE / 2)
        rows = all_gather(tf.constant([float(index)]), 3, 5, 2, timeout=PATIENCE / 2)

    def run():
        try:
            with tf.Session(cluster.targets[task], graph=graph) as session:
                for _ in range(3):
                    outcome[index] = session.run([mean, rows])
        except tf.errors.OpError as error:
            outcome[index] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def together(cluster, values):
    outcome = {}
    for thread in [step_of(cluster, i, value, outcome) for i, value in enumerate(values)]:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    return outcome


def test_a_ring_of_launched_workers_and_what_a_dead_one_does_to_it(cluster):
    values = np.random.RandomState(0).randn(3, 40_000).astype(np.float32)  # through shared memory
    results = together(cluster, values)
    for i in range(3):
        np.testing.assert_allclose(results[i][0], values.mean(0), rtol=1e-4, atol=1e-6)
        assert results[i][0].tobytes() == results[0][0].tobytes()
        assert results[i][1].tolist() == [0.0, 1.0, 2.0]
    # One that is started again is found at its new place, and the ring begins anew with it.
    cluster.restart("/job:worker/task:1")
    for _ in range(5):  # a connection that was used a moment ago may turn out to be dead
        results = together(cluster, values)
        if not any(isinstance(result, Exception) for result in results.values()):
            break
        lost = (tf.errors.UnavailableError, tf.errors.AbortedError, list)
        assert all(isinstance(r, lost) for r in results.values()), results
    for i in range(3):
        assert not isinstance(results[i], Exception), results[i].message
        assert results[i][1].tolist() == [0.0, 1.0, 2.0]
