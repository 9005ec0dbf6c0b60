"""How time and memory grow with the graph, from 1,000 to 1,000,000 nodes, beside TensorFlow's.

A chain of alternating ``tanh`` and ``+`` on scalars, and its gradient. Each size has a process of its
own in each engine, and at most ``--limit`` seconds; what an engine does not reach is printed as such.
Times are the processor's, of the whole process, for each node of the graph with its gradient:

- build, gradient: making the nodes
- first run: a session, and its first run with what it prepares
- later work: what runs 2 to 40 take beyond as many steady runs; here that is rewriting, in TensorFlow
  nothing
- steady run: the median of the runs after that

Memory is what the process holds more than before the graph was built: after the gradient (the graph),
and after the last run (graph and plans), for each node; and the peak.

Usage: ``python -m tests.benchmarks.growth [--nodes 1000 ...] [--limit 900]``. TensorFlow's Python comes
from ``DATAFLOW_ORACLE_PYTHON``.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NODES = (1_000, 10_000, 100_000, 1_000_000)
PHASES = ("build", "gradient", "first run", "later work", "steady run")
#: Within so many runs a plan is rewritten.
EARLY_RUNS = 40
#: Time for each node of the largest graph, over that of the smallest; memory of graph and plans.
GOAL_GROWTH, GOAL_BYTES_PER_NODE = 1.5, 4096


def resident_bytes() -> int:
    """The process's memory that is in use now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def measure(tf: Any, num_nodes: int) -> dict[str, float]:
    """Seconds of each phase, and bytes, of a chain that has some ``num_nodes`` with its gradient."""
    _warm_up(tf)
    found: dict[str, float] = {}
    before = resident_bytes()

    started = time.process_time()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = x
        for _ in range(num_nodes // 3):  # two nodes, and one for their gradient
            y = tf.tanh(y) + x
        found["build"] = time.process_time() - started

        started = time.process_time()
        (slope,) = tf.gradients(y, [x])
        found["gradient"] = time.process_time() - started
        found["nodes"] = len(graph.get_operations())
        found["graph bytes"] = resident_bytes() - before

        started = time.process_time()
        session = tf.Session()
        fetches = [y, slope]
        session.run(fetches, {x: 0.5})
        found["first run"] = time.process_time() - started

        times = []
        for _ in range(EARLY_RUNS + 20):
            started = time.process_time()
            session.run(fetches, {x: 0.5})
            times.append(time.process_time() - started)
    found["steady run"] = statistics.median(times[EARLY_RUNS:])
    found["later work"] = max(0.0, sum(times[:EARLY_RUNS]) - EARLY_RUNS * found["steady run"])
    found["all bytes"] = resident_bytes() - before
    found["peak bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return found


def _warm_up(tf: Any) -> None:
    """Loads what any graph of this kind needs."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.tanh(tf.tanh(x) + x) + x
        fetches = [y, *tf.gradients(y, [x])]
        with tf.Session() as session:
            for _ in range(EARLY_RUNS):
                session.run(fetches, {x: 0.5})


def in_process(python: str, engine: str, num_nodes: int, limit: float) -> dict[str, float] | str:
    """What a process of its own measures, or why there is nothing."""
    command = [python, __file__, "--here", engine, "--nodes", str(num_nodes)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"not within {limit:.0f} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return f"ended with {done.returncode}: {lines[-1][:200] if lines else 'no message'}"
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def row(num_nodes: int, engine: str, found: dict[str, float] | str) -> str:
    """One line of the table."""
    start = f"{num_nodes:>9,}  {engine:10}"
    if isinstance(found, str):
        return f"{start}  {found}"
    nodes = found["nodes"]
    cells = [f"{found[phase] / nodes * 1e6:12.2f}" for phase in PHASES]
    cells += [f"{found[what] / nodes:10.0f}" for what in ("graph bytes", "all bytes", "peak bytes")]
    return f"{start}{''.join(cells)}"


def summary(first: dict[str, float], last: dict[str, float]) -> list[str]:
    """How far time and memory are from the goals."""
    growth = {
        phase: (last[phase] / last["nodes"]) / (first[phase] / first["nodes"])
        for phase in PHASES
        if first[phase]
    }
    size = last["all bytes"] / last["nodes"]
    return [
        f"time for a node, {last['nodes']:,.0f} over {first['nodes']:,.0f} nodes (goal {GOAL_GROWTH}): "
        + ", ".join(f"{p} {g:.2f}{'' if g <= GOAL_GROWTH else ' OVER'}" for p, g in growth.items()),
        f"memory for a node: {size:.0f} bytes (goal {GOAL_BYTES_PER_NODE})"
        + ("" if size <= GOAL_BYTES_PER_NODE else " OVER"),
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.growth")
    parser.add_argument("--nodes", type=int, nargs="+", default=list(NODES))
    parser.add_argument("--limit", type=float, default=900, help="seconds for each process")
    parser.add_argument("--here", metavar="ENGINE", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.here:
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        from worker import load  # type: ignore[import-not-found]

        print(json.dumps(measure(load(given.here), given.nodes[0])))
        return
    pythons = {"dataflow": sys.executable}
    if os.environ.get("DATAFLOW_ORACLE_PYTHON"):
        pythons["tensorflow"] = os.environ["DATAFLOW_ORACLE_PYTHON"]
    else:
        print("# tensorflow is left out: set DATAFLOW_ORACLE_PYTHON to a Python that has it")
    print(f"{'nodes':>9}  {'engine':10}" + "".join(f"{p:>12}" for p in PHASES) + "  us for a node;")
    print(f"{'':81}{'graph':>10}{'+ plans':>10}{'peak':>10}  bytes for a node")
    ours: list[dict[str, float]] = []
    for num_nodes in given.nodes:
        for engine, python in pythons.items():
            found = in_process(python, engine, num_nodes, given.limit)
            if engine == "dataflow" and not isinstance(found, str):
                ours.append(found)
            print(row(num_nodes, engine, found), flush=True)
    if len(ours) > 1:
        print("\n".join(summary(ours[0], ours[-1])))


if __name__ == "__main__":
    main()
