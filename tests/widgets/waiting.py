"""Waiting for what another thread does."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], patience_seconds: float = 60.0) -> None:
    """Returns as soon as ``condition()`` holds; fails after ``patience_seconds``."""
    end = time.monotonic() + patience_seconds
    while not condition():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.002)
