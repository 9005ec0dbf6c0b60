"""``from tensorflow.python.eager import context``: whether code runs eagerly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dataflow.graph.default_stacks import default_graph, use_graph
from dataflow.graph.eager import eager_graph, executing_eagerly
from dataflow.graph.graph import Graph

in_eager_mode = executing_eagerly

GRAPH_MODE = 0
EAGER_MODE = 1
#: Eager ops are done when their function returns; asking for the other way changes nothing.
SYNC = 0
ASYNC = 1


def in_graph_mode() -> bool:
    """Whether operations become nodes of a graph."""
    return not executing_eagerly()


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A block in which operations become nodes of a graph: a new one, where they ran eagerly."""
    if default_graph().executes_eagerly:
        with use_graph(Graph()):
            yield
    else:
        yield


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """A block in which operations run at once."""
    with use_graph(eager_graph()):
        yield


@contextlib.contextmanager
def execution_mode(mode: int | None) -> Iterator[None]:
    """A block that asks for `SYNC` or `ASYNC` execution of eager ops; either way they run at once."""
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be either SYNC or ASYNC. Got {mode}")
    yield


def list_devices() -> list[str]:
    """The devices of eager code: the host's CPU."""
    return ["/job:localhost/replica:0/task:0/device:CPU:0"]


def num_gpus() -> int:
    """The number of GPUs that eager code uses: none, it runs on the host."""
    return 0
