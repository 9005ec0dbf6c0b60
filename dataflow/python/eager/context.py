"""``from tensorflow.python.eager import context``: this engine is in graph mode always."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


def executing_eagerly() -> bool:
    """Whether operations run at once: never."""
    return False


in_eager_mode = executing_eagerly


def in_graph_mode() -> bool:
    """Whether operations become nodes of a graph: always."""
    return True


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A block in graph mode, as everything is."""
    yield
