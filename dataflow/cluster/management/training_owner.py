"""The owner's side of a training: it sets the mode and reads the variables at the parameter servers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.cluster.execution.client import reset
from dataflow.cluster.management.training_options import container_of
from dataflow.cluster.management.training_worker import NUMBER, build_variables
from dataflow.errors import FailedPreconditionError, OpError
from dataflow.graph.graph import Graph
from dataflow.ops.queues import FIFOQueue
from dataflow.ops.sources import placeholder
from dataflow.ops.state import assign
from dataflow.ops.variable_lists import global_variables
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.session import Session

if TYPE_CHECKING:
    from dataflow.cluster.management.running_cluster import Cluster


class TrainingOwner:
    """This process's own session at the parameter servers: it sets the mode and reads values."""

    def __init__(self, cluster: Cluster, model: Callable[..., Any]) -> None:
        self._cluster = cluster
        self._model = model
        self._session: Any = None
        self._local: Any = None

    def _connect(self) -> None:
        if self._session is not None:
            return
        graph = Graph()
        with graph.as_default():
            self._variables = build_variables(self._model, self._cluster.spec, 0, 1)[2]
            number = self._number = self._variables[NUMBER]
            self._given = placeholder(number.dtype.base_dtype, [])
            self._tell = assign(number, self._given)
        target = self._cluster.targets["/job:ps/task:0"]
        config = ConfigProto(device_filters=["/job:ps"], operation_timeout_in_ms=2000)
        self._session = Session(target, graph=graph, config=config)

    def tell(self, number: int, before: int | None) -> None:
        """Announce the mode that is to begin, and wake the workers that wait for a token of another."""
        self._connect()
        with contextlib.suppress(
            FailedPreconditionError
        ):  # it does not exist before the chief has made it
            self._session.run(self._number)
            self._session.run(self._tell.op, {self._given: -number})
        if before is not None:
            graph = Graph()
            with graph.as_default(), graph.container(container_of(before)):
                with graph.device(self._variables["global_step"].device):
                    queue = FIFOQueue(-1, "int64", shapes=(), shared_name="sync_token_q")
                    close = queue.close(cancel_pending_enqueues=True)
            config = ConfigProto(device_filters=["/job:ps"], operation_timeout_in_ms=2000)
            with Session(self._cluster.targets["/job:ps/task:0"], graph=graph, config=config) as s:
                s.run(close)

    def clear(self, number: int) -> None:
        """Drop the accumulators, the queue and the slots of a mode that no worker is in."""
        target = self._cluster.targets["/job:ps/task:0"]
        reset(target, [container_of(number)], end_sessions=False)

    def look(self) -> tuple[dict[str, Any], float] | None:
        """Return the variables' values and the loss on all data; None before they have any."""
        self._connect()
        try:
            values = self._session.run(self._variables)
        except OpError:
            return None
        return values, self._loss_of(values)

    def _loss_of(self, values: dict[str, Any]) -> float:
        if self._local is None:
            graph = Graph()
            with graph.as_default():
                loss = self._model(0, 1)
                self._local = Session(graph=graph), loss, global_variables()
        session, loss, variables = self._local
        for variable in variables:
            variable.load(values[variable.op.name], session)
        return float(session.run(loss))

    def forget(self) -> None:
        """A task is gone: reconnect the next time."""
        if self._session is not None:
            with contextlib.suppress(OpError):
                self._session.close()
        self._session = None

    def close(self) -> None:
        """End the sessions."""
        self.forget()
        if self._local is not None:
            self._local[0].close()
