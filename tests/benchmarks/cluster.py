"""``make bench-cluster``: one parameter server and two workers, here and with TensorFlow's servers.

Both engines run ``cluster_task.py`` in processes of their own on loopback. For each pattern they
take turns, and the medians of the steps per second of both workers together are compared; the
processor time of a step, of all three tasks, depends less on what else the machine does. Beside them
stands the roofline of small steps: what bare sockets with the same trips reach (`socket_floor`), which
compute nothing; "of it" is the part of that which the engine reaches, and a goal that times TensorFlow's
rate lies above it is out of reach. With ``--launch`` the time to launch a cluster on Ray is taken instead, with its memory; with
``--scaling`` that of one to four workers on a step that computes for long. Without patterns
`socket_floor` follows, what bare sockets take, and `crowd`: 1 to 64 workers.

Usage: ``python -m tests.benchmarks.cluster [--rounds 5] [--seconds 1.0] [--launch] [--scaling]
[pattern ...]``.
TensorFlow's Python comes from ``DATAFLOW_ORACLE_PYTHON``; without it there are no ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from dataflow.cluster.management.processes import descendants
from tests.benchmarks import socket_floor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

#: pattern: (program, size, the ratio to reach)
PATTERNS = {
    "async 4 B": ("null", 1, 10),
    "async 31 KB": ("null", 7840, 10),
    "async 4 MB": ("null", 1_000_000, 3),
    "async 100 MB": ("null", 25_000_000, 2),
    "sync 4 B": ("sync_null", 1, 8),
    "sync 31 KB": ("sync_null", 7840, 8),
    "sync 4 MB": ("sync_null", 1_000_000, 3),
    "softmax async": ("softmax", 100, 5),
    "softmax sync": ("sync_softmax", 100, 3),
    "recurrent async": ("recurrent", 20, 1),
    "recurrent sync": ("sync_recurrent", 20, 1),
    "embedding": ("embedding", 128, 8),
}
#: The bytes of a frame each way, and whether an answer waits for both workers: of small steps. An
#: embedding's rows lie in shared memory.
TRIPS = {
    "async 4 B": (100, False),
    "async 31 KB": (31_460, False),
    "sync 4 B": (100, True),
    "sync 31 KB": (31_460, True),
    "embedding": (100, False),
}


def addresses(number: int) -> list[str]:
    """Addresses of this machine that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{sock.getsockname()[1]}" for sock in sockets]


def processor_seconds_of(pid: int) -> float:
    """The processor time that a process has used."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Engine:
    """The processes of one engine: a parameter server and its workers."""

    def __init__(self, name: str, python: str, num_workers: int = 2) -> None:
        self.name = name
        found = addresses(1 + num_workers)
        spec = json.dumps({"ps": found[:1], "worker": found[1:]})
        environment = {**os.environ, "PYTHONPATH": str(ROOT) if name == "dataflow" else ""}
        self.processes = [
            subprocess.Popen(
                [python, str(HERE / "cluster_task.py"), name, spec, job, str(index)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for job, index in (("ps", 0), *(("worker", n) for n in range(num_workers)))
        ]
        for process in self.processes:
            assert process.stdout is not None
            while (line := process.stdout.readline()).strip() != "ready":
                if not line:
                    raise RuntimeError(f"a task of {name} did not start")

    def rate(self, program: str, size: int, seconds: float) -> tuple[float, float]:
        """Return the steps per second of all workers together, and the processor time of a step.

        The time is in seconds and that of all three tasks; of the server's, what it did while the
        workers prepared themselves is in it too.
        """
        # Tokens and gradients that the last measurement left on the server would hold up this one.
        self._ask(self.processes[1:2], "reset 0 0")
        before = self._server_seconds()
        counted = self._ask(self.processes[1:], f"{program} {size} {seconds}")
        busy = self._server_seconds() - before + sum(c[2] for c in counted)
        rate = sum(c[0] / max(c[1], 1e-9) for c in counted)
        return rate, busy / max(sum(c[0] for c in counted), 1)

    def _server_seconds(self) -> float:
        """Return the processor time that the parameter server has used."""
        return processor_seconds_of(self.processes[0].pid)

    def _ask(self, processes: list[Any], line: str) -> list[list[float]]:
        for process in processes:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        answers = [
            json.loads(process.stdout.readline() or '{"error": "the process ended"}')
            for process in processes
        ]
        for answer in answers:
            if "error" in answer:
                raise RuntimeError(answer["error"])
        return [answer["counted"] for answer in answers]

    def memory_bytes(self) -> int:
        """Return the proportional memory of the processes."""
        total = 0
        for process in self.processes:
            with contextlib.suppress(OSError):
                text = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                line = next(line for line in text.splitlines() if line.startswith("Pss:"))
                total += int(line.split()[1]) * 1024
        return total

    def close(self) -> None:
        """End the processes that this object started."""
        for process in self.processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


@contextlib.contextmanager
def engines() -> Iterator[list[Engine]]:
    """The engines that this machine has."""
    found = [Engine("dataflow", sys.executable)]
    try:
        oracle = os.environ.get("DATAFLOW_ORACLE_PYTHON")
        if oracle and os.path.exists(oracle):
            found.append(Engine("tensorflow", oracle))
        yield found
    finally:
        for engine in found:
            engine.close()


def compare(names: list[str], rounds: int, seconds: float) -> None:
    """Print a line per pattern."""
    with engines() as found:
        print(
            f"{'pattern':14} "
            + " ".join(f"{e.name + '/s':>14}" for e in found)
            + f" {'ratio':>7} {'goal':>5} {'sockets/s':>10} {'of it':>6}   processor us/step"
        )
        for name in names:
            program, size, goal = PATTERNS[name]
            rates: dict[str, list[float]] = {engine.name: [] for engine in found}
            busy: dict[str, list[float]] = {engine.name: [] for engine in found}
            failed: dict[str, str] = {}
            floor: list[tuple[float, float]] = []
            for _ in range(rounds):
                if name in TRIPS:
                    floor.append(socket_floor.in_a_process(*TRIPS[name], seconds))
                for engine in found:
                    if engine.name in failed:
                        continue
                    try:
                        rate, processor = engine.rate(program, size, seconds)
                        rates[engine.name].append(rate)
                        busy[engine.name].append(processor)
                    except (RuntimeError, OSError) as error:
                        failed[engine.name] = str(error)
            medians: list[Any] = [
                statistics.median(rates[e.name]) if e.name not in failed else None for e in found
            ]
            cells = " ".join(f"{m:14.1f}" if m is not None else f"{'failed':>14}" for m in medians)
            ratio = ""
            if len(medians) == 2 and None not in medians:
                ratio = f"{medians[0] / medians[1]:7.1f} {goal:5}"
            times = [b for b in busy.values() if b]
            roofline = ""
            if floor:
                reached = statistics.median(rate for rate, _ in floor)
                part = f"{medians[0] / reached:6.2f}" if medians[0] is not None else ""
                roofline = f"{reached:10.0f} {part}"
                times.append([busy for _, busy in floor])
            micros = " / ".join(f"{statistics.median(b) * 1e6:.0f}" for b in times)
            print(f"{name:14} {cells} {ratio:13} {roofline:17}   {micros}", flush=True)
            for engine_name, why in failed.items():
                print(f"    {engine_name}: {why}")
        for engine in found:
            print(f"memory of {engine.name}'s three tasks: {engine.memory_bytes() / 1e6:.0f} MB")


def scale(rounds: int, seconds: float, most: int = 4) -> None:
    """Print the steps per second of 1 to ``most`` workers on a step that computes for long."""
    print(f"processors: {os.cpu_count()}")
    for num_workers in range(1, most + 1):
        engine = Engine("dataflow", sys.executable, num_workers)
        try:
            rates = [engine.rate("compute", 512, seconds)[0] for _ in range(rounds)]
        finally:
            engine.close()
        rate = statistics.median(rates)
        print(f"{num_workers} workers: {rate:8.1f} steps/s, {rate / num_workers:8.1f} a worker")


def launch_once() -> dict[str, list[float]]:
    """Launch in this process, which must be fresh: seconds, processor seconds, and MB, by what.

    "cold" imports Ray and starts it; "warm" is a second cluster beside the first, on the same Ray;
    "again" comes when all are stopped, and Ray with them. The processor time is that of all
    processes together, until the launch returns.
    """
    import dataflow as tf

    def launch(what: str) -> Any:
        before, started = _processor_seconds(), time.perf_counter()
        cluster = tf.cluster.launch(ps=1, workers=2, logs=False)
        seconds = time.perf_counter() - started
        found.setdefault(what, [seconds]).append(_processor_seconds() - before)
        return cluster

    found: dict[str, list[float]] = {}
    with launch("cold"):
        found["memory"] = [_memory_below(os.getpid()) / 1e6]
        launch("warm").stop()
    launch("again").stop()
    return found


def time_launch(rounds: int) -> None:
    """Print how long clusters of a parameter server and two workers take to launch, and their MB.

    Each round is a process of its own.
    """
    found: dict[str, list[list[float]]] = {}
    code = (
        "import json; from tests.benchmarks.cluster import launch_once as f; print(json.dumps(f()))"
    )
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
        )
        for what, figures in json.loads(done.stdout.splitlines()[-1]).items():
            found.setdefault(what, []).append(figures)
    for what in ("cold", "warm", "again"):
        seconds, processor = (
            statistics.median(column) for column in zip(*found[what], strict=True)
        )
        print(f"launch {what:6} {seconds:6.2f} s, {processor:6.2f} s of processors")
    megabytes = statistics.median(figures[0] for figures in found["memory"])
    print(f"memory of Ray and the three tasks: {megabytes:.0f} MB")


def _processor_seconds() -> float:
    """Return the processor time of this process and of all that it has started, ended ones too."""
    total = 0
    for pid in [os.getpid(), *descendants(os.getpid())]:
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{pid}/stat").read_text()
            total += sum(map(int, text.rpartition(")")[2].split()[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def _memory_below(pid: int) -> int:
    """Return the proportional memory of all processes that ``pid`` has started."""
    from dataflow.cluster.management.status import memory_bytes

    return sum(memory_bytes(child) or 0 for child in descendants(pid))


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description="Clusters, against TensorFlow's.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--launch", action="store_true")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("patterns", nargs="*", help=", ".join(PATTERNS))
    arguments = parser.parse_args()
    names = [
        name
        for name in PATTERNS
        if not arguments.patterns or any(name.startswith(p) for p in arguments.patterns)
    ]
    if not names:
        parser.error(f"no such pattern; there are {', '.join(PATTERNS)}")
    if arguments.launch:
        time_launch(arguments.rounds)
        return
    if arguments.scaling:
        scale(arguments.rounds, arguments.seconds)
        return
    compare(names, arguments.rounds, arguments.seconds)
    if not arguments.patterns:
        from tests.benchmarks import crowd

        socket_floor.main()
        crowd.main([])


if __name__ == "__main__":
    main()
