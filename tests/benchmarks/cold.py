"""``python -m tests.benchmarks.cold [--rounds 3] [--steps 100] [--core 1] [workload ...]``: what a learner meets at first.

`make bench` warms each workload. Here a new process with no machine code on disk, as on Binder or at the first run of a
network, builds it and makes its first steps; engines take turns. Printed are the medians over the rounds, in ms of
processor time of all threads: the first step, and the first ``--steps`` together, beside TensorFlow's.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from tests.benchmarks.__main__ import environment, pythons
from tests.benchmarks.learner_networks import LEARNER_NETWORKS
from tests.benchmarks.published_networks import PUBLISHED_NETWORKS

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT = ("mlp", "cnn", "lstm", "dcgan", *LEARNER_NETWORKS, *PUBLISHED_NETWORKS)
#: Makes the steps of `argv`: engine, workload, steps, core.
PROGRAM = """
import json, os, sys, time
from worker import load, workloads
engine, name, steps, core = sys.argv[1:]
os.sched_setaffinity(0, {int(core)})
step = workloads(engine)[name](load(engine))
times = [time.process_time()]
for _ in range(int(steps)):
    step()
    times.append(time.process_time())
print(json.dumps([times[1] - times[0], times[-1] - times[0]]))
"""


def first_steps(python: str, engine: str, workload: str, steps: int, core: int) -> list[float]:
    """Processor time of the first step, and of all, in seconds."""
    with tempfile.TemporaryDirectory() as nothing:
        done = subprocess.run(
            [python, "-c", PROGRAM, engine, workload, str(steps), str(core)],
            capture_output=True,
            text=True,
            check=True,
            cwd=HERE,
            env=environment() | {"DATAFLOW_KERNEL_CACHE": nothing},
        )
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("workloads", nargs="*", default=DEFAULT)
    options = parser.parse_args()
    engines = {name: path for name, path in pythons().items() if name != "torch"}
    print(
        f"{'workload':24} {'first step':>28} {f'{options.steps} steps':>28}   (ms: ours, TF, ratio)"
    )
    for workload in options.workloads:
        found: dict[str, list[list[float]]] = {engine: [] for engine in engines}
        for _ in range(options.rounds):
            for engine, python in engines.items():
                if engine not in found:
                    continue
                try:
                    taken = first_steps(python, engine, workload, options.steps, options.core)
                except subprocess.CalledProcessError as e:
                    if engine == "dataflow":
                        raise
                    print(f"{workload:24} {engine} failed: {e.stderr.strip().splitlines()[-1]}")
                    del found[engine]
                else:
                    found[engine].append(taken)
        cells = []
        for i in range(2):
            ours, *peer = (
                1e3 * statistics.median(one[i] for one in times) for times in found.values()
            )
            cells.append(f"{ours:.0f}" + "".join(f" {x:.0f} {ours / x:.2f}" for x in peer))
        print(f"{workload:24} {cells[0]:>28} {cells[1]:>28}", flush=True)


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"# {time.perf_counter() - began:.0f} s", file=sys.stderr)
