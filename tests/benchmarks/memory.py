"""What a process holds: all workloads one after the other, and 500 graphs built, trained and dropped.

``suite`` runs every workload of `workloads` for a moment in one process of each engine, drops it, and
prints what is resident while it lives and after that, and the peak of the whole, with the ratio to
TensorFlow's. ``soak`` makes small networks of changing sizes, trains each for some steps with Adam,
momentum or plain descent, drops it, and prints what is resident as it goes on: the end is compared with
the state after the first graphs, when all modules are loaded and all threads started.

Usage: ``python -m tests.benchmarks.memory [suite soak] [--graphs 500] [--seconds 0.3]``. TensorFlow's
Python comes from ``DATAFLOW_ORACLE_PYTHON``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOAL_PEAK, GOAL_SOAK = 0.35, 1.05
#: The soak's beginning is after so many graphs.
FIRST_GRAPHS = 25
MB = 1 << 20


def resident_bytes() -> int:
    """The process's memory that is in use now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    """The most that the process has ever used."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def suite(tf: Any, seconds: float) -> dict[str, Any]:
    """Bytes by workload, alive and dropped, and the peak, of one process that runs them all."""
    from workloads import WORKLOADS  # type: ignore[import-not-found]

    found: dict[str, Any] = {"start": resident_bytes(), "workloads": {}}
    for name, make in WORKLOADS.items():
        tf.reset_default_graph()
        step = make(tf)
        end = time.perf_counter() + seconds
        for _ in range(5):
            step()
        while time.perf_counter() < end:
            step()
        alive = resident_bytes()
        del step
        tf.reset_default_graph()
        gc.collect()
        found["workloads"][name] = alive, resident_bytes()
    found["peak"] = peak_bytes()
    return found


def train_one(tf: Any, i: int) -> None:
    """Builds network number ``i``, trains it for eight steps, and leaves it."""
    generator = np.random.default_rng(i)
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 32])
    labels = tf.placeholder(tf.int64, [None])
    units = 16 + 8 * (i % 20)
    hidden = x
    for _ in range(1 + i % 3):
        hidden = tf.layers.dense(hidden, units, tf.nn.relu)
    if i % 4 == 0:
        image = tf.reshape(hidden, [-1, 4, units // 4, 1])
        image = tf.layers.conv2d(image, 4 + i % 5, 3, padding="same", activation=tf.nn.relu)
        hidden = tf.layers.flatten(image)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=tf.layers.dense(hidden, 10)
    )
    optimizer = (
        tf.train.AdamOptimizer(1e-3),
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.GradientDescentOptimizer(0.1),
    )[i % 3]
    loss = tf.reduce_mean(losses)
    train = optimizer.minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    batch = 16 + i % 7
    for _ in range(8):
        rows = generator.random((batch, 32), dtype=np.float32)
        session.run([train, loss], {x: rows, labels: generator.integers(0, 10, batch)})
    if i % 2:  # the others are left to the collector
        session.close()


def soak(tf: Any, graphs: int) -> dict[int, int]:
    """What is resident after some numbers of graphs."""
    found = {}
    for i in range(graphs):
        train_one(tf, i)
        if i + 1 in (FIRST_GRAPHS, graphs) or (i + 1) % 100 == 0:
            tf.reset_default_graph()
            gc.collect()
            found[i + 1] = resident_bytes()
    return found


def _process(python: str, engine: str, what: str, number: float) -> Any:
    command = [python, __file__, "--here", engine, what, "--graphs", str(int(number))]
    command += ["--seconds", str(number)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(done.stdout.splitlines()[-1])


def print_suite(pythons: dict[str, str], seconds: float) -> None:
    """The table of `suite`, and its ratio."""
    found = {e: _process(p, e, "suite", seconds) for e, p in pythons.items()}
    print(
        f"{'all in one process':20}" + "".join(f"{e + ' alive, after':>26}" for e in found) + "  MB"
    )
    print(f"{'imported':20}" + "".join(f"{x['start'] / MB:26.0f}" for x in found.values()))
    for name in found["dataflow"]["workloads"]:
        pairs = [x["workloads"][name] for x in found.values()]
        print(f"{name:20}" + "".join(f"{a / MB:18.0f}{b / MB:8.0f}" for a, b in pairs))
    print(f"{'peak':20}" + "".join(f"{x['peak'] / MB:26.0f}" for x in found.values()))
    if "tensorflow" in found:
        ratio = found["dataflow"]["peak"] / found["tensorflow"]["peak"]
        mark = "ok" if ratio <= GOAL_PEAK else "OVER"
        print(f"peak: ratio to TF {ratio:.2f} (goal {GOAL_PEAK}) {mark}")


def print_soak(pythons: dict[str, str], graphs: int) -> None:
    """The line of `soak` of each engine."""
    for engine, python in pythons.items():
        found = _process(python, engine, "soak", graphs)
        first, *_, last = found.values()
        steps = "  ".join(f"{i}: {b / MB:.0f}" for i, b in found.items())
        mark = "ok" if last <= GOAL_SOAK * first else "OVER"
        goal = f" (goal {GOAL_SOAK}) {mark}" if engine == "dataflow" else ""
        print(f"soak, {engine}: MB after graph {steps}; last over first {last / first:.3f}{goal}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.memory")
    parser.add_argument("what", nargs="*", help="suite, soak, or both")
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each workload")
    parser.add_argument("--here", metavar="ENGINE", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.here:
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        from worker import load  # type: ignore[import-not-found]

        tf = load(given.here)
        result: Any = suite(tf, given.seconds) if "suite" in given.what else soak(tf, given.graphs)
        print(json.dumps(result))
        return
    pythons = {"dataflow": sys.executable}
    if os.environ.get("DATAFLOW_ORACLE_PYTHON"):
        pythons["tensorflow"] = os.environ["DATAFLOW_ORACLE_PYTHON"]
    else:
        print("# tensorflow is left out: set DATAFLOW_ORACLE_PYTHON to a Python that has it")
    if not given.what or "suite" in given.what:
        print_suite(pythons, given.seconds)
    if not given.what or "soak" in given.what:
        print_soak(pythons, given.graphs)


if __name__ == "__main__":
    main()
