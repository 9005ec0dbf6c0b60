"""Averaging gradients among workers: the ring, the synchronous parameter server, and PyTorch's gloo.

Each runs in processes of its own on loopback (``all_reduce_task.py``). They take turns; for each the
median of the seconds of a step is printed, and of the processor time of all its processes together, with their
ratios to the ring's. Run it by ``python -m tests.benchmarks.all_reduce``.

Usage: ``python -m tests.benchmarks.all_reduce [--workers 4] [--megabytes 4] [--rounds 5] [--steps 20]``.
PyTorch's Python comes from ``DATAFLOW_TORCH_PYTHON``; without it gloo is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Group:
    """The processes that average gradients in one way."""

    def __init__(self, program: str, python: str, num_workers: int, size: int) -> None:
        self.program = program
        num_servers = int(program == "parameter server")
        with contextlib.ExitStack() as stack:
            sockets = [
                stack.enter_context(socket.socket()) for _ in range(num_servers + num_workers)
            ]
            for sock in sockets:
                sock.bind(("127.0.0.1", 0))
            addresses = [f"127.0.0.1:{sock.getsockname()[1]}" for sock in sockets]
        spec = {"worker": addresses[num_servers:]}
        tasks = [("worker", n) for n in range(num_workers)]
        if num_servers:
            spec["ps"] = addresses[:1]
            tasks.append(("ps", 0))
        environment = {**os.environ, "PYTHONPATH": "" if program == "gloo" else str(ROOT)}
        self.processes = [
            subprocess.Popen(
                [python, str(HERE / "all_reduce_task.py"), program, json.dumps(spec), job, str(n),
                 str(size)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for job, n in tasks
        ]  # fmt: skip
        for process in self.processes:
            assert process.stdout is not None
            while (line := process.stdout.readline()).strip() != "ready":
                if not line:
                    raise RuntimeError(f"a task of {program} did not start")
        self.workers = self.processes[:num_workers]

    def processor_seconds(self) -> float:
        """The processor time that the threads of all processes have taken so far."""
        nanoseconds = 0
        for process in self.processes:
            for found in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
                nanoseconds += int(found.read_text().split()[0])
        return nanoseconds / 1e9

    def seconds(self, steps: int) -> tuple[float, float]:
        """The seconds of one step of the slowest worker, and the processor time of all processes."""
        for process in self.processes:  # those of the other ways stand still meanwhile
            process.send_signal(signal.SIGCONT)
        before = self.processor_seconds()
        for worker in self.workers:
            assert worker.stdin is not None
            worker.stdin.write(f"{steps}\n")
            worker.stdin.flush()
        found = max(float(w.stdout.readline()) for w in self.workers if w.stdout) / steps
        for process in self.processes:
            process.send_signal(signal.SIGSTOP)
        return found, (self.processor_seconds() - before) / steps

    def stop(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.kill()
            process.wait(10)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description="Averaging gradients among workers.")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    torch = os.environ.get("DATAFLOW_TORCH_PYTHON", "")
    programs = {"ring": sys.executable, "parameter server": sys.executable}
    if torch:
        programs["gloo"] = torch
    size = int(arguments.megabytes * 1e6) // 4
    groups: list[Group] = []
    try:
        for name, python in programs.items():
            groups.append(Group(name, python, arguments.workers, size))
            groups[-1].seconds(2 * arguments.steps)  # warm
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
        for _ in range(arguments.rounds):
            for group in groups:
                times[group.program].append(group.seconds(arguments.steps))
    finally:
        for group in groups:
            group.stop()
    medians = {
        name: [statistics.median(column) for column in zip(*found, strict=True)]
        for name, found in times.items()
    }
    wall, busy = medians["ring"]
    print(f"{arguments.megabytes:g} MB, {arguments.workers} workers, a step:")
    for name, (seconds, processor) in medians.items():
        print(
            f"  {name:18} {1e3 * seconds:8.2f} ms {seconds / wall:5.2f} x the ring's;  "
            f"{1e3 * processor:8.2f} ms of processors {processor / busy:5.2f} x"
        )
    if "gloo" not in times:
        print("  gloo is left out: DATAFLOW_TORCH_PYTHON names no Python with PyTorch")


if __name__ == "__main__":
    main()
