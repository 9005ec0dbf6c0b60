"""Clusters launched and stopped again and again by one process, which is then as it was before.

The everyday run does four rounds; `make cycles` does fifty (`DATAFLOW_LAUNCHES`) and prints them.
"""

import collections
import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.cluster

LAUNCHES = int(os.environ.get("DATAFLOW_LAUNCHES") or 4)

ROUNDS = textwrap.dedent(
    """
    import gc, json, os, socket, sys, threading
    import numpy as np
    import dataflow as tf
    from dataflow.cluster.processes import descendants

    def descriptors():
        found = []
        for name in os.listdir("/proc/self/fd"):
            try:
                what = os.readlink(f"/proc/self/fd/{name}")
            except OSError:
                continue  # the one that lists them
            if what.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as sock:
                    what = sock.family.name
            found.append(what)
        return found

    for _ in range(int(sys.argv[1])):
        tf.reset_default_graph()
        with tf.cluster.launch(ps=1, workers=1, logs=False) as cluster:
            with tf.device("/job:ps/task:0"):
                w = tf.Variable(np.zeros(200_000, np.float32))
                step = tf.assign_add(w, tf.ones([200_000]))
            with tf.Session(cluster.target) as session:
                session.run(w.initializer)
                assert session.run(step)[0] == 1.0
        del cluster, session
        gc.collect()
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        print(json.dumps({
            "descriptors": descriptors(),
            "threads": sorted(thread.name for thread in threading.enumerate()),
            "processes": len(descendants(os.getpid())),
            "shared": sorted(os.listdir("/dev/shm")),
            "mb": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        }), flush=True)
    """
)


@pytest.fixture(scope="module")
def rounds():
    """What the process had after each of its rounds."""
    before = set(os.listdir("/dev/shm"))
    done = subprocess.run(
        [sys.executable, "-c", ROUNDS, str(LAUNCHES)],
        capture_output=True,
        text=True,
        timeout=120 * LAUNCHES,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(rows) == LAUNCHES
    for number, row in enumerate(rows):
        row["shared"] = [name for name in row["shared"] if name not in before]
        print(
            f"{number + 1}: {len(row['descriptors'])} descriptors, {len(row['threads'])} threads, "
            f"{row['mb']:.1f} MB, shared memory {row['shared']}"
        )
    return rows


# Four rounds, or fifty, take longer than other tests.
@pytest.mark.timeout(120 * LAUNCHES)
def test_threads_processes_and_shared_memory_are_as_before(rounds):
    for row in rounds:
        assert row["threads"] == ["MainThread"]
        assert not row["processes"]
        assert not [name for name in row["shared"] if "dataflow" in name or "plasma" in name]


def test_descriptors_are_as_before(rounds):
    """But for connections that Ray 2.60 itself leaves open, about one for each launch.

    They are gRPC's, between Ray's driver, its head and its workers, and of a family that no socket
    of ours has.
    """
    kinds = [
        collections.Counter(
            re.sub(r"\[.*|/session_.*", "", what)
            for what in row["descriptors"]
            if what != "AF_INET6"
        )
        for row in rounds
    ]
    assert kinds[1:] == kinds[1:2] * (len(kinds) - 1)


def test_memory_is_as_before(rounds):
    """From the second round on: the first one loads Ray, and what it compiles for itself."""
    settled = rounds[min(len(rounds) - 1, 2)]["mb"]
    assert rounds[-1]["mb"] - settled < 5
