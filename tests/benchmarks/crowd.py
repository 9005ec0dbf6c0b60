"""Many workers against one parameter server: steps per processor second, and how they fall.

The workers are threads of one process, each with a server, a graph and a session of its own; the
parameter server is another process. What a step costs (processor time of both processes, divided by the
steps of all) would not depend on the number of workers if nothing waited for anything; its
reciprocal is the throughput per core. "least": the steps of the slowest worker, of their mean. Part of ``make bench-cluster``; by itself:
``python -m tests.benchmarks.crowd [--rounds 3] [--seconds 1.0] [--numbers 1 8 64] [--size 1]``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any

from tests.benchmarks.cluster import HERE, ROOT, addresses, processor_seconds_of

NUMBERS = (1, 2, 4, 8, 16, 32, 64)
#: A step of each pattern pulls a variable and pushes as much: its numbers.
SIZES = {"4 B": 1, "31 KB": 7840}


class Crowd:
    """The two processes of one engine."""

    def __init__(self, engine: str, python: str, num_workers: int) -> None:
        found = addresses(1 + num_workers)
        spec = json.dumps({"ps": found[:1], "worker": found[1:]})
        environment = {**os.environ, "PYTHONPATH": str(ROOT) if engine == "dataflow" else ""}
        self.processes = [
            subprocess.Popen(
                [python, str(HERE / "cluster_task.py"), engine, spec, job, index],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for job, index in (("ps", "0"), ("worker", "all"))
        ]
        for process in self.processes:
            while (line := self._line(process)) != "ready":
                if not line:
                    self.close()
                    raise RuntimeError(f"a task of {engine} did not start")

    def steps(self, size: int, seconds: float) -> tuple[float, float, float]:
        """Steps per second of all workers together, a step's processor time in seconds, and the share
        of the slowest worker, of the mean."""
        player = self.processes[1]
        player.stdin.write(f"null {size} {seconds}\n")  # type: ignore[union-attr]
        player.stdin.flush()  # type: ignore[union-attr]
        if self._line(player) != "go":
            raise RuntimeError("the workers did not come to their start")
        before = self._busy()
        player.stdin.write("go\n")  # type: ignore[union-attr]
        player.stdin.flush()  # type: ignore[union-attr]
        answer = json.loads(self._line(player) or '{"error": "the process ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        counts, took, _ = answer["counted"]
        total = max(sum(counts), 1)
        busy = self._busy() - before
        return total / took, busy / total, min(counts) * len(counts) / total

    def _busy(self) -> float:
        return sum(processor_seconds_of(process.pid) for process in self.processes)

    def _line(self, process: Any) -> str:
        return str(process.stdout.readline()).strip()

    def close(self) -> None:
        """Ends both processes."""
        for process in self.processes:
            process.kill()
            process.communicate()


def measure(engine: str, python: str, number: int, size: int, rounds: int, seconds: float) -> Any:
    """Medians of what `Crowd.steps` returns, with ``number`` workers."""
    crowd = Crowd(engine, python, number)
    try:
        found = [crowd.steps(size, seconds) for _ in range(rounds)]
    finally:
        crowd.close()
    return [statistics.median(column) for column in zip(*found, strict=True)]


def main(arguments: list[str] | None = None) -> None:
    """Prints, for each size and number of workers, what both engines reach."""
    parser = argparse.ArgumentParser(description="Many workers, one parameter server.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--numbers", type=int, nargs="+", default=NUMBERS)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    given = parser.parse_args(arguments)
    engines = {"dataflow": sys.executable}
    oracle = os.environ.get("DATAFLOW_ORACLE_PYTHON")
    if oracle and os.path.exists(oracle):
        engines["tensorflow"] = oracle
    for name in given.sizes:
        print(f"workers in one process, one parameter server, {name} each way")
        print(
            f"{'workers':>7}  " + "  ".join(f"{e:>10}/s  per core  of one  least" for e in engines)
        )
        alone: dict[str, float] = {}
        for number in given.numbers:
            cells = []
            for engine, python in engines.items():
                try:
                    rate, busy, least = measure(
                        engine, python, number, SIZES[name], given.rounds, given.seconds
                    )
                except (RuntimeError, OSError) as error:
                    cells.append(f"{engine} failed: {str(error)[:60]}")
                    continue
                per_core = 1 / max(busy, 1e-9)
                alone.setdefault(engine, per_core)
                cells.append(
                    f"{rate:12.0f}  {per_core:8.0f}  {per_core / alone[engine]:6.2f}  {least:5.2f}"
                )
            print(f"{number:7}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
