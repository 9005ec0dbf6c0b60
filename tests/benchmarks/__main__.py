"""``make bench``: every workload here and on the peers, in turn, in one sitting.

For each workload a process of each engine is started and warmed; then they take turns, A B A B, so
that a change of the machine's speed meets both. Printed are the medians over the rounds, their
ratio, the smallest and the largest ratio of a round, the ratio to reach, and the peak memory of the
processes; above that the instruction sets, and the versions of all that takes part.

Usage: ``python -m tests.benchmarks [--rounds 7] [--seconds 0.3] [--isa avx2] [--core N] [workload ...]``.
With ``--isa avx2`` all engines leave AVX-512 alone, as on the processors that do not have it. With
``--core 1`` all run on that core alone, and times are the processor's: for a busy machine. The peers'
Pythons come from ``DATAFLOW_ORACLE_PYTHON`` (TensorFlow, 1.15 on Python 3.7 too) and ``DATAFLOW_TORCH_PYTHON``; one that is
missing is left out, and the table says so. Without names of workloads, `pauses` follows.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from tests.benchmarks import (
    conv_networks,
    eager_code,
    learner_networks,
    models,
    pauses,
    pipelines,
    published_networks,
    single_ops,
)
from tests.benchmarks.workloads import GOALS, WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TORCH = ("cnn", "text_cnn")
#: What is timed besides `WORKLOADS`, which have goals of their own, with its one goal.
FAMILIES = (
    (models.MODELS, models.GOAL),
    (conv_networks.CONV_NETWORKS, conv_networks.GOAL),
    (learner_networks.LEARNER_NETWORKS, learner_networks.GOAL),
    (published_networks.PUBLISHED_NETWORKS, published_networks.GOAL),
    (pipelines.PIPELINES, pipelines.GOAL),
    (single_ops.SINGLE_OPS, single_ops.GOAL),
    (eager_code.EAGER_CODE, eager_code.GOAL),
)
ALL_GOALS = GOALS | {name: (goal, None) for family, goal in FAMILIES for name in family}
NAMES = ("import_to_first_result", *WORKLOADS, *(name for family, _ in FAMILIES for name in family))

FIRST_RESULT = {
    "dataflow": "import dataflow as tf\nprint(tf.Session().run(tf.add(3, 5)))",
    "tensorflow": (
        "import os; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
        "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"
        "print(tf.Session().run(tf.add(3, 5)))"
    ),
}


def pythons() -> dict[str, str]:
    """The interpreter of each engine that is there."""
    found = {"dataflow": sys.executable}
    for engine, variable in (
        ("tensorflow", "DATAFLOW_ORACLE_PYTHON"),
        ("torch", "DATAFLOW_TORCH_PYTHON"),
    ):
        path = os.environ.get(variable, "")
        if path and os.path.exists(path):
            found[engine] = path
        else:
            print(f"# {engine} is left out: set {variable} to a Python that has it")
    return found


#: What keeps machine code of ours, NumPy, its OpenBLAS, and the peers' oneDNN and PyTorch from AVX-512.
AVX2_ONLY = {
    "DATAFLOW_ISA": "avx2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX",
    "OPENBLAS_CORETYPE": "Haswell",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
}


def environment(isa: str = "") -> dict[str, str]:
    """The environment of the workers: nothing that holds one engine's library back, but ``isa`` all.

    ``OPENBLAS_CORETYPE`` pins NumPy's BLAS to the kernels of another processor and has no
    counterpart in the peers.
    """
    found = {k: v for k, v in os.environ.items() if k not in AVX2_ONLY}
    return found | (AVX2_ONLY if isa == "avx2" else {})


class Worker:
    """A running `worker.py`."""

    def __init__(
        self, python: str, engine: str, workload: str, isa: str = "", core: int | None = None
    ) -> None:
        pinned = [] if core is None else [str(core)]
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), engine, workload, *pinned],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(isa),
        )
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if json.loads(line or "null") != "ready":
            self.process.kill()
            _, errors = self.process.communicate()
            raise RuntimeError(errors.strip().splitlines()[-1] if errors else "no answer")

    def time(self, seconds: float) -> float:
        """The median time of a step, in seconds."""
        self.process.stdin.write(f"{seconds}\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return float(json.loads(self.process.stdout.readline()))  # type: ignore[union-attr]

    def finish(self) -> int:
        """Ends the process; its peak memory in bytes."""
        output, _ = self.process.communicate(timeout=60)
        return int(json.loads(output.strip().splitlines()[-1]))


def first_result(python: str, engine: str) -> float:
    """Seconds from starting Python to the first value."""
    started = time.perf_counter()
    subprocess.run(
        [python, "-c", FIRST_RESULT[engine]], check=True, capture_output=True, cwd=ROOT, timeout=120
    )
    return time.perf_counter() - started


def text(seconds: float | None) -> str:
    """A time with a fitting unit."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


#: Asks a peer for its version, and NumPy for the one it is linked with.
VERSIONS = (
    "import sys\n"
    "names = ('tensorflow', 'tensorflow-cpu', 'tensorflow-intel', 'torch', 'numpy', 'llvmlite')\n"
    "try:\n"
    "    import importlib.metadata as m\n"
    "    have = {d.metadata['Name']: d.version for d in m.distributions()}\n"
    "except ImportError:  # Python 3.7, with TensorFlow 1.15\n"
    "    import pkg_resources as p\n"
    "    have = {d.project_name: d.version for d in p.working_set}\n"
    "print('Python', sys.version.split()[0], *(f'{n} {have[n]}' for n in names if n in have))"
)


#: Asked in another process: this one stays small, as the peak of a process begins with its parent's.
INSTRUCTION_SET = (
    "from dataflow.kernels.jit.isa import host\n"
    "print(host().name if host() else 'as NumPy was built')"
)


def _printed(python: str, program: str, isa: str) -> str:
    """What a program prints."""
    done = subprocess.run(
        [python, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(isa),
    )
    return done.stdout.strip()


def sitting(pythons: dict[str, str], isa: str) -> list[str]:
    """What is compared with what: instruction sets and versions."""
    peers = "AVX2 at most" if isa == "avx2" else "all that the processor has"
    ours = _printed(sys.executable, INSTRUCTION_SET, isa)
    lines = [f"# instruction sets: dataflow {ours}; peers {peers}"]
    for engine, python in pythons.items():
        lines.append(f"# {engine}: {_printed(python, VERSIONS, isa)}")
    return lines


def spread(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """The smallest and the largest ratio of the rounds, each of times taken one after the other."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return min(ratios), max(ratios)


def speed_of_the_machine() -> float:
    """Seconds that a loop of Python takes: guests of the same host slow it down."""
    started = time.perf_counter()
    for _ in range(100_000):
        pass
    return time.perf_counter() - started


def row(name: str, rounds: dict[str, list[float]], memory: dict[str, int]) -> None:
    """Prints one line of the table."""
    times = {engine: statistics.median(seconds) for engine, seconds in rounds.items()}
    goals = ALL_GOALS[name]
    cells = [f"{name:24}"]
    for engine in ("dataflow", "tensorflow", "torch"):
        cells.append(f"{text(times.get(engine)):>9}")
    for peer, goal in zip(("tensorflow", "torch"), goals, strict=True):
        if peer in times and (goal is not None or peer == "tensorflow"):
            ratio = times["dataflow"] / times[peer]
            mark = "" if goal is None else (" ok" if ratio <= goal else " OVER")
            low, high = spread(rounds["dataflow"], rounds[peer])
            between = f"[{low:.2f} to {high:.2f}]"
            cells.append(f"{ratio:7.2f} {between} ({'-' if goal is None else goal}){mark}")
        else:
            cells.append(f"{'':>7}")
    if memory:
        cells.append("  ".join(f"{e[:2]} {m / 1e6:.0f} MB" for e, m in memory.items()))
    print("  ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("workloads", nargs="*", metavar="workload", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--isa", choices=["", "avx2"], default="")
    parser.add_argument("--core", type=int, help="run on this core alone; processor's time")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.workloads if name not in NAMES]
    if unknown:
        parser.error(f"no workload named {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    found = pythons()
    names = arguments.workloads or NAMES
    for line in sitting(found, arguments.isa):
        print(line)
    print(
        f"{'workload':24}  {'dataflow':>9}  {'TF':>9}  {'torch':>9}  "
        f"ratio to TF [of rounds] (goal), to torch, peak memory"
    )
    memory_ratios, loops = [], []
    for name in names:
        if name == "import_to_first_result":
            engines = [e for e in FIRST_RESULT if e in found]
            rounds: dict[str, list[float]] = {e: [] for e in engines}
            for _ in range(max(3, arguments.rounds // 2)):
                for engine in engines:
                    rounds[engine].append(first_result(found[engine], engine))
            row(name, rounds, {})
            continue
        workers: dict[str, Worker] = {}
        memory: dict[str, int] = {}
        rounds = {}
        try:
            for engine, python in found.items():
                if engine == "torch" and name not in TORCH:
                    continue
                try:
                    workers[engine] = Worker(python, engine, name, arguments.isa, arguments.core)
                except RuntimeError as e:
                    print(f"{name:24}  {engine} failed: {e}", flush=True)
            for _ in range(arguments.rounds):
                loops.append(speed_of_the_machine())
                for engine, worker in workers.items():
                    rounds.setdefault(engine, []).append(worker.time(arguments.seconds))
            memory = {engine: worker.finish() for engine, worker in workers.items()}
        finally:
            for worker in workers.values():
                if worker.process.poll() is None:
                    worker.process.kill()
        if "dataflow" in rounds:
            row(name, rounds, memory)
        if "dataflow" in memory and "tensorflow" in memory:
            memory_ratios.append(memory["dataflow"] / memory["tensorflow"])
    if loops:
        print(
            f"the machine: a loop of Python took {text(min(loops))} to {text(max(loops))} between rounds "
            f"(median {text(statistics.median(loops))}); the less it varies, the more a ratio says"
        )
    if memory_ratios:
        print(
            f"peak memory: median ratio to TF {statistics.median(memory_ratios):.2f} "
            f"(goal {GOALS['peak_memory'][0]}), largest {max(memory_ratios):.2f}"
        )
    if not arguments.workloads:
        print(f"the longest pause among the first {pauses.RUNS} runs, by the number of nodes")
        pauses.main([])


if __name__ == "__main__":
    main()
