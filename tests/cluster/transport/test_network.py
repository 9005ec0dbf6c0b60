"""Two network namespaces with addresses of their own: as near to two machines as one comes.

Each has its own process namespace too, so that neither local sockets nor shared memory join them.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from tests.conftest import IN_CI

pytestmark = [pytest.mark.netns, pytest.mark.slow]


def ip(*arguments):
    """Run `ip`; what it complains about is in the error."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise PermissionError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Machines:
    """Two namespaces, ``left`` and ``right``, joined by one link."""

    def __init__(self):
        self.names = {side: f"dataflow-{os.getpid()}-{side}" for side in ("left", "right")}
        self.ports = {side: f"df{os.getpid() % 100000}{side[0]}" for side in self.names}
        self.addresses = {"left": "10.213.77.1", "right": "10.213.77.2"}
        self.processes = []

    def make(self):
        """Raises PermissionError where this machine does not allow it."""
        for name in self.names.values():
            ip("netns", "add", name)
        left, right = self.ports.values()
        ip("link", "add", left, "type", "veth", "peer", "name", right)
        for side, name in self.names.items():
            ip("link", "set", self.ports[side], "netns", name)
            ip("-n", name, "addr", "add", self.addresses[side] + "/24", "dev", self.ports[side])
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", self.ports[side], "up")

    def link(self, state):
        """Pull the cable, or plug it in again."""
        ip("-n", self.names["left"], "link", "set", self.ports["left"], state)

    def start(self, side, program, *arguments, **environment):
        """Run a Python program on one side; its lines are collected as they come."""
        command = ["ip", "netns", "exec", self.names[side]]
        command += ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        process = subprocess.Popen(
            [*command, sys.executable, "-c", textwrap.dedent(program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DATAFLOW_CLUSTER_KEY": "for tests", **environment},
        )
        process.lines = Lines(process.stdout)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(60)
            process.stdin.close()
            process.lines.thread.join(60)
            process.stdout.close()
        for name in self.names.values():
            with contextlib.suppress(PermissionError):
                ip("netns", "del", name)


class Lines(list):
    """The lines of a stream, read in a thread."""

    def __init__(self, stream):
        super().__init__()
        self.thread = threading.Thread(target=self.read, args=(stream,), daemon=True)
        self.thread.start()

    def read(self, stream):
        for line in stream:
            self.append(json.loads(line))


@pytest.fixture
def machines():
    """Two namespaces, where this machine lets us make them."""
    missing = [tool for tool in ("ip", "unshare") if shutil.which(tool) is None]
    if missing:
        say = pytest.fail if IN_CI else pytest.skip
        say(f"{' and '.join(missing)} not found: apt-get install iproute2 util-linux")
    found = Machines()
    try:
        found.make()
        yield found
    except PermissionError as error:
        pytest.skip(f"network namespaces need root: {error}")
    finally:
        found.close()


SERVER = """
    import json, os, sys, threading
    import dataflow as tf
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server = tf.train.Server(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    print(json.dumps("ready"), flush=True)
    server.join()
"""

WORKER = """
    import json, sys, threading, time
    import numpy as np
    import dataflow as tf
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
    server = tf.train.Server(json.loads(sys.argv[1]), "worker", 0)
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.zeros(20_000, np.float32))
    with tf.device("/job:worker/task:0"):
        gradient = tf.add(tf.multiply(w, 0.0), 1.0)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(w, gradient)
    num_steps = 0
    with tf.Session(server.target) as session:
        session.run(w.initializer)
        try:
            while not ended.is_set():
                session.run(step.op)
                num_steps += 1
                print(json.dumps(num_steps), flush=True)
                time.sleep(0.002)
            values = session.run(w)
            link = server._pool.take(server.cluster_spec.task_address("ps", 0))
            said = {"w": [float(values.min()), float(values.max())], "steps": num_steps,
                    "tcp": link.sock.family.name, "shares": link.may_share}
        except tf.errors.OpError as error:
            said = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps(said), flush=True)
"""


def start(machines, eventually, **environment):
    spec = {job: [f"{machines.addresses[side]}:7213"] for job, side in WHERE.items()}
    server = machines.start("left", SERVER, json.dumps(spec), "ps", "0", **environment)
    eventually(lambda: server.lines)
    worker = machines.start("right", WORKER, json.dumps(spec), **environment)
    eventually(lambda: len(worker.lines) > 20)
    return worker


WHERE = {"ps": "left", "worker": "right"}


def test_a_cluster_survives_a_link_that_is_down_for_five_seconds(machines, eventually):
    worker = start(machines, eventually)
    machines.link("down")
    before = -1
    while before != len(worker.lines):  # what was under way is said
        before = len(worker.lines)
        time.sleep(0.5)
    time.sleep(4.5)
    assert len(worker.lines) == before, "a step was done without a network"
    machines.link("up")
    eventually(lambda: len(worker.lines) > before + 20)
    worker.stdin.write("stop\n")
    worker.stdin.flush()
    assert worker.wait(60) == 0
    worker.lines.thread.join(60)
    said = worker.lines[-1]
    assert said["steps"] > before
    assert said["w"] == [said["steps"]] * 2, "a step was lost, or done twice"
    assert (said["tcp"], said["shares"]) == ("AF_INET", False)


def test_a_machine_that_stays_silent_is_dead_and_named(machines, eventually):
    worker = start(machines, eventually, DATAFLOW_SILENCE_SECONDS="2")
    machines.link("down")
    eventually(lambda: isinstance(worker.lines[-1], dict))
    said = worker.lines[-1]
    assert said["error"] == "UnavailableError", said
    assert "/job:ps/task:0" in said["message"]
