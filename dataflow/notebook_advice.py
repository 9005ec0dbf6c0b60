"""What to do about errors of Python itself that learners meet in notebooks, in a sentence below the traceback.

The engine's own errors say it in their message. These come from Python, which does not know that a kernel was
restarted, that a run of an operation gives None, or what the keys of a feed_dict are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")
_RUNS = re.compile(r"\bfeed_dict\b|\.run\(|\.eval\(")
_RUN_ABOVE = (
    "Where a cell above makes it, run that cell first: a kernel that was restarted remembers nothing. "
    "Run > Run All Above Selected Cell runs them in order."
)
#: What `dataflow_widgets` exports, which stands above this package.
_WIDGETS = frozenset(
    [
        "AttentionExplorer",
        "BoundaryExplorer",
        "ClusterPanel",
        "ClusterView",
        "ConvolutionExplorer",
        "EmbeddingView",
        "Explorer",
        "GradientFlowExplorer",
        "GraphView",
        "OptimizerExplorer",
        "PipelineExplorer",
        "Predict",
        "RooflineExplorer",
        "RewritePlayer",
        "StalenessExplorer",
        "Stepper",
        "Timeline",
        "TrainingMonitor",
        "to_graphviz",
        "load_ipython_extension",
    ]
)
_IMPORTS = {
    "tf": "import dataflow as tf",
    "np": "import numpy as np",
    "plt": "import matplotlib.pyplot as plt",
    "check": "from dataflow.course import check",
    "pictures": "from dataflow.course import pictures",
    "predict": "from dataflow_widgets import predict",
}


def advice(error: BaseException, frames: TracebackType | None) -> str | None:
    """A sentence or two on what to do, None where nothing more is to be said than ``error`` says.

    Args:
        error: what was raised in a cell.
        frames: its traceback, of which the last frame is the cell's (or a function's of one) if the cell raised it.
    """
    import linecache

    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    if frames is None:
        return None
    code = frames.tb_frame.f_code
    line = linecache.getline(code.co_filename, frames.tb_lineno)
    names = {**frames.tb_frame.f_globals, **frames.tb_frame.f_locals}
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return _of_name(error.name or "", names)
    if isinstance(error, TypeError):
        return _of_type(str(error), line, names)
    return None


def tell(text: str) -> None:
    """Displays an advice below what the cell has shown."""
    import html

    from IPython.display import display

    words = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    shown = f'<p style="margin:4px 0"><b>What to do:</b> {words}</p>'
    display({"text/plain": f"What to do: {text}", "text/html": shown}, raw=True)  # type: ignore[no-untyped-call]


def _of_name(name: str, known: Mapping[str, Any]) -> str | None:
    if not name:
        return None
    if name in _IMPORTS:
        return f"{name} comes from a cell with `{_IMPORTS[name]}`. {_RUN_ABOVE}"
    if name in _WIDGETS:
        return f"It is imported first: `from dataflow_widgets import {name}`. {_RUN_ABOVE}"
    import difflib

    near = difflib.get_close_matches(name, [one for one in known if one[0] != "_"], 1, 0.75)
    return f"Did you mean {near[0]}? {_RUN_ABOVE}" if near else _RUN_ABOVE


def _of_type(message: str, line: str, names: Mapping[str, Any]) -> str | None:
    if "NoneType" in message:
        found = next((n for n in _NAME.findall(line) if n in names and names[n] is None), None)
        if found is None:
            return None
        return (
            f"{found} is None here. sess.run(op) gives None for an operation that has no value, such as an "
            "optimizer's step or an initializer. Fetch the tensor beside it: "
            "_, loss_value = sess.run([train_step, loss])."
        )
    if message.startswith("unhashable type") and _RUNS.search(line):
        return (
            "The keys of a feed_dict are placeholders, and its values are the arrays: {x: batch}."
        )
    if "Tensor" in message and ("as an integer" in message or "indices must be" in message):
        return "A tensor has no number before the graph runs: sess.run(t) gives it, and t.shape[0] a size."
    return None
