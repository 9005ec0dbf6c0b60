"""How soon each death in a cluster is noticed, and how soon work goes on: medians in a table.

``python -m tests.benchmarks.deaths [--repeats 5] [--only NAME]``. Real processes are killed, as in
`tests/cluster/management/test_deaths.py`. Nothing is asserted: the figures go into notes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dataflow as tf
from dataflow.cluster_spec import ClusterSpec
from tests.cluster.conftest import KEY, LocalCluster, ProcessCluster, free_addresses
from tests.cluster.management.test_deaths import CLIENT
from tests.cluster.management.test_training import Training

Times = tuple[float, float | None]  # seconds to notice, seconds to go on
DEATHS: dict[str, Callable[[], Times]] = {}


def death(name: str) -> Callable[[Callable[[], Times]], Callable[[], Times]]:
    """Enter a measurement under the words that the table shows."""

    def enter(function: Callable[[], Times]) -> Callable[[], Times]:
        DEATHS[name] = function
        return function

    return enter


def spec_of(**counts: int) -> ClusterSpec:
    """A spec with free addresses."""
    addresses = iter(free_addresses(sum(counts.values())))
    return ClusterSpec({job: [next(addresses) for _ in range(n)] for job, n in counts.items()})


@contextlib.contextmanager
def processes() -> Iterator[ProcessCluster]:
    """One parameter server and two workers, each a process."""
    cluster = ProcessCluster(spec_of(ps=1, worker=2))
    try:
        yield cluster
    finally:
        cluster.stop()


def wait_for(condition: Callable[[], Any], seconds: float = 90) -> float:
    """Wait until something is so; return when that was."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("did not happen in time")
        time.sleep(0.001)
    return time.monotonic()


def until_it_fails(run: Callable[[], Any], disturb: Callable[[], None], after: float) -> float:
    """Seconds from a disturbance to the error of what runs meanwhile."""
    happened = []

    def later() -> None:
        time.sleep(after)
        happened.append(time.monotonic())
        disturb()

    thread = threading.Thread(target=later)
    thread.start()
    try:
        while True:
            run()
    except (tf.errors.OpError, KeyboardInterrupt):
        noticed = time.monotonic()
    thread.join()
    return noticed - happened[0]


def model(size: int = 4) -> tuple[Any, Any, Any]:
    """w on the ps, a step through worker 0 and one through worker 1."""
    tf.reset_default_graph()
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(np.zeros(size, np.float32), name="w")
    steps = []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}"):
            gradient = tf.add(w, 1.0)
        with tf.device("/job:ps/task:0"):
            steps.append(tf.assign_add(w, gradient).op)
    return w, steps[0], steps[1]


def goes_on(session: Any, step: Any) -> float:
    """Seconds that a step of another session takes now."""
    started = time.monotonic()
    session.run(step)
    return time.monotonic() - started


@death("worker killed while computing; another worker's next step")
def computing() -> Times:
    with processes() as cluster:
        w, _, other_step = model()
        with tf.device("/job:worker/task:0"):
            for_ever = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0])
        with (
            tf.Session(cluster.target("worker:0")) as session,
            tf.Session(cluster.target("worker:1")) as other,
        ):
            session.run(w.initializer)
            other.run(other_step)
            noticed = until_it_fails(
                lambda: session.run(for_ever), lambda: cluster.kill("worker:0"), 0.5
            )
            return noticed, goes_on(other, other_step)


@death("worker killed while sending; another worker's next step")
def sending() -> Times:
    with processes() as cluster:
        w, _, other_step = model()
        with tf.device("/job:ps/task:0"):
            table = tf.get_variable("table", initializer=tf.fill([300], "old"))
        with tf.device("/job:worker/task:0"):
            texts = tf.fill([300], tf.identity(tf.constant("x" * 20_000)))
        with tf.device("/job:ps/task:0"):
            send = tf.assign(table, texts).op
        with (
            tf.Session(cluster.target("worker:0")) as session,
            tf.Session(cluster.target("worker:1")) as other,
        ):
            session.run([w.initializer, table.initializer])
            session.run(send)
            other.run(other_step)
            cluster.pause("ps:0")  # the first part of the message is sent, and no more
            noticed = until_it_fails(
                lambda: session.run(send), lambda: cluster.kill("worker:0"), 0.5
            )
            cluster.resume("ps:0")
            return noticed, goes_on(other, other_step)


@death("worker killed while it waits for a token; another worker's next step")
def waiting() -> Times:
    with processes() as cluster:
        w, _, other_step = model()
        with tf.device("/job:ps/task:0"):
            take = tf.FIFOQueue(1, [tf.int64], shapes=[[]], shared_name="tokens").dequeue()
        with (
            tf.Session(cluster.target("worker:0")) as session,
            tf.Session(cluster.target("worker:1")) as other,
        ):
            session.run(w.initializer)
            other.run(other_step)
            noticed = until_it_fails(
                lambda: session.run(take), lambda: cluster.kill("worker:0"), 0.5
            )
            return noticed, goes_on(other, other_step)


@death("ps killed, plain session; a new ps process, initialized")
def ps_plain() -> Times:
    with processes() as cluster:
        w, step, _ = model()
        with tf.Session(cluster.target("worker:0")) as session:
            session.run(w.initializer)
            noticed = until_it_fails(lambda: session.run(step), lambda: cluster.kill("ps:0"), 0.5)
            cluster.start("ps:0")
            started = time.monotonic()
            for _ in range(2):  # the first says that the ps was restarted
                with contextlib.suppress(tf.errors.AbortedError):
                    session.run(w.initializer)
            session.run(step)
            return noticed, time.monotonic() - started


@contextlib.contextmanager
def training(num_workers: int, **options: Any) -> Iterator[Training]:
    """A training of processes on a ps of its own process."""
    spec = spec_of(ps=1, worker=num_workers)
    servers = ProcessCluster(spec, ["ps"])
    job = Training(spec, servers, model="line", until_step=10**6, **options)
    try:
        yield job
    finally:
        job.stop()
        servers.stop()


@death("ps killed under MonitoredTrainingSession; steps after its restart, from the checkpoint")
def ps_monitored() -> Times:
    with tempfile.TemporaryDirectory() as folder:
        with training(1, checkpoint_dir=folder, pause_seconds=0.002) as job:
            (worker,) = job.start(0)
            wait_for(lambda: worker.step >= 60)
            job.servers.kill("ps:0")
            killed = time.time()
            job.servers.start("ps:0")
            there = time.time()
            known = len(worker.said)
            wait_for(lambda: len(worker.said) > known + 1)
            last = max(one["time"] for one in worker.said[:known])
            return max(0.0, last - killed), worker.said[known]["time"] - there


def longest_gap(worker: Any, killed: float, num_steps: int = 30) -> float:
    """The longest time between two steps of a worker after a death elsewhere."""
    known = len(worker.said)
    wait_for(lambda: len(worker.said) > known + num_steps)
    times = [one["time"] for one in worker.said if one["time"] >= killed - 1.0]
    return max(np.diff(times))


@death("asynchronous training, a worker killed; the other's longest pause")
def asynchronous() -> Times:
    with training(2) as job:
        first, second = job.start(0, 1)
        wait_for(lambda: second.step >= 5 and first.step >= 5)
        killed = time.time()
        second.kill()
        return 0.0, longest_gap(first, killed)


@death("synchronous training with a backup, a worker killed; the others' longest pause")
def backed_up() -> Times:
    with training(3, aggregate=2) as job:
        workers = job.start(0, 1, 2)
        wait_for(lambda: all(len(worker.said) >= 5 for worker in workers))
        killed = time.time()
        workers[2].kill()
        return 0.0, longest_gap(workers[0], killed)


@death("synchronous training without a backup, a worker killed; from its restart to the next step")
def not_backed_up() -> Times:
    with training(2, aggregate=2) as job:
        (first,) = job.start(0)
        (second,) = job.start(1, pause_seconds=0.05)
        wait_for(lambda: first.step >= 5 and second.step >= 5)
        second.kill()
        time.sleep(0.5)
        at = first.step
        started = time.monotonic()
        job.start(1)
        return 0.0, wait_for(lambda: first.step > at + 2) - started


@death("client killed; its waiting step is cancelled on the ps")
def client() -> Times:
    cluster = LocalCluster(spec_of(ps=1, worker=1))
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, cluster["worker:0"].target],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "DATAFLOW_CLUSTER_KEY": KEY},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "waiting"
        runs = cluster["ps:0"].service._runs
        wait_for(lambda: runs)
        killed = time.monotonic()
        process.kill()
        noticed = wait_for(lambda: not runs) - killed
        tf.reset_default_graph()
        with tf.device("/job:ps/task:0"):
            w = tf.Variable(0.0, name="w")
        with tf.Session(cluster["worker:0"].target) as session:
            started = time.monotonic()
            session.run(w)
            return noticed, time.monotonic() - started
    finally:
        process.kill()
        process.wait(10)
        cluster.stop()


@death("cell interrupted in a waiting step; the session's next step")
def interrupted() -> Times:
    with processes() as cluster:
        w, step, _ = model()
        with tf.device("/job:ps/task:0"):
            take = tf.FIFOQueue(1, [tf.int64], shapes=[[]], shared_name="q").dequeue()
        with tf.Session(cluster.target("worker:0")) as session:
            session.run(w.initializer)
            session.run(step)
            main = threading.main_thread().ident
            assert main is not None
            noticed = until_it_fails(
                lambda: session.run(take), lambda: signal.pthread_kill(main, signal.SIGINT), 0.5
            )
            return noticed, goes_on(session, step)


@death("worker stopped for 1 s (SIGSTOP); from SIGCONT to the end of the step that waits for it")
def stopped() -> Times:
    with processes() as cluster:
        w, _, slow = model()
        with tf.Session(cluster.target("worker:0")) as session:
            session.run(w.initializer)
            session.run(slow)
            cluster.pause("worker:1")
            continued = []

            def go_on() -> None:
                continued.append(time.monotonic())
                cluster.resume("worker:1")

            threading.Timer(1.0, go_on).start()
            session.run(slow)
            return 0.0, time.monotonic() - continued[0]


@death("a ps that never appears")
def never() -> Times:
    tf.reset_default_graph()
    spec = spec_of(ps=1, worker=1)
    server = tf.train.Server(spec, "worker", 0, key=KEY)
    try:
        with tf.device("/job:ps/task:0"):
            a = tf.identity(tf.constant(1.0))
        with tf.Session(server.target) as session:
            return until_it_fails(lambda: session.run(a), lambda: None, 0.0), None
    finally:
        server.stop()


KERNEL = """
import json, sys, time
import dataflow as tf
if __name__ == "__main__":
    started = time.monotonic()
    cluster = tf.cluster.launch(ps=1, workers=1, logs=False)
    pids = [row["pid"] for row in cluster.status()]
    print(json.dumps({"pids": pids, "seconds": time.monotonic() - started}), flush=True)
    sys.stdin.readline()
"""


@death("notebook kernel killed; its processes are gone, and launch again (with Ray cold)")
def kernel() -> Times:
    from tests.cluster.management.test_launch import children_of, is_running

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "owner.py")
        with open(script, "w") as file:
            file.write(KERNEL)
        owners = []
        try:
            said: list[dict[str, Any]] = []
            gone = 0.0
            for _ in range(2):
                owner = subprocess.Popen(
                    [sys.executable, script],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=environment,
                )
                owners.append(owner)
                assert owner.stdout is not None
                line = owner.stdout.readline()
                if not line:
                    raise RuntimeError("the notebook's cluster could not be launched; see above")
                said.append(json.loads(line))
                everything = {*said[-1]["pids"], *children_of(owner.pid)}
                killed = time.monotonic()
                owner.kill()
                owner.wait(10)
                ended = wait_for(lambda found=everything: not any(map(is_running, found)))
                gone = gone or ended - killed
            return gone, said[1]["seconds"]
        finally:
            for owner in owners:
                owner.kill()
                owner.wait(10)


@death("Ray's head killed; its clusters are ended")
def head() -> Times:
    from tests.cluster.management.test_ray_machines import HEAD_LOST, run_script

    with tempfile.TemporaryDirectory() as folder:
        return run_script(pathlib.Path(folder), HEAD_LOST)[0]["seconds"], None


@contextlib.contextmanager
def two_machines(**environment: str) -> Iterator[tuple[Any, Any]]:
    """Two network namespaces and a worker that trains across them."""
    from tests.cluster import test_network

    machines = test_network.Machines()
    machines.make()
    try:
        yield machines, test_network.start(machines, wait_for, **environment)
    finally:
        machines.close()


@death("link between two machines down for 5 s; from its return to the next step")
def link() -> Times:
    with two_machines() as (machines, worker):
        machines.link("down")
        time.sleep(5)
        before = len(worker.lines)
        machines.link("up")
        started = time.monotonic()
        return 0.0, wait_for(lambda: len(worker.lines) > before) - started


@death("a machine that stays silent (DATAFLOW_SILENCE_SECONDS=2; 30 unless set)")
def silent() -> Times:
    with two_machines(DATAFLOW_SILENCE_SECONDS="2") as (machines, worker):
        machines.link("down")
        started = time.monotonic()
        return wait_for(lambda: isinstance(worker.lines[-1], dict)) - started, None


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of a row's words")
    options = parser.parse_args()
    print("| what | to notice (s) | to go on (s) |\n|---|---|---|", flush=True)
    for words, measure in DEATHS.items():
        if options.only not in words:
            continue
        found = [measure() for _ in range(options.repeats)]
        cells = []
        for column in zip(*found, strict=True):
            values = [value for value in column if value is not None]
            cells.append(f"{statistics.median(values):.2g}" if any(values) else "-")
        print(f"| {words} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
