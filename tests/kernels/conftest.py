"""Fixtures of the kernels' tests."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from dataflow.kernels.jit import compiler


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles a loop at the first request, in this thread."""

    def get(lazy: compiler.JitEntry[Any]) -> Any:
        if lazy.function is None:
            with contextlib.suppress(ImportError):  # another processor's code
                lazy.function = lazy.build()
        return lazy.function

    monkeypatch.setattr(compiler.JitEntry, "get", get)
