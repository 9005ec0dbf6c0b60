"""The folder of real data, without the network."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def real_data(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``DATAFLOW_DATA``, with downloads forbidden; skips where it is not set."""
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    return data_folder
