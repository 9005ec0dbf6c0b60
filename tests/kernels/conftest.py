"""Fixtures of the kernels' tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from dataflow.kernels.jit import compiler
from dataflow.kernels.subnormals import Computing


@pytest.fixture(autouse=True)
def computing() -> Iterator[None]:
    """Kernels are called as in a run, whose threads take subnormal numbers for zero."""
    with Computing():
        yield


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles a loop at the first request, in this thread."""

    def get(lazy: compiler.JitEntry[Any]) -> Any:
        if lazy.function is None:
            with contextlib.suppress(ImportError):  # another processor's code
                lazy.function = lazy.build()
        return lazy.function

    monkeypatch.setattr(compiler.JitEntry, "get", get)
