"""What a notebook shows for graphs, tensors, operations, sessions, clusters and explanations of runs.

The widgets that draw them stand above the engine, which imports none of them: the need ``renderer``
(`dataflow.providers`) is provided by `dataflow.notebook`, or by any other front end.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from dataflow.providers import provided


class ClusterPicture:
    """What notebooks show as machines with their parts of a graph: a cluster, its spec, a recording of steps."""

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> Any:
        return mimebundle(self, include, exclude)


def mimebundle(obj: Any, include: Any, exclude: Any) -> Any:
    """What a notebook shows for ``obj``; ``None`` makes Jupyter show the object's text.

    The renderer is ``renderer(obj, include, exclude)`` as Jupyter's ``_repr_mimebundle_``: data and
    metadata by MIME type, or ``None`` where the object's text will do.
    """
    return provided("renderer")(obj, include, exclude)
