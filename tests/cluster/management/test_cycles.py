"""Clusters launched and stopped again and again by one process, which is then as it was before.

Ray is kept between launches (`dataflow.cluster.management.kept_ray`) and ends with `tf.cluster.shutdown`.

The everyday run does four rounds; `make cycles` does fifty (`DATAFLOW_LAUNCHES`) and prints them.
"""

import collections
import json
import os
import subprocess
import sys
import textwrap

import pytest

from dataflow.cluster.management.processes import is_running

pytestmark = pytest.mark.cluster

LAUNCHES = int(os.environ.get("DATAFLOW_LAUNCHES") or 4)

ROUNDS = textwrap.dedent(
    """
    import collections, gc, json, os, re, socket, sys, threading, time
    import numpy as np
    import dataflow as tf
    from dataflow.cluster.management.processes import descendants

    def descriptors():
        found = []
        for name in os.listdir("/proc/self/fd"):
            try:
                what = os.readlink(f"/proc/self/fd/{name}")
                if what.startswith("socket:"):
                    with socket.socket(fileno=os.dup(int(name))) as sock:
                        what = sock.family.name
            except OSError:
                continue  # the one that lists them, or closed meanwhile
            found.append(re.sub(r"\\[.*|/session_.*", "", what))
        return collections.Counter(found)

    def threads():
        return collections.Counter(thread.name for thread in threading.enumerate())

    # gRPC closes a connection to a process that has ended some time later.
    def no_more_than(before):
        deadline = time.monotonic() + 60
        while True:
            found = descriptors(), threads()
            if not (found[0] - before[0] or found[1] - before[1]) or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    # On a busy machine the thread that reads a task's log may notice late that the task has ended.
    def await_end_of_logs():
        deadline = time.monotonic() + 60
        while any(name.startswith("log ") for name in threads()) and time.monotonic() < deadline:
            time.sleep(0.05)

    def tell(descriptors, threads):
        gc.collect()
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        print(json.dumps({
            "descriptors": descriptors,
            "threads": threads,
            "processes": descendants(os.getpid()),
            "shared": sorted(os.listdir("/dev/shm")),
            "mb": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        }), flush=True)

    for number in range(int(sys.argv[1])):
        tf.reset_default_graph()
        with tf.cluster.launch(ps=1, workers=1, logs=False, timeout_seconds=300) as cluster:
            with tf.device("/job:ps/task:0"):
                w = tf.Variable(np.zeros(200_000, np.float32))
                step = tf.assign_add(w, tf.ones([200_000]))
            with tf.Session(cluster.target) as session:
                session.run(w.initializer)
                assert session.run(step)[0] == 1.0
        del cluster, session
        await_end_of_logs()
        found = descriptors(), threads()
        if number == 1:
            second = found
        elif number > 1:
            found = no_more_than(second)
        tell(*found)
    tf.cluster.shutdown()
    tell(descriptors(), threads())
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
    assert len(rows) == LAUNCHES + 1
    for number, row in enumerate(rows):
        row["shared"] = [name for name in row["shared"] if name not in before]
        print(
            f"{number + 1 if number < LAUNCHES else 'end'}: "
            f"{sum(row['descriptors'].values())} descriptors, {sum(row['threads'].values())} "
            f"threads, {row['mb']:.1f} MB, shared memory {row['shared']}"
        )
    return rows


def more(now, before):
    """What there is more of now."""
    return collections.Counter(now) - collections.Counter(before)


# Four rounds, or fifty, take longer than other tests.
@pytest.mark.timeout(120 * LAUNCHES)
def test_threads_processes_and_shared_memory_are_as_before(rounds):
    end = rounds[-1]
    for row in rounds[2:-1]:
        assert not more(row["threads"], rounds[1]["threads"])
    assert end["threads"] == {"MainThread": 1}
    for row in rounds:
        assert not [name for name in row["shared"] if "dataflow" in name]
    assert not [name for name in end["shared"] if "plasma" in name]
    assert not [pid for pid in {p for row in rounds for p in row["processes"]} if is_running(pid)]


def test_descriptors_are_as_before(rounds):
    for row in rounds[2:]:
        assert not more(row["descriptors"], rounds[1]["descriptors"])


def test_memory_is_as_before(rounds):
    """From the third round on: the first ones load Ray, and what it compiles for itself."""
    settled = rounds[min(LAUNCHES, 3) - 1]["mb"]
    assert rounds[LAUNCHES - 1]["mb"] - settled < 5
