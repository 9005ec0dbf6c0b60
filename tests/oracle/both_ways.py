"""Programs of files that either engine writes and reads: ``program.py WHAT ENGINE FOLDER`` prints a line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.oracle import comparison

MARKS = [
    pytest.mark.oracle,
    pytest.mark.timeout(0),
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]
ENGINES = ("dataflow", "tensorflow")


def other_than(engine: str) -> str:
    """The other engine."""
    return ENGINES[1 - ENGINES.index(engine)]


def run(program: ModuleType, what: str, engine: str, folder: Path) -> Any:
    """What the program's last line says; fails with the end of its errors where it fails."""
    python = sys.executable if engine == "dataflow" else comparison.ORACLE_PYTHON
    done = subprocess.run(
        [python, str(program.__file__), what, engine, str(folder)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])
