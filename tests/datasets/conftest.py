"""The folder of real data, for tests that use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow_datasets import fetch


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """``DATAFLOW_DATA``, with the network forbidden; skips where it is not set."""
    directory = fetch.data_directory()
    if directory is None or not directory.is_dir():
        pytest.skip("DATAFLOW_DATA does not name a folder with the real data sets")
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    return directory
