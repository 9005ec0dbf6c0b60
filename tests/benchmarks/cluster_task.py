"""One task of the cluster benchmark, for either engine: ``cluster_task.py ENGINE SPEC JOB INDEX``.

A parameter server serves until it is killed. Of the workers the INDEX "all" plays each in a thread of its
own, with its own server; "go" then begins a measurement that all are ready for. A worker reads ``name size seconds`` from its standard
input, one measurement a line, runs it, and answers with its steps and their time. Both engines run this
very text, with TensorFlow 1's names.
"""

import json
import os
import sys
import threading
import time

import numpy as np

NUM_WORKERS = 2


def import_engine(name):
    """Return the engine's module."""
    if name == "dataflow":
        import dataflow as tf

        return tf
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    return tf


def null(tf, index, size):
    """Pull all parameters, push a gradient of the same size.

    The gradient is the negated parameters: TensorFlow removes an identity, and then nothing moves.
    """
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=np.zeros(size, np.float32))
    with tf.device(f"/job:worker/task:{index}"):
        gradient = tf.negative(v)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(v, gradient)
    return step.op, None


def softmax(tf, index, size, sync=False):
    """Softmax regression on MNIST's shapes, batches of ``size``."""
    data = np.random.RandomState(index)
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.zeros((784, 10), np.float32))
        b = tf.get_variable("b", initializer=np.zeros(10, np.float32))
        global_step = tf.train.get_or_create_global_step()
    with tf.device(f"/job:worker/task:{index}"):
        x = tf.constant(data.rand(size, 784).astype(np.float32))
        y = tf.constant(data.randint(0, 10, size))
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(x, w) + b)
        )
        optimizer = tf.train.GradientDescentOptimizer(0.01)
        hook = None
        if sync:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, NUM_WORKERS, NUM_WORKERS)
        train = optimizer.minimize(loss, global_step=global_step)
        if sync:
            hook = optimizer.make_session_run_hook(index == 0)
    return train, hook


def sync_null(tf, index, size):
    """A synchronous step of both workers with gradients of ``size`` numbers."""
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=np.zeros(size, np.float32))
        global_step = tf.train.get_or_create_global_step()
    with tf.device(f"/job:worker/task:{index}"):
        gradient = tf.negative(v)
        optimizer = tf.train.SyncReplicasOptimizer(
            tf.train.GradientDescentOptimizer(0.01), NUM_WORKERS, NUM_WORKERS
        )
        train = optimizer.apply_gradients([(gradient, v)], global_step=global_step)
        hook = optimizer.make_session_run_hook(index == 0)
    return train, hook


def embedding(tf, index, size):
    """Pull and push ``size`` rows of a table of 50,000 x 128."""
    with tf.device("/job:ps/task:0"):
        table = tf.get_variable("table", initializer=np.zeros((50_000, 128), np.float32))
        rows = tf.constant(np.random.RandomState(index).randint(0, 50_000, size))
        pulled = tf.gather(table, rows)
    with tf.device(f"/job:worker/task:{index}"):
        gradient = tf.negative(pulled)
    with tf.device("/job:ps/task:0"):
        step = tf.scatter_sub(table, rows, gradient)
    return step.op, None


def compute(tf, index, size):
    """A step of which nearly all is one worker's: a product of ``size`` x ``size``, one pushed row."""
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=np.zeros(size, np.float32))
    with tf.device(f"/job:worker/task:{index}"):
        x = tf.random_normal([size, size])
        gradient = tf.reduce_mean(tf.matmul(x, x), 0)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(v, gradient)
    return step.op, None


def recurrent(tf, index, size, sync=False):
    """Two GRU layers of 32 units, unrolled over ``size`` time steps; batches of 16."""
    data = np.random.RandomState(index)
    optimizer, hook = tf.train.AdamOptimizer(0.01), None
    worker = f"/job:worker/task:{index}"
    with tf.device(tf.train.replica_device_setter(1, worker_device=worker)):
        global_step = tf.train.get_or_create_global_step()
        x = tf.constant(data.standard_normal((16, size, 8)).astype(np.float32))
        cells = [tf.nn.rnn_cell.GRUCell(32) for _ in range(2)]
        cell = tf.nn.rnn_cell.MultiRNNCell(cells)
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        weights = tf.get_variable("weights", [32, 2])
        loss = tf.reduce_mean(tf.square(tf.matmul(outputs[-1], weights) - 1.0))
        if sync:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, NUM_WORKERS, NUM_WORKERS)
        train = optimizer.minimize(loss, global_step=global_step)
        if sync:
            hook = optimizer.make_session_run_hook(index == 0)
    return train, hook


PROGRAMS = {
    "compute": compute,
    "null": null,
    "sync_null": sync_null,
    "softmax": softmax,
    "sync_softmax": lambda tf, index, size: softmax(tf, index, size, sync=True),
    "recurrent": recurrent,
    "sync_recurrent": lambda tf, index, size: recurrent(tf, index, size, sync=True),
    "embedding": embedding,
}


def measure(tf, server, index, name, size, seconds):
    """Return this worker's number of steps, their seconds, and its processor time."""
    with tf.Graph().as_default(), tf.variable_scope(f"{name}_{size}"):
        step, hook = PROGRAMS[name](tf, index, size)
        filters = ["/job:ps", f"/job:worker/task:{index}"]
        config = tf.ConfigProto(device_filters=filters)
        if hook is not None:
            config.operation_timeout_in_ms = 10_000
        if hook is None:
            missing = tf.report_uninitialized_variables()
            with tf.Session(server.target, config=config) as session:
                if index == 0:
                    session.run(tf.global_variables_initializer())
                while len(session.run(missing)):
                    time.sleep(0.01)
                return loop(session, step, seconds)
        if index > 0:
            # A monitored session that finds nothing initialized looks again after half a minute.
            missing = tf.report_uninitialized_variables(tf.global_variables())
            with tf.Session(server.target, config=config) as session:
                while len(session.run(missing)):
                    time.sleep(0.01)
        # Whoever ends first leaves the other waiting for a token; the time-out ends that, there or
        # in the chief's queue runner, and what was counted until then is what counts.
        counted = [0, 0.0, 0.0]
        try:
            with tf.train.MonitoredTrainingSession(
                server.target,
                is_chief=index == 0,
                hooks=[hook],
                config=config,
                save_checkpoint_secs=None,
                save_summaries_steps=None,
                save_summaries_secs=None,
                log_step_count_steps=None,
                stop_grace_period_secs=1,
            ) as session:
                loop(session, step, seconds, counted)
        except (tf.errors.DeadlineExceededError, tf.errors.CancelledError):
            if not counted[0]:
                raise
        return counted


def loop(session, step, seconds, counted=None):
    """Run steps for some seconds; count them, their seconds, and this process's processor time."""
    for _ in range(3):
        session.run(step)
    counted = [0, 0.0, 0.0] if counted is None else counted
    started, busy = time.perf_counter(), time.process_time()
    while counted[1] < seconds or not counted[0]:
        session.run(step)
        counted[0] += 1
        counted[1] = time.perf_counter() - started
    counted[2] = time.process_time() - busy
    return counted


def play(tf, servers, name, size, seconds):
    """Return the steps of each worker, a thread, with the seconds and the processor time of all."""
    ready, go = threading.Barrier(len(servers) + 1), threading.Event()
    counts, errors, ends = [0] * len(servers), [], [0.0]

    def work(index):
        try:
            with tf.Graph().as_default(), tf.variable_scope(f"{name}_{size}"):
                step, _ = PROGRAMS[name](tf, index, size)
                missing = tf.report_uninitialized_variables()
                filters = ["/job:ps", f"/job:worker/task:{index}"]
                config = tf.ConfigProto(device_filters=filters)
                with tf.Session(servers[index].target, config=config) as session:
                    if index == 0:
                        session.run(tf.global_variables_initializer())
                    while len(session.run(missing)):
                        time.sleep(0.01)
                    for _ in range(3):
                        session.run(step)
                    ready.wait()
                    go.wait()
                    while time.perf_counter() < ends[0]:
                        session.run(step)
                        counts[index] += 1
        except Exception as error:
            errors.append(error)
            ready.abort()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(servers))]
    for thread in threads:
        thread.start()
    try:
        ready.wait()
        print("go", flush=True)
        sys.stdin.readline()
    except threading.BrokenBarrierError:
        pass
    started, busy = time.perf_counter(), time.process_time()
    ends[0] = started + seconds
    go.set()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [counts, time.perf_counter() - started, time.process_time() - busy]


def main():
    """Serve or measure, as the command line says."""
    engine, spec, job, index = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]
    tf = import_engine(engine)
    indices = range(len(spec["worker"])) if index == "all" else [int(index)]
    servers = [tf.train.Server(spec, job_name=job, task_index=i) for i in indices]
    server = servers[0]
    print("ready", flush=True)
    if job == "ps":
        # The end of the pipe is the end of the benchmark, however that comes.
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        server.join()
    for line in sys.stdin:
        name, size, seconds = line.split()
        try:
            counted = [0, 0.0, 0.0]
            if name == "reset":
                tf.Session.reset(server.target)
            elif index == "all":
                counted = play(tf, servers, name, int(size), float(seconds))
            else:
                counted = measure(tf, server, int(index), name, int(size), float(seconds))
            print(json.dumps({"counted": counted}), flush=True)
        except Exception as error:
            print(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}), flush=True)


if __name__ == "__main__":
    main()
