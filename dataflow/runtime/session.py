"""`Session`: the environment in which a graph runs, and the handle to run it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dataflow.graph.default_stacks import pop_graph, pop_session, push_graph, push_session
from dataflow.providers import provided
from dataflow.runtime.base_session import BaseSession
from dataflow.runtime.config import ConfigProto

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph


class Session(BaseSession):
    """Runs graphs; as a context manager it is the default session inside, and closed after.

    ``target`` is empty for this process, or a server's target (``"grpc://host:port"``).

    On a CPU a result is a function of the graph, the feeds and the variables: it has the same bits in
    every run, with any other fetches, with rewrites on or off, and with any number of threads. On
    another processor, and for sums and products with and without llvmlite, last digits may differ.
    Subnormal numbers (below 1.2e-38 in float32) count as zero in a run, as in TensorFlow.
    """

    def __init__(
        self,
        target: str | bytes = "",
        graph: Graph | None = None,
        config: ConfigProto | None = None,
    ) -> None:
        super().__init__(target, graph, config)
        self._entered: list[Any] = []

    def __enter__(self) -> Session:
        self.check_open()
        if self._entered:
            raise RuntimeError(
                "Session context managers are not re-entrant: the inner block would close the session. "
                "Use `with session.as_default():` to enter it again."
            )
        push_graph(self._graph)
        push_session(self)
        self._entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        pop_session(self)
        pop_graph(self._graph)
        self._entered.pop()
        self.close()

    @staticmethod
    def reset(
        target: str, containers: Sequence[str] | None = None, config: ConfigProto | None = None
    ) -> None:
        """Clears the variables, queues and tables (of the given containers) on all tasks of a server's cluster.

        The sessions on ``target`` end: what they run then raises `tf.errors.AbortedError`. Those on other tasks go on,
        and find their variables uninitialized.
        """
        provided("cluster").reset(target, containers, config)


class InteractiveSession(BaseSession):
    """A session that is the default from its creation until it is closed, for notebooks.

    Warns where another one is open.
    """

    _num_open = 0

    def __init__(
        self,
        target: str | bytes = "",
        graph: Graph | None = None,
        config: ConfigProto | None = None,
    ) -> None:
        super().__init__(target, graph, config)
        if InteractiveSession._num_open:
            warnings.warn(
                "An interactive session is already active. This can cause out-of-memory errors in some "
                "cases. You must explicitly call `InteractiveSession.close()` to release resources held "
                "by the other session(s).",
                stacklevel=2,
            )
        InteractiveSession._num_open += 1
        self._explicit_graph = graph
        if graph is not None:
            push_graph(graph)
        push_session(self, nests=False)

    def close(self) -> None:
        """Closes the session and stops it from being the default."""
        if not self._closed:
            InteractiveSession._num_open -= 1
            pop_session(self)
            if self._explicit_graph is not None:
                pop_graph(self._explicit_graph)
        super().close()
