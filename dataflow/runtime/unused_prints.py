"""A `tf.Print` whose result nothing uses prints nothing: noticed where a run is planned, and told once.

`tf.Print` hands on its first input. Programs that call it as one calls `print`, and go on with the
tensor that they had, run as before and say nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from dataflow.ops.logging_ops import PRINTS

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.operation import Operation


class UnusedPrintWarning(UserWarning):
    """A run computes what a `tf.Print` hands on, but nothing uses its result. Given once for each."""


def watch_prints(graph: Graph, ops: Sequence[Operation]) -> None:
    """Warns of each `tf.Print` that no node uses, and a run of ``ops``, its needed nodes, passes by."""
    waiting: list[Operation] = graph.attachments.get(PRINTS, [])
    if not waiting:
        return
    needed = set(ops)
    for op in list(waiting):
        is_used = op in needed or bool(op.outputs[0].consumers() or op.control_outputs)
        is_passed_by = not is_used and op.inputs[0].op in needed
        if is_used or is_passed_by:
            with suppress(ValueError):  # another session was quicker
                waiting.remove(op)
                if is_passed_by:
                    _warn(op)


def _warn(op: Operation) -> None:
    from dataflow.runtime.nan_origin import level_of_user

    warnings.warn(
        UnusedPrintWarning(
            f"tf.Print {op.name!r} prints nothing in this run: nothing uses what it returned. It hands on its first "
            "input and prints when its result is computed. Go on with the result, as in x = tf.Print(x, [x]).\n"
            f"  built at {op.built_at}"
        ),
        stacklevel=level_of_user(),
    )
