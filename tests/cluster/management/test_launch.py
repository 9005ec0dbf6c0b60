"""Clusters on Ray: launched, watched, killed, restarted, and gone without a trace."""

import contextlib
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import psutil
import pytest

import dataflow as tf
from dataflow.cluster.management.launch_progress import LaunchProgress

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def launched():
    with tf.cluster.launch(ps=1, workers=2, logs=False) as cluster:
        yield cluster


def add_on_worker(server, size):
    """Steps from a worker's own process, as between-graph replication does."""
    import numpy as np

    import dataflow as tf

    with tf.device("/job:ps/task:0"):
        w = tf.Variable(np.zeros(size, np.float32), name="shared_w")
    with tf.device(server.task):
        one = tf.identity(tf.ones([size]))
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(w, one, use_locking=True)
    with tf.Session(server.target) as session:
        for _ in range(50):
            session.run(step.op)
    return server.task, os.getpid()


def test_spec_targets_and_status(launched):
    assert launched.spec.jobs == ["ps", "worker"]
    assert launched.spec.num_tasks("worker") == 2
    assert launched.target == launched.targets["/job:worker/task:0"]
    assert all(a.startswith("127.0.0.1:") for a in launched.spec.addresses().values())
    status = launched.status()
    assert [row["task"] for row in status] == [
        "/job:ps/task:0",
        "/job:worker/task:0",
        "/job:worker/task:1",
    ]
    assert len({row["pid"] for row in status}) == 3
    assert {row["state"] for row in status} == {"running"}
    assert "/job:ps/task:0" in repr(status)
    bundle, _ = launched._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "1 ps, 2 worker" in bundle["text/plain"]
    assert "/job:ps/task:0" in bundle["text/plain"]
    import pandas

    frame = pandas.DataFrame(status)
    assert len(frame) == 3
    assert "steps_per_second" in frame


def test_workers_train_on_their_own_and_the_notebook_sees_it(launched):
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(np.zeros(3, np.float32), name="shared_w")
    with tf.Session(launched.target) as session:
        session.run(w.initializer)
        results = launched.run(add_on_worker, 3)
        assert {task for task, _ in results} == {"/job:worker/task:0", "/job:worker/task:1"}
        assert os.getpid() not in {pid for _, pid in results}
        assert session.run(w).tolist() == [100.0] * 3
    ps = launched.status()[0]
    assert ps["steps"] >= 100
    assert ps["variable_bytes"] >= 12


def test_no_process_builds_the_parser_that_ray_never_calls(launched):
    def look(server):
        import jsonschema  # as Ray did

        right = jsonschema.FormatChecker().conforms("no address", "iri")
        return right, sys.modules["rfc3987_syntax"].__file__

    def find(server):
        return "lark" in sys.modules

    assert launched.run(find) == [False, False]
    path = os.environ.get("PYTHONPATH", "")
    assert "late_imports" not in path, "what is set for Ray's processes is left in the notebook"
    if importlib.util.find_spec("rfc3987_syntax") is not None:
        right, file = launched.submit("worker:1", look).result(60)
        assert not right
        assert "late_imports" not in file, "the package has not taken its place"


def test_launching_tells_of_its_phases(launched, capsys):
    with tf.cluster.launch(ps=1, workers=1):
        pass
    lines = capsys.readouterr().out.splitlines()  # and what tasks print between them
    phases = (
        "Using the Ray that this process is connected to.",
        "Starting 2 tasks.",
        ("/job:ps/task:0 is ready, 1 of 2.", "/job:worker/task:0 is ready, 1 of 2."),
        ("/job:ps/task:0 is ready, 2 of 2.", "/job:worker/task:0 is ready, 2 of 2."),
        "The cluster is ready after ",
    )
    at = [next(i for i, line in enumerate(lines) if line.startswith(words)) for words in phases]
    assert at == sorted(at)
    with tf.cluster.launch(ps=0, workers=1, logs=False):
        pass
    assert " ready" not in capsys.readouterr().out


def task_processes():
    """The process ids of this process's tasks."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name().startswith("ray::RayTask"):
                found.add(process.pid)
    return found


class Impatient(LaunchProgress):
    def __init__(self):
        self.lines = []
        self.num_checks = 0

    def say(self, line):
        self.lines.append(line)

    def check(self):
        self.num_checks += 1
        raise InterruptedError


def test_who_hears_of_a_launch_can_end_it(launched, capsys, eventually):
    eventually(lambda: len(task_processes()) == 3)  # what stopped before is gone
    before = task_processes()
    assert before
    progress = Impatient()
    with pytest.raises(InterruptedError):
        tf.cluster.launch(ps=1, workers=1, progress=progress)
    assert progress.lines[1] == "Starting 2 tasks." and progress.num_checks == 1
    assert "Starting" not in capsys.readouterr().out
    assert [cluster.target for cluster in tf.cluster.find()] == [launched.target]
    eventually(lambda: task_processes() == before)


def test_errors_of_a_function_come_back(launched):
    def fail(server):
        raise ValueError(f"from {server.task}")

    with pytest.raises(ValueError, match="from /job:worker/task:1"):
        launched.submit("worker:1", fail).result(60)
    with pytest.raises(ValueError, match=r"no job 'gpu'; the jobs are \['ps', 'worker'\]"):
        launched.run(fail, job="gpu")
    with pytest.raises(tf.errors.InvalidArgumentError, match="no task 'worker:9'"):
        launched.submit("worker:9", fail)


def test_a_killed_task_is_restarted_at_its_address(launched, eventually):
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(1.0, name="w_before")
        read = tf.identity(w)
    with tf.Session(launched.target) as session:
        session.run(w.initializer)
        assert session.run(read) == 1.0
        pid = launched.pid("/job:ps/task:0")
        launched.kill("/job:ps/task:0")
        eventually(lambda: launched.deaths)
        assert launched.deaths[-1][0] == "/job:ps/task:0"
        eventually(lambda: launched.status()[0]["state"] == "running")
        assert launched.pid("/job:ps/task:0") != pid
        assert launched.status()[0]["restarts"] == 1
        with pytest.raises(tf.errors.OpError, match="/job:ps/task:0"):
            session.run(read)
    with tf.Session(launched.target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="w_before"):
            session.run(read)
        session.run(w.initializer)
        assert session.run(read) == 1.0


def test_two_clusters_at_once_do_not_mix(launched):
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(5.0, name="w_twice")
    with tf.cluster.launch(ps=1, workers=1, logs=False) as other:
        assert other.key != launched.key
        assert len(tf.cluster.find()) == 2
        with tf.Session(launched.target) as here, tf.Session(other.target) as there:
            here.run(w.initializer)
            there.run(tf.assign(w, 6.0))
            assert [here.run(w), there.run(w)] == [5.0, 6.0]
        # The key of one opens nothing of the other.
        from dataflow.cluster.transport.connection_pool import connect

        with pytest.raises(tf.errors.UnauthenticatedError, match="does not hold the key"):
            connect(other.spec.task_address("ps", 0), launched.key, "a stranger")
        pids = [row["pid"] for row in other.status()]
    assert not any(is_running(pid) for pid in pids)
    assert launched.status()[0]["state"] == "running"


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"workers": 100_000}, tf.errors.ResourceExhaustedError, "asks for .* CPU.* Start fewer"),
        (
            {"workers": 1, "resources": {"worker": {"num_gpus": 64}}},
            tf.errors.ResourceExhaustedError,
            "asks for 64 GPU",
        ),
        ({"workers": -1}, ValueError, "'worker' must be >= 0, got -1"),
        ({"ps": 0, "workers": 0}, ValueError, "no task was asked for"),
        ({"resources": {"gpu": {}}}, ValueError, "resources= names 'gpu'"),
        ({"object_store_bytes": 10**9}, ValueError, "at most 300000000"),
    ],
)
def test_what_cannot_be_is_said_at_once(launched, options, error, words):
    with pytest.raises(error, match=words):
        tf.cluster.launch(**options)
    assert launched.status()[1]["state"] == "running"


def test_lines_of_the_tasks_are_printed_with_their_names(launched, capfd, eventually):
    def speak(server):
        print("a line from", server.task)

    with tf.cluster.launch(ps=0, workers=1) as cluster:
        cluster.run(speak)
        seen = []

        def arrived():
            seen.append(capfd.readouterr().out)
            return "(/job:worker/task:0) a line from /job:worker/task:0" in "".join(seen)

        eventually(arrived)


def test_a_placement_group_and_environment(launched):
    def look(server):
        return os.environ["LESSON"]

    with tf.cluster.launch(
        ps=1,
        workers=1,
        logs=False,
        placement="PACK",
        resources={"worker": {"num_cpus": 0.2, "env": {"LESSON": "18"}}},
    ) as cluster:
        assert cluster.run(look) == ["18"]


def test_a_stopped_cluster_says_which_call_stopped_it():
    with tf.cluster.launch(ps=1, workers=1, logs=False) as cluster:
        with tf.device("/job:ps/task:0"):
            step = tf.train.create_global_step().assign_add(1)
        session = tf.Session(cluster.target)
        session.run(tf.global_variables_initializer())
        training = tf.train.MonitoredTrainingSession(cluster.target)
        training.run(step)
    for use in (
        lambda: session.run(step),
        lambda: tf.Session(cluster.target).run(step),
        lambda: training.run(step),  # which is not tried again for ever
        lambda: cluster.submit("worker:0", print),
        lambda: cluster.run(print),
        lambda: cluster.kill("worker:0"),
        lambda: cluster.restart("worker:0"),
        lambda: cluster.resize(worker=2),
    ):
        with pytest.raises(
            tf.errors.UnavailableError, match=r"its with block ended at .*test_launch\.py, line \d+"
        ):
            use()
    assert {row["state"] for row in cluster.status()} == {"stopped"}


OWNER = textwrap.dedent(
    """
    import atexit, sys
    import dataflow as tf
    if __name__ == "__main__":
        launch = tf.cluster.launch
        # As what Ray registers when it is imported and started by the launch: it comes later.
        atexit.register(lambda: print("stopped" if cluster.stopped else "watched", flush=True))
        cluster = launch(ps=1, workers=1, logs=False)
        print(*[row["pid"] for row in cluster.status()], flush=True)
        sys.stdin.readline()
    """
)


def children_of(pid):
    """All processes below ``pid``."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(path.name)
            found += [child, *children_of(child)]
    return found


@pytest.mark.parametrize("ending", ["killed", "exits"])
def test_nothing_outlives_the_notebook_kernel(tmp_path, ending, eventually):
    script = tmp_path / "owner.py"
    script.write_text(OWNER)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    owner = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        tasks = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(tasks) == 2
        everything = set(children_of(owner.pid)) | set(tasks)
        if ending == "killed":
            owner.kill()
        else:
            owner.stdin.write("\n")
            owner.stdin.flush()
            assert owner.stdout.readline().strip() == "stopped"
        owner.wait(60)
        eventually(lambda: not any(is_running(pid) for pid in everything))
    finally:
        owner.kill()
        owner.wait(60)
        owner.stdin.close()
        owner.stdout.close()


def listening_addresses(pids):
    """The IPv4 and IPv6 addresses, in the kernel's hexadecimal, on which processes listen."""
    sockets = set()
    for pid in pids:
        for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(os.readlink(path))
            except OSError:
                continue  # closed meanwhile
    found = []
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.append(fields[1].partition(":")[0])
    return found


def test_nothing_listens_beyond_this_machine(launched):
    found = listening_addresses([os.getpid(), *children_of(os.getpid())])
    assert len(found) >= 5
    loopback = "0100007F"  # 127.0.0.1, the last byte first
    ending = {address[-8:] for address in found}  # ::ffff:127.0.0.1 ends with it too
    assert ending == {loopback}, f"{found}"


def test_launch_works_in_a_thread_and_after_a_stop():
    outcome = []

    def work():
        with tf.cluster.launch(ps=0, workers=1, logs=False) as cluster:
            with tf.Session(cluster.target, graph=tf.Graph()):
                outcome.append(cluster.status()[0]["state"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert outcome == ["running"]


def test_steps_with_a_slow_task_and_the_table_still_shows(launched):
    pid = launched.pid("worker:1")
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(0.1)
        status = launched.status()
        assert status[2]["steps"] is None
        assert status[1]["steps"] is not None
    finally:
        os.kill(pid, signal.SIGCONT)


def test_tasks_write_checkpoints_as_the_program_that_launched_them(tmp_path):
    tf.config.experimental.set_checkpoint_format("tensorflow")
    try:
        with tf.Graph().as_default(), tf.cluster.launch(ps=1, workers=1, logs=False) as cluster:
            with tf.device("/job:ps/task:0"):
                tf.get_variable("a", initializer=[1.0, 2.0])
            with tf.device("/job:worker/task:0"):
                tf.get_variable("b", initializer=[3])
            saver = tf.train.Saver(sharded=True)
            with tf.Session(cluster.target) as session:
                session.run(tf.global_variables_initializer())
                prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
    finally:
        tf.config.experimental.set_checkpoint_format("safetensors")
    shards = ["m.data-00000-of-00002", "m.data-00001-of-00002"]
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", *shards, "m.index"]
    assert tf.train.load_variable(prefix, "a").tolist() == [1.0, 2.0]
    assert tf.train.load_variable(prefix, "b").tolist() == [3]
