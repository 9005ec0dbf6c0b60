"""The master of a session whose server lives in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.cluster.execution.combination import (
    Combination,
    rewrite_options_of,
)
from dataflow.cluster.execution.step_tracer import StepTracer

if TYPE_CHECKING:
    from dataflow.cluster.management.server import Server
    from dataflow.graph.graph import Graph
    from dataflow.runtime.config import ConfigProto


class LocalMaster:
    """The target's server lives in this process: its master works on this very graph."""

    def __init__(self, server: Server, graph: Graph, config: ConfigProto | None) -> None:
        self.server = server
        self.task: str = server.task
        self.master = server.new_master_session(config, rewrite_options_of(config))

    @property
    def generation(self) -> int:
        """Prepared steps stay valid as long as this does not change: until the cluster is reset."""
        return self.master.generation

    def prepare(self, combination: Combination, deadline: float | None) -> None:
        """Cut the graph and register the partitions; see `MasterSession.prepare`."""
        fetches = combination.fetches
        prepared = self.master.prepare(
            fetches.tensors, fetches.operations, combination.feeds, deadline, combination.traced
        )
        combination.prepared, combination.fast = prepared, prepared.fast
        combination.needed = prepared.needed

    def run(
        self,
        combination: Combination,
        values: Sequence[Any],
        timeout_seconds: float | None,
        tracers: dict[str, StepTracer] | None = None,
        keep_values: bool = True,
        until: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """Run a prepared step."""
        results: list[Any] = self.master.run(
            combination.prepared, values, timeout_seconds, None, tracers, keep_values, until
        )
        return results

    def explain(self, combination: Combination, deadline: float | None) -> dict[str, Any]:
        """Ask each task what it would do."""
        fetches = combination.fetches
        return dict(
            self.master.explain(fetches.tensors, fetches.operations, combination.feeds, deadline)
        )

    def placement(self, combination: Combination) -> dict[str, str]:
        """Return the task of each needed node."""
        return dict(combination.prepared.task_of)

    def on_gpus(self, combination: Combination) -> dict[str, str]:
        """Return the task's GPU of each node that is placed on one."""
        return dict(combination.prepared.on_gpus)

    def list_devices(self) -> list[Sequence[Any]]:
        """Return the fields of the visible tasks' devices."""
        return self.server.devices_of(self.master)

    def close(self) -> None:
        """End the master's session."""
        self.server.end_master_session(self.master)
