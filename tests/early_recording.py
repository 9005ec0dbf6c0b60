"""Plans whose lists of calls are recorded after the first runs instead of the fortieth."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.runtime import plan_recorder
from dataflow.runtime.plan_recorder import Recorder


def record_at_once(monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
    """Lets plans be recorded at once, however small they are; the list to which their recorders are added."""
    made: list[Recorder] = []

    class Kept(Recorder):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(plan_recorder, "Recorder", Kept)
    for name, value in (
        *(("RUNS_BEFORE_RECORDING", 1), ("_LEAST_PER_RUN", 1000), ("_RUNS_TO_WAIT", 0)),
        *(("_MICROSECONDS_FOR_A_KIND", 0.0), ("_MICROSECONDS_FOR_A_LINE", 0.0)),
        ("_MOST_RUNS", 100_000),
        *(("_LEAST_PART", 0.0), ("_FEWEST_LINES", 1)),
    ):
        monkeypatch.setattr(plan_recorder, name, value)
    monkeypatch.setattr("dataflow.runtime.call_lists._FEWEST_LINES", 1)
    return made
