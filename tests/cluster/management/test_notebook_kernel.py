"""A real Jupyter kernel with a cluster: cells interrupted in mid-step, and a restart."""

import json
import os
import sys
import threading

import pytest

from tests.cluster.management.test_launch import children_of, is_running

jupyter_client = pytest.importorskip(
    "jupyter_client", reason="Jupyter is not installed: pip install 'dataflow-learn[lab]'"
)

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

LAUNCH = """
    import json
    import dataflow as tf
    cluster = tf.cluster.launch(ps=1, workers=1, logs=False)
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(0.0, name="w")
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="q")
        take, put, size = queue.dequeue(), queue.enqueue([1.0]), queue.size()
    with tf.device("/job:worker/task:0"):
        step = tf.assign_add(w, 1.0)
    session = tf.Session(cluster.target)
    session.run(w.initializer)
    print(json.dumps([row["pid"] for row in cluster.status()]))
"""


class Kernel:
    """A kernel and what its cells print."""

    def __init__(self):
        self.manager = jupyter_client.KernelManager(kernel_name="python3")
        path = os.pathsep.join(p for p in sys.path if p)
        self.manager.start_kernel(env={**os.environ, "PYTHONPATH": path})
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code, seconds=120):
        """The printed text of a cell, and the name of its error or ``None``."""
        text = []

        def hook(message):
            if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
                text.append(message["content"]["text"])

        lines = [line.removeprefix("    ") for line in code.splitlines()]
        reply = self.client.execute_interactive("\n".join(lines), output_hook=hook, timeout=seconds)
        return "".join(text).strip(), reply["content"].get("ename")

    def restart(self):
        """As the button does: the process is ended and another takes its place."""
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=60)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel():
    made = Kernel()
    yield made
    made.close()


def test_interrupted_restarted_and_launched_again(kernel, eventually):
    said, error = kernel.run(LAUNCH)
    assert error is None, said
    old = {*json.loads(said), *children_of(kernel.manager.provisioner.pid)}
    for cell in ("session.run(take)", "while True: session.run(step)"):
        timer = threading.Timer(1.0, kernel.manager.interrupt_kernel)
        timer.start()
        assert kernel.run(cell)[1] == "KeyboardInterrupt"
        timer.join()
    said, error = kernel.run(
        "before = session.run(w); print(session.run(step) - before, before > 1.0)"
    )
    assert (said, error) == ("1.0 True", None)
    said, error = kernel.run("session.run(put); print(session.run(size))")
    assert (said, error) == ("1", None), "the interrupted dequeue took it"
    kernel.restart()
    said, error = kernel.run(LAUNCH)  # at once: the old processes may still be ending
    assert error is None, said
    new = set(json.loads(said))
    assert not new & old
    assert kernel.run("print(session.run(step))") == ("1.0", None)
    eventually(lambda: not any(is_running(pid) for pid in old))
    assert all(is_running(pid) for pid in new)


def test_a_launch_that_is_interrupted_leaves_nothing_and_can_be_repeated(kernel, eventually):
    """The interrupt comes while Ray starts: no cluster knows of its processes yet."""
    pid = kernel.manager.provisioner.pid
    before = children_of(pid)

    def interrupt():
        eventually(lambda: len(children_of(pid)) > len(before))
        kernel.manager.interrupt_kernel()

    helper = threading.Thread(target=interrupt)
    helper.start()
    said, error = kernel.run(
        """
    import dataflow as tf
    try:
        tf.cluster.launch(ps=1, workers=1)
    except KeyboardInterrupt as e:
        print(e, e.__suppress_context__)
    """
    )
    helper.join()
    assert (
        error is None and "The launch was interrupted; nothing of it is left running. True" in said
    )
    assert "ready" not in said
    eventually(lambda: children_of(pid) == before)
    said, error = kernel.run(LAUNCH)
    assert error is None, said
    assert len(json.loads(said)) == 2
