"""Training scripts as TensorFlow's users write them: one process per task, told by flags who it is."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import dataflow as tf
from tests.cluster.conftest import KEY, free_addresses

SCRIPT = textwrap.dedent(
    """
    import json, os, sys, threading
    # The test's end is this pipe's end: no task outlives it, however it ends.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
    import numpy as np
    import dataflow as tf

    tf.app.flags.DEFINE_string("ps_hosts", "", "addresses, with commas between them")
    tf.app.flags.DEFINE_string("worker_hosts", "", "addresses, with commas between them")
    tf.app.flags.DEFINE_string("job_name", "", "ps or worker")
    tf.app.flags.DEFINE_integer("task_index", 0, "of the job")
    tf.app.flags.DEFINE_string("looked_after_by", "", "Supervisor, MonitoredTrainingSession or sync")
    tf.app.flags.DEFINE_string("logdir", "", "for checkpoints")
    FLAGS = tf.app.flags.FLAGS

    def model():
        rng = np.random.RandomState(0)
        x = rng.randn(60, 4).astype(np.float32)
        y = x @ np.linspace(-1, 1, 4, dtype=np.float32)[:, None]
        w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
        return tf.reduce_mean(tf.square(tf.matmul(x[FLAGS.task_index::2], w)
                                        - y[FLAGS.task_index::2]))

    def main(_):
        cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","),
                                        "worker": FLAGS.worker_hosts.split(",")})
        server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
        if FLAGS.job_name == "ps":
            server.join()
            print(json.dumps("joined"), flush=True)
            os._exit(0)
        is_chief = FLAGS.task_index == 0
        with tf.device(tf.train.replica_device_setter(
                worker_device=f"/job:worker/task:{FLAGS.task_index}", cluster=cluster)):
            loss = model()
            if FLAGS.looked_after_by == "sync":  # int32, as most published scripts have it
                global_step = tf.Variable(0, name="global_step", trainable=False)
            else:
                global_step = tf.train.get_or_create_global_step()
            optimizer = tf.train.GradientDescentOptimizer(0.05)
            hooks = [tf.train.StopAtStepHook(last_step=100)]
            if FLAGS.looked_after_by == "sync":
                optimizer = tf.train.SyncReplicasOptimizer(
                    optimizer, replicas_to_aggregate=2, total_num_replicas=2)
                hooks.append(optimizer.make_session_run_hook(is_chief))
            train = optimizer.minimize(loss, global_step=global_step)
            init = tf.global_variables_initializer()
        num_steps, step, losses = 0, 0, []
        if FLAGS.looked_after_by == "Supervisor":
            supervisor = tf.train.Supervisor(
                is_chief=is_chief, logdir=FLAGS.logdir, init_op=init, global_step=global_step,
                save_model_secs=600, summary_op=None)
            with supervisor.managed_session(server.target) as session:
                while not supervisor.should_stop() and step < 100:
                    cost, step, _ = session.run([loss, global_step, train])
                    num_steps += 1
                    losses.append(float(cost))
        else:
            with tf.train.MonitoredTrainingSession(
                    server.target, is_chief=is_chief, checkpoint_dir=FLAGS.logdir, hooks=hooks,
                    save_summaries_steps=None, save_summaries_secs=None) as session:
                while not session.should_stop():
                    cost, step, _ = session.run([loss, global_step, train])
                    num_steps += 1
                    losses.append(float(cost))
        print(json.dumps({"steps": num_steps, "last": int(step), "losses": losses[:1] + losses[-1:]}),
              flush=True)
        os._exit(0)

    if __name__ == "__main__":
        tf.app.run()
    """
)


@pytest.fixture
def run_script(tmp_path):
    """A function that starts a task with its flags; what runs still is ended with the test."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    processes = []

    def start(job, index, **flags):
        flags = {"job_name": job, "task_index": index, **flags}
        processes.append(
            subprocess.Popen(
                [sys.executable, script, *(f"--{name}={value}" for name, value in flags.items())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "DATAFLOW_CLUSTER_KEY": KEY},
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait(60)
        process.stdin.close()
        process.stdout.close()


def said(process, seconds=60):
    """What a process printed last; it must have ended well."""
    assert process.wait(seconds) == 0
    return json.loads(process.stdout.read().splitlines()[-1])


@pytest.mark.parametrize("looked_after_by", ["Supervisor", "MonitoredTrainingSession", "sync"])
def test_a_script_per_task(run_script, tmp_path, monkeypatch, looked_after_by):
    monkeypatch.setenv("DATAFLOW_CLUSTER_KEY", KEY)
    addresses = free_addresses(3)
    flags = {
        "ps_hosts": addresses[0],
        "worker_hosts": ",".join(addresses[1:]),
        "looked_after_by": looked_after_by,
        "logdir": tmp_path / "logs",
    }
    # The worker that is not the chief comes first, and waits for the variables.
    other = run_script("worker", 1, **flags)
    chief = run_script("worker", 0, **flags)
    ps = run_script("ps", 0, **flags)
    first, second = said(chief), said(other)
    assert first["last"] >= 99 and first["steps"] >= 1
    assert first["steps"] + second["steps"] >= (95 if looked_after_by != "sync" else 100)
    # Either may have come when the other had trained already.
    losses = [first["losses"], second["losses"]]
    assert max(loss[-1] for loss in losses) < max(loss[0] for loss in losses) / 4
    saved = tf.train.load_checkpoint(str(tmp_path / "logs")).get_tensor("global_step")
    # The chief saves what is on the ps; a Supervisor does so every ten minutes, and at the start.
    assert saved >= (0 if looked_after_by == "Supervisor" else 100)
    assert ps.poll() is None, "a parameter server goes on until it is ended"
    tf.cluster.shutdown({"ps": addresses[:1]})
    assert said(ps, 10) == "joined"
