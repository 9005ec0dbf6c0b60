"""The master service of a server: sessions of clients that live in other processes."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from dataflow.cluster.execution.master import MasterSession
from dataflow.cluster.execution.prepared_step import PreparedStep
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.partition import graph_codec
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.method_table import answers
from dataflow.cluster.transport.remote_errors import describe_error
from dataflow.errors import AbortedError, InvalidArgumentError
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.config import ConfigProto

if TYPE_CHECKING:
    from dataflow.cluster.management.server import Server


class _ClientSession:
    """A client's graph as it has arrived, and its prepared steps."""

    def __init__(self, master: MasterSession, control: Connection) -> None:
        self.master = master
        self.control = control
        self.graph = Graph()
        self.stubs: dict[str, str] = {}  # nodes that could not be sent, and why
        self.steps: list[PreparedStep] = []


class MasterService:
    """Answers the calls ``session.*`` of remote clients. A session ends with its control connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._sessions: dict[str, _ClientSession] = {}
        self._lock = threading.Lock()

    def connection_closed(self, connection: Connection) -> None:
        """End the sessions whose client was at the other end; their variables stay."""
        with self._lock:
            ended = [name for name, s in self._sessions.items() if s.control is connection]
            sessions = [self._sessions.pop(name) for name in ended]
        for session in sessions:
            self.server.end_master_session(session.master)

    def _find(self, head: dict[str, Any]) -> _ClientSession:
        session = self._sessions.get(str(head.get("session")))
        if session is None or session.master.closed:
            raise AbortedError(
                None,
                None,
                f"{self.server.task} does not know this session: the server was restarted or reset, or the "
                "session was closed. Make a new tf.Session; variables must be restored.",
            )
        return session

    @answers("session.create")
    def _create(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        config = ConfigProto(
            device_filters=[str(text) for text in head.get("device_filters", ())],
            allow_soft_placement=bool(head.get("allow_soft_placement", False)),
        )
        options = head.get("rewrites")
        master = self.server.new_master_session(
            config, None if options is None else RewriteOptions(*options)
        )
        with self._lock:
            self._sessions[master.name] = _ClientSession(master, connection)
        return {"session": master.name}

    @answers("session.extend")
    def _extend(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        session = self._find(head)
        if head.get("replace"):
            session.graph = Graph()
            session.stubs.clear()
        for item in head["ops"]:
            if "why" in item:
                session.stubs[item["n"]] = str(item["why"])
        graph_codec.decode_operations(session.graph, head["ops"], tensors)

    @answers("session.prepare")
    def _prepare(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        session = self._find(head)
        graph = session.graph
        prepared = session.master.prepare(
            *_wanted(graph, head), _deadline(head), bool(head.get("traced", False))
        )
        for name in session.stubs:
            if name in prepared.needed:
                raise InvalidArgumentError(None, graph.op_by_name[name], session.stubs[name])
        session.steps.append(prepared)
        return {"handle": len(session.steps) - 1, "needed": sorted(prepared.needed)}

    @answers("session.explain")
    def _explain(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        session = self._find(head)
        return {"tasks": session.master.explain(*_wanted(session.graph, head), _deadline(head))}

    @answers("session.placement")
    def _placement(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        step = self._find(head).steps[int(head["step"])]
        return {"tasks": step.task_of, "on_gpus": step.on_gpus}

    @answers("session.devices")
    def _devices(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        return {"devices": self.server.devices_of(self._find(head).master)}

    @answers("session.run")
    def _run(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> Any:
        session = self._find(head)
        try:
            values = [v if v.shape or v.dtype.kind == "O" else v[()] for v in tensors]
            tracers: dict[str, StepTracer] | None = {} if "trace" in head else None
            results = session.master.run(
                session.steps[int(head["step"])],
                values,
                head.get("timeout"),
                connection,
                tracers,
                head.get("trace") == "values",
            )
        except Exception as error:
            return describe_error(error, self.server.task)
        if tracers is not None:
            return _with_traces(results, tracers)
        return {}, results

    @answers("session.close")
    def _close(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        with self._lock:
            session = self._sessions.pop(str(head["session"]), None)
        if session is not None:
            self.server.end_master_session(session.master)

    @answers("cluster.reset")
    def _reset(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        containers = [str(name) for name in head.get("containers", ())]
        self.server.reset_cluster(containers, bool(head.get("sessions", True)))


def _wanted(
    graph: Graph, head: dict[str, Any]
) -> tuple[list[Tensor], list[Operation], list[Tensor]]:
    """The tensors and operations to fetch, and the tensors to feed, that a client names."""
    return (
        [graph.get_tensor_by_name(name) for name in head["fetches"]],
        [graph.op_by_name[name] for name in head["targets"]],
        [graph.get_tensor_by_name(name) for name in head["feeds"]],
    )


def _deadline(head: dict[str, Any]) -> float | None:
    """When the client needs its answer, on the clock of `time.monotonic`; ``None``: it waits forever."""
    return None if "timeout" not in head else time.monotonic() + float(head["timeout"])


def _with_traces(
    results: list[Any], tracers: dict[str, StepTracer]
) -> tuple[dict[str, Any], list[Any]]:
    tensors = list(results)
    traces = {}
    for task, tracer in tracers.items():
        traces[task], arrays = tracer.encode()
        traces[task]["num_arrays"] = len(arrays)
        tensors += arrays
    return {"num_fetches": len(results), "traces": traces}, tensors
