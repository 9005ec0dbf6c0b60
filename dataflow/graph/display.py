"""What a notebook shows for graphs, tensors, operations, sessions and explanations of runs.

The widgets that draw them stand above the engine, which imports none of them: a renderer is set
here, by `dataflow.notebook` when `dataflow` is imported, or by any other front end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: ``renderer(obj, include, exclude)`` as Jupyter's ``_repr_mimebundle_``: data and metadata by MIME
#: type, or ``None`` where the object's text will do.
Renderer = Callable[[Any, Any, Any], Any]

_renderer: Renderer | None = None


def set_renderer(renderer: Renderer | None) -> None:
    """Lets ``renderer`` show what is displayed from now on; ``None``: the text of each object."""
    global _renderer
    _renderer = renderer


def mimebundle(obj: Any, include: Any, exclude: Any) -> Any:
    """What a notebook shows for ``obj``; ``None`` makes Jupyter show the object's text."""
    return None if _renderer is None else _renderer(obj, include, exclude)
