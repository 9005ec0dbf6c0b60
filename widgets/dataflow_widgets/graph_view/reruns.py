"""Cells that were run again: their graph has what they built, once for each run."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any


def rerun_hint(nodes: Sequence[Mapping[str, Any]]) -> str:
    """What to tell of nodes (see `dataflow.introspect.graph_json`) that one cell made more than once.

    A cell is known by its text, as a notebook numbers its runs. Empty where none ran twice, and
    outside IPython.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    inputs = getattr(shell, "user_ns", {}).get("In", [])
    runs: dict[str, set[int]] = defaultdict(set)
    for node in nodes:
        cell = (node.get("source") or {}).get("cell")
        if cell and cell < len(inputs):
            runs[inputs[cell].strip()].add(cell)
    again = [cells for cells in runs.values() if len(cells) > 1]
    if not again:
        return ""
    cells = max(again, key=max)
    return (
        f"Cell {max(cells)} ran {len(cells)} times, and each run added its nodes. "
        "tf.reset_default_graph() at its beginning makes a new graph."
    )
