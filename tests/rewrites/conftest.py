"""Every test of rewrites builds in a graph of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import dataflow as tf
from dataflow.kernels.jit import compiler


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture(params=["machine code", "NumPy"])
def either(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are compiled at once, or never."""

    def get(lazy: compiler.JitEntry[Any]) -> Any:
        if request.param == "NumPy":
            return None
        if lazy.function is None:
            with contextlib.suppress(ImportError):  # another processor's code
                lazy.function = lazy.build()
        return lazy.function

    if request.param == "machine code":
        pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    monkeypatch.setattr(compiler.JitEntry, "get", get)
