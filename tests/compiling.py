"""Waiting, between two runs, for machine code that another thread makes."""

from __future__ import annotations

import time

#: How many runs a test does at most until its loops are compiled: together they wait half a minute.
MOST_RUNS = 400


def wait_for_compiler(num_runs: int) -> None:
    """Sleeps after that many runs: for a moment at first, longer where the machine is busy."""
    time.sleep(0.002 if num_runs < 100 else 0.1)
