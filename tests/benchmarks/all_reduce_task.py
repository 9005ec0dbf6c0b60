"""One worker of the all-reduce benchmark: ``all_reduce_task.py PROGRAM SPEC JOB INDEX NUMBERS``.

Reads a number of steps from its standard input, one measurement a line, makes them together with the
other workers, and answers with their seconds. A step averages a gradient of so many float32 NUMBERS over all
workers and adds it to the parameters.
"""

import json
import os
import sys
import threading
import time

import numpy as np


def ring(spec, index, size):
    """Parameters on each worker, gradients around the ring."""
    import dataflow as tf
    from dataflow.ops.collective import all_reduce

    n = len(spec["worker"])
    server = tf.train.Server(spec, "worker", index)
    with tf.device(f"/job:worker/task:{index}"):
        v = tf.Variable(np.zeros(size, np.float32))
        step = tf.assign_add(v, all_reduce(tf.negative(v), n, 1, 1, "Add", "Div")).op
    session = tf.Session(server.target)
    session.run(v.initializer)
    return lambda: session.run(step)


def parameter_server(spec, index, size):
    """Parameters on the parameter server, synchronous replicas."""
    import dataflow as tf

    n = len(spec["worker"])
    server = tf.train.Server(spec, "worker", index)
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=np.zeros(size, np.float32))
        global_step = tf.train.get_or_create_global_step()
    with tf.device(f"/job:worker/task:{index}"):
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.01), n, n)
        train = optimizer.apply_gradients([(tf.negative(v), v)], global_step=global_step)
    hook = optimizer.make_session_run_hook(index == 0)
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    if index:
        missing = tf.report_uninitialized_variables(tf.global_variables())
        with tf.Session(server.target, config=config) as waiting:
            while len(waiting.run(missing)):
                time.sleep(0.01)
    session = tf.train.MonitoredTrainingSession(
        server.target, is_chief=index == 0, hooks=[hook], config=config, save_checkpoint_secs=None,
        save_summaries_steps=None, log_step_count_steps=None,
    )  # fmt: skip
    raw = session._tf_sess()

    def run_on():
        while True:
            raw.run(train)

    if index:  # they step as the chief's steps need them: a token may go to any worker
        threading.Thread(target=run_on, daemon=True).start()
        return lambda: None

    def step():  # a chief may get several tokens of one step
        target = raw.run(global_step) + 1
        while raw.run(global_step) < target:
            raw.run(train)

    return step


def gloo(spec, index, size):
    """PyTorch's `torch.distributed` with its backend for processors."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://{spec['worker'][0]}",
        rank=index,
        world_size=len(spec["worker"]),
    )
    v, n = torch.zeros(size), len(spec["worker"])

    def step():
        gradient = -v
        dist.all_reduce(gradient)
        v.add_(gradient.div_(n))

    return step


PROGRAMS = {"ring": ring, "parameter server": parameter_server, "gloo": gloo}


def main():
    """Serve, or measure as often as asked."""
    program, spec, job, index, size = sys.argv[1:]
    spec = json.loads(spec)
    if job == "ps":
        import dataflow as tf

        server = tf.train.Server(spec, job, int(index))
        print("ready", flush=True)
        threading.Thread(target=server.join, daemon=True).start()
        sys.stdin.read()
        os._exit(0)
    step = PROGRAMS[program](spec, int(index), int(size))
    print("ready", flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        for _ in range(int(line)):
            step()
        print(time.perf_counter() - started, flush=True)
    os._exit(0)


main()
