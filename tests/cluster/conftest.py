"""Clusters for tests: all tasks in this process, or each in a process of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import dataflow as tf
from dataflow.cluster.management import asking, external_cluster
from dataflow.cluster.management.server import Server
from dataflow.cluster.transport import registry
from dataflow.cluster_spec import ClusterSpec
from tests.ports import free_ports

KEY = "a key for tests"
PATIENCE_SECONDS = 60
ANSWER_SECONDS = 5.0


def free_addresses(count):
    """Addresses on loopback at which nobody listens."""
    return [f"127.0.0.1:{port}" for port in free_ports(count)]


@pytest.fixture
def make_spec():
    """A function from counts per job to a spec with free addresses."""

    def make(**counts):
        addresses = iter(free_addresses(sum(counts.values())))
        return ClusterSpec({job: [next(addresses) for _ in range(n)] for job, n in counts.items()})

    return make


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A task of a busy machine may take more than the second that a learner waits for its figures."""
    monkeypatch.setattr(asking, "ANSWER_SECONDS", ANSWER_SECONDS)
    monkeypatch.setattr(external_cluster, "_ANSWER_SECONDS", ANSWER_SECONDS)


@pytest.fixture(autouse=True)
def fresh_graph():
    """Each test builds its own graph."""
    tf.reset_default_graph()
    return


class LocalCluster:
    """Servers of this process by task name."""

    def __init__(self, spec):
        self.spec = spec
        self.servers = {}
        for job in spec.jobs:
            for index in spec.task_indices(job):
                server = Server(spec, job, index, key=KEY)
                self.servers[server.task] = server

    def __getitem__(self, name):
        job, index = name.split(":")
        return self.servers[f"/job:{job}/task:{index}"]

    def stop(self):
        for server in self.servers.values():
            server.stop()


@pytest.fixture
def cluster(make_spec):
    """One parameter server and two workers in this process."""
    cluster = LocalCluster(make_spec(ps=1, worker=2))
    yield cluster
    cluster.stop()


TASK = textwrap.dedent(
    """
    import sys, threading, os
    import dataflow as tf
    from dataflow.cluster.management.server import Server
    # The test's end is this pipe's end: no task outlives it, however it ends.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server = Server(eval(sys.argv[1]), sys.argv[2], int(sys.argv[3]), key=sys.argv[4])
    print("ready", flush=True)
    server.join()
    print("joined", flush=True)
    os._exit(0)
    """
)


class ProcessCluster:
    """Tasks in processes of their own."""

    def __init__(self, spec, jobs=None):
        self.spec = spec
        self.processes = {}
        registry.add_keys(list(spec.addresses().values()), KEY)
        for job in jobs or spec.jobs:
            for index in spec.task_indices(job):
                self.start(f"{job}:{index}", wait=False)
        for process in self.processes.values():
            assert process.stdout.readline().strip() == "ready"

    def start(self, name, wait=True):
        job, index = name.split(":")
        command = [sys.executable, "-c", TASK, repr(self.spec.as_dict()), job, index, KEY]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.processes[name] = process
        if wait:
            assert process.stdout.readline().strip() == "ready"

    def target(self, name):
        job, index = name.split(":")
        return "grpc://" + self.spec.task_address(job, int(index))

    def kill(self, name):
        process = self.processes[name]
        process.kill()
        process.wait(60)
        process.stdin.close()
        process.stdout.close()

    def pause(self, name):
        pid = self.processes[name].pid
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)

    def resume(self, name):
        os.kill(self.processes[name].pid, signal.SIGCONT)

    def stop(self):
        registry.forget_keys(list(self.spec.addresses().values()))
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait(60)
            process.stdin.close()
            process.stdout.close()


@pytest.fixture
def processes(make_spec):
    """One parameter server and two workers, each a process."""
    cluster = ProcessCluster(make_spec(ps=1, worker=2))
    yield cluster
    cluster.stop()


@pytest.fixture
def start_servers():
    """A function that starts the tasks of some jobs of a spec, each a process."""
    made = []

    def start(spec, *jobs):
        made.append(ProcessCluster(spec, jobs))
        return made[-1]

    yield start
    for cluster in made:
        cluster.stop()


@pytest.fixture
def stopped():
    """A context in which a process is stopped (SIGSTOP)."""

    @contextlib.contextmanager
    def stop(process):
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        try:
            yield
        finally:
            os.kill(process.pid, signal.SIGCONT)

    return stop


@pytest.fixture
def eventually():
    """Wait until a condition holds; fail when it does not within a minute."""

    def wait(condition, seconds=PATIENCE_SECONDS):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "did not happen in time"
            time.sleep(0.01)

    return wait


@pytest.fixture
def used_reads(monkeypatch):
    """Whether each step that looked found reads that had been done ahead; they do not grow old."""
    from dataflow.cluster.execution import prefetch

    used, take_reads = [], prefetch.take_reads

    def watched(*arguments):
        reads = take_reads(*arguments)
        used.append(reads is not None)
        return reads

    monkeypatch.setattr(prefetch, "take_reads", watched)
    monkeypatch.setattr(prefetch, "PREFETCH_SECONDS", 60.0)
    return used
