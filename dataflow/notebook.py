"""The widgets as the renderer of the engine's objects; they load when the first one is displayed."""

from __future__ import annotations

from typing import Any


def render(obj: Any, include: Any, exclude: Any) -> Any:
    """The widget for ``obj`` where `dataflow_widgets` is installed, else ``None``."""
    try:
        from dataflow_widgets.display import mimebundle
    except ImportError:
        return None
    return mimebundle(obj, include, exclude)


def rewrite_player(explanation: Any, **options: Any) -> Any:
    """The rewrites of a run one by one, before and after."""
    from dataflow_widgets import RewritePlayer

    return RewritePlayer(explanation, **options)


def widget_file(name: str) -> bytes:
    """What a page without a kernel loads to show widgets: ``loader.js``, or ``bundle``, all of them.

    Raises `ImportError` where `dataflow_widgets` is not installed.
    """
    from dataflow_widgets.base import BUILT
    from dataflow_widgets.static.page import bundle

    return (BUILT / name).read_bytes() if name == "loader.js" else bundle()
