"""`train_and_evaluate` as TF_CONFIG's tasks, each a process: chief, worker, ps, evaluator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

import dataflow as tf
from tests.ports import free_ports

SECONDS = 200

PROGRAM = textwrap.dedent(
    """
    import json, os, sys, threading, time
    # The test's end is this pipe's end: no task outlives it, however it ends.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
    import numpy as np
    import dataflow as tf

    folder, max_steps = sys.argv[1], 60
    kind = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    worker_began = os.path.join(folder, "worker_began")
    told = {"steps": 0, "devices": []}

    x = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
    y = 3 * x + 1

    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        predictions = tf.matmul(features["x"], w) + b
        told["devices"] = [w.device, b.device, predictions.device]
        if mode == tf.estimator.ModeKeys.PREDICT:
            output = tf.estimator.export.PredictOutput({"y": predictions})
            return tf.estimator.EstimatorSpec(
                mode, predictions, export_outputs={"line": output}
            )
        loss = tf.reduce_mean(tf.square(predictions - labels))
        train = tf.train.GradientDescentOptimizer(0.3).minimize(
            loss, global_step=tf.train.get_global_step()
        )
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train)

    class Watch(tf.train.SessionRunHook):
        def before_run(self, context):
            # Half of the steps wait for the worker's first one: both take part, always.
            if kind in ("chief", "master") and told["steps"] == max_steps // 2:
                while not os.path.exists(worker_began):
                    time.sleep(0.01)

        def after_run(self, context, values):
            told["steps"] += 1
            if kind == "worker":
                open(worker_began, "w").close()

    def receiver():
        placeholder = tf.placeholder(tf.float32, [None, 1])
        return tf.estimator.export.ServingInputReceiver({"x": placeholder}, {"x": placeholder})

    config = tf.estimator.RunConfig(
        os.path.join(folder, "model"),
        save_checkpoints_steps=max_steps // 3,
        experimental_max_worker_delay_secs=0,
    )
    told["is_chief"] = config.is_chief
    estimator = tf.estimator.Estimator(model_fn, config=config)
    inputs = tf.estimator.inputs.numpy_input_fn
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(
            inputs({"x": x}, y, batch_size=40, num_epochs=None, shuffle=False),
            max_steps=max_steps,
            hooks=[Watch()],
        ),
        tf.estimator.EvalSpec(
            inputs({"x": x}, y, batch_size=40, shuffle=False),
            start_delay_secs=0,
            throttle_secs=0,
            exporters=tf.estimator.FinalExporter("last", receiver),
        ),
    )
    print(json.dumps(told), flush=True)
    os._exit(0)
    """
)


def run_cluster(folder, cluster, others=()):
    """Runs every task; returns what each said, and whether the parameter server still served."""
    tasks = [(job, i) for job, addresses in cluster.items() for i in range(len(addresses))]
    processes = {}
    try:
        for job, index in [*tasks, *others]:
            place = {"cluster": cluster, "task": {"type": job, "index": index}}
            processes[job] = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    "TF_CONFIG": json.dumps(place),
                    "DATAFLOW_CLUSTER_KEY": "a key for tests",
                },
            )
        said = {}
        for job, process in processes.items():
            if job != "ps":
                process.wait(SECONDS)
                lines = process.stdout.read().strip().splitlines()
                assert process.returncode == 0, job
                said[job] = json.loads(lines[-1])
        return said, processes["ps"].poll() is None
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.kill()
                process.wait(60)
            process.stdin.close()
            process.stdout.close()


def events_of(folder):
    """{tag: [(step, value)]} of the summaries in a folder."""
    found: dict[str, list] = {}
    for name in sorted(os.listdir(folder)):
        for event in tf.train.summary_iterator(os.path.join(folder, name)):
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def test_chief_worker_ps_and_evaluator(tmp_path) -> None:
    ports = free_ports(3)
    cluster = {
        job: [f"127.0.0.1:{port}"]
        for job, port in zip(("ps", "chief", "worker"), ports, strict=True)
    }
    said, serves = run_cluster(tmp_path, cluster, others=[("evaluator", 0)])
    assert serves, "a parameter server goes on until it is ended"
    assert said["chief"]["is_chief"] and not said["worker"]["is_chief"]
    # Variables on the parameter server, the rest on the task itself; the evaluator has its own.
    for job in ("chief", "worker"):
        on = said[job]["devices"]
        assert [d.startswith("/job:ps") for d in on] == [True, True, False]
        assert on[2].startswith(f"/job:{job}/")
        assert said[job]["steps"] >= 1
    assert not any("job:ps" in d for d in said["evaluator"]["devices"])
    assert said["chief"]["steps"] + said["worker"]["steps"] >= 60
    model = tmp_path / "model"
    reader = tf.train.load_checkpoint(str(model))
    assert reader.get_tensor("global_step") >= 60
    assert abs(reader.get_tensor("w")[0, 0] - 3) < 0.2
    losses = events_of(model / "eval")["loss"]
    assert losses[-1][0] >= 60
    assert losses[-1][1] < 0.02
    (export,) = (model / "export" / "last").iterdir()
    with tf.Session(graph=tf.Graph()) as session:
        meta = tf.saved_model.loader.load(session, ["serve"], str(export))
        line = meta.signature_def["line"]
        got = session.run(line.outputs["y"].name, {line.inputs["x"].name: [[1.0]]})
    assert abs(got[0, 0] - 4) < 0.3


def test_a_master_evaluates_too(tmp_path) -> None:
    ports = free_ports(3)
    cluster = {
        job: [f"127.0.0.1:{port}"]
        for job, port in zip(("ps", "master", "worker"), ports, strict=True)
    }
    said, _ = run_cluster(tmp_path, cluster)
    assert said["master"]["is_chief"]
    assert events_of(tmp_path / "model" / "eval")["loss"][-1][0] >= 60


def test_a_second_evaluator_is_refused(tmp_path, monkeypatch) -> None:
    place = {"cluster": {"chief": ["localhost:1"]}, "task": {"type": "evaluator", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(place))
    estimator = tf.estimator.Estimator(lambda features: None, str(tmp_path))
    with pytest.raises(ValueError, match="only be one `evaluator`"):
        tf.estimator.train_and_evaluate(
            estimator, tf.estimator.TrainSpec(lambda: None), tf.estimator.EvalSpec(lambda: None)
        )


MISTAKES = {
    "no JSON": ("{", "TF_CONFIG is no JSON"),
    "no chief": ({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}}, 'one "chief" node'),
    "no task": ({"cluster": {"chief": ["a:1"]}}, '"task" must have "type" and "index"'),
    "no such task": (
        {"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 1}},
        "1 is not a valid task_id",
    ),
    "no cluster": ({"task": {"type": "ps", "index": 0}}, "but no cluster"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_faulty_tf_config_is_refused(name, monkeypatch) -> None:
    place, text = MISTAKES[name]
    monkeypatch.setenv("TF_CONFIG", place if isinstance(place, str) else json.dumps(place))
    with pytest.raises(ValueError, match=text):
        tf.estimator.RunConfig()
