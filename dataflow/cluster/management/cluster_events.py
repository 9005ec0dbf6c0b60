"""What happened to a running cluster, as an event of its log."""

from __future__ import annotations

import os
from typing import NamedTuple

from dataflow.graph import tracebacks


class Event(NamedTuple):
    """Something that happened to a task, ``seconds`` after the cluster was there.

    ``kind`` is "died", "restarted", "lost" (it dies again and again), "paused", "resumed",
    "slowed", "cut", "delayed", "mended", "added" or "removed".
    """

    seconds: float
    task: str
    kind: str
    why: str = ""


def called_at() -> str:
    """The line of the user's code that called into the engine."""
    raw = tracebacks.capture()
    if any(f"{os.sep}dataflow_widgets{os.sep}" in f.filename for f in tracebacks.frames_of(raw)):
        return "the cluster panel"
    return tracebacks.where(raw)
