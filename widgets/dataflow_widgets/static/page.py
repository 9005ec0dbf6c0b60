"""A graph as one page of HTML: the GraphView with its layout engine, without a kernel or a network."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

_BUILT = Path(__file__).parents[1] / "built"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:">
<title>{title}</title><style>body{{margin:1rem;font-family:sans-serif}}@media(prefers-color-scheme:dark){{body{{background:#111}}}}</style></head>
<body><main id="widget"></main><noscript><pre>{words}</pre></noscript>
<script type="module">
const state = {state};
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
state.bundle = new DataView(bytes({bundle}).buffer);
const model = {{ get: (k) => state[k], set: (k, v) => {{ state[k] = v; }}, save_changes() {{}}, send() {{}}, on() {{}}, off() {{}} }};
const loader = await import(URL.createObjectURL(new Blob([new TextDecoder().decode(bytes({loader}))], {{ type: "text/javascript" }})));
await loader.default.initialize({{ model }});
await loader.default.render({{ model, el: document.getElementById("widget") }});
</script></body></html>
"""


def graph_page(graph: Any, title: str, height: int = 900) -> str:
    """The page: the GraphView of ``graph`` under ``title``, at most ``height`` px high. About 0.9 MB."""
    from dataflow.introspect.graph_json import graph_to_dict
    from dataflow.introspect.node_roles import assign_roles
    from dataflow_widgets.text_description import describe_nodes

    nodes = graph_to_dict(graph)["nodes"]
    assign_roles(nodes)
    words = describe_nodes(nodes, None)
    state = {
        "kind": "graph_view",
        "token": "page",
        "title": title,
        "height": height,
        "payload": {"version": len(nodes), "nodes": nodes},
        "picture": "",
        "words": words,
        "marks": {},
        "failure": "",
        "direction": "auto",
        "only": [],
        "profile_data": {},
        "standalone": True,
    }
    return _PAGE.format(
        title=escape(title),
        words=escape(words),
        state=_script_json(state),
        bundle=_script_json(b64encode(bundle()).decode()),
        loader=_script_json(b64encode((_BUILT / "loader.js").read_bytes()).decode()),
    )


def bundle() -> bytes:
    """Library and layout engine, as the trait of that name brings them to a page without a kernel."""
    from dataflow_widgets.base import packed

    library = packed("library.js")
    return struct.pack("<I", len(library)) + library + packed("graphviz.js")


def _script_json(value: Any) -> str:
    """JSON that may stand within a script element."""
    return json.dumps(value).replace("<", "\\u003c").replace("\u2028", "\\u2028")
