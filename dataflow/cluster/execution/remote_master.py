"""The master of a session whose server is another process.

The graph is sent there as it grows; a run is one message there and one back.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.cluster.execution.calls import call, held
from dataflow.cluster.execution.combination import (
    Combination,
    deadline_in,
    rewrite_options_of,
    timeout_of,
)
from dataflow.cluster.execution.prefetch import note_run
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.partition import graph_codec
from dataflow.cluster.transport import registry
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.remote_errors import restore_error, with_restart
from dataflow.errors import CancelledError, OpError

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.runtime.config import ConfigProto


#: How long after the deadline the master may still answer: it knows which task was slow.
_MASTER_SECONDS = 0.3
#: How long closing a session may take; the master also ends it when the connection ends.
_CLOSE_SECONDS = 2.0


class RemoteMaster:
    """The target's server is another process: the graph goes there as it grows."""

    def __init__(self, target: str, graph: Graph, config: ConfigProto | None) -> None:
        self.target = target
        self.graph = graph
        self.address = target.removeprefix("grpc://")
        self.pool = ConnectionPool(registry.key_for(self.address), "a client")
        self.task = ""  # the master's task; known once it has answered
        #: Grows when the server was restarted, as steps prepared there are gone then.
        self.generation = 0
        self.session = ""
        #: The incarnation of the server that knows the session, and whether there was an earlier one.
        self._incarnation = ""
        self._was_restarted = False
        self._num_sent = 0
        self._seen_mutations = graph.num_mutations
        self._options = {
            "device_filters": list(getattr(config, "device_filters", ()) or ()),
            "allow_soft_placement": bool(getattr(config, "allow_soft_placement", False)),
            "rewrites": rewrite_options_of(config),
        }
        self._timeout_seconds = timeout_of(config)
        self._control: Connection | None = None
        self._closed = False
        self._lock = threading.RLock()
        try:
            self._create(deadline_in(self._timeout_seconds))
        except BaseException:
            self.pool.close()
            raise

    def _create(self, deadline: float | None) -> None:
        """Open the session; it lives as long as the control connection."""
        control = self._take(deadline)
        self.task = control.peer = control.greeting["task"]
        incarnation = control.greeting["incarnation"]
        self._was_restarted |= self._incarnation not in ("", incarnation)
        self._incarnation = incarnation
        self._control = control
        self.session = str(self._ask("session.create", self._options, deadline)["session"])
        self._num_sent = 0

    def _take(self, deadline: float | None) -> Connection:
        task = self.task or f"the master at {self.target}"
        return self.pool.take(self.address, task, deadline=deadline)

    def _ask(
        self,
        method: str,
        head: dict[str, Any],
        deadline: float | None,
        arrays: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Call a method of the master on the control connection, and tell it how much time is left."""
        control = self._control
        assert control is not None
        if deadline is not None:
            head = {**head, "timeout": max(0.001, deadline - time.monotonic())}
            control.deadline = deadline + _MASTER_SECONDS
        try:
            return call(control, method, head, arrays).head or {}
        finally:
            control.deadline = None

    def _ensure_session(self, deadline: float | None) -> None:
        if self._closed:  # while another thread was about to prepare a step
            raise CancelledError(None, None, "The session was closed during the step.")
        if self._control is None or not self._control.is_quiet():
            if self._control is not None:
                self._control.close()
            self.generation += 1
            self._create(deadline)

    def prepare(self, combination: Combination, deadline: float | None) -> None:
        """Send the new nodes of the graph; let the master partition and register the step."""
        with held(self._lock, deadline):
            reply = self._ask_about("session.prepare", combination, deadline)
            combination.prepared = (self.session, reply["handle"])
            combination.needed = frozenset(reply["needed"])

    def _prepare_again(self, combination: Combination, deadline: float | None) -> tuple[str, int]:
        """Prepare a step that the restarted server does not know; return its session and number."""
        with held(self._lock, deadline):
            self._ensure_session(deadline)
            if combination.prepared[0] != self.session:
                self.prepare(combination, deadline)
            return combination.prepared  # type: ignore[no-any-return]

    def explain(self, combination: Combination, deadline: float | None) -> dict[str, Any]:
        """Ask each task what it would do."""
        with held(self._lock, deadline):
            return dict(self._ask_about("session.explain", combination, deadline)["tasks"])

    def _ask_about(
        self, method: str, combination: Combination, deadline: float | None
    ) -> dict[str, Any]:
        """Send the new nodes of the graph, and call a method with the names of fetches and feeds."""
        self._ensure_session(deadline)
        ops = self.graph.get_operations()
        replace = self.graph.num_mutations != self._seen_mutations
        first = 0 if replace else self._num_sent
        self._seen_mutations = self.graph.num_mutations
        encoded, arrays = _encode_what_can_travel(ops[first:])
        head = {"session": self.session, "ops": encoded, "replace": replace}
        self._ask("session.extend", head, deadline, arrays)
        self._num_sent = len(ops)
        head = {
            "session": self.session,
            "fetches": [t.name for t in combination.fetches.tensors],
            "targets": [op.name for op in combination.fetches.operations],
            "feeds": combination.feed_names,
            "traced": combination.traced,
        }
        return self._ask(method, head, deadline)

    def run(
        self,
        combination: Combination,
        values: Sequence[Any],
        timeout_seconds: float | None,
        tracers: dict[str, StepTracer] | None = None,
        keep_values: bool = True,
        until: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """Run a prepared step: one message there, one back. It runs once, regardless of ``until``."""
        note_run()
        deadline = deadline_in(timeout_seconds)
        connection = self._take(deadline)
        try:
            session, step = combination.prepared
            if session != self.session or connection.greeting["incarnation"] != self._incarnation:
                session, step = self._prepare_again(combination, deadline)
            head = {"method": "session.run", "session": session, "step": step}
            if deadline is not None:
                head["timeout"] = max(0.001, deadline - time.monotonic())
                connection.deadline = deadline + _MASTER_SECONDS
            if tracers is not None:
                head["trace"] = "values" if keep_values else "times"
            connection.send(Kind.CALL, 0, 0, values, head)
            reply = connection.receive()
        except BaseException:
            connection.close()  # e.g. an interrupted cell: closing the connection cancels the step
            raise
        self.pool.give(connection)
        if reply.head is not None and "code" in reply.head:
            error = restore_error(reply.head, self.graph)
            if self._was_restarted:
                error = with_restart(error, self.task)
            raise error
        if tracers is not None and reply.head is not None:
            num_fetches = int(reply.head["num_fetches"])
            arrays = reply.tensors[num_fetches:]
            for task, trace in reply.head["traces"].items():
                tracers[task] = StepTracer(True)
                tracers[task].decode(trace, arrays[: trace["num_arrays"]])
                arrays = arrays[trace["num_arrays"] :]
            return reply.tensors[:num_fetches]
        return reply.tensors

    def placement(self, combination: Combination) -> dict[str, str]:
        """Return the task of each needed node."""
        return dict(self._placement(combination)["tasks"])

    def on_gpus(self, combination: Combination) -> dict[str, str]:
        """Return the task's GPU of each node that is placed on one."""
        return dict(self._placement(combination)["on_gpus"])

    def _placement(self, combination: Combination) -> dict[str, Any]:
        session, step = combination.prepared
        head = {"session": session, "step": step}
        return self._ask("session.placement", head, deadline_in(self._timeout_seconds))

    def list_devices(self) -> list[Sequence[Any]]:
        """Return the fields of the visible tasks' devices."""
        deadline = deadline_in(self._timeout_seconds)
        with held(self._lock, deadline):
            self._ensure_session(deadline)
            head = self._ask("session.devices", {"session": self.session}, deadline)
        return list(head["devices"])

    def close(self) -> None:
        """End the session at the master."""
        self._closed = True
        if not self._lock.acquire(timeout=_CLOSE_SECONDS):
            if self._control is not None:
                self._control.wake()  # another thread waits on it for a master that is stopped
            self._lock.acquire()
        control, self._control = self._control, None
        self._lock.release()
        if control is not None:
            with contextlib.suppress(OpError):
                control.deadline = time.monotonic() + _CLOSE_SECONDS
                call(control, "session.close", {"session": self.session})
            control.close()
        self.pool.close()


def _encode_what_can_travel(ops: Sequence[Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Encode operations; one that cannot be sent becomes a stub, and using that raises the reason."""
    try:
        return graph_codec.encode_operations(ops)
    except OpError:
        pass
    encoded: list[dict[str, Any]] = []
    arrays: list[Any] = []
    for op in ops:
        before = len(arrays)
        try:
            encoded.append(graph_codec.encode_operation(op, arrays))
        except OpError as error:
            del arrays[before:]
            encoded.append({**graph_codec.encode_stub(op), "why": error.message})
    return encoded, arrays
