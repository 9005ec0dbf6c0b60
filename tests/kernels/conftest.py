"""Fixtures of the kernels' tests."""

from __future__ import annotations

import pytest

from dataflow.kernels.fused import native


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles a loop at the first request, in this thread."""

    def get(lazy: native.Lazy) -> native.Function:
        if lazy.function is None:
            lazy.function = native.compile_loop(lazy.loop)
        return lazy.function

    monkeypatch.setattr(native.Lazy, "get", get)
