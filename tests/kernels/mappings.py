"""Watches which mappings (`native_ufunc.Mapping`) a kernel computes by machine code."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.kernels.jit import native_ufunc


def mappings_that_ran(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> list[bool]:
    """For each mapping that will be asked for, whether its loop ran.

    For a fixture with the parameters "loops", compiled at once, and "NumPy", where none runs.
    """
    ran: list[bool] = []
    run = native_ufunc.Mapping.run

    def watched(*arguments: Any) -> bool:
        ran.append(request.param == "loops" and run(*arguments))
        return ran[-1]

    if request.param == "loops":
        pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
        request.getfixturevalue("at_once")
    monkeypatch.setattr(native_ufunc.Mapping, "run", watched)
    return ran
