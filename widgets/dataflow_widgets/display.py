"""What a notebook shows for a graph, tensor, operation, session, cluster or explanation of a run.

`dataflow` looks `mimebundle` up when an object is first displayed; it never imports this package.
"""

from __future__ import annotations

import sys
from typing import Any

from dataflow.display import ClusterPicture

_NEAR = 60  # a tensor's picture shows at most this many of the operations behind it


def mimebundle(obj: Any, include: Any = None, exclude: Any = None) -> Any:
    """``(data, metadata)`` for ``obj``: a widget, a static picture and words; None to show the
    text.

    Without anywidget the picture and the words alone.
    """
    try:
        widget = _widget(obj)
    except ImportError:
        return _static(obj)
    # In a notebook the picture is an output of its own, as that of a widget by itself (see base.py).
    is_alone = not include and not exclude and _in_kernel()
    if is_alone:
        widget.publish_static()
    data, metadata = widget._repr_mimebundle_(is_alone=is_alone)
    data["text/plain"] = repr(obj)
    if include:
        data = {k: v for k, v in data.items() if k in include}
    if exclude:
        data = {k: v for k, v in data.items() if k not in exclude}
    return data, metadata


def _in_kernel() -> bool:
    """Whether what is displayed goes to a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _widget(obj: Any) -> Any:
    if hasattr(obj, "player"):
        return obj.player()
    if isinstance(obj, ClusterPicture):
        from dataflow_widgets.cluster_view import ClusterView

        return ClusterView(obj)
    from dataflow_widgets.graph_view import GraphView

    graph, focus = graph_and_focus(obj)
    if focus is None:
        return GraphView(graph)
    view = GraphView(graph, only=behind(focus), title=f"what {focus.name} needs", is_live=False)
    view.highlight(focus)
    return view


def _static(obj: Any) -> Any:
    if hasattr(obj, "player"):  # an Explanation has words of its own
        return {"text/plain": repr(obj), "text/html": obj.to_html()}, {}
    if isinstance(obj, ClusterPicture):
        return None
    from dataflow.introspect.graph_json import graph_to_dict
    from dataflow.introspect.node_roles import assign_roles
    from dataflow_widgets.static.draw import graph_svg
    from dataflow_widgets.static.html import picture_html
    from dataflow_widgets.text_description import describe_nodes

    graph, focus = graph_and_focus(obj)
    nodes = graph_to_dict(graph)["nodes"]
    assign_roles(nodes)
    only = None
    if focus is not None:
        names = set(behind(focus))
        only = {i for i, node in enumerate(nodes) if node["name"] in names}
    words = describe_nodes(nodes, only=only)
    html = picture_html(graph_svg(nodes, only=only), words)
    return {"text/plain": repr(obj), "text/html": html}, {}


def graph_and_focus(obj: Any) -> tuple[Any, Any]:
    """The graph that ``obj`` belongs to, and the tensor or operation in it that is meant, if
    one."""
    if hasattr(obj, "get_operations"):
        return obj, None
    if hasattr(obj, "run") and hasattr(obj, "graph") and not hasattr(obj, "inputs"):
        return obj.graph, None  # a session
    return obj.graph, obj


def behind(focus: Any) -> list[str]:
    """Names of the operations that ``focus`` needs, the nearest first, at most 60."""
    start = getattr(focus, "op", focus)
    seen = {start: None}
    queue = [start]
    for op in queue:
        if len(seen) >= _NEAR:
            break
        for source in [t.op for t in op.inputs] + list(op.control_inputs):
            if source not in seen and len(seen) < _NEAR:
                seen[source] = None
                queue.append(source)
    return [op.name for op in seen]
