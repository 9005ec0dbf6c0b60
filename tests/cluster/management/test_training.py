"""Training on real processes: the same loss as on one machine, and what survives which death."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dataflow as tf

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("training_task", HERE / "training_task.py")
training_task = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(training_task)


class Worker:
    """A process that trains; ``said`` are the lines that it has written."""

    def __init__(self, options):
        self.options = options
        self.said = []
        self.process = subprocess.Popen(
            [sys.executable, HERE / "training_task.py", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DATAFLOW_CLUSTER_KEY": "a key for tests"},
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    @property
    def step(self):
        """The last global step that it has seen."""
        return max((one.get("step", -1) for one in self.said), default=-1)

    def ended(self):
        return any("end" in one for one in self.said)

    def kill(self):
        self.process.kill()
        self.process.wait(60)
        self.reader.join(60)
        self.process.stdin.close()
        self.process.stdout.close()


class Training:
    """Workers on a cluster whose parameter servers are a `ProcessCluster`'s."""

    def __init__(self, spec, servers, **options):
        self.options = {"spec": spec.as_dict(), "total": spec.num_tasks("worker"), **options}
        self.servers = servers
        self.workers = {}

    def start(self, *indices, **options):
        """Start workers; the chief is waited for, so that the first steps are those of all."""
        for index in indices:
            worker = self.workers[index] = Worker({**self.options, **options, "index": index})
            deadline = time.monotonic() + 90
            while index == 0 and not worker.said:
                assert time.monotonic() < deadline, "the chief has not initialized its variables"
                time.sleep(0.01)
        return [self.workers[index] for index in indices]

    def stop(self):
        for worker in self.workers.values():
            if worker.process.poll() is None:
                worker.kill()


@pytest.fixture
def training(make_spec, start_servers):
    """A function that makes a `Training` with its parameter servers running."""
    made = []

    def make(num_ps=1, num_workers=2, **options):
        spec = make_spec(ps=num_ps, worker=num_workers)
        made.append(Training(spec, start_servers(spec, "ps"), **options))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def on_one_machine(model, num_steps, num_averaged=1):
    """The loss before and after as many steps on the whole data in this process."""
    with tf.Graph().as_default(), tf.Session() as session:
        loss, _, step, _ = training_task.build(model, 0, 1)
        session.run(tf.global_variables_initializer())
        before = np.mean([session.run(loss) for _ in range(num_averaged)])
        for _ in range(num_steps):
            session.run(step)
        return before, np.mean([session.run(loss) for _ in range(num_averaged)])


def test_synchronous_iris_reaches_the_loss_of_one_machine(training, eventually):
    workers = training(model="iris", aggregate=2, until_step=60).start(0, 1)
    eventually(lambda: any(worker.ended() for worker in workers))
    (end,) = [one for worker in workers for one in worker.said if "end" in one][:1]
    before, after = on_one_machine("iris", end["end"])
    # The halves' gradients make the whole one, unless a worker was quick enough to give two to a
    # step, which TensorFlow's tokens allow as well.
    assert end["loss"] == pytest.approx(after, rel=0.05)
    assert after < 0.5 * before
    assert all(len(worker.said) > 20 for worker in workers)


def test_asynchronous_word2vec_reaches_the_loss_of_one_machine(training, eventually):
    options = {"model": "word2vec", "until_step": 800, "num_averaged": 30, "together": True}
    workers = training(num_ps=2, **options).start(0, 1)
    eventually(lambda: all(worker.ended() for worker in workers))
    before, after = on_one_machine("word2vec", 800, num_averaged=30)
    assert after < 0.7 * before
    for worker in workers:
        assert worker.said[-1]["end"] >= 800
        assert worker.said[-1]["loss"] == pytest.approx(after, rel=0.15)
        assert len(worker.said) > 20


@pytest.mark.parametrize("size", [4, 30_000])
def test_asynchronous_training_goes_on_without_a_killed_worker(training, eventually, size):
    steps = {"until_step": 10**6, "size": size}
    first, second = training(model="line", **steps).start(0, 1)
    eventually(lambda: second.step >= 5 and len(first.said) >= 5)
    second.kill()
    killed_at = first.step
    eventually(lambda: first.step > killed_at + 20)
    assert first.said[-1]["loss"] <= first.said[1]["loss"]


def test_synchronous_training_goes_on_with_a_backup_worker(training, eventually):
    options = {"model": "line", "aggregate": 2, "until_step": 10**6}
    workers = training(num_workers=3, **options).start(0, 1, 2)
    eventually(lambda: all(len(worker.said) >= 3 for worker in workers))
    workers[2].kill()
    killed_at = workers[0].step
    eventually(lambda: workers[0].step > killed_at + 20)


def test_synchronous_training_goes_on_with_a_backup_while_a_worker_is_stopped(
    training, eventually, stopped
):
    options = {"model": "line", "aggregate": 2, "until_step": 10**6}
    workers = training(num_workers=3, **options).start(0, 1, 2)
    eventually(lambda: all(len(worker.said) >= 3 for worker in workers))
    with stopped(workers[1].process):
        at = workers[0].step
        eventually(lambda: workers[0].step > at + 20)
    # A straggler, not a death: it goes on where the others are.
    before = len(workers[1].said)
    eventually(lambda: len(workers[1].said) > before + 5)
    assert workers[1].step > at


def test_synchronous_training_waits_for_the_restart_of_a_worker_it_needs(training, eventually):
    job = training(model="line", aggregate=2, until_step=10**6)
    (first,) = job.start(0)
    # Nearly always between two steps: the token of its next one dies with it.
    (second,) = job.start(1, pause_seconds=0.05)
    eventually(lambda: first.step >= 5 and second.step >= 5)
    second.kill()
    time.sleep(0.5)
    stalled_at = first.step
    time.sleep(0.5)
    assert first.step <= stalled_at + 1, "a step was made without a worker that it needs"
    (again,) = job.start(1)
    eventually(lambda: first.step > stalled_at + 20)
    assert again.said


def test_a_killed_ps_comes_back_with_the_last_checkpoint(training, eventually, tmp_path):
    options = {"model": "line", "until_step": 10**6, "checkpoint_dir": str(tmp_path)}
    job = training(pause_seconds=0.002, num_workers=1, **options)
    (worker,) = job.start(0)
    eventually(lambda: worker.step >= 60)
    job.servers.kill("ps:0")
    known = len(worker.said)
    saved = int(tf.train.latest_checkpoint(str(tmp_path)).rpartition("-")[2])
    assert saved >= 40
    job.servers.start("ps:0")
    eventually(lambda: len(worker.said) > known + 20)
    later = [one["step"] for one in worker.said[known + 1 :]]
    assert min(later) >= saved, "it began again from the initial values"
    assert worker.process.poll() is None
    assert worker.said[-1]["loss"] <= worker.said[1]["loss"]


@pytest.mark.parametrize("mode", [{}, {"aggregate": 2}], ids=["asynchronous", "synchronous"])
def test_all_workers_go_on_when_their_ps_comes_back(training, eventually, tmp_path, mode):
    options = {"model": "line", "until_step": 10**6, "checkpoint_dir": str(tmp_path)}
    job = training(pause_seconds=0.002, **options, **mode)
    workers = job.start(0, 1)
    eventually(lambda: all(worker.step >= 60 for worker in workers))
    job.servers.kill("ps:0")
    known = [len(worker.said) for worker in workers]
    saved = int(tf.train.latest_checkpoint(str(tmp_path)).rpartition("-")[2])
    job.servers.start("ps:0")
    eventually(lambda: all(len(w.said) > k + 20 for w, k in zip(workers, known, strict=True)))
    for worker, before in zip(workers, known, strict=True):
        steps = [one["step"] for one in worker.said[before + 1 :] if "step" in one]
        assert min(steps) >= saved, "it began again from the initial values"
        assert worker.process.poll() is None
