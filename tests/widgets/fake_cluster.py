"""A cluster without processes, with the interface of `tf.cluster.Cluster` that the panel uses."""

from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace
from typing import Any

from dataflow.cluster.management.cluster_events import Event
from dataflow.cluster.management.status import FIELDS
from dataflow.cluster_spec import ClusterSpec


class FakeCluster:
    """Tasks that do what they are told; `advance` lets them make steps."""

    launch_seconds = 1.5
    auto_restart = True
    backend = SimpleNamespace(tasks=())  # no messages to be watched
    seconds = 2.0

    def __init__(self, ps: int = 1, worker: int = 2, launched: bool = True) -> None:
        self.launched = launched
        self.stopped = False
        self.events: list[Event] = []
        self.calls: list[tuple[Any, ...]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.rows: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, list[str]] = {}
        self._size({"ps": ps, "worker": worker})

    def _size(self, counts: dict[str, int]) -> None:
        names = [f"/job:{job}/task:{i}" for job, n in counts.items() for i in range(n)]
        self.counts = counts
        self.rows = {name: self.rows.get(name) or self._row(name) for name in names}

    def _row(self, name: str) -> dict[str, Any]:
        counters = {"steps": 0, "received_bytes": 0, "sent_bytes": 0, "variables": 0}
        more = {"variable_bytes": 0, "delay_seconds": 0.0, "restarts": 0, "updates": 0}
        return (
            dict.fromkeys(FIELDS)
            | counters
            | more
            | {
                "task": name,
                "state": "running",
                "device": "CPU:0",
                "address": "127.0.0.1:1",
                "pid": 100 + len(self.calls),
                "queues": {},
                "variable_sizes": {},
            }
        )

    def advance(self, task: str, steps: int, received: int = 0, sent: int = 0) -> None:
        row = self.rows[task]
        row["steps"] += steps
        row["received_bytes"] += received
        row["sent_bytes"] += sent

    def die(self, task: str, why: str) -> None:
        self.rows[task] = self._row(task) | dict.fromkeys(FIELDS[6:]) | {"state": "dead"}
        self.events.append(Event(1.25, task, "died", why))

    # What the panel asks for

    @property
    def spec(self) -> ClusterSpec:
        ports = itertools.count(9)  # where nobody listens
        return ClusterSpec(
            {j: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for j, n in self.counts.items()}
        )

    @property
    def targets(self) -> dict[str, str]:
        return dict.fromkeys(self.rows, "grpc://127.0.0.1:1")

    target = "grpc://127.0.0.1:1"

    def status(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.rows.values()]

    def log(self, task: str, num_lines: int) -> list[str]:
        return self.lines.get(task, [])[-num_lines:]

    def _do(self, *call: Any) -> None:
        self.gate.wait(60)
        self.calls.append(call)
        if call[1:] and self._full(call[1]) not in self.rows:
            raise ValueError(f"no task {call[1]!r}")

    @staticmethod
    def _full(task: str) -> str:
        job, _, index = task.partition(":")
        return f"/job:{job}/task:{index}"

    def kill(self, task: str) -> None:
        self._do("kill", task)
        self.die(self._full(task), "killed")

    def pause(self, task: str) -> None:
        self._do("pause", task)
        self.rows[self._full(task)]["state"] = "paused"

    def resume(self, task: str) -> None:
        self._do("resume", task)
        self.rows[self._full(task)]["state"] = "running"

    def slow_down(self, task: str, seconds: float) -> None:
        self._do("slow_down", task)
        self.rows[self._full(task)]["delay_seconds"] = seconds

    def cut(self, task: str) -> None:
        self._do("cut", task)
        self.rows[self._full(task)]["is_cut"] = True

    def delay(self, task: str, seconds: float) -> None:
        self._do("delay", task)
        self.rows[self._full(task)]["link_delay_seconds"] = seconds

    def mend(self, task: str) -> None:
        self._do("mend", task)
        self.rows[self._full(task)] |= {"is_cut": False, "link_delay_seconds": 0.0}

    def restart(self, task: str) -> None:
        self._do("restart", task)
        self.rows[self._full(task)] = self._row(self._full(task)) | {"restarts": 1}

    def resize(self, **counts: int) -> None:
        self._do("resize")
        self._size(self.counts | counts)

    def stop(self) -> None:
        self._do("stop")
        self.stopped = True
